"""Model calls, tool calls and approvals of any agent framework, as steps of the task that is being worked on.

What every integration shares is here: a call is done once and paid for once, a rate limit parks the task, a person who
must be asked is asked without a slot. Nothing here knows a framework.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from time import time_ns
from typing import Any, NamedTuple, TypeVar

from taskyard.core.task import Reason
from taskyard.worker.attempt_spans import Attributes, step_span
from taskyard.worker.context import Context
from taskyard.worker.control import Interrupted, Stopped
from taskyard.worker.current import current_task, find_task, within_step
from taskyard.worker.faults import diagnose_error
from taskyard.worker.spending import Ran, StepCost
from taskyard.worker.steps.calls_under_way import is_within_call
from taskyard.worker.sync_context import SyncContext

Answer = TypeVar("Answer")
Body = Callable[[], Awaitable[Any]]
_NOTHING: Attributes = {}
_in_tool: ContextVar[bool] = ContextVar("taskyard_in_tool", default=False)


@contextmanager
def agent_run(task: Context, agent: str) -> Generator[None]:
    """One run of an agent: its steps are numbered apart from those of other runs, which may go on at the same time."""
    with within_step(task.next_name(f"run:{agent}")):
        yield


@contextmanager
def rate_limits_park() -> Generator[None]:
    """Inside of a tool, a rate limit of a model ends the attempt at once, and parks the task.

    Elsewhere it reaches the handler as the exception that it is, which comes to the same where nobody handles it. A
    framework handles what a tool raises: it would tell the model of the rate limit, and go on.
    """
    try:
        yield
    except Exception as error:
        if _in_tool.get() and _is_rate_limit(error):
            raise Interrupted(error) from error
        raise


def _is_rate_limit(error: Exception) -> bool:
    diagnosis = diagnose_error(error)
    return diagnosis is not None and diagnosis.reason is Reason.RATE_LIMIT


async def call_model(task: Context, kind: str, body: Body, *, spend: StepCost) -> Any:
    """Ask a model once: its answer and what it cost are one stored change."""
    with rate_limits_park():
        try:
            async with task.calls.one():
                if task.is_ending or task.is_over:
                    raise Stopped("over")
                return await step(task, kind, body, spend=spend)
        except Exception as error:
            if _is_rate_limit(error):
                await task.calls.settled()  # it will end the attempt, and the answers that are on their way with it
            raise


def find_asking_task() -> Context | None:
    """The task whose step a call of a model is to be; None outside of a handler, and where it is a part of one already.

    A framework may be given a client whose calls are steps by themselves: its own step has the answer and the cost.
    """
    return None if is_within_call() else find_task()


async def call_tool(task: Context, tool: str, call_id: str, body: Body) -> Any:
    """Call a tool once. The model names the call in an answer that is stored, so every attempt has the same name."""
    facts = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool, "gen_ai.tool.call.id": call_id}
    outside = _in_tool.set(True)
    try:
        return await step(task, f"tool:{tool}:{call_id}", body, facts=facts)
    finally:
        _in_tool.reset(outside)


@contextmanager
def within_tool(task: Context, tool: str, call_id: str) -> Generator[None]:
    """A tool that is an agent: not a step itself, since its own calls are steps."""
    outside = _in_tool.set(True)
    try:
        with within_step(task.next_name(f"tool:{tool}:{call_id}")):
            yield
    finally:
        _in_tool.reset(outside)


async def step(task: Context, kind: str, body: Body, *, spend: StepCost = None, facts: Attributes = _NOTHING) -> Any:
    """As `Context.step` without a name, from whichever event loop the framework runs in."""
    name = task.next_name(kind)
    known = await in_worker(task, task.known_steps())
    if name in known:
        return await in_worker(task, task.unpacked_step(known[name]))
    with task.naming(name), step_span(name, facts), within_step(name):
        began = time_ns()
        result = await body()
        return await keep_step(task, name, result, spend, ran=(began, time_ns()))


async def keep_step(task: Context, name: str, result: Any, spend: StepCost, *, ran: Ran) -> Any:
    """Store what came of a step. A framework that gives the call up meanwhile waits for that: it is paid for.

    Frameworks do so with calls that go on side by side when one of them fails.
    """
    storing = asyncio.ensure_future(in_worker(task, task.store_step(name, result, spend, ran=ran)))
    try:
        return await asyncio.shield(storing)
    except asyncio.CancelledError:
        await asyncio.gather(storing, return_exceptions=True)
        raise


def context_of(task: Context | SyncContext) -> Context:
    """The task as coroutines use it. A handler that is a plain function has one whose calls wait for their answers."""
    return current_task() if isinstance(task, SyncContext) else task


async def in_worker(task: Context, call: Coroutine[Any, Any, Answer]) -> Answer:
    """Make a call of the context where it belongs. A handler in a thread may run a framework in a loop of its own."""
    if asyncio.get_running_loop() is task.loop:
        return await call
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(call, task.loop))


def from_thread(task: Context, call: Coroutine[Any, Any, Answer]) -> Answer:
    """Make an asynchronous call for synchronous code in a thread."""
    with suppress(RuntimeError):
        if asyncio.get_running_loop() is task.loop:
            call.close()
            raise TypeError("a synchronous call would stop the worker: use `ainvoke` in asynchronous code")
    return asyncio.run_coroutine_threadsafe(call, task.loop).result()


async def show(task: Context, text: str) -> None:
    """Show a part of an answer to those who follow the task."""
    if text:
        await in_worker(task, task.stream(text))


class ToolDecision(NamedTuple):
    """What a person decided about a tool call."""

    approved: bool
    comment: str = ""


async def approve(task: Context, *, agent: str, tool: str, call_id: str, arguments: Any) -> ToolDecision:
    """Have a person decide about a tool call. The task waits without a slot, and the handler runs again afterwards."""
    asked = {"tool": tool, "arguments": _read(arguments)}
    name = task.next_name(
        f"approve:{tool}:{call_id}"
    )  # of this run: not every model names its calls apart from others'
    question = task.ask(f"May {agent} call {tool}?", context=asked, name=name)
    answer = await in_worker(task, question)
    return ToolDecision(answer["approved"], answer.get("comment") or "")


def _read(arguments: Any) -> Any:
    """The arguments of a call as a document, where a model wrote one."""
    try:
        return json.loads(arguments) if isinstance(arguments, str) else arguments
    except ValueError:
        return arguments
