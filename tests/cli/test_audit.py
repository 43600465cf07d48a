"""The audit log from a shell."""

import csv
import io
import json

from tests.cli.conftest import Command


def test_what_was_done_is_listed_filtered_and_exported(taskyard: Command) -> None:
    task = taskyard("enqueue", "code", "--json").json["id"]
    taskyard("cancel", task, "--reason", "=1+1 \u202eno", "--by", "human:ada")
    taskyard("queues", "pause", "default", "--by", "human:bo")

    shown = taskyard("audit", "ls")
    assert (shown.status, "human:ada" in shown.out, "queue:default" in shown.out) == (0, True, True)
    found = taskyard("audit", "ls", "--who", "human:ada", "--json").json["entries"]
    assert [(each["action"], each["task_id"]) for each in found] == [("task.cancelled", task)]
    assert "none" in taskyard("audit", "ls", "--action", "token.*").out
    assert taskyard("audit", "ls", "--since", "yesterday").status == 2

    lines = [json.loads(line) for line in taskyard("audit", "export").out.splitlines()]
    assert [each["by"] for each in lines] == ["human:bo", "human:ada"]
    exported = taskyard("audit", "export", "--format", "csv").out
    assert "\u202e" not in exported
    rows = list(csv.DictReader(io.StringIO(exported)))
    assert [row["action"] for row in rows] == ["queue.paused", "task.cancelled"]


def test_a_cell_is_never_a_formula(taskyard: Command) -> None:
    taskyard("queues", "pause", "default", "--by", "=cmd()")

    (row,) = csv.DictReader(io.StringIO(taskyard("audit", "export", "--format", "csv").out))
    assert row["by"] == "'=cmd()"


def test_entries_are_kept_for_as_long_as_somebody_says(taskyard: Command) -> None:
    assert taskyard("audit", "keep", "--json").json == {"days": 400.0}
    assert taskyard("audit", "keep", "30").status == 0
    assert taskyard("audit", "keep", "--json").json == {"days": 30.0}
    assert taskyard("audit", "keep", "0").status == 2
