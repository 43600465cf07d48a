"""Notifications from a shell."""

from tests.cli.conftest import Command, given_an_empty_yard

SLACK = "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ"


def test_a_webhook_is_added_and_its_secret_shown_this_once(taskyard: Command) -> None:
    made = taskyard(
        "notify", "add", "ops", "https://example.org/hook?key=s3cr3t", "--on", "dead_letter", "--type", "code", "--json"
    ).json

    listed = taskyard("notify", "ls", "--json")

    assert made["secret"].startswith("whsec_")
    assert made["target"] == "https://example.org/***"
    assert listed.json == [{name: value for name, value in made.items() if name != "secret"}]
    for shown in (listed.out, taskyard("notify", "ls").out, taskyard("events", "--json").out):
        assert "s3cr3t" not in shown
        assert made["secret"] not in shown


def test_the_tokens_of_a_chat_service_are_not_shown(taskyard: Command) -> None:
    added = taskyard("notify", "add", "chat", SLACK, "--on", "approval_wanted", "--on", "dag_failed")

    assert "chat tells slack://***" in added.out
    assert (
        "TIiajkdnlazkcOXrIdevi7FQ"
        not in added.out + taskyard("notify", "ls").out + taskyard("notify", "ls", "--json").out
    )
    assert taskyard("notify", "rm", "chat").status == 0
    assert taskyard("notify", "ls").out == "nobody is notified of anything\n"


def test_what_cannot_be_reported_is_refused(taskyard: Command) -> None:
    assert taskyard("notify", "add", "ops", "http://169.254.169.254/", "--on", "dead_letter").status == 2
    assert taskyard("notify", "add", "ops", "https://example.org/", "--on", "everything").status == 2
    assert taskyard("notify", "test", "nobody").status == 3


def test_nothing_is_on_its_way_at_first(taskyard: Command) -> None:
    given_an_empty_yard(taskyard)

    assert taskyard("notify", "waiting").out == "none\n"
    assert taskyard("notify", "parked", "--json").json == []
    assert taskyard("notify", "resend", "1.ops").status == 3
    assert taskyard("notify", "dismiss", "1.ops").status == 3
