"""Running a yard from a shell: migrating, figures, the doctor."""

from tests.cli.conftest import Command, given_an_empty_yard


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
