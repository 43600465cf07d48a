"""What an artifact may be called, and when it may be seen."""

import pytest

from taskyard.core.errors import InvalidInput
from taskyard.core.task import Outcome, Status, TaskId
from taskyard.core.units import Micros
from taskyard.features.artifacts.rules import (
    Artifact,
    Fate,
    checked_digest,
    checked_media_type,
    checked_name,
    fate,
    is_id,
    key_of,
    new_id,
    prefix,
)
from tests.core.hostile_names import HARMLESS, HOSTILE
from tests.core.rows import a_row_in

TASK = TaskId("task_01J8ZZZZZZZZZZZZZZZZZZZZZZ")


def test_there_are_two_hundred_hostile_names():
    assert len(HOSTILE) >= 200


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_name_is_refused_with_a_rule(name: str):
    with pytest.raises(InvalidInput, match=r"^Correct name: must ") as refused:
        checked_name(name)

    assert len(name) < 20 or name not in str(refused.value)


@pytest.mark.parametrize("name", HARMLESS)
def test_a_name_that_means_no_harm_is_taken_as_it_is(name: str):
    assert checked_name(name) == name


@pytest.mark.parametrize("given", [None, 7, b"name", ["name"]])
def test_what_is_no_text_is_no_name(given: object):
    with pytest.raises(InvalidInput):
        checked_name(given)


@pytest.mark.parametrize(
    ("status", "attempt", "outcome", "expected"),
    [
        (Status.RUNNING, 2, None, Fate.WAITING),
        (Status.CLAIMED, 2, None, Fate.WAITING),
        (Status.VALIDATING, 2, None, Fate.WAITING),
        (Status.COMPLETED, 2, Outcome.COMPLETED, Fate.KEPT),
        (Status.COMPLETED, 1, Outcome.FAILED, Fate.OVER),
        (Status.COMPLETED, 1, Outcome.RELEASED, Fate.OVER),
        (Status.COMPLETED, 1, Outcome.SUSPENDED, Fate.KEPT),
        (Status.RUNNING, 1, Outcome.FAILED, Fate.OVER),
        (Status.RUNNING, 1, Outcome.SUSPENDED, Fate.WAITING),
        (Status.PENDING, 2, Outcome.SUSPENDED, Fate.WAITING),
        (Status.READY, 2, Outcome.RELEASED, Fate.OVER),
        (Status.RETRYING, 2, Outcome.FAILED, Fate.OVER),
        (Status.DEAD_LETTERED, 2, Outcome.FAILED, Fate.OVER),
        (Status.DEAD_LETTERED, 1, Outcome.SUSPENDED, Fate.WAITING),  # a person may revive it
        (Status.CANCELLED, 2, Outcome.CANCELLED, Fate.OVER),
        (Status.CANCELLED, 1, Outcome.SUSPENDED, Fate.OVER),
    ],
)
def test_what_becomes_of_what_an_attempt_put(status: Status, attempt: int, outcome: Outcome | None, expected: Fate):
    assert fate(a_row_in(status)._replace(attempt=2), attempt, outcome) is expected


def test_what_has_no_task_any_more_is_over():
    assert fate(None, 1, None) is Fate.OVER


def test_ids_of_a_task_begin_alike_and_keys_say_nothing_of_names():
    first, lone = new_id("01J9ZZZZZZZZZZZZZZZZZZZZZZ", TASK), new_id("01J9ZZZZZZZZZZZZZZZZZZZZZZ", None)

    assert first.startswith(prefix(TASK))
    assert is_id(first)
    assert is_id(lone)
    assert not any(is_id(given) for given in ("", "art_", "art_x", f"{first}/..", f"../{first}", f"{lone}\n"))
    assert key_of(first) == f"ZZ/{first}"


def artifact_of(media_type: str) -> Artifact:
    return Artifact(
        id="art_1",
        name="page.html",
        size=1,
        sha256="",
        media_type=media_type,
        task_id=None,
        attempt=None,
        created_at=Micros(0),
        created_by="me",
    )


def test_what_a_browser_might_run_is_served_as_bytes():
    served = {kind: artifact_of(kind).served_as for kind in ("text/html", "image/svg+xml", "text/plain", "image/png")}

    assert served == {
        "text/html": "application/octet-stream",
        "image/svg+xml": "application/octet-stream",
        "text/plain": "text/plain",
        "image/png": "image/png",
    }


@pytest.mark.parametrize("given", ["", "text", "text/", "/plain", "text/pl ain", "text/plain\r\nX: y", "a/b/c", 7])
def test_what_is_no_media_type_is_refused(given: object):
    with pytest.raises(InvalidInput):
        checked_media_type(given)


def test_a_media_type_is_taken_without_its_parameters():
    assert checked_media_type("Text/Plain; charset=utf-8") == "text/plain"
    assert checked_media_type(None) == "application/octet-stream"


def test_a_digest_is_64_hexadecimal_digits():
    assert checked_digest("AB" * 32) == "ab" * 32
    assert checked_digest(None) is None
    for wrong in ("", "ab", "zz" * 32, "ab" * 33, 7):
        with pytest.raises(InvalidInput):
            checked_digest(wrong)
