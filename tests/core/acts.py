"""Everything that can be done to a task, by name."""

from collections.abc import Callable, Mapping

from taskyard.core import transitions
from taskyard.core.changes import Beat, Change
from taskyard.core.task import DagId, Hot, Status
from taskyard.core.units import MicroUsd
from tests.core.defining import NOW
from tests.core.rows import ADA, later, retrying

LATER = later(10)


def created(hot: Hot, status: Status) -> Change:
    transitions.allow(hot, "create")
    after = hot._replace(status=status)
    return Change(hot, after, transitions.created_event(after, "human:adam", "code"))


def beaten(hot: Hot) -> Hot:
    return transitions.beat(hot, Beat(hot.id, hot.lease or ""), now=NOW)


def claim(hot: Hot, *, start: bool) -> Change:
    return transitions.claim(
        hot, agent=ADA, runtime=None, lease="stem", circuit=0, reserved=MicroUsd(0), start=start, now=NOW
    )


def bury(hot: Hot) -> Change:
    return transitions.bury(hot, reason="crash", error="", counted=True, poison=False, now=NOW)


Act = Callable[[Hot], Change | Hot | None]

# What can be done to a task. A verb that may end in two ways is here once for each.
ACTS: Mapping[str, Act] = {
    "create": lambda hot: created(hot, Status.READY),
    "create, blocked": lambda hot: created(hot, Status.PENDING),
    "ready": lambda hot: transitions.ready(hot, now=NOW),
    "park": lambda hot: transitions.park(hot, blocker="key:k", now=NOW),
    "claim": lambda hot: claim(hot, start=False),
    "claim, at once": lambda hot: claim(hot, start=True),
    "start": lambda hot: transitions.start(hot, now=NOW),
    "beat": beaten,
    "complete": lambda hot: transitions.complete(hot, validated=False, now=NOW),
    "submit": lambda hot: transitions.submit(hot, now=NOW),
    "approve": lambda hot: transitions.approve(hot, now=NOW),
    "retry": lambda hot: retrying(hot, wake_at=LATER),
    "retry, at once": lambda hot: retrying(hot, wake_at=NOW),
    "bury": bury,
    "promote": lambda hot: transitions.promote(hot, now=NOW),
    "release": lambda hot: transitions.release(hot, now=NOW),
    "suspend": lambda hot: transitions.suspend(hot, blockers=["signal:go"], wake_at=None, now=NOW),
    "cancel": lambda hot: transitions.cancel(hot, reason="not wanted", now=NOW),
    "revive": lambda hot: transitions.revive(hot, resolution="retry", by="human:adam", lane=hot.lane, now=NOW),
    "revive, later": lambda hot: transitions.revive(
        hot, resolution="modify_and_retry", by="human:adam", lane=hot.lane, now=NOW, run_after=LATER
    ),
    "escalate": lambda hot: transitions.escalate(hot, by="human:adam", note="", now=NOW),
    "signal": lambda hot: transitions.signal(hot, name="go", by="human:adam", now=NOW),
    "adopt": lambda hot: transitions.adopt(hot, dag_id=DagId("dag_1"), now=NOW),
    "need": lambda hot: transitions.need(hot, now=NOW),
    "reprioritise": lambda hot: transitions.reprioritise(hot, priority=1, rank=1, by="human:adam", now=NOW),
    "relane": lambda hot: transitions.relane(hot, lane=hot.lane, now=NOW),
    "step": lambda hot: transitions.step(
        hot,
        own={"step": "plan"},
        totals={"spent": 7, "tokens_in": 1, "tokens_out": 2, "tokens_cached": "[1,0]"},
        now=NOW,
    ),
    "pin": lambda hot: transitions.pin(hot, session="{}", now=NOW),
    "file": lambda hot: transitions.file(hot, artifact="art_1", name="report.md", now=NOW),
}


def verb_of(act: str) -> str:
    return act.partition(",")[0]
