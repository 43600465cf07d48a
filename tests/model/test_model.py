"""The stateful property test: histories drawn at random, on every store beside the model, with every promise checked.

TASKYARD_MODEL_RUNS   histories for each store; where it says nothing, fewer for those behind a server: they take long.
                      The model plays beside every store, so by itself it plays only those that no other store plays.
TASKYARD_MODEL_STEPS  steps of each
TASKYARD_MODEL_SEED   the first seed; `random` for others every time. A failure prints the seed and the shortest history
                      that was found to fail in the same way, to be pasted into a test.
"""

import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from random import SystemRandom

import pytest

from taskyard.core.changes import Event
from tests.local_only import HTTP
from tests.model.choosing import opening
from tests.model.log import Log
from tests.model.playing import MODEL, Failed, beside_the_model, play, play_seed, stage
from tests.model.running import History
from tests.model.shortening import shortened
from tests.model.steps import Mishap, Step, task
from tests.model.violations import require
from tests.storage import asked_for, asked_for_in_a_file

RUNS = os.environ.get("TASKYARD_MODEL_RUNS")
STEPS = int(os.environ.get("TASKYARD_MODEL_STEPS", "60"))
SEED = os.environ.get("TASKYARD_MODEL_SEED", "0")
AT_ONCE = 10  # histories of one test, so that workers share the rest
DRAIN_EVERY = 4

first_seed = SystemRandom().randrange(10**9) if SEED == "random" else int(SEED)


def runs(store: str) -> int:
    usual = 60 if store == MODEL else 40 if store in asked_for_in_a_file() else 20
    return int(RUNS) if RUNS else usual


def parts() -> list[tuple[str, int]]:
    """Each store, and the number of the history that a test begins with."""
    beside = max((runs(store) for store in asked_for() if store not in (MODEL, HTTP)), default=0)
    begins = {MODEL: beside}
    return [(store, first) for store in asked_for() for first in range(begins.get(store, 0), runs(store), AT_ONCE)]


@pytest.mark.parametrize(("store", "first"), parts())
async def test_every_history_keeps_every_promise_and_is_that_of_the_model(store: str, first: int, tmp_path: Path):
    sides = beside_the_model(store, tmp_path)
    for number in range(first, min(first + AT_ONCE, runs(store))):
        seed = first_seed + number
        try:
            await play_seed(sides, seed, STEPS, drain=number % DRAIN_EVERY == 0)
        except Failed as failed:
            raise await shortened(sides, failed, seed) from failed.cause


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("store", asked_for())
async def test_the_same_seed_gives_the_same_history_on_every_store(store: str, seed: int, tmp_path: Path):
    here = await play_seed(stage([store], tmp_path), seed, STEPS)
    model = await play_seed(stage([MODEL], tmp_path), seed, STEPS)

    assert here.steps == model.steps
    assert reported_facts(here) == reported_facts(model)


def reported_facts(history: History) -> list[tuple[object, ...]]:
    return [(event.event, event.task_id, event.version, event.status) for event in history.events]


async def test_the_histories_go_everywhere(tmp_path: Path):
    seen, verbs, mishaps = Counter[str](), Counter[str](), 0
    for seed in range(60):
        history = await play_seed(stage([MODEL], tmp_path), seed, STEPS, drain=False)
        seen.update(event.event for event in history.events)
        seen.update(history.refused)
        verbs.update(step.verb for step in history.steps)
        mishaps += history.bites

    for word in (
        *("ready", "parked", "claimed", "running", "completed", "retrying", "dead_lettered", "released", "suspended"),
        *("cancelled", "revived", "signalled", "adopted", "needed", "reprioritised", "session", "validating"),
    ):
        assert seen[f"task.{word}"] >= 3, f"task.{word} was hardly ever seen: {seen}"
    for code in ("lease_lost", "not_found", "illegal_transition", "invalid_input", "store_unavailable"):
        assert seen[code] >= 3, f"{code} was hardly ever answered: {seen}"
    assert seen["breaker.opened"] >= 3
    assert (
        min(
            verbs[verb]
            for verb in ("deliver", "again", "reopen", "sweep", "tasks.spawn", "attempts.wait_for", "cancel")
        )
        >= 3
    )
    assert mishaps >= 60


async def test_a_mishap_in_the_middle_of_a_call_comes_about_on_every_side(tmp_path: Path):
    claim = Step("claim", {"agent_id": "ann", "count": 1, "start": True, "request_id": "lost"})
    history = await play(
        beside_the_model(asked_for()[-1], tmp_path),
        [
            *opening(),
            Step("enqueue", {"id": task(1), "type": "code"}),
            Step(claim.verb, claim.given, mishap=Mishap("dies_after")),
            claim,
            Step("complete", {"hold": "1.1", "output": 1}, mishap=Mishap("delayed")),
            Step("heartbeat", {"hold": "1.1", "progress": "still there"}),
            Step("deliver", {"which": 0}),
            Step("complete", {"hold": "1.1", "output": 1}),
        ],
    )

    assert history.bites == 2
    assert [event for event, *_ in reported_facts(history) if str(event).startswith("task.")] == [
        *("task.created", "task.running", "task.completed")
    ]


async def test_a_history_that_fails_is_made_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def no_cancelling(log: Log, events: Iterable[Event]) -> None:
        require(all(event.event != "task.cancelled" for event in events), "nothing is cancelled", "something was")

    monkeypatch.setattr(Log, "read", no_cancelling)
    sides = stage([MODEL], tmp_path)
    with pytest.raises(Failed) as failed:
        await play_seed(sides, 0, 500, drain=False)

    short = await shortened(sides, failed.value, seed=0)

    assert [step.verb for step in short.steps][-1] in ("cancel", "dags.cancel", "sweep", "dead_letters.resolve")
    assert len(short.steps) <= 4, str(short)
