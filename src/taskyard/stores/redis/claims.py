"""Claim and extend, as the words that their scripts take; what these do is in `claim.lua` and `extend.lua`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from taskyard.core import transitions
from taskyard.core.changes import Beat
from taskyard.core.claiming import ClaimPlan
from taskyard.core.codec import decode_definition
from taskyard.core.priority import aged
from taskyard.core.task import AgentId, RuntimeId, Trait
from taskyard.core.units import Micros, MicroUsd, utc_date
from taskyard.stores.contract import Claimed, Extended, Stale
from taskyard.stores.redis import rows
from taskyard.stores.redis.rows import Reply, Word, optional

Hints = Sequence[Sequence[str]]  # for each lane of a plan, those this process was woken by


def claim_words(plan: ClaimPlan, hints: Hints) -> list[Word]:
    words: list[Word] = [
        *(plan.workspace, plan.epoch, plan.agent, optional(plan.runtime), plan.slots),
        *(optional(plan.agent_money), optional(plan.day_money), plan.default_reserve, int(plan.start)),
        *(optional(plan.claim_ttl), plan.now, f"day:{utc_date(plan.now)}"),
        *(*_said(plan.agent, plan.runtime, start=True), *_said(plan.agent, plan.runtime, start=False)),
        *(int(Trait.KEY_WHILE_WAITING), len(plan.leases), *plan.leases, len(plan.lanes)),
    ]
    for lane, own in zip(plan.lanes, hints, strict=True):
        words += (lane.id, aged(lane.boost, plan.now), lane.floor, lane.circuit, optional(lane.probe), len(own), *own)
    return words


@lru_cache(maxsize=256)
def _said(agent: AgentId, runtime: RuntimeId | None, *, start: bool) -> tuple[str, str]:
    """What the core's event of a claim says, but for how long the task waited: what stands before that and behind."""
    claim = transitions.claim(
        rows.A_READY_ROW,
        agent=agent,
        runtime=runtime,
        lease="",
        circuit=0,
        reserved=MicroUsd(0),
        start=start,
        now=Micros(_WAITED),
    )
    before, waited, after = (claim.event.data or "").partition(f'"waited":{_WAITED}')
    return before + waited.removesuffix(str(_WAITED)), after


_WAITED = 123_456_789


def claimed(reply: Reply) -> Claimed | Stale:
    if reply[0] == "stale":
        return Stale(int(reply[1]))
    return Claimed(tuple(rows.hots(reply[3::2])), reply[2], tuple(map(decode_definition, reply[4::2])))


def beat_words(beats: Sequence[Beat]) -> Iterator[Word]:
    yield len(beats)
    for beat in beats:
        yield from (beat.task_id, beat.lease, optional(beat.workspace), optional(beat.progress))
        yield from (optional(beat.cost), optional(beat.tokens_in), optional(beat.tokens_out))


def extended(reply: Reply) -> list[Extended]:
    return [Extended(rows.hot(row) if row else None, accepted == "1") for accepted, row in reply]
