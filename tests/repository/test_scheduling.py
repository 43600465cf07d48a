"""Tests that share something costly run in one process, one after the other; what takes longest begins first."""

from pathlib import Path
from unittest.mock import Mock

from tests.scheduling import Scheduling, rank_of, unit_of

HERE = Path(__file__).parents[1]


def test_a_page_is_looked_at_where_the_server_of_its_store_is():
    live = [
        f"tests/dashboard/test_live.py::test_a_board{given}" for given in ("[sqlite]", "[sqlite-dark]", "[postgres]")
    ]
    page = "tests/dashboard/test_pages.py::test_a_page[sqlite]"

    assert unit_of(live[0]) == unit_of(live[1]) == unit_of(page)
    assert unit_of(live[2]) != unit_of(page)


def test_tests_that_start_many_processes_follow_each_other():
    zombie = "tests/processes/test_zombie.py::test_a_stopped_worker[redis]"
    opening = "tests/processes/test_opening.py::test_two_processes[sqlite]"

    assert unit_of(zombie) == unit_of(opening)


def test_tests_that_wait_for_time_to_pass_follow_each_other_from_the_beginning():
    silence, lifetimes = "tests/client/test_silence.py", "tests/worker/test_lifetimes.py"

    assert unit_of(f"{silence}::test_a_call[redis]") == unit_of(f"{lifetimes}::test_an_attempt")
    assert rank_of(HERE.parent / silence) == rank_of(HERE.parent / lifetimes) < rank_of(HERE / "docs/test_papers.py")


def test_other_tests_are_given_out_one_by_one_with_their_cases():
    cases = [f"tests/guarantees/test_keys.py::test_a_key[{store}]" for store in ("sqlite", "redis")]

    assert unit_of(cases[0]) == unit_of(cases[1])
    assert unit_of(cases[0]) != unit_of("tests/guarantees/test_keys.py::test_two_keys[sqlite]")


def test_what_a_file_makes_once_is_made_in_one_process():
    sharing = [path for path in HERE.rglob("test_*.py") if 'scope="module"' in path.read_text(encoding="utf-8")]

    assert sharing
    for file in (str(path.relative_to(HERE.parent)) for path in sharing if path != Path(__file__)):
        assert unit_of(f"{file}::test_one") == unit_of(f"{file}::test_another[given]")


def test_the_longest_begin_and_the_shortest_end():
    folders = sorted(("core", "guarantees", "processes", "cli"), key=lambda name: rank_of(HERE / name / "test_it.py"))

    assert folders == ["processes", "cli", "guarantees", "core"]


def test_units_are_given_out_in_that_order_however_many_tests_they_have():
    long, short = "tests/cli/test_serving.py::test_a_port", "tests/core/test_policy.py::test_a_figure"
    tests = [long, *(f"{short}[{number}]" for number in range(9))]
    given: list[int] = []
    only = Mock(send_runtest_some=given.extend, shutting_down=False)
    config = Mock(getvalue=Mock(return_value=["popen"]), option=Mock(loadscopereorder=True))
    scheduling = Scheduling(config, Mock())
    scheduling.add_node(only)
    scheduling.add_node_collection(only, tests)

    scheduling.schedule()

    assert [tests[number] for number in given] == tests


def test_a_process_gets_its_next_unit_when_the_last_has_nearly_ended_and_what_has_ended_is_forgotten():
    tests = [f"tests/core/test_policy.py::test_{name}[{number}]" for name in "abc" for number in range(4)]
    given: list[int] = []
    only = Mock(send_runtest_some=given.extend, shutting_down=False)
    scheduling = Scheduling(Mock(getvalue=Mock(return_value=["popen"])), Mock())
    scheduling.add_node(only)
    scheduling.add_node_collection(only, tests)
    scheduling.schedule()

    for number in range(6):
        scheduling.mark_test_complete(only, number)

    assert given == list(range(12))
    assert [unit[-1] for unit in scheduling.assigned_work[only]] == ["b", "c"]
