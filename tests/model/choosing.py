"""What happens next: a step drawn at random, with what is there in mind, so that most steps mean something.

The world is kept small, so that steps meet: few agents, types, keys and queues, many of them with ceilings.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from taskyard.core.task import FINAL, HELD, WAITING, Hot, Status, TaskId
from taskyard.core.units import SECOND, Micros
from tests.model.sides import Holds
from tests.model.steps import ELSEWHERE, HERE, Mishap, Step, dag, hold_of, task

AGENTS = ("ann", "bob", "cat")
TYPES = ("code", "research")
QUEUES = ("default", "loki", "multica", "ade", "automechanica")  # each but the first follows the preset of its name
SIGNALS = ("approved", "answered")
GRAPHS = 900_000  # numbers of graphs that are submitted begin here; a lone task's graph has the task's number


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
    numbered: int = 0

    def new_task(self) -> TaskId:
        self.numbered += 1
        return task(self.numbered)


def opening() -> list[Step]:
    """How every history begins: with somebody who can work."""
    presets = [Step("set_queue_preset", {"queue": name, "name": name}) for name in QUEUES[1:]]
    skilled = {"capabilities": ["gpu", *TYPES]}
    return [
        *presets,
        Step("set_breaker_policy", {"failure_threshold": 3, "half_open_after_sec": 60}),
        Step("register", {"agent_id": "ann", "max_concurrent_tasks": 3, **skilled}),
        Step("register", {"agent_id": "bob", "max_concurrent_tasks": 2, "runtime_id": "machine"}),
        Step("register", {"agent_id": "cat", "budget_usd": "0.6", **skilled}),
        Step("register", {"agent_id": "ann", "max_concurrent_tasks": 2}, workspace=ELSEWHERE),
        Step("register", {"agent_id": "bob", "runtime_id": "machine"}, workspace=ELSEWHERE),
    ]


class Chooser:
    def __init__(self, seed: int) -> None:
        self._dice = Random(seed)

    def next(self, seen: Seen) -> Step:
        step = self._plain(seen)
        if step.verb in ("advance", "reopen", "deliver", "again") or self._dice.random() > 0.16:
            return step
        return replace(step, mishap=self._mishap(seen, step))

    def _plain(self, seen: Seen) -> Step:
        while True:
            idle = len(seen.tasks) < 3
            choose = Chooser.enqueue if idle else self._dice.choices(_CHOICES, _WEIGHTS)[0]
            step = choose(self, seen)
            if step is not None:
                return replace(
                    step,
                    process=self._dice.choice((0, 0, 1)),
                    workspace=self._workspace(seen, step),
                    roll=self._dice.choice((0.0, 0.5, 0.96875)),
                )

    def _workspace(self, seen: Seen, step: Step) -> str:
        """Where the task is that the call is about; once in a while a stranger tries."""
        about = step.given.get("task_id") or seen.holds.get(step.given.get("hold", ""), ("",))[0]
        own = seen.tasks[about].workspace if about in seen.tasks else HERE
        if self._dice.random() < (0.95 if about else 0.85):
            return own
        return ELSEWHERE if own == HERE else HERE

    def _mishap(self, seen: Seen, step: Step) -> Mishap:
        kind = self._dice.choice(("dies_before", "dies_after", "delayed", "meanwhile", "meanwhile", "meanwhile"))
        if kind != "meanwhile":
            return Mishap(kind, self._dice.choice((0, 0, 0, 1, 1, 2, 3)))
        other = replace(self._rival(seen, step), process=1 - step.process)
        return Mishap(kind, self._dice.randrange(9), other)

    def _rival(self, seen: Seen, step: Step) -> Step:
        """Somebody who wants the same: the call itself, another one about the same task, or any."""
        chance = self._dice.random()
        if chance < 0.25:
            rival = step
            if "request_id" in step.given:
                rival = replace(step, given={**step.given, "request_id": self._request()})
            elif "id" in step.given and chance < 0.2:
                rival = replace(step, given={**step.given, "id": seen.new_task()})
            return rival
        if chance < 0.6:
            same = "hold" in step.given
            rival = self._leased(seen, step.given["hold"]) if same else self._leased(seen)
            return replace(rival or step, workspace=step.workspace)
        while (rival := self._plain(seen)).verb in ("advance", "reopen", "deliver", "again", "sweep"):
            pass
        return rival

    # Putting work in.

    def enqueue(self, seen: Seen) -> Step:
        fields = self._fields(seen)
        if seen.tasks and self._dice.random() < 0.2:
            fields["depends_on"] = self._some(list(seen.tasks), 2)
        return Step("enqueue", {"id": seen.new_task(), **fields})

    def enqueue_many(self, seen: Seen) -> Step:
        rows = [{"id": seen.new_task(), **self._fields(seen)} for _ in range(self._dice.randint(1, 3))]
        return Step("enqueue_many", {"tasks": rows})

    def submit(self, seen: Seen) -> Step:
        size = self._dice.randint(2, 5)
        ids = [seen.new_task() for _ in range(size)]
        rows = [self._placed(seen, place, ids) for place in range(size)]
        graph: dict[str, Any] = {"id": dag(GRAPHS + seen.numbered), "tasks": rows}
        if self._dice.random() < 0.3:
            graph["budget_ceiling_usd"] = self._dice.choice(("0.3", "0.5", "1"))
        return Step("submit", {"dag": graph})

    def add(self, seen: Seen) -> Step | None:
        if not seen.graphs:
            return None
        graph = self._dice.choice(seen.graphs)
        members = [hot.id for hot in seen.tasks.values() if hot.dag_id == graph]
        ids = [seen.new_task() for _ in range(self._dice.randint(1, 2))]
        rows = [self._placed(seen, place, ids) for place in range(len(ids))]
        for row in rows:
            row["depends_on"] = [*row["depends_on"], *self._some(members, 2)]
        return Step("add", {"dag_id": graph, "tasks": rows})

    def _placed(self, seen: Seen, place: int, ids: list[TaskId]) -> dict[str, Any]:
        """A task of a graph that depends on some before it, and once in a while on one after."""
        above = ids[:place] if self._dice.random() < 0.97 else ids
        fields = self._fields(seen)
        fields.pop("idempotency_key", None)
        return {**fields, "id": ids[place], "depends_on": self._some([each for each in above if each != ids[place]], 2)}

    def _fields(self, seen: Seen) -> dict[str, Any]:
        """A task as somebody might want it: with several wishes at once, or like many others."""
        if self._dice.random() < 0.3:
            return {"type": TYPES[0], "concurrency_key": "repo"} if self._dice.random() < 0.6 else {"type": TYPES[0]}
        fields: dict[str, Any] = {"type": self._dice.choice(TYPES)}
        for name, (often, draw) in _WISHES.items():
            if self._dice.random() < often:
                fields[name] = draw(self, seen)
        queue = fields.get("queue", "default")
        if "priority" in fields and queue != "default":
            fields["priority"] = {"loki": 7, "multica": 3, "ade": 2, "automechanica": 1}[queue]
        return fields

    # Agents at work.

    def register(self, seen: Seen) -> Step:
        capabilities = ["gpu", *TYPES] if self._dice.random() < 0.6 else self._some(["gpu", *TYPES], 2)
        given: dict[str, Any] = {
            "agent_id": self._dice.choice(AGENTS),
            "capabilities": capabilities,
            "max_concurrent_tasks": self._dice.choice((1, 2, 4)),
        }
        if self._dice.random() < 0.25:
            given["budget_usd"] = self._dice.choice(("0.2", "0.6", "2"))
        if self._dice.random() < 0.3:
            given["runtime_id"] = "machine"
        return Step("register", given)

    def claim(self, seen: Seen) -> Step:
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

    def claim_again(self, seen: Seen) -> Step | None:
        return self._dice.choice(seen.claims[-6:]) if seen.claims else None

    def leased(self, seen: Seen) -> Step | None:
        return self._leased(seen)

    def _leased(self, seen: Seen, hold: str | None = None) -> Step | None:
        """Something an agent does with a task: mostly one it holds, sometimes one it held."""
        if hold is None:
            held = [hold_of(hot.id, hot.attempt) for hot in seen.tasks.values() if hot.status in HELD]
            current = [each for each in held if each in seen.holds]
            stale = self._dice.random() < 0.1
            holds = list(seen.holds) if stale else current
            if not holds:
                return None
            hold = self._dice.choice(holds)
        verb = self._dice.choices(list(_LEASED), [weight for weight, _ in _LEASED.values()])[0]
        hot = seen.tasks.get(seen.holds[hold][0])
        if hot is not None and hot.status is Status.CLAIMED and self._dice.random() < 0.6:
            verb = "start"
        step = Step(verb, {"hold": hold, **_LEASED[verb][1](self, seen)})
        if self._dice.random() < 0.03 and seen.tasks:
            step.given["task_id"] = self._dice.choice(list(seen.tasks))  # the lease of one for the work of another
        return step

    def repeat(self, seen: Seen) -> Step | None:
        """A call whose answer was lost, or that took two ways through the network."""
        return self._dice.choice(seen.done[-10:]) if seen.done else None

    # People.

    def cancel(self, seen: Seen) -> Step | None:
        waiting = [hot.id for hot in seen.tasks.values() if hot.status in WAITING]
        chosen = self._dice.choice(waiting) if waiting and self._dice.random() < 0.6 else self._any_task(seen)
        given: dict[str, Any] = {"task_id": chosen}
        if self._dice.random() < 0.5:
            given["cascade"] = self._dice.random() < 0.7
        return Step("cancel", given) if seen.tasks else None

    def cancel_dag(self, seen: Seen) -> Step | None:
        return Step("cancel_dag", {"dag_id": self._dice.choice(seen.graphs)}) if seen.graphs else None

    def resolve(self, seen: Seen) -> Step | None:
        dead = [hot.id for hot in seen.tasks.values() if hot.status is Status.DEAD_LETTERED]
        if not dead and (not seen.tasks or self._dice.random() < 0.9):
            return None
        given: dict[str, Any] = {
            "task_id": self._dice.choice(dead or list(seen.tasks)),
            "resolution": self._dice.choice(("retry", "retry", "modify_and_retry", "cancel", "escalate")),
            "by": "human:eve",
        }
        if given["resolution"] == "modify_and_retry":
            given["spec"] = self._dice.choice(({"prompt": "again"}, {"max_attempts": 1}, {"max_cost_usd": "0.1"}))
        return Step("resolve", given)

    def signal(self, seen: Seen) -> Step | None:
        given = {"task_id": self._any_task(seen), "name": self._dice.choice(SIGNALS), "data": {"yes": True}}
        return Step("signal", given) if seen.tasks else None

    def steer(self, seen: Seen) -> Step | None:
        """What people turn while the yard runs."""
        agent, queue, type_ = (self._dice.choice(each) for each in (AGENTS, QUEUES, TYPES))
        steps = [
            Step("pause_queue", {"queue": queue}),
            Step("resume_queue", {"queue": queue}),
            Step("drain_agent", {"agent_id": agent}),
            Step("resume_agent", {"agent_id": agent}),
            Step("sign_off_agent", {"agent_id": agent}),
            Step("remove_agent", {"agent_id": agent}),
            Step("open_breaker", {"type_": type_}),
            Step("close_breaker", {"type_": type_}),
            Step("register_runtime", {"runtime_id": "machine"}),
            Step("runtime_heartbeat", {"runtime_id": "machine"}),
            Step("orphans", {"runtime_id": "machine"}),
        ]
        return self._dice.choice(steps)

    def ration(self, seen: Seen) -> Step:
        money = self._dice.choice((None, "0.2", "1"))
        if self._dice.random() < 0.4:
            return Step("set_agent_budget", {"agent_id": self._dice.choice(AGENTS), "budget_usd": money})
        return Step("set_budget", {"daily_budget_usd": money, "default_reserve_usd": self._dice.choice(("0", "0.1"))})

    def adjust(self, seen: Seen) -> Step | None:
        waiting = [hot.id for hot in seen.tasks.values() if hot.status in WAITING]
        ended = [hot.id for hot in seen.tasks.values() if hot.status in FINAL]
        if waiting and self._dice.random() < 0.6:
            return Step("set_priority", {"task_id": self._dice.choice(waiting), "priority": self._dice.randrange(5)})
        return Step("rerun", {"task_id": self._dice.choice(ended)}) if ended else None

    def look(self, seen: Seen) -> Step | None:
        if not seen.tasks:
            return None
        one = {"task_id": self._any_task(seen)}
        steps = [Step("get", one), Step("why", one), Step("inputs", one), Step("dead_letters"), Step("stats")]
        steps += [Step("agents"), Step("find", {"status": "ready"}), Step("find", {"agent": self._dice.choice(AGENTS)})]
        if seen.graphs:
            steps.append(Step("dag", {"dag_id": self._dice.choice(seen.graphs)}))
        return self._dice.choice(steps)

    # Time, and what it does.

    def advance(self, seen: Seen) -> Step:
        return Step("advance", {"seconds": self._dice.choice((0.001, 1, 5, 12, 29, 29, 61, 95, 400, 3700, 90_000))})

    def sweep(self, seen: Seen) -> Step:
        return Step("sweep")

    def reopen(self, seen: Seen) -> Step:
        return Step("reopen")

    def deliver(self, seen: Seen) -> Step | None:
        return Step("deliver", {"which": self._dice.randrange(seen.delayed)}) if seen.delayed else None

    def again(self, seen: Seen) -> Step | None:
        return Step("again", {"which": self._dice.randrange(seen.committed)}) if seen.committed else None

    def _request(self) -> str:
        return f"{self._dice.getrandbits(40):010x}"

    def _any_task(self, seen: Seen) -> str:
        return self._dice.choice(list(seen.tasks)) if seen.tasks else task(0)

    def _some(self, things: list[Any], most: int) -> list[Any]:
        return self._dice.sample(things, min(len(things), self._dice.randint(0, most)))

    def pick(self, *choices: Any) -> Any:
        return self._dice.choice(choices)

    def children(self, seen: Seen) -> dict[str, Any]:
        rows = [{"id": seen.new_task(), **self._fields(seen)} for _ in range(self._dice.randint(1, 2))]
        return {"tasks": rows, "name": self.pick("first", "second"), "wait": self._dice.random() < 0.6}


Wish = Callable[[Chooser, Seen], Any]


def _later(*seconds: float) -> Wish:
    return lambda chooser, seen: seen.now + int(chooser.pick(*seconds) * SECOND)


# How often somebody wishes it, and what.
_WISHES: dict[str, tuple[float, Wish]] = {
    "queue": (0.16, lambda chooser, _: chooser.pick(*QUEUES[1:])),
    "priority": (0.1, lambda chooser, _: chooser.pick(0, 10, 90)),
    "idempotency_key": (0.1, lambda chooser, _: chooser.pick("once", "only")),
    "concurrency_key": (0.22, lambda chooser, _: chooser.pick("repo", "file")),
    "run_after": (0.06, _later(-1, 3, 100)),
    "expires_at": (0.06, _later(130, 500, 4000)),
    "deadline": (0.05, _later(60, 2000)),
    "max_cost_usd": (0.2, lambda chooser, _: chooser.pick("0", "0.1", "0.25", "0.6")),
    "max_duration_sec": (0.05, lambda chooser, _: chooser.pick(20, 200)),
    "required_capabilities": (0.05, lambda chooser, _: ["gpu"]),
    "agent": (0.06, lambda chooser, _: chooser.pick(*AGENTS)),
    "subject": (0.06, lambda chooser, _: chooser.pick("issue:1", "issue:2")),
    "max_attempts": (0.2, lambda chooser, _: chooser.pick(1, 2, 5)),
    "payload": (0.06, lambda chooser, _: chooser.pick({"n": 1}, {"n": 2}, {"text": "é\n𝄞"})),
    "model_preferences": (0.06, lambda chooser, _: ["opus"]),
    "fallback_models": (0.06, lambda chooser, _: ["haiku"]),
    "priority_boost_per_minute": (0.05, lambda chooser, _: chooser.pick(0, 1.5)),
    "retry": (
        0.25,
        lambda chooser, _: chooser.pick(
            {"strategy": "immediate"},
            {"strategy": "fixed", "initial_delay_sec": 7, "jitter": 0},
            {"strategy": "quadratic", "initial_delay_sec": 2, "max_delay_sec": 5},
            {"retry_on": ["crash"], "no_retry_on": []},
        ),
    ),
    "timeouts": (0.12, lambda chooser, _: chooser.pick({"claim_ttl_sec": 0}, {"lease_sec": 20}, {"claim_ttl_sec": 9})),
    "output": (
        0.06,
        lambda chooser, _: chooser.pick(
            {"validation": "json-schema", "validation_schema": {"type": "object"}},
            {"validation": "regex", "validation_schema": "ok"},
        ),
    ),
    "tags": (0.03, lambda chooser, _: ["night"]),
}

_COST = (None, None, "0.05", "0.3")

_LEASED: dict[str, tuple[int, Wish]] = {
    "start": (1, lambda chooser, _: {}),
    "heartbeat": (
        5,
        lambda chooser, _: {
            "progress": chooser.pick(None, {"done": 0.5}),
            "cost_usd": chooser.pick(*_COST),
            "tokens_input": chooser.pick(None, 10),
        },
    ),
    "complete": (
        11,
        lambda chooser, _: {
            "output": chooser.pick({"is": "ok"}, {"is": "ok"}, "odd"),
            "decision_report": chooser.pick({"why": "so"}, None),
            "cost_usd": chooser.pick(*_COST),
        },
    ),
    "fail": (
        8,
        lambda chooser, _: {
            "reason": chooser.pick("crash", "crash", "agent_error", "rate_limit", "auth_failure", "my_own_word"),
            "error": chooser.pick("boom", "boom", "Error: 429 Too Many Requests\nRetry-After: 30"),
            "cost_usd": chooser.pick(*_COST),
            "retry_after_sec": chooser.pick(None, None, None, 15),
            "model": chooser.pick(None, "opus"),
        },
    ),
    "release": (3, lambda chooser, _: {}),
    "checkpoint": (2, lambda chooser, _: {"name": chooser.pick("plan", "nap"), "data": chooser.pick(1, 2)}),
    "pin_session": (1, lambda chooser, _: {"session_id": chooser.pick("s1", "s2")}),
    "sleep": (2, lambda chooser, _: {"name": chooser.pick("nap", "night"), "duration_sec": chooser.pick(0, 3, 200)}),
    "wait_for": (
        3,
        lambda chooser, _: {
            "name": chooser.pick("ask", "ask again"),
            "signal": chooser.pick(*SIGNALS),
            "timeout_sec": chooser.pick(None, None, 50),
        },
    ),
    "spawn": (2, lambda chooser, seen: chooser.children(seen)),
}

_WEIGHED: dict[Callable[[Chooser, Seen], Step | None], int] = {
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
    Chooser.steer: 6,
    Chooser.ration: 2,
    Chooser.adjust: 2,
    Chooser.look: 3,
    Chooser.advance: 9,
    Chooser.sweep: 9,
    Chooser.reopen: 1,
    Chooser.deliver: 3,
    Chooser.again: 2,
}
_CHOICES, _WEIGHTS = list(_WEIGHED), list(_WEIGHED.values())
