"""Words for tests that tell stories about graphs: their shapes, and how they are worked off."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from taskyard.core.changes import Event
from taskyard.core.json_value import Json
from taskyard.core.task import Status
from taskyard.features.attempts.views import Receipt
from taskyard.features.dags.views import Dag
from taskyard.features.tasks.views import Held
from taskyard.yard import Yard
from tests.yards import OpenYard

Row = dict[str, object]


def task(name: str, *depends_on: str, **fields: object) -> Row:
    return {"name": name, "type": "code", "depends_on": list(depends_on), **fields}


def fan_out(width: int) -> list[Row]:
    """One task that many depend on."""
    return [task("top"), *(task(f"middle {number}", "top") for number in range(width))]


def fan_in(width: int) -> list[Row]:
    """One task that depends on many."""
    names = [f"middle {number}" for number in range(width)]
    return [*map(task, names), task("bottom", *names)]


def diamond(width: int) -> list[Row]:
    middles = fan_out(width)
    return [*middles, task("bottom", *(str(row["name"]) for row in middles[1:]))]


async def given_a_graph(yard: Yard, *tasks: Row, **fields: object) -> Dag:
    return await yard.submit({"title": "a graph", "tasks": list(tasks), **fields})


async def several(open_yard: OpenYard, count: int) -> list[Yard]:
    """The same yard, as that many processes have it open."""
    return [await open_yard() for _ in range(count)]


async def status_of(yard: Yard, task_id: str) -> Status:
    return (await yard.get(task_id)).status


async def reason_of(yard: Yard, task_id: str) -> str | None:
    """Why a task was cancelled."""
    cancelled = (await yard.get(task_id)).cancelled
    return None if cancelled is None else cancelled.reason


async def states(yard: Yard, dag: Dag) -> dict[str, Status]:
    """The tasks of a graph by the names they were submitted under."""
    rows = {task.id: task.status for task in (await yard.dags.get(dag.id)).tasks}
    return {name: rows[each.id] for name, each in dag.tasks.items()}


async def every_event(yard: Yard) -> list[Event]:
    found: list[Event] = []
    after = 0
    while page := await yard.events(after=after):
        found += [stored.event for stored in page]
        after = page[-1].seq
    return found


async def happened(yard: Yard, word: str) -> Counter[str]:
    """How often each task went through this event."""
    return Counter(str(event.task_id) for event in await every_event(yard) if event.event == word)


async def dag_history(yard: Yard, dag_id: str) -> list[str]:
    """What happened to a graph as a whole."""
    return [event.event for event in await every_event(yard) if event.dag_id == dag_id and not event.task_id]


async def claim_all(yard: Yard, count: int, *, by: str = "worker") -> list[Held]:
    """Start that many tasks, and be sure that there are no more."""
    held = await yard.claim(by, count=min(count + 1, 1000), start=True)
    assert len(held) == count
    return held


async def complete_at_once(yards: Sequence[Yard], held: Iterable[Held]) -> list[Receipt]:
    """Every task is completed at the same moment, by all of the yards in turn."""
    turns = [(yards[number % len(yards)], each) for number, each in enumerate(held)]
    return await asyncio.gather(*(yard.complete(each.id, each.lease) for yard, each in turns))


async def work_off(yard: Yard, *, by: str = "worker", outputs: Mapping[str, Json] | None = None) -> list[str]:
    """Complete whatever there is, until nothing is left to claim; the ids in the order they were handed out."""
    done: list[str] = []
    while held := await yard.claim(by, count=100, start=True):
        done += [each.id for each in held]
        await asyncio.gather(*(yard.complete(each.id, each.lease, (outputs or {}).get(each.id)) for each in held))
    return done


async def bury(yard: Yard, held: Held) -> None:
    """Fail a task so that it is dead at once."""
    receipt = await yard.fail(held.id, held.lease, "auth_failure")
    assert receipt.status is Status.DEAD_LETTERED
