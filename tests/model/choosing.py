"""What happens next: a step drawn at random, with what is there in mind, so that most steps mean something."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from taskyard.core.task import FINAL, HELD, WAITING, Hot, Status, TaskId
from taskyard.core.units import Micros
from tests.model.sides import Holds
from tests.model.steps import ELSEWHERE, HERE, NO_CALL, Mishap, Step, dag, hold_of, task
from tests.model.wishes import (
    AGENTS,
    OF_AGENTS,
    OF_JUDGED_TASKS,
    OF_PEOPLE,
    OF_TASKS,
    PRIORITIES,
    QUEUES,
    SIGNALS,
    SKILLS,
    TYPES,
)

GRAPHS = 900_000  # numbers of graphs that are submitted begin here; a lone task's graph has the task's number
JUDGED_EVERY = 8  # one history of so many is about outputs that agents judge
SECONDS = (0.001, 1, 5, 12, 29, 29, 61, 95, 400, 3700, 90_000)


@dataclass(slots=True)
class Seen:
    """What the users of a yard have seen of it so far, and so can refer to."""

    now: Micros
    tasks: dict[TaskId, Hot] = field(default_factory=dict[TaskId, Hot])
    holds: Holds = field(default_factory=dict[str, tuple[TaskId, str]])
    graphs: list[str] = field(default_factory=list[str])
    claims: list[Step] = field(default_factory=list[Step])
    done: list[Step] = field(default_factory=list[Step])
    delayed: int = 0
    committed: int = 0

    def those(self, *statuses: Status) -> list[TaskId]:
        return [hot.id for hot in self.tasks.values() if hot.status in statuses]


def opening() -> list[Step]:
    """How every history begins: with somebody who can work."""
    presets = [Step("queues.set_preset", {"queue": name, "name": name}) for name in QUEUES[1:]]
    skilled = {"capabilities": list(SKILLS)}
    return [
        *presets,
        Step("breakers.set_policy", {"failure_threshold": 3, "half_open_after_sec": 60}),
        Step("agents.register", {"agent_id": "ann", "max_concurrent_tasks": 3, **skilled}),
        Step("agents.register", {"agent_id": "bob", "max_concurrent_tasks": 2, "runtime_id": "machine"}),
        Step("agents.register", {"agent_id": "cat", "budget_usd": "0.6", "orchestrator": True, **skilled}),
        Step("agents.register", {"agent_id": "ann", "max_concurrent_tasks": 2}, workspace=ELSEWHERE),
        Step("agents.register", {"agent_id": "bob", "runtime_id": "machine"}, workspace=ELSEWHERE),
    ]


class Chooser:
    def __init__(self, seed: int, seen: Seen) -> None:
        self._dice = Random(seed)
        self._seen = seen
        self._numbered = 0
        judged = seed % JUDGED_EVERY == JUDGED_EVERY - 1
        self._wishes = OF_JUDGED_TASKS if judged else OF_TASKS
        self._able = list(SKILLS) if judged else ["gpu", *TYPES]

    def next(self) -> Step:
        step = self._plain()
        if step.verb in NO_CALL or self._dice.random() > 0.16:
            return step
        return replace(step, mishap=self._mishap(step))

    def _plain(self) -> Step:
        while True:
            idle = len(self._seen.tasks) < 3
            choose = Chooser.enqueue if idle else self._dice.choices(_CHOICES, _WEIGHTS)[0]
            step = choose(self)
            if step is not None:
                roll = self._dice.choice((0.0, 0.5, 0.96875))
                process = self._dice.choice((0, 0, 1))
                return replace(step, process=process, workspace=self._workspace(step), roll=roll)

    def _workspace(self, step: Step) -> str:
        """Where the task is that the call is about; once in a while a stranger tries."""
        hold = self._seen.holds.get(step.given.get("hold", ""))
        hot = self._seen.tasks.get(step.given.get("task_id") or (hold[0] if hold else TaskId("")))
        own = HERE if hot is None else hot.workspace
        if self._dice.random() < (0.85 if hot is None else 0.95):
            return own
        return ELSEWHERE if own == HERE else HERE

    def _mishap(self, step: Step) -> Mishap:
        kind = self._dice.choice(("dies_before", "dies_after", "delayed", "meanwhile", "meanwhile", "meanwhile"))
        if kind != "meanwhile":
            return Mishap(kind, self._dice.choice((0, 0, 0, 1, 1, 2, 3)))
        return Mishap(kind, self._dice.randrange(9), replace(self._rival(step), process=1 - step.process))

    def _rival(self, step: Step) -> Step:
        """Somebody who wants the same: the call itself, another one about the same task, or any."""
        chance = self._dice.random()
        if chance < 0.25:
            if "request_id" in step.given:
                return replace(step, given={**step.given, "request_id": self._request()})
            new = "id" in step.given and chance < 0.2
            return replace(step, given={**step.given, "id": self._new_task()}) if new else step
        if chance < 0.6:
            rival = self._leased(step.given.get("hold"))
            return replace(rival or step, workspace=step.workspace)
        while (rival := self._plain()).verb in NO_CALL or rival.verb == "sweep":
            pass
        return rival

    # Putting work in.

    def enqueue(self) -> Step:
        fields = self._fields()
        if self._seen.tasks and self._dice.random() < 0.2:
            fields["depends_on"] = self._some(list(self._seen.tasks), 2)
        return Step("enqueue", {"id": self._new_task(), **fields})

    def enqueue_many(self) -> Step:
        rows = [{"id": self._new_task(), **self._fields()} for _ in range(self._dice.randint(1, 3))]
        if self._dice.random() < 0.3:
            rows = [
                {**row, "depends_on": self._some([each["id"] for each in rows[:place]], 1)}
                for place, row in enumerate(rows)
            ]
            rows = self._also_across(rows)
        return Step("enqueue_many", {"tasks": rows})

    def submit(self) -> Step:
        ids = [self._new_task() for _ in range(self._dice.randint(2, 5))]
        graph: dict[str, Any] = {"id": dag(GRAPHS + self._numbered), "tasks": self._also_across(self._placed(ids))}
        if self._dice.random() < 0.3:
            graph["budget_ceiling_usd"] = self._dice.choice(("0.3", "0.5", "1"))
        return Step("submit", {"dag": graph})

    def add(self) -> Step | None:
        if not self._seen.graphs:
            return None
        graph = self._dice.choice(self._seen.graphs)
        members = [hot.id for hot in self._seen.tasks.values() if hot.dag_id == graph]
        rows = self._placed([self._new_task() for _ in range(self._dice.randint(1, 2))])
        for row in rows:
            row["depends_on"] += self._some(members, 2)
        return Step("dags.add", {"dag_id": graph, "tasks": self._also_across(rows)})

    def _also_across(self, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Some of the tasks depend on one that is there, of whichever graph."""
        if not self._seen.tasks:
            return rows
        across = [[self._any_task()] if self._dice.random() < 0.2 else [] for _ in rows]
        named = [dict.fromkeys([*row.get("depends_on", ()), *more]) for row, more in zip(rows, across, strict=True)]
        return [{**row, "depends_on": list(some)} if some else row for row, some in zip(rows, named, strict=True)]

    def _placed(self, ids: list[TaskId]) -> list[dict[str, Any]]:
        """Tasks of a graph: each depends on some before it, and once in a while on one after."""
        rows: list[dict[str, Any]] = []
        for place, task_id in enumerate(ids):
            above = ids[:place] if self._dice.random() < 0.97 else [each for each in ids if each != task_id]
            fields = {**self._fields(), "id": task_id, "depends_on": self._some(above, 2)}
            fields.pop("idempotency_key", None)
            rows.append(fields)
        return rows

    def _fields(self) -> dict[str, Any]:
        """A task as somebody might want it: with several wishes at once, or like many others."""
        if self._dice.random() < 0.3:
            return {"type": TYPES[0], "concurrency_key": "repo"} if self._dice.random() < 0.6 else {"type": TYPES[0]}
        fields: dict[str, Any] = {"type": self._dice.choice(TYPES)}
        for name, (often, draw) in self._wishes.items():
            if self._dice.random() < often:
                fields[name] = draw(self._dice, self._seen.now)
        if "priority" in fields and "queue" in fields:
            fields["priority"] = PRIORITIES[fields["queue"]]
        return fields

    # Agents at work.

    def register(self) -> Step:
        given: dict[str, Any] = {
            "agent_id": self._dice.choice(AGENTS),
            "capabilities": self._able if self._dice.random() < 0.6 else self._some(self._able, 2),
            "max_concurrent_tasks": self._dice.choice((1, 2, 4)),
        }
        if self._dice.random() < 0.25:
            given["budget_usd"] = self._dice.choice(("0.2", "0.6", "2"))
        if self._dice.random() < 0.3:
            given["runtime_id"] = "machine"
        return Step("agents.register", given)

    def claim(self) -> Step:
        given: dict[str, Any] = {
            "agent_id": self._dice.choice(AGENTS),
            "count": self._dice.choice((1, 1, 2, 5)),
            "start": self._dice.random() < 0.75,
            "request_id": self._request(),
        }
        if self._dice.random() < 0.1:
            given["types"] = [self._dice.choice(TYPES)]
        if self._dice.random() < 0.1:
            given["queues"] = [self._dice.choice(QUEUES)]
        return Step("claim", given)

    def claim_again(self) -> Step | None:
        return self._dice.choice(self._seen.claims[-6:]) if self._seen.claims else None

    def leased(self) -> Step | None:
        return self._leased(None)

    def _leased(self, hold: str | None) -> Step | None:
        """Something an agent does with a task: mostly one it holds, sometimes one it held."""
        hold = hold or self._hold()
        if hold is None:
            return None
        verb = self._dice.choices(list(OF_AGENTS), [often for often, _ in OF_AGENTS.values()])[0]
        hot = self._seen.tasks.get(self._seen.holds[hold][0])
        if hot is not None and hot.status is Status.CLAIMED and self._dice.random() < 0.6:
            verb = "start"
        given = {"hold": hold, **OF_AGENTS[verb][1](self._dice, self._seen.now)}
        if verb == "tasks.spawn":
            rows = [{"id": self._new_task(), **self._fields()} for _ in range(self._dice.randint(1, 2))]
            given["tasks"] = self._also_across(rows)
        if self._dice.random() < 0.03:
            given["task_id"] = self._dice.choice(list(self._seen.tasks))  # the lease of one for the work of another
        return Step(verb, given)

    def _hold(self) -> str | None:
        held = [hold_of(hot.id, hot.attempt) for hot in self._seen.tasks.values() if hot.status in HELD]
        current = [each for each in held if each in self._seen.holds]
        holds = current if self._dice.random() > 0.12 else self._superseded() or list(self._seen.holds)
        return self._dice.choice(holds) if holds else None

    def _superseded(self) -> list[str]:
        """Leases of tasks that are in other hands by now."""
        held = {hot.id: hold_of(hot.id, hot.attempt) for hot in self._seen.tasks.values() if hot.status in HELD}
        return [hold for hold, (task_id, _) in self._seen.holds.items() if held.get(task_id, hold) != hold]

    def repeat(self) -> Step | None:
        """A call whose answer was lost, or that took two ways through the network."""
        return self._dice.choice(self._seen.done[-10:]) if self._seen.done else None

    # People.

    def cancel(self) -> Step | None:
        waiting = self._seen.those(*WAITING)
        chosen = waiting if waiting and self._dice.random() < 0.6 else list(self._seen.tasks)
        given: dict[str, Any] = {"task_id": self._dice.choice(chosen)}
        if self._dice.random() < 0.5:
            given["cascade"] = self._dice.random() < 0.7
        return Step("cancel", given)

    def cancel_dag(self) -> Step | None:
        return Step("dags.cancel", {"dag_id": self._dice.choice(self._seen.graphs)}) if self._seen.graphs else None

    def resolve(self) -> Step | None:
        dead = self._seen.those(Status.DEAD_LETTERED)
        if not dead and self._dice.random() < 0.9:
            return None
        given: dict[str, Any] = {
            "task_id": self._dice.choice(dead or list(self._seen.tasks)),
            "resolution": self._dice.choice(("retry", "retry", "modify_and_retry", "cancel", "escalate")),
            "by": "human:eve",
        }
        if given["resolution"] == "modify_and_retry":
            given["spec"] = self._dice.choice(({"prompt": "again"}, {"max_attempts": 1}, {"max_cost_usd": "0.1"}))
        return Step("dead_letters.resolve", given)

    def signal(self) -> Step | None:
        return Step("signal", {"task_id": self._any_task(), "name": self._dice.choice(SIGNALS), "data": {"yes": True}})

    def steer(self) -> Step | None:
        """What people turn while the yard runs."""
        verb = self._dice.choice(list(OF_PEOPLE))
        return Step(verb, OF_PEOPLE[verb](self._dice, self._seen.now))

    def adjust(self) -> Step | None:
        waiting, ended = self._seen.those(*WAITING), self._seen.those(*FINAL)
        if waiting and self._dice.random() < 0.6:
            return Step(
                "tasks.set_priority", {"task_id": self._dice.choice(waiting), "priority": self._dice.randrange(5)}
            )
        return Step("rerun", {"task_id": self._dice.choice(ended)}) if ended else None

    def look(self) -> Step | None:
        one = {"task_id": self._any_task()}
        steps = [
            Step("get", one),
            Step("why", one),
            Step("tasks.inputs", one),
            Step("dead_letters.list"),
            Step("tasks.stats"),
        ]
        steps += [
            Step("agents.list"),
            Step("find", {"status": "ready"}),
            Step("find", {"agent": self._dice.choice(AGENTS)}),
        ]
        steps += [Step("dags.get", {"dag_id": graph}) for graph in self._some(self._seen.graphs, 1)]
        return self._dice.choice(steps)

    # Time, and what it does.

    def advance(self) -> Step:
        return Step("advance", {"seconds": self._dice.choice(SECONDS)})

    def sweep(self) -> Step:
        return Step("sweep")

    def reopen(self) -> Step:
        return Step("reopen")

    def deliver(self) -> Step | None:
        return Step("deliver", {"which": self._dice.randrange(self._seen.delayed)}) if self._seen.delayed else None

    def again(self) -> Step | None:
        return Step("again", {"which": self._dice.randrange(self._seen.committed)}) if self._seen.committed else None

    def _new_task(self) -> TaskId:
        self._numbered += 1
        return task(self._numbered)

    def _request(self) -> str:
        return f"{self._dice.getrandbits(40):010x}"

    def _any_task(self) -> TaskId:
        return self._dice.choice(list(self._seen.tasks))

    def _some(self, things: list[Any], most: int) -> list[Any]:
        return self._dice.sample(things, min(len(things), self._dice.randint(0, most)))


_WEIGHED: Mapping[Callable[[Chooser], Step | None], int] = {
    Chooser.enqueue: 12,
    Chooser.enqueue_many: 2,
    Chooser.submit: 2,
    Chooser.add: 1,
    Chooser.register: 3,
    Chooser.claim: 26,
    Chooser.claim_again: 2,
    Chooser.leased: 48,
    Chooser.repeat: 5,
    Chooser.cancel: 5,
    Chooser.cancel_dag: 1,
    Chooser.resolve: 4,
    Chooser.signal: 3,
    Chooser.steer: 8,
    Chooser.adjust: 2,
    Chooser.look: 3,
    Chooser.advance: 9,
    Chooser.sweep: 9,
    Chooser.reopen: 1,
    Chooser.deliver: 3,
    Chooser.again: 2,
}
_CHOICES, _WEIGHTS = list(_WEIGHED), list(_WEIGHED.values())
