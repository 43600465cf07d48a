"""Ids that the yard makes itself are ULIDs, as everybody else's library reads them."""

import subprocess
import sys
from time import time

from ulid import ULID

from taskyard.ledger.ids import mint_task


def read(task_id: str) -> ULID:
    return ULID.from_str(task_id.removeprefix("task_"))


def test_an_id_says_when_it_was_made():
    before = int(1000 * time()) / 1000

    assert before <= read(mint_task()).timestamp <= time()


def test_an_id_is_spelled_as_the_library_spells_it():
    task_id = mint_task()

    assert task_id == f"task_{read(task_id)}"


def test_no_two_ids_are_alike_though_they_are_of_one_moment():
    ids = [mint_task() for _ in range(10_000)]

    assert len({read(task_id).bytes[6:] for task_id in ids}) == len(ids)


def test_ids_are_in_the_order_in_which_they_were_made_though_they_are_of_one_moment():
    ids = [mint_task() for _ in range(10_000)]

    assert ids == sorted(ids)


def test_neighbours_do_not_look_alike_in_the_part_that_people_read():
    ids = [mint_task() for _ in range(10_000)]

    assert len({task_id[-8:] for task_id in ids}) == len(ids)


def test_a_forked_process_makes_other_ids_though_it_is_of_the_same_moment():
    made = """
import os
from taskyard.ledger import ids
ids.time_ns = lambda: 1
ids.mint()
ids.mint()
child = os.fork()
os.write(1, f"{ids.mint()}\\n".encode())  # at once: a line that two processes print in parts is no line
child and os.waitpid(child, 0)
"""
    told = subprocess.run([sys.executable, "-c", made], check=True, capture_output=True, text=True).stdout.split()

    assert len(told) == len(set(told)) == 2
