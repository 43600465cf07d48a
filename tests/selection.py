"""Which tests `make test` runs on which stores. TASKYARD_TEST_STORES asks for stores by name, and then for every test.

Rules are tried in memory, where a test takes 10 ms instead of 40 to 170. What a store does itself is tried on every
store. Anything else meets one store beside memory, or a server: where a store alone were wrong, the suites about what
stores do would fail on it (tests/stores, tests/model, and the files that are listed here).
"""

import os
from collections.abc import Sequence
from pathlib import Path
from zlib import crc32

import pytest

from tests.local_only import HTTP, LOCAL_ONLY

STORED = ("sqlite", "postgres", "redis")
BEYOND = (*STORED, HTTP)
SERVED = ("sqlite", "postgres")  # what servers usually have
MADE_FOR_A_STORE = ("open_yard", "connect", "store", "yard", "live")  # arguments of tests

# Files of guarantees that a store keeps by what it does itself: it chooses, orders, pages, counts, removes, wakes up,
# and writes together or not at all.
OF_EVERY_STORE = frozenset(
    {
        *("test_budgets", "test_cancelling", "test_coming_in_together", "test_crossing_dags", "test_dags"),
        *("test_events", "test_found_by_the_model", "test_growing_dags", "test_idempotency", "test_inbox"),
        *("test_keys", "test_late_writes", "test_leases", "test_long_lines", "test_lost_answers", "test_metrics"),
        *("test_priority", "test_pruning_pace", "test_schedules", "test_sweeping", "test_verify_beside_pruning"),
        *("test_audit", "test_verify_page_by_page", "test_workspaces"),
    }
)
# Tests of workers that use a second connection to the store, which each store opens and wakes up in its own way.
OF_EVERY_CONNECTION = frozenset(
    {
        "test_a_handler_that_blocks_the_loop_for_three_lease_times_keeps_its_lease",
        "test_each_later_cancellation_is_heard_of_as_soon_as_the_first",
    }
)
# Files about what is decided before a store is asked.
OF_NO_STORE = frozenset(
    {"test_bad_input", "test_hostile_rules", "test_presets", "test_validation", "test_webhook_addresses"}
)
# Files about what a yard does by itself, whoever asked for it: over HTTP it would be the same again.
OF_NO_LINE = frozenset(
    {
        *("test_breakers", "test_found_by_the_model", "test_metrics", "test_notifications", "test_presets"),
        *("test_priority", "test_pruning_pace", "test_schedules_over_a_year", "test_sweeping", "test_throttles"),
        *("test_verify", "test_verify_page_by_page"),
    }
)
# Files about a server whose answers depend on how soon, or in which order, a store tells what happened.
OF_SERVED_STORES = frozenset({"test_artifacts", "test_events_following", "test_metrics", "test_multica_end_to_end"})
# Files of what is let through to a store, or left in it: attacks that a check missed, who may call what, and crashes;
# and of streams, which go on as soon as a store tells what happened.
OF_BOTH_SERVED = frozenset({"test_attacks", "test_kills", "test_matrix", "test_streams"})
# The stores on which each preset's document is replayed, beside memory and HTTP: together they are all.
OF_PRESETS = {
    "factory": ("sqlite", "postgres"),
    "multica": ("sqlite", "postgres"),
    "automechanica": ("sqlite", "postgres"),
    "loki": ("sqlite", "redis"),
    "ade": ("sqlite", "redis"),
}


def store_of(item: pytest.Item) -> str:
    """The store that a test is run on; nothing where it knows none."""
    given = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
    return next((str(given[name]) for name in MADE_FOR_A_STORE if name in given), "")


def is_worth_it(path: Path, test: str, store: str, *, is_first: bool) -> bool:
    """Whether `make test` runs a test on this store; "" where the test knows none.

    Cases of one test differ in figures, which the core tells apart: away from memory, the first will do.
    """
    if "TASKYARD_TEST_STORES" in os.environ or not store:
        return True
    folder, file = path.parent.name, path.stem
    match folder:
        case (
            "a2a" | "mcp" | "security"
        ):  # who may what is decided before a store is asked; what a crash leaves is the store's
            return store in SERVED if file in OF_BOTH_SERVED else store == turn_of(test, SERVED)
        case "server":  # it is nearly the same on every store
            return store == "sqlite" or (store == "postgres" and file in OF_SERVED_STORES)
        case "sources":  # policies, which no store knows of
            return store == "memory"
        case "guarantees" | "seeds" | "worker":
            return store == "memory" or (is_first and store in _beside_memory(folder, file, test))
        case _:
            return store != HTTP


def _beside_memory(folder: str, file: str, test: str) -> Sequence[str]:
    if test in OF_EVERY_CONNECTION:
        return BEYOND
    if folder == "seeds":
        return [turn_of(test, (*OF_PRESETS[file.split("_")[1]], HTTP))]
    if file in OF_NO_STORE:
        return [turn_of(test, ("sqlite", "sqlite" if file in OF_NO_LINE else HTTP))]
    turn = turn_of(test, STORED if file in OF_NO_LINE else BEYOND)
    return [*STORED, turn] if folder == "guarantees" and file in OF_EVERY_STORE else [turn]


def turn_of(test: str, stores: Sequence[str]) -> str:
    """The store that a test meets, by its name: the same in every run, while each feature meets each store."""
    turn = stores[crc32(test.encode()) % len(stores)]
    return stores[0] if turn == HTTP and test in LOCAL_ONLY else turn
