"""Running a yard from a shell: migrating, figures, the doctor."""

import gzip
from pathlib import Path

import pytest

from taskyard.core.errors import MigrationNeedsStop
from tests.cli.conftest import Command, given_an_empty_yard

DATA = Path(__file__).parents[1] / "data"


def test_migrating_is_a_step_of_its_own(taskyard: Command) -> None:
    before = taskyard("migrate", "status", "--json")
    planned = taskyard("migrate", "plan", "--json").json
    applied = taskyard("migrate", "apply", "--json").json
    after = taskyard("migrate", "status", "--json")

    assert (before.status, before.json["stored"]) == (1, 0)
    assert [f"{step['version']:04} {step['name']}" for step in planned] == before.json["outstanding"]
    assert applied == planned
    assert (after.status, after.json["outstanding"], after.json["stored"]) == (0, [], len(planned))


def test_what_there_is_to_migrate_is_stated_in_words(taskyard: Command) -> None:
    assert "to apply, with `taskyard migrate apply`" in taskyard("migrate", "status").out
    assert "0001 yard" in taskyard("migrate", "plan").out
    assert "create table task (" in taskyard("migrate", "plan", "--sql").out
    assert "applied" in taskyard("migrate", "apply").out

    assert "nothing to do" in taskyard("migrate", "apply").out
    assert "nothing to do" in taskyard("migrate", "status").out


@pytest.fixture
def old_yard(tmp_path: Path) -> Path:
    """The file of a yard that release 0.1.0 left."""
    file = tmp_path / "yard.db"
    file.write_bytes(gzip.decompress((DATA / "sqlite-0.1.0.db.gz").read_bytes()))
    return file


@pytest.mark.parametrize("command", [("ls",), ("enqueue", "code"), ("work", "--exec", "true"), ("serve",), ("verify",)])
def test_a_yard_of_an_older_release_is_left_alone_by_every_command_but_one(
    taskyard: Command, old_yard: Path, command: tuple[str, ...]
) -> None:
    stored = old_yard.read_bytes()

    said = taskyard(*command)

    assert said.status == MigrationNeedsStop.exit_status
    assert "Stop every process of this yard, back it up, and run `taskyard migrate apply`" in said.out
    assert old_yard.read_bytes() == stored


def test_whoever_migrates_an_older_yard_is_asked_to_stop_it_and_finds_everything(
    taskyard: Command, old_yard: Path
) -> None:
    before = taskyard("migrate", "status", "--json")
    assert (before.json["stored"], before.json["needs_stop"]) == (2, True)
    assert "when every process of the yard is stopped and it is backed up" in taskyard("migrate", "status").out

    assert taskyard("migrate", "apply").status == 0

    after = taskyard("migrate", "status", "--json").json
    assert (after["outstanding"], after["needs_stop"]) == ([], False)
    assert len(taskyard("ls", "--json").json) > 1
    assert old_yard.exists()


def test_a_store_without_a_schema_has_nothing_to_migrate(taskyard: Command) -> None:
    said = taskyard("--url", "memory://", "migrate", "status")

    assert (said.status, said.out) == (0, "this store has no schema to migrate\n")
    assert taskyard("--url", "memory://", "migrate", "apply").out == "nothing to do\n"


def test_the_figures_of_the_last_days_are_a_table(taskyard: Command) -> None:
    taskyard("enqueue", "code")
    taskyard("sweep")

    figures = taskyard("stats", "--days", "2", "--json").json

    assert [day["tasks_created"] for day in figures["days"]] == [1]
    assert figures["total"]["tasks_created"] == 1
    assert [line.split()[:3] for line in taskyard("stats", "--days", "2").out.splitlines()] == [
        ["day", "created", "completed"],
        [figures["days"][0]["day"], "1", "0"],
        ["in", "all", "1"],
    ]
    assert taskyard("stats", "--days", "1000").status == 2


def test_the_doctor_gives_a_verdict_on_each_figure(taskyard: Command) -> None:
    given_an_empty_yard(taskyard)
    taskyard("sweep")

    said = taskyard("doctor")
    value = taskyard("doctor", "--json").json

    assert said.status == 0
    assert "good  oldest expired lease" in said.out
    assert "look at this" not in said.out
    assert value["figures"]["engine"] == "sqlite"
    assert {check["check"] for check in value["checks"]} > {"stored data", "sweeping", "wal", "disk free"}
