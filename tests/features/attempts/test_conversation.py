"""Whose conversation it is, and what pinning one keeps."""

import pytest

from taskyard.core.errors import InvalidInput
from taskyard.features.attempts.conversation import pinned, resumable

HERE = pinned(None, session_id="s1", work_dir="/srv", runtime="here")


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({"session_id": "s2", "work_dir": None}, ("s2", "/srv")),
        ({"session_id": None, "work_dir": "/tmp"}, ("s1", "/tmp")),
        ({"session_id": "s2", "work_dir": "/tmp"}, ("s2", "/tmp")),
    ],
)
def test_what_is_not_given_stays_as_it_was_pinned(given: dict[str, str | None], kept: tuple[str, str]):
    after = resumable(pinned(HERE, **given, runtime="here"), "here")  # pyright: ignore[reportArgumentType]

    assert (after["session_id"], after["work_dir"]) == kept


def test_nothing_is_kept_of_what_another_runtime_pinned():
    assert resumable(pinned(HERE, session_id="s2", work_dir=None, runtime="there"), "there")["work_dir"] is None


def test_only_the_runtime_that_pinned_it_resumes_it():
    assert resumable(HERE, "here")["session_id"] == "s1"
    assert resumable(HERE, "there") == resumable(HERE, None) == resumable(None, "here") == {}


def test_one_that_the_task_was_put_in_with_is_anybodys():
    assert resumable('{"session_id":"s1","work_dir":null}', "anywhere")["session_id"] == "s1"


def test_one_of_the_two_must_be_given():
    with pytest.raises(InvalidInput, match="work_dir"):
        pinned(HERE, session_id=None, work_dir=None, runtime="here")
