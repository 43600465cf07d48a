"""Schedules, triggers and fires as the yard answers with them, and as they cross a wire."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from taskyard.core.errors import InvalidInput
from taskyard.core.units import SECOND, Micros, from_iso, to_iso
from taskyard.features.schedules.rules import Busy, Gap, Misfire, Overlap, Schedule, Timing
from taskyard.features.sources.fires import Fire, Outcome
from taskyard.features.triggers.rules import Source, Trigger
from taskyard.wire.documents import Document

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", re.ASCII)


def source_id(field: str, value: object) -> str:
    """What a schedule, a trigger or a hook is called: it stands in paths and in the ids of fires."""
    if not isinstance(value, str) or not _ID.fullmatch(value):
        raise InvalidInput(field, "must be at most 100 letters, digits, dots, hyphens and underscores")
    return value


class ScheduleView(NamedTuple):
    schedule: Schedule
    next_times: tuple[Micros, ...] = ()
    fires: tuple[Fire, ...] = ()  # latest first


class Watched(NamedTuple):
    """How a rule stands: the mean of the attempts it has seen since it last fired."""

    mean: float | None
    attempts: int
    quiet_until: Micros | None  # it has fired, and is not to fire again before then


class TriggerView(NamedTuple):
    trigger: Trigger
    fires: tuple[Fire, ...] = ()  # latest first
    watched: Watched | None = None  # of a rule
    passed_over: str | None = None  # the last thing that came and was none of its business, and why


class AddedTrigger(NamedTuple):
    """A trigger that was just made. The secret of a hook is shown this once."""

    view: TriggerView
    secret: str | None


# As documents


def schedule(answer: ScheduleView) -> Document:
    it, timing = answer.schedule, answer.schedule.timing
    return {
        "id": it.id,
        "when": timing.said,
        "cron": timing.cron,
        "every_sec": None if timing.every is None else timing.every / SECOND,
        "timezone": timing.zone,
        "gap": timing.gap.value,
        "overlap": timing.overlap.value,
        "starts_at": to_iso(timing.starts_at),
        "ends_at": _time(timing.ends_at),
        "template": dict(it.template),
        "misfire": it.misfire.value,
        "misfire_window_sec": it.window / SECOND,
        "busy": it.busy.value,
        "paused": it.paused,
        "created_at": to_iso(it.created_at),
        "created_by": it.created_by,
        "seen": to_iso(it.seen),
        "next_at": _time(it.next_at),
        "last_run": it.last_run,
        "next_times": [to_iso(each) for each in answer.next_times],
        "fires": [fire(each) for each in answer.fires],
    }


def fire(answer: Fire) -> Document:
    return {
        "source": answer.source,
        "key": answer.key,
        "outcome": answer.outcome.value,
        "why": answer.why,
        "at": to_iso(answer.at),
        "nominal": _time(answer.nominal),
        "task_id": answer.task_id,
        "dag_id": answer.dag_id,
        "chain": answer.chain,
    }


def trigger(answer: TriggerView) -> Document:
    it, watched = answer.trigger, answer.watched
    return {
        "id": it.id,
        "source": it.source.value,
        "settings": dict(it.settings),
        "only": dict(it.only),
        "template": dict(it.template),
        "paused": it.paused,
        "path": it.path,
        "created_at": to_iso(it.created_at),
        "created_by": it.created_by,
        "watched": None
        if watched is None
        else {"mean": watched.mean, "attempts": watched.attempts, "quiet_until": _time(watched.quiet_until)},
        "passed_over": answer.passed_over,
        "fires": [fire(each) for each in answer.fires],
    }


def _time(at: Micros | None) -> str | None:
    return None if at is None else to_iso(at)


# And back


def read_schedule(document: Mapping[str, Any]) -> ScheduleView:
    timing = Timing(
        said=document["when"],
        cron=document["cron"],
        every=_micros(document["every_sec"]),
        zone=document["timezone"],
        gap=Gap(document["gap"]),
        overlap=Overlap(document["overlap"]),
        starts_at=from_iso(document["starts_at"]),
        ends_at=_moment(document["ends_at"]),
    )
    schedule = Schedule(
        id=document["id"],
        timing=timing,
        template=document["template"],
        misfire=Misfire(document["misfire"]),
        window=Micros(round(document["misfire_window_sec"] * SECOND)),
        busy=Busy(document["busy"]),
        created_at=from_iso(document["created_at"]),
        created_by=document["created_by"],
        seen=from_iso(document["seen"]),
        next_at=_moment(document["next_at"]),
        paused=document["paused"],
        last_run=document["last_run"],
    )
    upcoming = tuple(from_iso(each) for each in document["next_times"])
    return ScheduleView(schedule, upcoming, tuple(read_fire(each) for each in document["fires"]))


def read_fire(document: Mapping[str, Any]) -> Fire:
    return Fire(
        **{name: document[name] for name in ("source", "key", "why", "task_id", "dag_id", "chain")},
        outcome=Outcome(document["outcome"]),
        at=from_iso(document["at"]),
        nominal=_moment(document["nominal"]),
    )


def read_trigger(document: Mapping[str, Any]) -> TriggerView:
    plain = ("id", "settings", "only", "template", "paused", "path", "created_by")
    found = Trigger(
        **{name: document[name] for name in plain},
        source=Source(document["source"]),
        created_at=from_iso(document["created_at"]),
    )
    fires = tuple(read_fire(each) for each in document["fires"])
    return TriggerView(found, fires, _read_watched(document["watched"]), document["passed_over"])


def _read_watched(document: Mapping[str, Any] | None) -> Watched | None:
    if document is None:
        return None
    return Watched(document["mean"], document["attempts"], _moment(document["quiet_until"]))


def _moment(text: str | None) -> Micros | None:
    return None if text is None else from_iso(text)


def _micros(seconds: float | None) -> Micros | None:
    return None if seconds is None else Micros(round(seconds * SECOND))
