"""What must hold whatever happens: the invariants of the yard, told apart from the code that keeps them.

Nothing here asks the core what is right. What `verify` finds on the stored history is asked for too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from taskyard.core.changes import Committed, Edge, Event
from taskyard.core.lease import seal
from taskyard.core.task import HELD, WAITING, Hot, Outcome, Status, TaskId
from taskyard.core.units import SECOND, Micros
from taskyard.features.attempts.views import HeartbeatAnswer, Waited
from taskyard.features.tasks.views import Task
from tests.model.answers import Answer, Ok, Refused
from tests.model.claims import check_claim
from tests.model.log import Log
from tests.model.sides import Holds, Side
from tests.model.steps import ELSEWHERE, ENDING, HERE, LEASED, NO_CALL, Step
from tests.model.stored import Stored
from tests.model.violations import require

EVERYWHERE = NO_CALL | {"sweep"}  # what is nobody's call in one workspace
UNKNOWN = frozenset({"store_unavailable", "contended"})  # nobody can say whether something was stored
_LOST = {"claim_expired": Status.CLAIMED, "heartbeat_timeout": Status.RUNNING}


@dataclass(frozen=True, slots=True)
class Answers:
    """A step that was made: what was answered, and the tasks before and after it."""

    step: Step
    answers: Sequence[Answer]
    before: Mapping[TaskId, Hot]
    after: Mapping[TaskId, Hot]
    events: Sequence[Event]
    holds: Holds

    @property
    def answer(self) -> Answer:
        return self.answers[-1]

    @property
    def calls(self) -> list[tuple[Step, Answer]]:
        """Also the one that came in between."""
        inner = self.step.mishap.step if self.step.mishap else None
        steps = [self.step] if inner is None or len(self.answers) == 1 else [inner, self.step]
        return list(zip(steps, self.answers, strict=True))


class Promises:
    def __init__(self, guide: Side) -> None:
        self._guide = guide
        self._log = Log()
        self._ended: dict[str, tuple[str, Answer]] = {}  # by hold: the call that ended it, and what it was answered
        self._leased_until: dict[tuple[TaskId, int, Status], Micros] = {}
        self._cascades: set[TaskId] = set()  # what was to be cancelled with everything below it
        self._swept: Micros | None = None  # when the duty of sweeping was next due, when last looked at

    async def check(self, told: Answers) -> None:
        """After every step."""
        self._log.read(told.events)
        self._check_leases_kept(told)
        if told.step.mishap is not None:
            self._swept = await self._guide.store.duty("sweep")
        if told.step.mishap is None:
            self._check_refused(told)
            self._check_workspace(told)
            self._check_lease(told)
            self._check_again(told)
            await self._check_call(told)
        cancelled = {each.task_id for each in told.events if each.event == "task.cancelled"}
        for call, answer in told.calls:
            if isinstance(answer, Ok) and _ends(call, answer):
                self._ended.setdefault(call.given["hold"], (_called(call), answer))
            # Also where the process died over it: what was begun is finished by whoever comes next.
            if call.verb == "cancel" and call.given.get("cascade") is not False:
                self._cascades |= {TaskId(call.given["task_id"])} & cancelled

    async def _check_call(self, told: Answers) -> None:
        match told.step.verb, told.answer:
            case "claim", Ok():
                await check_claim(self._guide, told.step, told.answer.value, told.before, told.after)
            case "cancel", Ok():
                await self._check_cascade(told)
            case "sweep", Ok():
                await self._check_swept(told)
            case "enqueue" | "enqueue_many", Ok():
                value = told.answer.value
                for each in cast(list[Task], value) if isinstance(value, list) else [cast(Task, value)]:
                    require(each.id in told.after, "what was enqueued is there", each.id)
            case _:
                pass

    def _check_refused(self, told: Answers) -> None:
        """A call that is refused changes nothing."""
        if isinstance(told.answer, Refused) and told.answer.code not in UNKNOWN:
            words = f"{told.step.verb} was refused: {told.answer.sentence}"
            require(not told.events, "refused, and changes nothing", f"{words}; {told.events}")
            require(told.before == told.after, "refused, and changes nothing", words)

    def _check_workspace(self, told: Answers) -> None:
        """What is done in one workspace is not seen in the other."""
        if told.step.verb in EVERYWHERE:
            return
        # With more money for one, what waits for the day's is let go in all: the next claim decides for each.
        letting_go = told.step.verb == "budgets.set"
        for each in told.events:
            if letting_go and each.event == "task.ready":
                continue
            require(each.workspace == told.step.workspace, "nothing crosses a workspace", f"{each}")
        for task_id, hot in told.before.items():
            if hot.workspace != told.step.workspace and not letting_go:
                require(hot == told.after.get(task_id), "nothing crosses a workspace", f"{task_id} was changed")

    def _check_lease(self, told: Answers) -> None:
        """Only the current lease opens anything; a repeated call is answered as before, another is refused."""
        step = told.step
        if step.verb not in LEASED:
            return
        held_id, lease = told.holds[step.given["hold"]]
        hot = told.before.get(step.given.get("task_id", held_id))
        if hot is None or hot.workspace != step.workspace:
            code = told.answer.code if isinstance(told.answer, Refused) else f"{_words(told.answer)}"
            refused = code in ("not_found", "invalid_input", "('lease_lost',)")
            require(refused, "P8 what is elsewhere is not found", f"{told.answer}")
            return
        current = hot.status in HELD and hot.lease == seal(lease)
        if current:
            lost = isinstance(told.answer, Refused) and told.answer.code == "lease_lost"
            require(not lost, "who holds the lease is heard", f"{step}")
            return
        require(told.before == told.after and not told.events, "P3 a stale call changes nothing", f"{step}")
        if step.verb == "heartbeat":
            require(_words(told.answer) in (("lease_lost",), ("cancelled",)), "P3 no stale write", f"{told.answer}")
            return
        first = self._ended.get(step.given["hold"])
        again = first is not None and first[0] == _called(step) and hot.id == held_id
        if isinstance(told.answer, Ok) or again:
            require(first in (None, (_called(step), told.answer)), "answered as the first time", f"{step}")

    def _check_leases_kept(self, told: Answers) -> None:
        """A lease that an agent was promised is neither shortened nor expired before its time."""
        for call, answer in told.calls:
            if call.verb == "heartbeat" and isinstance(answer, Ok) and "task_id" not in call.given:
                self._promise(told, call, cast(HeartbeatAnswer, answer.value).lease_expires_at)
        for event in told.events:
            reason = next((reason for reason in _LOST if f'"reason":"{reason}"' in (event.data or "")), None)
            if event.event in ("task.retrying", "task.dead_lettered") and reason and event.task_id and event.attempt:
                until = self._leased_until.get((event.task_id, event.attempt, _LOST[reason]), Micros(0))
                require(until <= event.at, "a kept lease does not expire", f"{event.task_id} had it until {until}")
        for hot in told.after.values():
            if hot.status in HELD and hot.lease_expires_at is not None:
                key = hot.id, hot.attempt, hot.status
                kept = self._leased_until.get(key, Micros(0))
                require(hot.lease_expires_at >= kept, "a lease is not shortened", f"{hot.id} had it until {kept}")
                self._leased_until[key] = hot.lease_expires_at

    def _promise(self, told: Answers, call: Step, until: Micros | None) -> None:
        task_id = told.holds[call.given["hold"]][0]
        hot = told.after.get(task_id)
        if until is None or hot is None or hot.workspace != call.workspace:
            return
        attempt = int(call.given["hold"].rpartition(".")[2])
        key = task_id, attempt, Status.RUNNING
        # A heartbeat before the start is told the end of the claim time, which starting replaces.
        kept = min(until, self._guide.store.now() + hot.lease_sec * SECOND)
        self._leased_until[key] = Micros(max(kept, self._leased_until.get(key, 0)))

    def _check_again(self, told: Answers) -> None:
        """A write that has landed, or was refused for what had moved, does not land when it comes again."""
        if told.step.verb != "again" or not isinstance(told.answer, Ok):
            return
        for change_set, result in zip(self._guide.repeated, told.answer.value, strict=True):
            landed = isinstance(result, Committed) and change_set.changes
            require(not landed, "P3 nothing lands twice", f"{[change.event for change in change_set.changes]}")

    async def _check_cascade(self, told: Answers) -> None:
        """Cancelled with everything below it."""
        root = told.before[told.step.given["task_id"]]
        if told.step.given.get("cascade") is False or root.status is Status.CANCELLED:
            return
        _check_below(root.id, await self._guide.store.edges(list(told.after)), told.after)

    async def _check_swept(self, told: Answers) -> None:
        """P5: after a sweep nothing is held, or waits, beyond its time."""
        now, duty = self._guide.store.now(), await self._guide.store.duty("sweep")
        due, self._swept = duty not in (self._swept, None), duty
        if not due:
            return
        for hot in told.after.values():
            if hot.version != told.before[hot.id].version:
                continue  # it was looked at; what that made due is for the next
            until = hot.lease_expires_at if hot.status in HELD else None
            wakes = hot.wake_at if hot.status is Status.RETRYING else None
            expires = hot.expires_at if hot.status in WAITING else None
            for at in (until, wakes, expires):
                require(at is None or at > now, "P5 what is due is done within a sweep", f"{hot.id} is {hot.status}")

    # On everything that is stored.

    async def look(self, found: Stored) -> None:
        for workspace in (HERE, ELSEWHERE):
            verified = await self._guide.observer(workspace).verify()
            require(verified.ok, "verify", f"{verified}")
        for task_id, attempts in found.attempts.items():
            loki = found.definitions[task_id].queue == "loki"
            for attempt in attempts:
                spared = attempt.reason == "rate_limit" or (loki and attempt.reason in _LOST)
                counts = attempt.outcome is Outcome.FAILED and not spared
                right = attempt.counted if counts else spared or not attempt.counted
                require(right, "failures count, and nothing else", f"{attempt}")
        self._check_parked(found)
        _check_dependencies(found)
        self._log.check_probes(found.tasks.values(), found.definitions)

    def _check_parked(self, found: Stored) -> None:
        """Nothing stays put aside for room that there is, unless another of its lane is up before it."""
        for hot in found.tasks.values():
            for name in found.blocked(hot) if hot.status is Status.PENDING else ():
                room = found.room(hot, name, self._guide.store.now())
                if room is None or found.wanted(hot, name) > room:
                    continue
                rivals = [each for each in found.tasks.values() if each.lane == hot.lane and each.id != hot.id]
                up = any(each.status is Status.READY and found.shares(each, hot, name) for each in rivals)
                require(up, "P2 what is put aside comes back", f"{hot.id} waits for {name}, and has room of {room}")

    def ended(self, found: Stored) -> None:
        """Liveness: what has not ended waits for what never will."""
        left = {hot.id: hot for hot in found.tasks.values() if not hot.status.is_final}
        for hot in left.values():
            require(hot.status in WAITING - {Status.READY, Status.RETRYING}, "P2 the yard drains", f"{hot}")
            waits = found.blocked(hot)
            gone = any(_never(name, found) for name in waits)
            require(gone, "P2 the yard drains", f"{hot.id} is left, and waits for {waits}")
        for root in self._cascades & found.tasks.keys():
            _check_below(root, found.edges, found.tasks)
        require(not any(each.kind == "cascade" for each in found.records), "a cascade is complete", "not even now")
        for record in found.records:
            if record.kind == "dag":
                status, right = record.body["status"], _conclusion(record.id, found)
                require(status == right, "4.2 how a graph ended", f"{record.id} is {status}, and should be {right}")


def _check_below(root: TaskId, edges: Sequence[Edge], tasks: Mapping[TaskId, Hot]) -> None:
    """Nothing goes on below a task that was cancelled together with it."""
    frontier, seen = {root}, {root}
    while frontier:
        below = {edge.child for edge in edges if edge.parent in frontier} - seen
        for task_id in below:
            require(tasks[task_id].status.is_final, "a cascade is complete", f"{task_id} was left by {root}")
        seen |= below
        frontier = {each for each in below if tasks[each].status is Status.CANCELLED}


def _check_dependencies(found: Stored) -> None:
    """What was let go has nothing left that it depends on."""
    for hot in found.tasks.values():
        if hot.status not in (Status.PENDING, Status.CANCELLED):
            parents = [found.tasks[each] for each in found.definitions[hot.id].depends_on if each in found.tasks]
            early = [each.id for each in parents if each.status is not Status.COMPLETED]
            require(not early, "blockers stored are blockers outstanding", f"{hot.id} did not wait for {early}")


def _conclusion(dag_id: str, found: Stored) -> str:
    """How a graph at rest has ended."""
    tasks = [hot for hot in found.tasks.values() if hot.dag_id == dag_id]
    if any(name.startswith("budget:") for hot in tasks if hot.status is Status.PENDING for name in found.blocked(hot)):
        return "running"  # until somebody gives it more money
    statuses = {hot.status for hot in tasks}
    if not statuses <= {Status.COMPLETED, Status.CANCELLED}:
        return "failed"
    return "completed" if Status.COMPLETED in statuses else "cancelled"


def _never(name: str, found: Stored) -> bool:
    kind, _, rest = name.partition(":")
    if kind in ("task", "child"):
        other = found.tasks.get(TaskId(rest))
        return other is None or other.status in (Status.CANCELLED, Status.DEAD_LETTERED) or not other.status.is_final
    return name.startswith("budget:dag:")


def _ends(call: Step, answer: Ok) -> bool:
    """Whether the call has ended the attempt: for good, or because the task waits."""
    if call.verb == "tasks.spawn":
        return bool(call.given["wait"])
    return call.verb in ENDING or answer.value == Waited(over=False)


def _called(step: Step) -> str:
    """The verb and the arguments that a repeated call is recognised by."""
    told = ("output", "decision_report", "reason", "error", "name", "wait")
    return f"{step.verb} {[(name, step.given.get(name)) for name in told]}"


def _words(answer: Answer) -> tuple[str, ...]:
    return answer.value.words if isinstance(answer, Ok) and isinstance(answer.value, HeartbeatAnswer) else ()
