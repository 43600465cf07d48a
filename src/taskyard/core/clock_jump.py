"""What a clock that was set back does to times that are stored.

A store remembers the latest time that it gave out, its mark. The mark keeps time from going back by a little. A mark
that is far ahead of the clock was made by a clock that was wrong: the mark is given up, and what is stored relative to
it is cut to its own length, so that a lease or a delay lasts as long from now on as it was made for.
"""

from __future__ import annotations

from typing import TypedDict

from taskyard.core.changes import Record
from taskyard.core.json_value import Json
from taskyard.core.notice import UNDELIVERED, delivery_delay
from taskyard.core.record_kinds import THROTTLE, RecordKind
from taskyard.core.task import Hot, Status, next_due
from taskyard.core.units import SECOND, Micros

TOLERANCE = Micros(5 * SECOND)  # a mark that is ahead by more than this is given up


class _DeliveryBody(TypedDict):
    tries: int


_DELIVERY = RecordKind(UNDELIVERED, _DeliveryBody)
CUT_KINDS = ("breaker", "throttle", UNDELIVERED)  # the records that `cut_record` knows


def is_beyond(mark: Micros, clock: Micros) -> bool:
    """Whether the mark is so far ahead of the clock that it is given up."""
    return mark > clock + TOLERANCE


def time_of(mark: Micros, clock: Micros) -> Micros:
    """The time that counts: the clock's, or the mark while the clock has to catch up with it."""
    return clock if is_beyond(mark, clock) else max(mark, clock)


def is_due(next_at: Micros, now: Micros, until: Micros) -> bool:
    """Whether a duty may be taken from now `until`: also where its time is further away than a clock would set it."""
    return next_at <= now or is_beyond(next_at, until)


def cut(hot: Hot, *, run_after: Micros | None, now: Micros) -> Hot:
    """The row with no lease, time limit or delay that is longer than it was made for. Given moments stay."""
    if hot.status.is_held:
        after = _cut_attempt(hot, now)
    elif hot.wake_at is not None and hot.updated_at > now and hot.wake_at != run_after:
        after = hot._replace(wake_at=Micros(now + max(hot.wake_at - hot.updated_at, 0)))
    else:
        return hot
    return after._replace(due_at=next_due(after))


def _cut_attempt(hot: Hot, now: Micros) -> Hot:
    lease = hot.claim_ttl if hot.status is Status.CLAIMED and hot.claim_ttl else hot.lease_sec
    return hot._replace(
        lease_expires_at=_at_most(hot.lease_expires_at, now + lease * SECOND),
        limit_at=_at_most(hot.limit_at, now + (hot.run_sec or 0) * SECOND),
        started_at=_at_most(hot.started_at, now),
        heartbeat_at=_at_most(hot.heartbeat_at, now),
    )


def cut_record(record: Record, now: Micros) -> dict[str, Json] | None:
    """The body of a record whose window is longer than it was made for; None where it is not."""
    body = record.body
    match record.kind:
        case "throttle":
            field, most = "until", now + THROTTLE.of(record)["wait"] // 2
        case "breaker":
            field, most = "opened_at", now
        case _:
            field, most = "next_at", now + delivery_delay(_DELIVERY.of(record)["tries"])
    stored = body[field]
    return {**body, field: most} if isinstance(stored, int) and stored > most else None


def _at_most(at: Micros | None, most: int) -> Micros | None:
    return None if at is None else Micros(min(at, most))
