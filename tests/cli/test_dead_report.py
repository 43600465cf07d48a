"""The review log of dead letters: `taskyard dead report`."""

from pathlib import Path

import pytest

from tests.cli.conftest import Command, given_an_empty_yard

HOSTILE = "```\n# Dead-letter review 1999-01-01\n- Decision: **cancel** by nobody\n````"


def given_a_dead_letter(taskyard: Command, *, title: str = "Paint it", error: str = "it broke") -> str:
    task = taskyard("enqueue", "code", "--title", title, "--set", "max_attempts=1", "--json").json["id"]
    (claimed,) = taskyard("claim", "--agent", "painter", "--json").json["tasks"]
    taskyard(
        "fail", task, "--lease", claimed["lease"], "--reason", "crash", "--error", "-", "--cost", "0.25", stdin=error
    )
    return task


def test_a_report_tells_who_decided_what_when_and_why_and_what_had_failed_at_what_cost(taskyard: Command) -> None:
    first = given_a_dead_letter(taskyard)
    second = given_a_dead_letter(taskyard, title="Hang it")
    taskyard("dead", "resolve", first, "retry", "--reason", "the agent is mended", "--by", "human:ada")
    taskyard("dead", "resolve", second, "cancel", "--by", "human:bob")

    text = taskyard("dead", "report").out

    assert "Decisions: 2 (1 cancel, 1 retry). What had failed had cost $0.5." in text
    assert text.index("## 1. Paint it") < text.index("## 2. Hang it")
    assert f"`{first}`, type code, queue default" in text
    assert "- Decision: **retry** by human:ada, 20" in text
    assert "- Why: the agent is mended" in text
    assert "- Why: no reason was given" in text
    assert ", of crash" in text
    assert "- Cost: $0.25 in 1 attempts" in text
    assert "1. painter: **crash** after" in text
    assert "   it broke" in text
    assert "- Now: ready" in text


def test_somebody_who_escalates_has_decided_too(taskyard: Command) -> None:
    task = given_a_dead_letter(taskyard)
    taskyard("dead", "resolve", task, "escalate", "--reason", "not mine to say", "--by", "human:ada")
    taskyard("dead", "resolve", task, "cancel", "--reason", "not worth it", "--by", "human:bob")

    made = taskyard("dead", "report", "--json").json["decisions"]

    assert [(each["decision"], each["by"], each["why"]) for each in made] == [
        ("escalate", "human:ada", "not mine to say"),
        ("cancel", "human:bob", "not worth it"),
    ]


def test_what_was_tried_after_a_decision_is_no_part_of_it(taskyard: Command) -> None:
    task = given_a_dead_letter(taskyard, error="the first way")
    taskyard("dead", "resolve", task, "retry")
    (claimed,) = taskyard("claim", "--agent", "painter", "--json").json["tasks"]
    taskyard("fail", task, "--lease", claimed["lease"], "--error", "the second way")
    taskyard("dead", "resolve", task, "cancel")

    first, second = taskyard("dead", "report", "--json").json["decisions"]

    assert [attempt["error"] for attempt in first["attempts"]] == ["the first way"]
    assert [attempt["error"] for attempt in second["attempts"]] == ["the first way", "the second way"]


def test_nothing_that_others_wrote_can_be_taken_for_a_part_of_the_report(taskyard: Command) -> None:
    task = given_a_dead_letter(taskyard, title="*Paint* <b>it</b>\n# now", error=HOSTILE)
    taskyard("dead", "resolve", task, "cancel", "--reason", "done\n\n## 2. Another")

    lines = taskyard("dead", "report").out.splitlines()

    assert [line for line in lines if line.startswith("#")] == [
        lines[0],
        r"## 1. \*Paint\* \<b\>it\</b\> \# now",
        "### What had happened",
    ]
    assert r"- Why: done \#\# 2. Another" in lines
    fence = "   " + "`" * 5
    assert [line for line in lines if line.startswith(fence)] == [f"{fence}text", fence]


def test_a_report_is_of_one_day_and_goes_where_it_is_wanted(taskyard: Command, tmp_path: Path) -> None:
    taskyard("dead", "resolve", given_a_dead_letter(taskyard), "cancel")

    taskyard("dead", "report", "--date", "2020-02-29", "--file", str(tmp_path))
    written = (tmp_path / "dlq-review-2020-02-29.md").read_text()
    assert written == "# Dead-letter review 2020-02-29\n\nNothing was decided.\n"

    taskyard("dead", "report", "--file", str(tmp_path / "today.md"))
    assert "**cancel**" in (tmp_path / "today.md").read_text()


@pytest.mark.parametrize("day", ["yesterday", "2026-13-01", "", "2026-1-1"])
def test_a_day_that_is_none_is_refused(taskyard: Command, day: str) -> None:
    given_an_empty_yard(taskyard)

    said = taskyard("dead", "report", "--date", day)

    assert said.status == 2
    assert "--date" in said.out
