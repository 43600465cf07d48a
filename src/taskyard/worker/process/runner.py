"""The process that works: claims what its agent can take, runs handlers, finishes, and stops gracefully."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from functools import partial
from secrets import token_hex
from time import monotonic
from typing import Any

from taskyard.core.errors import (
    InvalidInput,
    LeaseLost,
    NotFound,
    StoreFull,
    TaskyardError,
    Unavailable,
)
from taskyard.core.task import Reason
from taskyard.features.attempts.views import Receipt
from taskyard.features.tasks.views import MarkedClaim
from taskyard.worker.attempt_spans import attempt_span, is_on, mark_failed
from taskyard.worker.cheap_lane.batch_sender import with_senders
from taskyard.worker.context import Context
from taskyard.worker.control import Cancel, Control, Fail, Interrupted, Retry, Snooze, Stopped, Suspended
from taskyard.worker.current import enter_task
from taskyard.worker.faults import described, failure_of
from taskyard.worker.handlers import Agent, as_json
from taskyard.worker.process import report
from taskyard.worker.process.handler_threads import in_thread
from taskyard.worker.process.heartbeats import RUN_OUT, HeartbeatSender
from taskyard.worker.process.membership import give_up_dead, leave, when_reached
from taskyard.worker.process.result_delivery import hand_in, hand_in_failure
from taskyard.worker.process.runtime_files import Process, enter, passing
from taskyard.worker.process.supervisor import Supervisor, end_process, end_process_within
from taskyard.yard import Yard

logger = logging.getLogger("taskyard.worker")
GRACE = 30.0  # seconds that handlers get to finish when the worker is asked to stop
LEAVING = 10.0  # seconds until a process ends that a signal has asked to, and whose handlers were cut off
PARTING = 3.0  # seconds for each of the last calls
ENDING = 6.0  # seconds that handlers get to end after they were cancelled: longer than a program is asked to end for
AT_ONCE = 1000  # tasks that one claim takes at most
FEW = 10  # tasks that are asked for where little comes in: to ask for many takes longer
BEGUN_AT_ONCE = 250  # tasks that are begun before the loop may see to something else


class Worker:
    """Runs one agent until it is asked to stop."""

    def __init__(
        self,
        yard: Yard,
        agent: Agent,
        *,
        grace_sec: float = GRACE,
        heartbeats: HeartbeatSender | None = None,
        process: Process | None = None,
    ) -> None:
        self._yard = yard
        self._agent = agent
        self._grace = grace_sec
        self.id = agent.id or f"{agent.type}-{token_hex(4)}"
        self._queues = None if agent.queues is None else list(agent.queues)
        self._process = process or passing()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._heartbeats = heartbeats or HeartbeatSender()
        self._supervisor = (
            Supervisor(yard, self._heartbeats, self._process) if heartbeats is None else None
        )  # a caller that gives the sender supervises it
        self._taken: deque[Context] = deque()  # claimed, and about to begin
        self._beginning: asyncio.Task[None] | None = None
        self._running: dict[str, asyncio.Task[None] | None] = {}  # by lease; None: its output was handed over
        self._contexts: dict[str, Context] = {}
        # What answers an output by a call; None: a coroutine has to wait for the answer.
        self._hand_over = yard.host.verbs.completions.hand_over if agent.settled is None else None
        self._handing_in = 0  # attempts whose outputs are on their way into the store
        self.cut_off = 0  # attempts whose handlers were cancelled
        self.abandoned = 0  # and those of them whose handlers did not stop even then
        self._stopping = False
        self._roused = asyncio.Event()  # a slot has come free, or the end is wanted
        self._wait: asyncio.Timeout | None = None  # for work to come in: a stop cuts it short

    async def run(self) -> None:
        """Work until `stop` is called; then finish, or give back what is not finished in time."""
        self._loop = asyncio.get_running_loop()
        await when_reached(self.register)
        logger.info("%s: at work", self.id)
        if self._supervisor is not None:
            self._supervisor.start()
        try:
            await self._work()
        finally:
            await self._finish()
            if self._supervisor is not None:
                await self._supervisor.stop()
                await parted(leave(self._yard, self._process))

    def stop(self) -> None:
        """Take nothing new."""
        self._stopping = True
        self._roused.set()
        if self._wait is not None:
            self._wait.reschedule(0)
            self._wait = None

    async def register(self) -> None:
        agent = self._agent
        known = await self._yard.agents.register(
            self.id,
            agent.type,
            capabilities=agent.capabilities,
            models=agent.models,
            types=None if "*" in agent.handlers else sorted(agent.handlers),
            max_concurrent_tasks=agent.max_concurrent_tasks,
            budget_usd=agent.budget_usd,
            budget_per=agent.budget_per,
            runtime_id=self._process.runtime,
            incarnation=self._process.incarnation,
            poll_interval_sec=agent.poll_interval_sec,
            orchestrator=agent.orchestrator,
        )
        if known.budget_left is not None and known.budget_left <= 0:
            logger.warning(
                "%s: nothing is left of its budget; raise it with `taskyard agents budget %s DOLLARS`",
                self.id,
                agent.type,
            )

    async def _register_again(self) -> None:
        """The yard is not the one that was registered with: it was emptied, or restored from before."""
        logger.warning("%s: the yard does not know this agent any more; registering again", self.id)
        try:
            await self.register()
        except Unavailable as error:
            logger.warning("%s: could not be registered, will be tried again: %s", self.id, error)

    async def work_once(self) -> int:
        """Do what there is to do now, and say how many attempts that were."""
        self._loop = asyncio.get_running_loop()
        claimed = await self._claim(self._agent.max_concurrent_tasks)
        await self._begun()
        await self._all_ended()
        return 0 if claimed is None else len(claimed.tasks)

    async def _work(self) -> None:
        # A part of the slots at a time: while one is handed in, others are claimed and run. Where only a few are
        # free, they are claimed for too, unless more will be in a moment: when what is being handed in is stored.
        slots = self._agent.max_concurrent_tasks
        most = part = self._yard.pace.part_of(slots)
        while not self._stopping:
            free = slots - len(self._running) - len(self._taken)
            if free >= part or (free > 0 and not self._handing_in):
                wanted = min(free, most, AT_ONCE)
                claimed = await self._claim(wanted)
                taken = 0 if claimed is None else len(claimed.tasks)
                most = part if taken == wanted else FEW
                if 0 < taken < wanted:
                    await asyncio.sleep(0)  # its handlers come before the next look
                if not taken or (claimed is not None and claimed.took_all):
                    # Only the wait is cut short by a stop: a claim is not, for it may have taken something.
                    await self._until_work_comes(claimed)
            else:
                self._roused.clear()
                await self._roused.wait()

    async def _claim(self, count: int) -> MarkedClaim | None:
        """Take what there is, up to `count`, and begin it. None: the yard did not answer, or did not know the agent."""
        asked = monotonic()
        try:
            claimed = await self._yard.attempts.claim_marked(
                self.id, count=min(count, AT_ONCE), start=True, queues=self._queues
            )
        except Unavailable as error:
            logger.warning("claim failed, will be tried again: %s", error)
            return None
        except NotFound:
            await self._register_again()
            return None
        contexts = [Context(self._yard, task, self._agent.type, self._agent.batch) for task in claimed.tasks]
        self._contexts.update([(context.lease, context) for context in contexts])
        self._taken += contexts
        self._heartbeats.add(claimed.tasks, asked, self._hear)
        report.claimed(contexts)
        if self._beginning is None:
            self._begin_some()
            if self._taken:
                self._beginning = asyncio.create_task(self._begin_rest())
        return claimed

    def _begin_some(self) -> None:
        attempt, loop = self._traced_attempt if is_on() else self._attempt, asyncio.get_running_loop()
        for _ in range(min(len(self._taken), BEGUN_AT_ONCE)):
            self._begin(self._taken.popleft(), attempt, loop)

    async def _begin_rest(self) -> None:
        """A few at a time: between them the loop hears what the store has answered, and asks it for more."""
        while self._taken:
            await asyncio.sleep(0)
            self._begin_some()
        self._beginning = None

    def _begin(
        self,
        context: Context,
        attempt: Callable[[Context], Coroutine[None, None, None]],
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        if context.stopped is not None:
            logger.info("%s: not begun: %s", context.id, context.stopped)
            self._contexts.pop(context.lease, None)
            return
        self._running[context.lease] = loop.create_task(attempt(context), name=f"{context.task.type} {context.id}")

    async def _begun(self) -> None:
        """Wait until everything that was claimed has begun."""
        if self._beginning is not None:
            await self._beginning

    def _hear(self, lease: str, word: str) -> None:
        """Called by the sender of heartbeats, from its thread."""
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop is closed: nothing of it is left to stop
                self._loop.call_soon_threadsafe(self._heed, lease, word)

    def _heed(self, lease: str, word: str) -> None:
        """What ends the attempt reaches the handler where it waits."""
        context = self._contexts.get(lease)
        if context is None or word in ("slowdown", "draining"):
            return
        context.stop("lease_lost" if word == RUN_OUT else word)
        if context.is_over or (context.is_ending and word != RUN_OUT):
            return  # the call that ends the attempt is under way: a lease that is gone may be its own doing
        if (running := self._running.get(lease)) is not None:
            self.cut_off += 1
            self._cancel(context, running, word)

    def _cancel(self, context: Context, running: asyncio.Task[None], word: str) -> None:
        """Have the handler stop. One that has not begun never runs, so its attempt does not let go by itself."""
        running.cancel(word)
        # An output that the handler returns all the same is handed over, and keeps its slot until it is answered.
        running.add_done_callback(lambda it: self._let_go(context) if self._running.get(context.lease) is it else None)

    async def _traced_attempt(self, context: Context) -> None:
        with attempt_span(context.task, self.id):
            await self._attempt(context, waits=True)

    async def _attempt(
        self, context: Context, refused: tuple[Any, BaseException] | None = None, *, waits: bool = False
    ) -> None:
        """Run the handler and hand in what it returned. Refused: that was done, and this is how it was answered.

        Waits: until the answer is there, for a span that lasts as long.
        """
        try:
            if refused is not None:
                await self._hand_in(context, *refused)
                return
            try:
                output = await self._call(context)
            except BaseException as error:
                reason = await context.calls.outlived(error)
                context.is_over = context.is_cut_short = True
                await context.output.close()
                await self._end_without_output(context, reason)
            else:
                context.is_over = True
                if context.has_output:
                    await context.output.close()
                if waits or not self._handed_over(context, output):
                    await self._hand_in(context, output)
        except LeaseLost:
            logger.warning("%s: lease lost, its result was refused", context.id)
        except TaskyardError as error:
            # It cannot be said how it ended: the lease will expire, and the task is tried again.
            logger.error("%s: could not be finished: %s", context.id, error)
        finally:
            if self._running.get(context.lease) is not None:
                if self._agent.settled is not None:
                    await self._settle(context.id, self._agent.settled)
                self._let_go(context)

    def _let_go(self, context: Context) -> None:
        lease = context.lease
        self._heartbeats.remove(lease)
        self._running.pop(lease, None)
        self._contexts.pop(lease, None)
        self._roused.set()

    def _handed_over(self, context: Context, output: Any) -> bool:
        """Whether the yard has the output, and will say what became of it: then this coroutine need not wait."""
        if self._hand_over is None or not context.spent.is_nothing:
            return False
        try:
            given = as_json(output)
            self._hand_over(context.id, context.lease, given, context.artifacts, partial(self._hear_of, context, given))
        except TaskyardError:
            return False  # who waits for the answer gets the same one
        self._running[context.lease] = None
        self._handing_in += 1
        return True

    def _hear_of(self, context: Context, output: Any, answer: Receipt | BaseException) -> None:
        """What became of an output that was handed over. A refusal is what it is to a coroutine that waits for it."""
        self._handing_in -= 1
        if isinstance(answer, BaseException):
            self._running[context.lease] = asyncio.create_task(self._attempt(context, (output, answer)))
        else:
            report.ended(context, answer, self._yard.now)
            self._let_go(context)

    async def _settle(self, task_id: str, settled: Callable[[Yard, str], Awaitable[None]]) -> None:
        """Whatever goes wrong after an attempt changes nothing of how it ended."""
        try:
            await settled(self._yard, task_id)
        except Exception:
            logger.exception("%s: what follows the attempt failed", task_id)

    async def _end_without_output(self, context: Context, error: BaseException) -> None:
        match error:
            case Suspended():
                report.suspended(context, str(error))
            case Stopped() | asyncio.CancelledError():
                if context.stopped is None:
                    raise error
                if context.stopped == "stopping":
                    await self._yard.release(context.id, context.lease)
                report.stopped(context, context.stopped)
            case Control():
                await self._controlled(context, error)
            case Interrupted():
                await self._fail(context, **failure_of(error.error), raised=error.error)
            case Exception():
                await self._fail(context, **failure_of(error), raised=error)
            case _:
                raise error

    async def _hand_in(self, context: Context, output: Any, refusal: BaseException | None = None) -> None:
        self._handing_in += 1
        try:
            try:
                if refusal is not None:
                    raise refusal
                receipt = await self._complete(context, output)
            except StoreFull:
                receipt = await hand_in(context, lambda: self._complete(context, output))
            report.ended(context, receipt, self._yard.now)
        except InvalidInput as error:
            # Another attempt would be paid for, and be refused as well.
            await self._fail(context, Reason.REFUSED, described(error))
        finally:
            self._handing_in -= 1

    def _complete(self, context: Context, output: Any) -> Awaitable[Receipt]:
        spent = context.spent.report()
        return self._yard.complete(context.id, context.lease, as_json(output), artifacts=context.artifacts, **spent)

    def _call(self, context: Context) -> Awaitable[Any]:
        """What the handler does, to be awaited: one coroutine less on the way of every attempt."""
        handler = self._agent.handlers.get(context.type) or self._agent.handlers.get("*")
        if handler is None:
            raise Fail("agent_error", f"{self._agent.id} has no handler for {context.type}")
        try:
            arguments = handler.arguments(context.payload)
        except (TypeError, ValueError) as error:
            raise Fail("invalid_input", described(error)) from error
        context.handler_loop = asyncio.get_running_loop()
        enter_task(context)
        if handler.is_async:
            return handler.function(context, *arguments)
        return in_thread(lambda: handler.function(context.sync, *arguments))

    async def _controlled(self, context: Context, outcome: Control) -> None:
        match outcome:
            case Fail():
                await self._fail(context, outcome.reason, outcome.error, details=outcome.details)
            case Retry():
                await self._fail(context, outcome.reason, outcome.error, retry_after_sec=outcome.after_sec)
            case Snooze():
                await self._yard.attempts.snooze(context.id, context.lease, outcome.seconds)
                report.suspended(context, f"not now; it comes back in {outcome.seconds:g} s")
            case Cancel():
                await self._yard.cancel(context.id, outcome.reason, by=None)
                report.stopped(context, f"cancelled by its handler: {outcome.reason}")
            case _:
                raise InvalidInput("outcome", f"{type(outcome).__name__} is not one the yard knows")

    async def _fail(
        self, context: Context, reason: str, error: str, *, raised: BaseException | None = None, **more: Any
    ) -> None:
        mark_failed(reason)
        await hand_in_failure(context, partial(self._report_failure, context, raised), reason, error, **more)

    async def _report_failure(
        self, context: Context, raised: BaseException | None, reason: str, error: str, **more: Any
    ) -> None:
        spent: dict[str, Any] = {**more, **context.spent.report()}
        receipt = await self._yard.fail(context.id, context.lease, reason, error, **spent)
        report.failed(context, f"{reason}: {error}" if error else reason, receipt, self._yard.now, error=raised)

    async def _until_work_comes(self, claimed: MarkedClaim | None) -> None:
        """Wait until there may be something to claim that was not there before, or the end is wanted."""
        if self._stopping:
            return
        # In this very task: each one more would be some turns of the loop more until what came in is claimed.
        self._wait = cut = asyncio.timeout(None)
        try:
            async with cut:
                _, mark, took_all = claimed or ((), await self._yard.mark(), False)
                wait, timeout = self._yard.attempts.wait_for_work, self._agent.poll_interval_sec
                await wait(self.id, mark, timeout, queues=self._queues, took_all=took_all)
        except (Unavailable, NotFound):
            pass  # the next claim says so, and is tried again
        except TimeoutError:
            if not cut.expired():
                raise  # not ours
        finally:
            self._wait = None

    async def _finish(self) -> None:
        """Let what runs finish within the grace period, give the rest back, and sign off."""
        over = monotonic() + self._grace
        await parted(self._yard.agents.drain(self.id))
        await self._begun()
        await self._ended(max(0.0, over - monotonic()))
        self.cut_off += len(self._running)
        for lease, running in list(self._running.items()):
            self._contexts[lease].stop("stopping")
            if running is not None and not self._contexts[lease].is_over:
                self._cancel(self._contexts[lease], running, "stopping")
        await self._ended(ENDING)
        await self._abandon()
        await parted(self._yard.agents.sign_off(self.id))

    async def _ended(self, timeout: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                await self._all_ended()

    async def _all_ended(self) -> None:
        while self._running:
            self._roused.clear()
            await self._roused.wait()

    async def _abandon(self) -> None:
        """Give back the tasks of handlers that do not let themselves be cancelled."""
        left = [self._contexts[lease] for lease in self._running]
        self.abandoned = len(left)
        for context in left:
            logger.error("%s: its handler does not stop; the task is given back", context.id)
            self._heartbeats.remove(context.lease)
            await parted(self._yard.release(context.id, context.lease))


async def parted(call: Coroutine[Any, Any, Any]) -> None:
    """Make one of the last calls. A store that is away does not hold up the end."""
    with suppress(TaskyardError, TimeoutError):
        async with asyncio.timeout(PARTING):
            await call


async def run_all(yard: Yard, agents: Sequence[Agent], *, grace_sec: float = GRACE, runtime: str | None = None) -> None:
    """Run these agents until a signal comes, which is for all of them. What dead processes held is given up first.

    After the grace period the process ends, whatever a handler does: see `supervisor`. So it does at a second signal.
    """
    heartbeats, loop, process = HeartbeatSender(), asyncio.get_running_loop(), enter(runtime)
    workers = [
        Worker(yard, agent, grace_sec=grace_sec, heartbeats=heartbeats, process=process)
        for agent in with_senders(agents)
    ]

    def stop() -> float:
        if held := len(heartbeats.held()):
            logger.warning("finishing what runs (%d), up to %g s; Ctrl-C again stops now", held, grace_sec)
        else:
            logger.info("stopping: nothing runs")
        for worker in workers:
            loop.call_soon_threadsafe(worker.stop)
        return grace_sec + ENDING + PARTING

    supervisor = Supervisor(yard, heartbeats, process, on_signal=stop)
    supervisor.start()
    try:
        await when_reached(lambda: give_up_dead(yard, process))
        await asyncio.gather(*(worker.run() for worker in workers))
    finally:
        if supervisor.signalled and any(worker.abandoned for worker in workers):
            logger.error("ends by force, for handlers do not stop")
            end_process(128 + supervisor.signalled)
        await supervisor.stop()
        await parted(leave(yard, process))
        if supervisor.signalled and any(worker.cut_off for worker in workers):
            end_process_within(LEAVING, 128 + supervisor.signalled)  # a thread may be left that nobody can stop
