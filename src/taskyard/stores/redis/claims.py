"""Claim and extend, as the words that their scripts take; what these do is in `claim.lua` and `extend.lua`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from taskyard.core.changes import Beat
from taskyard.core.claiming import ClaimPlan, ceilings_of, money_of, own_money, slots_of
from taskyard.core.priority import aged
from taskyard.core.task import Trait
from taskyard.core.transitions import told_of_claim
from taskyard.definition.codec import decode_definition
from taskyard.stores.contract import Claimed, Extended, Stale
from taskyard.stores.redis import encoding
from taskyard.stores.redis.encoding import Reply, Word, optional

Hints = Sequence[Sequence[str]]  # for each lane of a plan, those this process was woken by


def claim_words(plan: ClaimPlan, hints: Hints) -> list[Word]:
    planned = ceilings_of(plan)
    money = money_of(plan.agent, plan.agent_type, plan.now)
    own = [name for name in own_money(plan) if planned[name] is not None]
    words: list[Word] = [
        *(plan.workspace, plan.epoch, plan.agent, plan.agent_type, int(plan.type_slots is not None)),
        *(optional(plan.runtime), plan.default_reserve, int(plan.start), optional(plan.claim_ttl), plan.now),
        *_counted(slots_of(plan)),
        *_counted(money),
        *_counted(own),
        *told_of_claim(plan.agent, plan.runtime, started=True),
        *told_of_claim(plan.agent, plan.runtime, started=False),
        *(int(Trait.KEY_WHILE_WAITING), *_counted(plan.leases), len(planned)),
        *(word for name, ceiling in planned.items() for word in (name, optional(ceiling))),
        len(plan.lanes),
    ]
    for lane, heard in zip(plan.lanes, hints, strict=True):
        words += (lane.id, aged(lane.boost, plan.now), lane.floor, lane.circuit, optional(lane.probe), *_counted(heard))
    return words


def _counted(names: Sequence[str]) -> list[Word]:
    return [len(names), *names]


def claimed(reply: Reply) -> Claimed | Stale:
    if reply[0] == "stale":
        return Stale(int(reply[1]))
    return Claimed(tuple(encoding.hots(reply[3::2])), reply[2], tuple(map(decode_definition, reply[4::2])))


def beat_words(beats: Sequence[Beat]) -> Iterator[Word]:
    yield len(beats)
    for beat in beats:
        yield from (beat.task_id, beat.lease, optional(beat.workspace), optional(beat.progress))
        yield from (optional(beat.cost), optional(beat.tokens_in), optional(beat.tokens_out))


def extended(reply: Reply) -> list[Extended]:
    return [Extended(encoding.hot(row) if row else None, accepted == "1") for accepted, row in reply]
