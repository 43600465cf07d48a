"""The arguments and answers of the scripts `claim.lua` and `extend.lua`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from taskyard.core.changes import Beat
from taskyard.core.claiming import ClaimPlan, ceilings_of, money_of, own_money, slots_of
from taskyard.core.priority import aged
from taskyard.core.task import Trait
from taskyard.core.transitions import claim_data
from taskyard.stores.contract import Claimed, Extended, Stale
from taskyard.stores.redis import encoding
from taskyard.stores.redis.encoding import Reply, Word, or_nul

_WIDTH = len(encoding.FIELDS) + 1  # of a task in the answer: its fields, and its definition
Hints = Sequence[Sequence[str]]  # for each lane of a plan, the hints that woke this process


def encode_claim(plan: ClaimPlan, hints: Hints) -> list[Word]:
    planned = ceilings_of(plan)
    money = money_of(plan.agent, plan.agent_type, plan.now)
    own = [name for name in own_money(plan) if planned[name] is not None]
    words: list[Word] = [
        *(plan.workspace, plan.epoch, plan.agent, plan.agent_type, int(plan.type_slots is not None)),
        *(or_nul(plan.runtime), plan.default_reserve, int(plan.start), or_nul(plan.claim_ttl), plan.now),
        *_with_length(slots_of(plan)),
        *_with_length(money),
        *_with_length(own),
        *claim_data(plan.agent, plan.runtime, started=True),
        *claim_data(plan.agent, plan.runtime, started=False),
        *(int(Trait.KEY_WHILE_WAITING), *_with_length(plan.leases), len(planned)),
        *(word for name, ceiling in planned.items() for word in (name, or_nul(ceiling))),
        len(plan.lanes),
    ]
    for lane, lane_hints in zip(plan.lanes, hints, strict=True):
        words += (
            lane.id,
            aged(lane.boost, plan.now),
            lane.floor,
            lane.circuit,
            or_nul(lane.probe),
            *_with_length(lane_hints),
        )
    return words


def _with_length(names: Sequence[str]) -> list[Word]:
    return [len(names), *names]


def decode_claim(reply: Reply) -> Claimed | Stale:
    if reply[0] == "stale":
        return Stale(int(reply[1]))
    rows = [reply[first : first + _WIDTH] for first in range(4, len(reply), _WIDTH)]
    definitions = (encoding.parse_definition(row, row[-1]) for row in rows)
    return Claimed(tuple(encoding.parse_hots(rows)), reply[2], tuple(definitions), bool(reply[3]))


def encode_heartbeats(beats: Sequence[Beat]) -> Iterator[Word]:
    yield len(beats)
    for beat in beats:
        yield from (beat.task_id, beat.lease, or_nul(beat.workspace), or_nul(beat.progress))
        yield from (or_nul(beat.cost), or_nul(beat.tokens_in), or_nul(beat.tokens_out), or_nul(beat.tokens_cached))


def decode_extended(reply: Reply) -> list[Extended]:
    return [Extended(encoding.parse_hot(row) if row else None, accepted == "1") for accepted, row in reply]
