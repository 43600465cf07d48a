"""The names of blockers, ceilings and counters. They are made here and taken apart here, and nowhere else.

A store keeps each name as one text, `KIND:REST`. Of a kind with two parts, REST is divided where its form says.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from taskyard.core.task import DagId, TaskId


class BlockerKind(StrEnum):
    """What a pending task waits for."""

    TASK = "task"  # task:ID goes when that task completes
    CHILD = "child"  # child:ID goes when that task ends, however it ends: its parent resumes
    SIGNAL = "signal"  # signal:NAME
    TIME = "time"
    KEY = "key"  # key:KEY, a concurrency key
    BUDGET = "budget"  # budget:day, or budget:dag:ID
    BATCH = "batch"  # batch:ID, the task that sends a provider batch; goes when that has an answer for it, or ends


class BlockerName(NamedTuple):
    kind: BlockerKind | None  # None: of a release that this one does not know
    rest: str

    @property
    def task_id(self) -> TaskId | None:
        """The task whose end removes the blocker; None where something else does."""
        return TaskId(self.rest) if self.kind in (BlockerKind.TASK, BlockerKind.CHILD) else None

    @property
    def dag_id(self) -> DagId | None:
        """The DAG whose money the task waits for."""
        is_dag = self.kind is BlockerKind.BUDGET and self.rest.startswith(_DAG)
        return DagId(self.rest[len(_DAG) :]) if is_dag else None


class CeilingKind(StrEnum):
    """What bounds how many attempts run, or what they may spend."""

    KEY = "key"  # key:KEY admits one task
    PROBE = "probe"  # probe:TYPE:GENERATION admits one attempt through an open breaker
    DAG = "dag"  # dag:ID, money
    DAY = "day"  # day:DATE, money
    SLOTS = "slots"  # slots:AGENT
    TYPE_SLOTS = "type-slots"  # type-slots:TYPE, of all agents of the type together
    AGENT = "agent"  # agent:ID, money
    TYPE = "type"  # money, as type:TYPE
    TYPE_DAY = "type-day"  # type-day:DATE:TYPE, money
    TYPE_MONTH = "type-month"  # type-month:MONTH:TYPE, money


class CeilingName(NamedTuple):
    kind: CeilingKind | None
    rest: str


class CounterKind(StrEnum):
    DAG = "dag"  # dag:ID:WORD, how many tasks of the DAG are in a group of states
    BREAKER = "breaker"  # breaker:TYPE:GENERATION, failures in a row


class CounterName(NamedTuple):
    kind: CounterKind | None
    of: str  # the DAG or the type
    part: str  # the word or the generation


_BLOCKERS = {kind.value: kind for kind in BlockerKind}
_CEILINGS = {kind.value: kind for kind in CeilingKind}
_COUNTERS = {kind.value: kind for kind in CounterKind}
_DAG = f"{CeilingKind.DAG.value}:"
# A ceiling of one agent or of one type keeps only them from a task, so no task is parked on it. A probe ends soon.
_OWN = tuple(
    f"{kind.value}:"
    for kind in (
        *(CeilingKind.SLOTS, CeilingKind.AGENT, CeilingKind.TYPE, CeilingKind.TYPE_SLOTS),
        *(CeilingKind.TYPE_DAY, CeilingKind.TYPE_MONTH, CeilingKind.PROBE),
    )
)
_SLOTS = (f"{CeilingKind.SLOTS.value}:", f"{CeilingKind.TYPE_SLOTS.value}:")
_SINGLE = (f"{CeilingKind.KEY.value}:", f"{CeilingKind.PROBE.value}:")

TIME_BLOCKER = BlockerKind.TIME.value
DAY_BLOCKER = "budget:day"  # whichever day the ceiling was met on: the next day removes it


def task_blocker(task_id: str) -> str:
    return f"task:{task_id}"


def child_blocker(task_id: str) -> str:
    return f"child:{task_id}"


def signal_blocker(name: str) -> str:
    return f"signal:{name}"


def batch_blocker(task_id: str) -> str:
    return f"batch:{task_id}"


def budget_blocker(ceiling: str) -> str:
    return f"budget:{ceiling}"


def blocker_name(text: str) -> BlockerName:
    kind, _, rest = text.partition(":")
    return BlockerName(_BLOCKERS.get(kind), rest)


def is_signal(blocker: str) -> bool:
    return blocker.startswith("signal:")


def ends_with_time(blocker: str) -> bool:
    """Whether the time of a wait ends the wait for this: for a signal, or for the answer of a provider batch."""
    return blocker.startswith(("signal:", "batch:"))


def key_ceiling(key: str) -> str:
    """The ceiling of a concurrency key, which is also the blocker of the tasks that wait for it."""
    return f"key:{key}"


def probe_ceiling(type_: str, generation: int) -> str:
    return f"probe:{type_}:{generation}"


def dag_ceiling(dag_id: str) -> str:
    return f"dag:{dag_id}"


def day_ceiling(date: str) -> str:
    return f"day:{date}"


def slots_ceiling(agent: str | None) -> str:
    return f"slots:{agent}"


def type_slots_ceiling(agent_type: str | None) -> str:
    return f"type-slots:{agent_type}"


def agent_ceiling(agent: str) -> str:
    return f"agent:{agent}"


def type_ceiling(agent_type: str) -> str:
    return f"type:{agent_type}"


def type_day_ceiling(agent_type: str, date: str) -> str:
    return f"type-day:{date}:{agent_type}"


def type_month_ceiling(agent_type: str, date: str) -> str:
    return f"type-month:{date[:7]}:{agent_type}"


def ceiling_kind(text: str) -> CeilingKind | None:
    return _CEILINGS.get(text.partition(":")[0])


def ceiling_name(text: str) -> CeilingName:
    kind, _, rest = text.partition(":")
    return CeilingName(_CEILINGS.get(kind), rest)


def is_own_ceiling(ceiling: str) -> bool:
    """Whether the ceiling keeps claimers away with no task parked on it: who waits is woken when it gets room."""
    return ceiling.startswith(_OWN)


def is_slots_ceiling(ceiling: str) -> bool:
    """Whether its row stays when nothing is held: it is wanted again at once."""
    return ceiling.startswith(_SLOTS)


def admits_one(ceiling: str) -> bool:
    """Whether the ceiling is one task, without anybody having set it."""
    return ceiling.startswith(_SINGLE)


def blocker_for(ceiling: str) -> str | None:
    """The blocker of tasks that wait for room under the ceiling; None where no task waits for it."""
    match ceiling_kind(ceiling):
        case CeilingKind.KEY:
            return ceiling
        case CeilingKind.DAY:
            return DAY_BLOCKER
        case CeilingKind.DAG:
            return budget_blocker(ceiling)
        case _:
            return None


def dag_counter(dag_id: str, word: str) -> str:
    return f"dag:{dag_id}:{word}"


def is_of_dag(counter: str, dag_id: str) -> bool:
    return counter.startswith(f"dag:{dag_id}:")


def breaker_counter(type_: str, generation: int) -> str:
    """The counter of consecutive counted failures of a type in one generation of its breaker."""
    return f"breaker:{type_}:{generation}"


def counter_name(text: str) -> CounterName:
    kind, _, rest = text.partition(":")
    of, _, part = rest.rpartition(":")
    return CounterName(_COUNTERS.get(kind), of, part)
