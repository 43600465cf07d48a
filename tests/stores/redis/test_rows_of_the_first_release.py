"""Attempts that release 0.1.0 stored are shorter, and read as they were meant."""

import json
from typing import Any

from taskyard.core.task import Attempt, Outcome, TaskId
from taskyard.stores.redis import encoding

NEW = 3  # the fields that came since, and the id of the task


def test_an_attempt_without_the_type_of_its_agent_is_read():
    ended: list[Any] = [1, "ada", None, "lease", 1, 1, 2, "completed", False, *([None] * 4), 0, 0, 0, None]
    ended += ["complete", "", "completed", 3, 0, None]

    read = encoding.parse_attempt(TaskId("task_1"), json.dumps(ended))

    assert len(ended) == len(Attempt._fields) - NEW
    assert (read.outcome, read.agent_type, read.tokens_cached) == (Outcome.COMPLETED, None, None)
