"""Which notices go to which target, when a notification is tried again, and its text."""

from dataclasses import replace

import pytest

from taskyard.core.changes import Outbox, Record
from taskyard.core.errors import InvalidInput
from taskyard.core.notice import UNDELIVERED, Notice, delivery_delay
from taskyard.core.units import Micros
from taskyard.features.notifications import rules
from taskyard.features.notifications.rules import Notification, Notifier, Subject

NOTIFIER = Notifier(
    name="ops",
    events=(Notice.DEAD_LETTER,),
    types=(),
    queues=(),
    tags=(),
    target="https://user:secret@example.com/hook?key=secret",
    nonce="n",
    created_at=Micros(1),
    created_by="human:ana",
)
NOTIFICATION = Notification(
    id="7/ops",
    notifier="ops",
    notice=Notice.DEAD_LETTER,
    title="Dead letter: report",
    text="It is out of attempts.",
    task_id=None,
    dag_id=None,
    facts={"reason": "crash"},
    at=Micros(5),
)


def test_a_notifier_without_limits_wants_every_notice_of_its_events():
    assert NOTIFIER.wants(Notice.DEAD_LETTER, Subject())
    assert not NOTIFIER.wants(Notice.BREAKER_OPEN, Subject())


@pytest.mark.parametrize(
    ("subject", "is_wanted"),
    [
        (Subject("code", "main", ("a", "x")), True),
        (Subject("other", "main", ("a",)), False),
        (Subject("code", "other", ("a",)), False),
        (Subject("code", "main", ("x",)), False),
    ],
)
def test_types_queues_and_tags_limit_together(subject: Subject, is_wanted: bool):
    limited = replace(NOTIFIER, types=("code",), queues=("main",), tags=("a", "b"))

    assert limited.wants(Notice.DEAD_LETTER, subject) is is_wanted


@pytest.mark.parametrize(
    ("target", "shown"),
    [
        ("https://user:secret@example.com/hook?key=secret", "https://example.com/***"),
        ("slack://T1/B1/xyz", "slack://***"),
        ("mailto://ana:secret@example.com", "mailto://***"),
    ],
)
def test_a_target_is_shown_without_its_secrets(target: str, shown: str):
    assert rules.redacted(target) == shown
    assert "secret" not in repr(replace(NOTIFIER, target=target))


def test_what_is_stored_is_read_back():
    stored = Record("notifier", "main", "ops", 1, NOTIFIER.body())
    undelivered = Record(UNDELIVERED, "main", "7/ops", 1, NOTIFICATION.body())

    assert rules.notifier_of(stored) == NOTIFIER
    assert rules.notification_of(undelivered) == NOTIFICATION


def test_each_try_is_written_ahead_with_the_time_of_the_next():
    once = rules.tried(NOTIFICATION, Micros(100))

    assert (once.tries, once.next_at) == (1, 100 + delivery_delay(1))


def test_after_eight_tries_none_is_left():
    assert not rules.is_spent(replace(NOTIFICATION, tries=7))
    assert rules.is_spent(replace(NOTIFICATION, tries=8))


def test_events_are_named_once_and_a_test_is_none_of_them():
    assert rules.events_of(["dag_failed", "dead_letter", "dag_failed"]) == (Notice.DAG_FAILED, Notice.DEAD_LETTER)
    for words in ([], ["test"], ["dead"]):
        with pytest.raises(InvalidInput):
            rules.events_of(words)


def test_a_row_of_the_outbox_says_what_it_is_about():
    row = Outbox("main", "notice", None, '{"kind":"dead_letter","reason":"crash"}', Micros(1))

    assert rules.notice_of(row) == (Notice.DEAD_LETTER, {"reason": "crash"})


@pytest.mark.parametrize("notice", Notice)
def test_every_notice_has_a_text(notice: Notice):
    title, text = rules.text_of(notice, {"reason": "crash", "error": "boom", "signal": "go"}, about="the report")

    assert text
    assert notice is Notice.TEST or "the report" in title
