"""Claim and extend, as the words that their scripts take; what these do is in `claim.lua` and `extend.lua`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from taskyard.core.changes import Beat
from taskyard.core.claiming import ClaimPlan
from taskyard.core.codec import decode_definition
from taskyard.core.priority import aged
from taskyard.core.task import Trait
from taskyard.core.transitions import told_of_claim
from taskyard.core.units import utc_date
from taskyard.stores.contract import Claimed, Extended, Stale
from taskyard.stores.redis import rows
from taskyard.stores.redis.rows import Reply, Word, optional

Hints = Sequence[Sequence[str]]  # for each lane of a plan, those this process was woken by


def claim_words(plan: ClaimPlan, hints: Hints) -> list[Word]:
    words: list[Word] = [
        *(plan.workspace, plan.epoch, plan.agent, optional(plan.runtime), plan.slots),
        *(optional(plan.agent_money), optional(plan.day_money), plan.default_reserve, int(plan.start)),
        *(optional(plan.claim_ttl), plan.now, f"day:{utc_date(plan.now)}"),
        *told_of_claim(plan.agent, plan.runtime, started=True),
        *told_of_claim(plan.agent, plan.runtime, started=False),
        *(int(Trait.KEY_WHILE_WAITING), len(plan.leases), *plan.leases, len(plan.lanes)),
    ]
    for lane, own in zip(plan.lanes, hints, strict=True):
        words += (lane.id, aged(lane.boost, plan.now), lane.floor, lane.circuit, optional(lane.probe), len(own), *own)
    return words


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
