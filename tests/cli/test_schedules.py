"""Schedules, triggers and hooks from a shell."""

from pathlib import Path

from tests.cli.conftest import Command, given_an_empty_yard


def test_a_schedule_is_added_in_plain_words_shown_and_run(taskyard: Command) -> None:
    said = taskyard(
        "schedules", "add", "audit", "every Monday at 09:00 Europe/Berlin", "--type", "audit", "--prompt", "Go"
    )
    assert "audit: next at 20" in said.out

    [listed] = taskyard("schedules", "ls", "--json").json
    assert (listed["cron"], listed["timezone"]) == ("0 9 * * 1", "Europe/Berlin")
    assert listed["template"] == {"task": {"type": "audit", "prompt": "Go"}}
    ran = taskyard("schedules", "run", "audit", "--json").json
    assert [task["id"] for task in taskyard("ls", "--json").json] == [ran["task_id"]]
    shown = taskyard("schedules", "show", "audit").out
    assert "every Monday at 09:00 Europe/Berlin" in shown
    assert "run by human:local" in shown
    assert "every Monday at 09:00" in taskyard("schedules", "ls").out


def test_a_schedule_is_paused_resumed_and_removed(taskyard: Command) -> None:
    taskyard("schedules", "add", "audit", "30 2 * * *", "--task", '{"type": "audit", "priority": 20}')
    taskyard("schedules", "pause", "audit")
    assert "paused" in taskyard("schedules", "ls").out
    taskyard("schedules", "resume", "audit")
    assert taskyard("schedules", "show", "audit", "--json").json["next_times"]
    taskyard("schedules", "rm", "audit")

    assert "no schedules" in taskyard("schedules", "ls").out
    assert taskyard("schedules", "show", "audit").status == 3


def test_a_schedule_makes_the_graph_of_a_file(taskyard: Command, tmp_path: Path) -> None:
    (tmp_path / "dag.yaml").write_text("title: Report of {{ fire.date }}\ntasks:\n  - {type: fetch, name: a}\n")
    taskyard("schedules", "add", "report", "daily at 6am", "--dag", "dag.yaml")
    ran = taskyard("schedules", "run", "report", "--json").json

    assert ran["dag_id"].startswith("dag_")
    assert "DAG Report of" in taskyard("schedules", "ls").out


def test_words_that_are_not_understood_are_refused_with_examples(taskyard: Command) -> None:
    said = taskyard("schedules", "add", "audit", "now and then", "--type", "audit")

    assert said.status == 2
    assert "every day at 02:30" in said.out


def test_a_hook_shows_its_secret_once(taskyard: Command) -> None:
    added = taskyard("hooks", "add", "deploys", "--type", "check", "--prompt", "{{ body.service }}", "--json").json
    assert added["secret"].startswith("whsec_")
    assert added["secret"] not in taskyard("hooks", "ls", "--json").out + taskyard("hooks", "show", "deploys").out

    rotated = taskyard("hooks", "rotate", "deploys", "--grace", "60", "--json").json
    assert rotated["secret"] != added["secret"]
    taskyard("hooks", "rm", "deploys")
    assert "no hooks" in taskyard("hooks", "ls").out


def test_triggers_are_added_tried_fired_and_looked_at(taskyard: Command) -> None:
    taskyard("triggers", "add", "dag", "report", "--tag", "etl", "--type", "report")
    taskyard(
        "triggers",
        "add",
        "files",
        "inbox",
        "in",
        "--pattern",
        "*.csv",
        "--task",
        '{"type": "read", "prompt": "{{ file.path }}"}',
    )
    taskyard("triggers", "add", "rule", "friction", "--above", "0.4", "--of-type", "code", "--type", "mend")
    assert [each["source"] for each in taskyard("triggers", "ls", "--json").json] == ["rule", "files", "dag"]

    tried = taskyard("triggers", "fire", "inbox", "--dry-run", "--json").json
    fired = taskyard("triggers", "fire", "inbox", "--data", '{"file": {"path": "a.csv"}}', "--key", "a", "--json").json
    assert (tried["outcome"], fired["outcome"]) == ("failed", "fired")
    shown = taskyard("triggers", "show", "inbox").out
    assert "fired by human:local" in shown
    assert "over 0 attempts" in taskyard("triggers", "show", "friction").out

    taskyard("triggers", "pause", "inbox")
    assert "paused" in taskyard("triggers", "ls").out
    taskyard("triggers", "resume", "inbox")
    taskyard("triggers", "rm", "inbox")
    assert taskyard("triggers", "show", "inbox").status == 3


def test_a_pull_request_hook_is_ready_made(taskyard: Command) -> None:
    added = taskyard("hooks", "add", "prs", "--github", "--ready-made", "pull-request-opened", "--json").json

    assert added["trigger"]["settings"] == {"scheme": "github"}
    assert added["trigger"]["template"]["task"]["type"] == "review"


def test_what_must_be_an_object_is_refused_with_its_option(taskyard: Command):
    given_an_empty_yard(taskyard)

    refused = taskyard("triggers", "fire", "inbox", "--data", "5")

    assert (refused.status, refused.out) == (2, "Correct data: must be a JSON object. Nothing was stored.")
