"""The same calls without await."""

import inspect
from pathlib import Path

import pytest

import taskyard
from taskyard.app import Yard


def test_a_plain_program_puts_work_in_and_looks_at_it(tmp_path: Path) -> None:
    with taskyard.connect_sync(f"sqlite:///{tmp_path / 'yard.db'}") as yard:
        task = yard.enqueue("code", prompt="do it")
        yard.register("me")
        (held,) = yard.claim("me", start=True)
        yard.complete(held.id, held.lease, {"ok": True})

        assert yard.get(task.id).result == {"ok": True}
        assert next(iter(yard.tail())).event.event == "task.created"
        assert yard.verify().ok


def test_errors_reach_the_caller_as_they_are(tmp_path: Path) -> None:
    with taskyard.connect_sync(f"sqlite:///{tmp_path / 'yard.db'}") as yard, pytest.raises(taskyard.NotFound):
        yard.get("task_01J00000000000000000000000")


def test_every_public_call_of_a_yard_is_there_without_await() -> None:
    with taskyard.connect_sync("memory://") as yard:
        for name, _ in inspect.getmembers(Yard, inspect.isfunction):
            if not name.startswith("_") and name not in ("open", "close"):
                found = getattr(yard, name)
                assert callable(found)
                assert not inspect.iscoroutinefunction(found), name
                assert not inspect.isasyncgenfunction(found), name
