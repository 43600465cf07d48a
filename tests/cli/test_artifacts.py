"""Artifacts from a shell."""

import os
from pathlib import Path

import pytest

from tests.cli.conftest import Command


def test_a_file_goes_in_and_comes_out_as_it_was(taskyard: Command, tmp_path: Path) -> None:
    (tmp_path / "brief.txt").write_text("What to do")
    put = taskyard("artifacts", "put", "brief.txt", "--media-type", "text/plain", "--json").json

    (listed,) = taskyard("artifacts", "ls", "--json").json
    got = taskyard("artifacts", "get", put["ref"], "-o", "copy.txt", "--json").json

    assert listed == put
    assert (put["name"], put["size"], put["created_by"]) == ("brief.txt", 10, "human:local")
    assert (got["path"], (tmp_path / "copy.txt").read_text()) == ("copy.txt", "What to do")
    assert "brief.txt" in taskyard("artifacts", "ls").out
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == ["taskyard-artifacts"]


def test_a_file_that_is_there_is_not_written_over_unless_that_is_meant(taskyard: Command, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("mine")
    put = taskyard("artifacts", "put", "a.txt", "--json").json
    (tmp_path / "a.txt").write_text("changed")

    refused = taskyard("artifacts", "get", put["id"])
    kept = (tmp_path / "a.txt").read_text()
    taskyard("artifacts", "get", put["id"], "--force")

    assert (refused.status, kept, (tmp_path / "a.txt").read_text()) == (2, "changed", "mine")


def test_a_task_of_a_shell_hands_its_files_in(taskyard: Command) -> None:
    task = taskyard("enqueue", "code", "--json").json["id"]
    (held,) = taskyard("claim", "--agent", "me", "--json").json["tasks"]
    put = taskyard(
        "artifacts", "put", "-", "--name", "log.txt", "--task", task, "--lease", held["lease"], stdin="it works"
    )
    assert put.status == 0
    assert taskyard("artifacts", "ls", task, "--json").json == []

    taskyard("complete", task, "--lease", held["lease"])

    (made,) = taskyard("artifacts", "ls", task, "--json").json
    assert taskyard("artifacts", "get", made["id"], "-o", "-").out == "it works"
    assert taskyard("show", task, "--json").json["output"]["artifacts"] == [made["ref"]]
    assert taskyard("artifacts", "rm", made["id"]).status == 2


def test_a_validator_of_a_shell_fetches_what_it_judges(taskyard: Command) -> None:
    task = taskyard("enqueue", "code", "--set", 'output={"validation": "llm-judge"}', "--json").json["id"]
    (held,) = taskyard("claim", "--agent", "me", "--json").json["tasks"]
    taskyard("artifacts", "put", "-", "--name", "log.txt", "--task", task, "--lease", held["lease"], stdin="it works")
    taskyard("complete", task, "--lease", held["lease"])

    judge = ("--agent", "judge", "--capability", "llm-judge")
    (validator,) = taskyard("claim", *judge, "--json").json["tasks"]
    (given,) = validator["inputs"]
    shown = ("--task", validator["id"], "--lease", validator["lease"])
    assert taskyard("artifacts", "get", given["ref"], "-o", "-", *shown).out == "it works"
    assert taskyard("artifacts", "get", given["ref"], "-o", "-").status == 3


def test_a_place_is_stated_by_the_file_of_settings(taskyard: Command, tmp_path: Path) -> None:
    (tmp_path / "taskyard.toml").write_text(f'artifacts = "{(tmp_path / "elsewhere").as_uri()}"\n')
    (tmp_path / "a.txt").write_text("a")

    taskyard("artifacts", "put", "a.txt")

    assert (tmp_path / "elsewhere").is_dir()
    assert not (tmp_path / "taskyard-artifacts").exists()


@pytest.mark.parametrize("place", ["ftp://x", "s3://key:secret@bucket"])
def test_a_place_that_is_none_is_refused(taskyard: Command, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    monkeypatch.setenv("TASKYARD_ARTIFACTS", place)

    assert taskyard("artifacts", "ls").status == 2


def test_an_artifact_that_is_not_there_is_not_found(taskyard: Command) -> None:
    assert taskyard("artifacts", "get", "art_nothing").status == 3
    assert taskyard("artifacts", "put", "missing.txt").status == 2
    assert taskyard("artifacts", "ls").out == "no artifacts\n"


def test_a_pipe_is_refused_and_not_waited_for(taskyard: Command, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    refused = taskyard("artifacts", "put", "pipe")

    assert (refused.status, "not a pipe or a device" in refused.out) == (2, True)
    assert taskyard("artifacts", "ls", "--json").json == []
