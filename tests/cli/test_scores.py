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


def test_a_value_below_zero_needs_no_more_than_its_sign(taskyard: Command) -> None:
    task = taskyard("enqueue", "code", "--json").json["id"]

    assert taskyard("scores", "add", task, "style", "-0.5", "--note", "worse").status == 0
    assert [each["value"] for each in taskyard("scores", "ls", task, "--json").json] == [-0.5]
    assert taskyard("scores", "add", task, "style", "--nonsense").status == 2


def test_a_report_has_its_numbers_whole_on_a_small_screen(screen: Command) -> None:
    for variant, cost in (("plain", "0.123456"), ("careful", "0.234567"), ("plain", "0.3"), ("careful", "0.4")):
        screen("enqueue", "code", "--set", f'variant="{variant}"')
        (held,) = screen("claim", "--agent", "me", "--json").json["tasks"]
        screen("complete", held["id"], "--lease", held["lease"], "--output", "1", "--cost", cost)

    shown = screen("scores", "report", "code")

    assert shown.status == 0
    for whole in (
        "2 of 2",
        "1 (0.342 to 1)",
        "0.423456",
        "0.634567",
        "0.212 (-0.91 to 1.33)",
        "p95 s",
        "failed attempts",
    ):
        assert whole in shown.out, shown.out
