"""The stored preset from the command line."""

from tests.cli.conftest import Command


def put_in(taskyard: Command, *flags: str, queue: str = "default") -> str:
    """The preset of a new task."""
    made = taskyard(*flags, "enqueue", "code", "--queue", queue, "--json").json
    return taskyard("show", made["id"], "--json").json["preset"]


def test_a_flag_that_is_not_the_stored_preset_is_refused_and_preset_set_changes_it(taskyard: Command):
    assert put_in(taskyard, "--preset", "loki") == "loki"
    refused = taskyard("--preset", "multica", "ls")
    assert refused.status == 2
    assert "must be loki" in refused.out

    assert taskyard("--preset", "multica", "preset", "set", "multica").status == 0

    assert taskyard("preset", "show", "--json").json == {"preset": "multica"}
    assert taskyard("preset", "show").out.strip() == "multica"
    assert put_in(taskyard) == "multica"


def test_a_queue_may_have_another(taskyard: Command):
    taskyard("preset", "set", "loki", "--queue", "legacy")

    assert put_in(taskyard, queue="legacy") == "loki"
    assert put_in(taskyard) == "standard"


def test_a_migration_stores_the_preset_of_an_unsettled_yard(taskyard: Command):
    assert taskyard("migrate", "apply", "--preset", "ade").status == 0

    assert taskyard("preset", "show").out.strip() == "ade"
    assert taskyard("migrate", "apply", "--preset", "loki").status == 2
