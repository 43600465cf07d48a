"""Scores from a shell."""

from tests.cli.conftest import Command


def test_a_score_is_given_listed_and_shown_with_its_task(taskyard: Command) -> None:
    task = taskyard("enqueue", "code", "--json").json["id"]
    given = taskyard("scores", "add", task, "style", "0.5", "--note", "long lines", "--by", "human:ann")
    refused = taskyard("scores", "add", task, "style", "nan")

    assert (given.status, refused.status, "value" in refused.out) == (0, 2, True)
    assert [each["value"] for each in taskyard("scores", "ls", task, "--json").json] == [0.5]
    shown = taskyard("show", task)
    assert ("style" in shown.out, "human:ann" in shown.out, "long lines" in shown.out) == (True, True, True)
    assert taskyard("show", task, "--json").json["scores"][0]["name"] == "style"


def test_a_report_compares_variants(taskyard: Command) -> None:
    for variant in ("a", "b"):
        task = taskyard("enqueue", "code", "--set", f'variant="{variant}"', "--json").json["id"]
        taskyard("scores", "add", task, "good", "0.5")

    shown = taskyard("scores", "report", "code")
    assert (shown.status, "b against a" in shown.out, "too few to say" in shown.out) == (0, True, True)
    assert [each["name"] for each in taskyard("scores", "report", "code", "--json").json["variants"]] == ["a", "b"]
    assert "none" in taskyard("scores", "report", "test").out
