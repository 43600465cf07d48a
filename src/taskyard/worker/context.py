"""What a handler sees of its task, and what it can do with it."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from time import monotonic, time_ns
from typing import Any, Unpack

from taskyard.api.codec import write
from taskyard.core.errors import InvalidInput, NotFound
from taskyard.core.json_value import Json
from taskyard.core.lease import Lease
from taskyard.core.task import TaskId
from taskyard.core.units import MicroUsd
from taskyard.features.approvals.rules import NO_DEFAULT, NoDefault
from taskyard.features.artifacts.content import Content
from taskyard.features.attempts import step_results
from taskyard.features.attempts.views import Child, HeartbeatAnswer, Input, StepFacts
from taskyard.features.budgets import prices
from taskyard.features.budgets.views import Spent
from taskyard.features.subagents.views import StartedSubagent, SubagentFields
from taskyard.features.tasks.views import Held, Task
from taskyard.ledger.ids import dag_made_by
from taskyard.worker.attempt_spans import record_call, step_span
from taskyard.worker.cheap_lane.batch_provider import Provider
from taskyard.worker.cheap_lane.model_calls import call_model
from taskyard.worker.control import Stopped, Suspended
from taskyard.worker.current import within_enclosing_step, within_step
from taskyard.worker.fetch import fetch
from taskyard.worker.handlers import as_json
from taskyard.worker.inbox import Inbox
from taskyard.worker.output import AttemptOutput
from taskyard.worker.spending import Dollars, ModelCall, Ran, StepCost, Totals, call_of, step_facts
from taskyard.worker.steps.calls_under_way import CallsUnderWay
from taskyard.worker.steps.step_numbers import StepNumbers
from taskyard.worker.sync_context import StepName, SyncContext, Work
from taskyard.yard import Yard


class Context:
    """One attempt at one task.

    All that it stores carries the attempt's lease. Once that is lost, nothing is accepted and the handler is stopped.
    """

    id: TaskId  # of the task
    attempt: int  # the number of this attempt, from 1
    task: Task  # as it was when it was claimed
    lease: Lease  # what finishes this attempt; whoever has it can do so
    agent_type: str  # of the agent that does the work
    artifacts: list[str]  # what was stored by `artifact` so far
    answered_by: str | None = None  # who gave the answer that `ask` got last: human:NAME, link:RECIPIENT, timeout
    stopped: str | None = None  # why the attempt is over; None while it goes on
    is_ending = False  # a call is under way that may end the attempt: its answer says how it ended
    is_over = False  # the handler has returned or raised
    is_cut_short = False  # it has raised: what it left running is to begin nothing
    _latest_progress: Json = None
    _output: AttemptOutput | None = None
    _steps: dict[str, Json] | None = None  # that are stored; None: not read yet

    def __init__(self, yard: Yard, task: Held, agent_type: str | None = None, batch: Provider | None = None) -> None:
        self.yard, self.batch, self.task = yard, batch, task
        self.id, self.lease, self.attempt = task.id, task.lease, task.attempt
        self.agent_type = agent_type or task.agent or ""
        models = task.models
        self.spent = Totals(model=models[0] if models else None)
        self.began, self.artifacts, self.numbers, self.calls = monotonic(), [], StepNumbers(), CallsUnderWay()
        self.handler_loop: asyncio.AbstractEventLoop | None = None  # in which its handler runs

    @property
    def output(self) -> AttemptOutput:
        """What the attempt says while it works."""
        # Made when it is asked for: it refers to its context, which makes garbage that only the collector finds.
        if self._output is None:
            append = partial(self.yard.streams.append, self.id, self.lease)
            self._output = AttemptOutput(self.id, append, lambda: self.stop("lease_lost"))
        return self._output

    @property
    def has_output(self) -> bool:
        """Whether it has said anything."""
        return self._output is not None

    # What the task is

    @property
    def type(self) -> str:
        """What kind of work it is."""
        return self.task.type

    @property
    def prompt(self) -> str:
        """The text that was asked."""
        return self.task.prompt

    @property
    def payload(self) -> Any:
        """The JSON value that was handed in."""
        return self.task.payload

    @property
    def spec(self) -> dict[str, Any]:
        """What was asked for, as the task's document has it: prompt, payload, context_refs, constraints."""
        return write(self.task.spec)

    @property
    def model(self) -> str | None:
        """The model that was used last; before that, the best of those to use."""
        return self.spent.model

    @property
    def cost(self) -> MicroUsd:
        """What this attempt has spent so far, in micro-dollars."""
        return self.spent.cost

    @property
    def tokens_input(self) -> int:
        """What this attempt has reported so far."""
        return self.spent.tokens.input

    @property
    def tokens_output(self) -> int:
        """What this attempt has reported so far."""
        return self.spent.tokens.output

    @property
    def models(self) -> tuple[str, ...]:
        """The models to use, best first."""
        return self.task.models

    @property
    def session_id(self) -> str | None:
        """The conversation to resume, where an earlier attempt left one."""
        return self._session().get("session_id")

    @property
    def work_dir(self) -> str | None:
        """The folder that the conversation to resume was in."""
        return self._session().get("work_dir")

    async def inputs(self) -> list[Input]:
        """The outputs of what the task depends on, and what its context refers to.

        For a validator also the artifacts of the output that it judges, which nobody else sees yet.
        """
        return await self.yard.tasks.inputs(self.id, self.lease)

    async def read_artifact(self, artifact_id: str, *, start: int = 0, end: int | None = None) -> bytes:
        """The content of an artifact, such as one of the inputs; from one byte to another where that is asked for."""
        content = self.yard.artifacts.read(artifact_id, start=start, end=end, task_id=self.id, lease=self.lease)
        return b"".join([piece async for piece in content])

    async def fetch_artifact(self, artifact_id: str, path: str | Path) -> Path:
        """The same as a file, however large: there when all of it has come, and in place of one that was there."""
        artifact = await self.yard.artifacts.get(artifact_id, task_id=self.id, lease=self.lease)
        content = self.yard.artifacts.read(artifact.id, task_id=self.id, lease=self.lease)
        await fetch(artifact, content, Path(path))
        return Path(path)

    async def previous_attempts(self) -> list[dict[str, Json]]:
        """How earlier attempts ended: what went wrong is the best hint at what to do otherwise."""
        return write(await self.yard.tasks.history(self.id))

    # What is remembered

    async def step(self, name: StepName, function: Work | None = None, *, spend: StepCost = None) -> Any:
        """Do something once: a later attempt gets the stored result instead of doing it again.

        Without a name, `step(function)`, it is called `step:1`, `step:2` and so on, in the order of the calls. What it
        cost is stored in the same change: `spend` is dollars, the arguments of `spend()` as a dictionary, or a function
        that makes either from the result. A result above 1 MiB is kept as an artifact.
        """
        name, function, numbered = self.named_step(name, function)
        stored = await self.known_steps()
        name = self.numbers.found(name, stored, numbered)
        if name in stored:
            return await self.unpacked_step(stored[name])
        with self.naming(name, numbered), step_span(name), within_step(name):
            began = time_ns()
            result = function()
            if inspect.isawaitable(result):
                result = await result
            return await self.store_step(name, result, spend, ran=(began, time_ns()))

    def named_step(self, name: StepName, function: Work | None) -> tuple[str, Work, Work | None]:
        """The arguments of `step`, with the name that the step gets; and its work, where that is a number."""
        if callable(name) and function is None:
            return self.next_name("step", name), name, name
        if isinstance(name, str) and callable(function):
            return name, function, None
        raise InvalidInput("function", "must be given: step(function), or step(name, function)")

    def next_name(self, kind: str, work: Work | None = None) -> str:
        """The kind and how many there were before: the same in every run of a handler that does the same.

        Inside of a step, the name begins with that of the step: what is numbered there shifts no number elsewhere when
        a later attempt finds the step done. With `work`, what failed before and is done once more keeps its number.
        """
        return self.numbers.next(within_enclosing_step(kind), work)

    @contextmanager
    def naming(self, name: str, work: Work | None = None) -> Generator[None]:
        """What fails inside was not done: its number is free for a retry."""
        try:
            yield
        except BaseException:
            self.numbers.leave(name, work)
            raise
        self.numbers.keep(name)

    async def stored_steps(self) -> dict[str, Json]:
        """The results that are stored so far, by the names of their steps; large ones as references."""
        self._check()
        return await self.yard.attempts.checkpoints(self.id)

    async def known_steps(self) -> Mapping[str, Json]:
        """The same, read from the store once in an attempt: only the holder of the lease adds any."""
        self._check()
        if self._steps is None:
            self._steps = await self.stored_steps()
        return self._steps

    async def unpacked_step(self, stored: Json) -> Any:
        """The result itself, where it was large enough to be an artifact."""
        if (artifact_id := step_results.artifact_in(stored)) is None:
            return stored
        return json.loads(await self.read_artifact(artifact_id))

    async def store_step(self, name: str, result: Any, spend: StepCost = None, *, ran: Ran | None = None) -> Any:
        """Store the result of a step that was done by other means, and give what a later attempt would get."""
        self._check()
        try:
            call = call_of(spend, result)
            if call is not None:
                await prices.load([call.model])
                self._count(call, ran)
        except Exception:
            # It is done and paid for: what is wrong with its price must not have it done again.
            await self._checkpoint(name, result, step_facts(None, ran))
            raise
        stored = await self._checkpoint(name, result, step_facts(call, ran), **(self.spent.report() if call else {}))
        if call is not None and self.max_cost is not None and self.cost > self.max_cost:
            await self._tell()  # it ends the attempt
        return await self.unpacked_step(stored)

    async def _checkpoint(self, name: str, result: Any, step: StepFacts, **totals: Unpack[Spent]) -> Json:
        stored = await self.yard.attempts.checkpoint(self.id, self.lease, name, as_json(result), step=step, **totals)
        if self._steps is not None:
            self._steps[name] = stored
        return stored

    async def sleep(self, seconds: float, *, name: str | None = None) -> None:
        """Wait without a slot. The handler runs again from its beginning, and finds its steps done."""
        async with self.ending():
            waited = await self.yard.attempts.sleep(self.id, self.lease, name or self.next_name("sleep"), seconds)
            if not waited.over:
                raise Suspended(f"sleeps for {seconds:g} s")

    async def wait_for(self, signal: str, *, timeout: float | None = None, name: str | None = None) -> Any:
        """Wait for a signal, such as an approval, and get what was sent with it. `TimeoutError` when none came."""
        async with self.ending():
            waited = await self.yard.attempts.wait_for(
                self.id, self.lease, name or self.next_name(f"wait_for:{signal}"), signal, timeout_sec=timeout
            )
            if not waited.over:
                raise Suspended(f"waits for the signal {signal}")
        if waited.timed_out:
            raise TimeoutError(f"no signal {signal} within {timeout} s")
        return waited.data

    async def ask(
        self,
        question: str,
        *,
        schema: Mapping[str, Any] | None = None,
        choices: Sequence[Json] | None = None,
        who: Sequence[str] = (),
        timeout: float | None = None,
        default: Json | NoDefault = NO_DEFAULT,
        context: Json = None,
        login: bool = False,
        name: str | None = None,
    ) -> Any:
        """Ask a person, and get the answer. The task waits without a slot, and the handler runs again when it came.

        The answer fits the JSON Schema, or is one of the choices; without either, it is an object with `approved` and
        `comment`. `who` names the people, groups and roles that may answer. When the time is over, the default is the
        answer, or `TimeoutError` is raised where there is none. `context` is shown beside the question. With `login`,
        only people who have signed in answer it, and no link in a notification does. `answered_by` says who answered.
        """
        async with self.ending():
            waited = await self.yard.attempts.ask(
                self.id,
                self.lease,
                name or self.next_name("ask"),
                question,
                answer_schema=schema,
                choices=choices,
                who=who,
                timeout_sec=timeout,
                default=default,
                context=context,
                login=login,
            )
            if not waited.over:
                raise Suspended("waits for a person's answer")
        self.answered_by = waited.by
        if waited.timed_out and default is NO_DEFAULT:
            raise TimeoutError(f"no answer within {timeout} s")
        return waited.data

    async def spawn(self, type: str, *, wait: bool = False, name: str | None = None, **fields: Any) -> Any:
        """Put a task into this one's graph. With `wait`, suspend until it is done, and get its output."""
        children = await self.spawn_all([{"type": type, **fields}], wait=wait, name=name)
        return children[0].output if wait else children[0].task_id

    async def spawn_all(
        self, tasks: Sequence[Mapping[str, object]], *, wait: bool = False, name: str | None = None
    ) -> list[Child]:
        """Several at once. With `wait`, how each of them ended; one that ended badly has its status and no output."""
        named = name or self.next_name("spawn")
        async with self.ending():
            ids = await self.yard.tasks.spawn(self.id, self.lease, tasks, name=named, wait=wait)
            ended = await self.yard.tasks.children(self.id, named)
            if wait and ended is None:
                raise Suspended(f"waits for {len(ids)} task{'s' if len(ids) > 1 else ''} that it spawned")
        return ended if ended is not None else [Child(each, self.task.status, None) for each in ids]

    async def submit(self, dag: Mapping[str, object], *, name: str | None = None) -> str:
        """Put a whole graph in, once however often the handler is run, and get its id. For orchestrators.

        This task's inbox gets an item for what becomes of it, unless the graph names another.
        """
        dag_id = dag_made_by(self.id, name or self.next_name("submit"))
        inbox = {"agent": self.agent_type, "conversation": self.id}
        try:
            await self.yard.dags.get(dag_id)
        except NotFound:
            await self.yard.submit({"inbox": inbox, **dag, "id": dag_id}, created_by=f"agent:{self.task.agent}")
        return dag_id

    async def subagent(
        self, type: str, prompt: str, *, name: str | None = None, conversation: str | None = None,
        **how: Unpack[SubagentFields],
    ) -> StartedSubagent:  # fmt: skip
        """Start a subagent in the background, in this task's graph. This task's inbox gets one item for its end."""
        named, spawn = name or self.next_name("subagent"), self.yard.subagents.spawn
        return await spawn(self.id, self.lease, type, prompt, name=named, conversation=conversation, **how)

    def inbox(self, conversation: str | None = None, **options: Any) -> Inbox:
        """The inbox of this task, or of another conversation of its agent."""
        return Inbox(self.yard, self.agent_type, conversation or self.id, **options)

    # Output, progress and messages

    async def stream(self, chunk: Json) -> None:
        """Show what the attempt writes to those who follow it, as it comes: a text, or any JSON value.

        Gathered for up to a quarter of a second. It is no part of the output: it is kept until an hour after the
        task's end, and at most 8 MiB of an attempt. A new attempt begins a new stream. What is no JSON is refused here.
        """
        self._check()
        if isinstance(chunk, str):
            await self.output.say("text", chunk)
        else:
            await self.output.say("json", data=as_json(chunk))

    async def progress(self, fraction: float | None = None, note: str = "", **more: Json) -> None:
        """Say how far it is. It goes out with this call, and is what a reader sees until the next."""
        shown: dict[str, Json] = {"fraction": fraction, "note": note, **more}
        self._latest_progress = shown
        self._check()
        if self._output is not None:
            await self._output.flush()  # readers get both in the order in which they were said
        self._heed(await self.yard.progress(self.id, self.lease, shown))

    async def message(self, text: str, *, kind: str = "text", **more: Json) -> None:
        """Something the agent said or did, for those who watch: in its stream, and as an event."""
        if self._output is not None:
            await self._output.flush()
        await self.yard.attempts.message(self.id, self.lease, {"kind": kind, "text": text, **more})

    async def spend(
        self, usd: Dollars | None = None, *, input_tokens: int = 0, output_tokens: int = 0,
        cache_read_tokens: int = 0, cache_write_tokens: int = 0, model: str | None = None,
    ) -> None:  # fmt: skip
        """Report what a call cost. Above the task's maximum, the attempt is stopped.

        Dollars are rounded up to a micro-dollar. Without dollars, the price of the model's tokens is looked up.
        """
        call = ModelCall(
            usd=usd, model=model, input_tokens=input_tokens, output_tokens=output_tokens,
            cache_read_tokens=cache_read_tokens, cache_write_tokens=cache_write_tokens,
        )  # fmt: skip
        await prices.load([call.model])
        self._count(call)
        await self._tell()

    async def call_model(self, request: Mapping[str, Any], *, name: str | None = None) -> Any:
        """Ask a model of the provider (`Agent(batch=…)`) once, and get the body of its answer.

        With `service: batch`, the task waits without a slot for a batch of the provider, at the batch price; otherwise,
        or where its deadline is too near, the call is made now, as a step.
        """
        return await call_model(self, request, name)

    async def artifact(self, name: str, data: Content | None = None, *, media_type: str | None = None) -> str:
        """Store a file that the task made: text, bytes, a `Path`, an open file, or what yields bytes.

        It can be seen once the task is completed. The answer is what tasks refer to it by. Without data, name a file
        that is somewhere else, by path or URL: it is handed in with the output.
        """
        self._check()
        if data is None:
            self.artifacts.append(name)
            return name
        # What is stored is handed in with the output by itself.
        stored = await self.yard.artifacts.put(name, data, task_id=self.id, lease=self.lease, media_type=media_type)
        return stored.reference

    async def session(self, session_id: str | None = None, *, work_dir: str | None = None) -> None:
        """Remember where this conversation can be resumed. What is not given stays as it was."""
        await self.yard.attempts.pin_session(self.id, self.lease, session_id=session_id, work_dir=work_dir)

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The event loop of the worker, in which the calls of this context are made."""
        if self.handler_loop is None:
            raise LookupError("the attempt has not begun: its handler is not running")
        return self.handler_loop

    @property
    def sync(self) -> SyncContext:
        """The same calls without `await`, for a thread: such as a plain function that is a tool of an agent."""
        return SyncContext(self, self.loop)

    # For the runner

    async def report_spent(self, rate_limited_sec: float | None = None) -> HeartbeatAnswer:
        """Report what was spent so far, also while the attempt is being stopped."""
        spent, progress = self.spent.report(), self._latest_progress
        heartbeat = self.yard.heartbeat
        return await heartbeat(self.id, self.lease, progress=progress, rate_limited_sec=rate_limited_sec, **spent)

    def stop(self, word: str) -> None:
        """The attempt is over: the next call of the handler says so."""
        self.stopped = word

    @asynccontextmanager
    async def ending(self) -> AsyncGenerator[None]:
        """While a call may end the attempt, a lost lease is expected: the call's answer says how it ended."""
        self._check()
        async with self.calls.left_behind():
            if self.has_output:
                await self.output.flush()  # nothing can be appended afterwards
            self.is_ending = True
            try:
                yield
            except BaseException as error:
                self.is_ending = isinstance(error, Suspended)  # then the attempt has ended
                raise
            self.is_ending = False
        self._check()

    def _count(self, call: ModelCall, ran: Ran | None = None) -> None:
        self.spent.add(call)
        record_call(call, self.spent.model, ran)

    async def _tell(self) -> None:
        self._check()
        self._heed(await self.report_spent())

    def _heed(self, answer: HeartbeatAnswer) -> None:
        if answer.must_stop:
            self.stop(answer.words[0])
            self._check()

    @property
    def max_cost(self) -> MicroUsd | None:
        """What the attempt may spend, in micro-dollars; None: the task has no maximum."""
        return self.task.spec.constraints.max_cost

    def _check(self) -> None:
        if self.stopped is not None:
            raise Stopped(self.stopped)

    def _session(self) -> Mapping[str, Any]:
        """What this runtime may go on with; nothing, where another one has pinned it."""
        session, claim = self.task.session, self.task.claim
        is_ours = session.runtime in (None, claim and claim.runtime_id)
        return {"session_id": session.session_id, "work_dir": session.work_dir} if is_ours else {}
