"""What a task is to an agent that asked for it over A2A, as pure rules."""

import pytest

from taskyard.core.changes import Record
from taskyard.core.task import Status
from taskyard.core.units import Micros
from taskyard.features.a2a.rules import (
    AgentTaskState,
    HandleOfLife,
    Push,
    TaskStanding,
    deaths_of,
    handle_of_life,
    state_of,
)
from taskyard.features.handles.rules import Death


def dead(at: int, resolution: str | None, reason: str = "crash") -> Record:
    return Record("dead", "default", f"task.{at}", 1, {"at": at, "reason": reason, "resolution": resolution})


def standing(
    status: Status, *, started: bool = False, asking: bool = False, death: Death | None = None
) -> TaskStanding:
    return TaskStanding(status, started, asking, death, Micros(9))


@pytest.mark.parametrize(
    ("now", "state"),
    [
        (standing(Status.PENDING), AgentTaskState.SUBMITTED),
        (standing(Status.READY), AgentTaskState.SUBMITTED),
        (standing(Status.CLAIMED), AgentTaskState.SUBMITTED),
        (standing(Status.CLAIMED, started=True), AgentTaskState.WORKING),
        (standing(Status.RUNNING, started=True), AgentTaskState.WORKING),
        (standing(Status.VALIDATING, started=True), AgentTaskState.WORKING),
        (standing(Status.RETRYING, started=True), AgentTaskState.WORKING),
        (standing(Status.READY, started=True), AgentTaskState.WORKING),
        (standing(Status.PENDING, started=True), AgentTaskState.WORKING),
        (standing(Status.PENDING, started=True, asking=True), AgentTaskState.INPUT_REQUIRED),
        (standing(Status.READY, started=True, asking=True), AgentTaskState.WORKING),
        (standing(Status.COMPLETED, started=True), AgentTaskState.COMPLETED),
        (standing(Status.CANCELLED), AgentTaskState.CANCELED),
        (standing(Status.DEAD_LETTERED, death=Death(Micros(4), "crash")), AgentTaskState.FAILED),
        (standing(Status.DEAD_LETTERED, death=Death(Micros(4), "auth_failure")), AgentTaskState.AUTH_REQUIRED),
        (standing(Status.CANCELLED, death=Death(Micros(4), "crash")), AgentTaskState.FAILED),
        (standing(Status.CANCELLED, death=Death(Micros(4), "auth_failure")), AgentTaskState.CANCELED),
    ],
)
def test_the_state_of_a_task(now: TaskStanding, state: AgentTaskState):
    assert state_of(now)[0] is state


def test_what_has_failed_failed_when_it_died_and_not_when_somebody_looked_at_it():
    assert state_of(standing(Status.CANCELLED, death=Death(Micros(4), "crash"))) == (AgentTaskState.FAILED, 4)


def test_a_life_ends_with_a_death_that_a_person_let_the_task_come_back_from():
    records = [dead(7, "modify_and_retry"), dead(5, "retry"), dead(6, "retry", "auth_failure"), dead(8, None)]

    assert deaths_of(records) == [Death(Micros(5), "crash"), Death(Micros(7), "crash")]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("abc", HandleOfLife("abc", 1)),
        ("abc.2", HandleOfLife("abc", 2)),
        *((text, None) for text in ("abc.", "abc.1", "abc.02", "abc.-2", "abc.2.3", "abc.²", "abc.9999999")),
    ],
)
def test_a_handle_says_which_life_is_meant_in_one_spelling(text: str, meant: HandleOfLife | None):
    assert handle_of_life(text) == meant
    assert meant is None or meant.text == text


def test_a_push_shows_its_token_and_its_credentials():
    push = Push(id="p", url="https://example.com", token="t", scheme="Bearer", credentials="secret")

    assert push.headers() == {
        "Content-Type": "application/json",
        "X-A2A-Notification-Token": "t",
        "Authorization": "Bearer secret",
    }
    assert "secret" not in repr(push)
