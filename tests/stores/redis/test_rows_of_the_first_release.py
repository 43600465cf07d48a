"""Rows and attempts that release 0.1.0 stored are shorter, and read as they were meant."""

import json
from typing import Any

from taskyard.core.task import BLANK, Attempt, Hot, Outcome, Status, TaskId
from taskyard.stores.redis import encoding
from taskyard.stores.redis.encoding import FIELDS

NEW = 2  # the fields that came after the type


def test_a_row_without_the_type_of_its_agent_is_one_that_nobody_is_charged_for():
    held: Hot = BLANK._replace(id=TaskId("task_1"), status=Status.RUNNING)
    stored: list[Any] = [getattr(held, name) if name != "type" else "code" for name in FIELDS[:-NEW]]

    read = encoding.parse_hot(stored)

    assert read == held
    assert (read.agent_type, read.type_slot) == (None, 0)


def test_an_attempt_without_the_type_of_its_agent_is_read():
    ended: list[Any] = [1, "ada", None, "lease", 1, 1, 2, "completed", False, *([None] * 4), 0, 0, 0, None]
    ended += ["complete", "", "completed", 3, 0, None]

    read = encoding.parse_attempt(TaskId("task_1"), json.dumps(ended))

    assert len(ended) == len(Attempt._fields) - NEW
    assert (read.outcome, read.agent_type) == (Outcome.COMPLETED, None)
