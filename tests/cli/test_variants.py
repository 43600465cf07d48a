"""Variants from a shell."""

from tests.cli.conftest import Command


def test_variants_are_set_listed_and_ended(taskyard: Command) -> None:
    given = taskyard("variants", "set", "code", '[{"name": "a", "share": 3}, {"name": "b", "prompt": "Be brief."}]')
    refused = taskyard("variants", "set", "code", '[{"name": "a", "colour": "red"}]')

    assert (given.status, "75%" in given.out, "Be brief." in given.out) == (0, True, True)
    assert (refused.status, "colour" in refused.out) == (2, True)
    assert [each["type"] for each in taskyard("variants", "ls", "--json").json] == ["code"]
    task = taskyard("enqueue", "code", "--json").json["id"]
    assert taskyard("show", task, "--json").json["variant"] in ("a", "b")
    assert taskyard("variants", "set", "code", "[]").status == 0
    assert "none" in taskyard("variants", "ls").out
