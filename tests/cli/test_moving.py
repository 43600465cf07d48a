"""Moving a yard, and Loki's files, from a shell."""

import json
import stat
from pathlib import Path

from tests.cli.conftest import Command


def test_a_yard_moves_as_a_file(taskyard: Command, tmp_path: Path) -> None:
    taskyard("enqueue", "code", "--payload", '{"n": 1}')
    taskyard("claim", "--agent", "coder")
    exported = taskyard("export", "yard.jsonl", "--json").json
    there = f"sqlite:///{tmp_path / 'there.db'}"

    imported = taskyard("--url", there, "import", "yard.jsonl", "--json")

    assert (exported["held"], exported["counts"]["task"]) == (1, 1)
    assert (imported.status, imported.json["counts"], imported.json["problems"]) == (0, exported["counts"], [])
    assert stat.S_IMODE((tmp_path / "yard.jsonl").stat().st_mode) == 0o600
    assert taskyard("compare", there).status == 0
    taskyard("enqueue", "code")
    assert taskyard("compare", there, "--json").json["counts"]["tasks"] == {"alike": 1, "only_here": 1}


def test_a_file_that_is_there_is_not_written_over_and_none_is_left_behind(taskyard: Command, tmp_path: Path) -> None:
    taskyard("enqueue", "code")
    (tmp_path / "yard.jsonl").write_text("mine")

    assert taskyard("export", "yard.jsonl").status == 2
    assert (tmp_path / "yard.jsonl").read_text() == "mine"
    assert taskyard("export", "nowhere/yard.jsonl").status == 2
    assert [path.name for path in tmp_path.glob("*.part")] == []


def test_an_import_that_makes_no_sense_is_refused(taskyard: Command, tmp_path: Path) -> None:
    taskyard("enqueue", "code")
    taskyard("export", "yard.jsonl")

    assert "must name an empty store" in taskyard("import", "yard.jsonl").out
    assert "must be a file that can be read" in taskyard("import", "other.jsonl").out


def test_lokis_files_go_in_and_out(taskyard: Command, tmp_path: Path) -> None:
    queue = tmp_path / ".loki" / "queue"
    queue.mkdir(parents=True)
    waiting = {"id": "u-1", "type": "eng-backend", "priority": 5, "payload": {"target": "a"}}
    (queue / "pending.json").write_text(json.dumps({"tasks": [waiting, {**waiting, "id": "u-2", "priority": 99}]}))

    said = taskyard("import", "loki", ".", "--json")
    exported = taskyard("export", "loki", ".")

    assert said.status == 1
    assert list(said.json["imported"]) == ["u-1"]
    assert "priority" in said.json["conflicts"]["u-2"]
    assert exported.status == 0
    kept = json.loads((queue / "pending.json").read_text())["tasks"]
    assert [each["id"] for each in kept] == ["u-1", "u-2"]
