"""Graphs of LangGraph as workers: `await run(task, graph, {"question": task.prompt})` in a handler.

The checkpoints of the graph and the answers of its chat models are steps of the task, so that they are written under
its lease: an attempt that lost it changes nothing any more. What a graph interrupts for is a question to a person.
"""

from __future__ import annotations

import asyncio
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from time import time_ns
from typing import Any, cast

try:
    from langchain_core.caches import BaseCache
    from langchain_core.callbacks import BaseCallbackHandler, BaseCallbackManager
    from langchain_core.globals import get_llm_cache, set_llm_cache
    from langchain_core.messages import AIMessage, message_to_dict, messages_from_dict
    from langchain_core.outputs import ChatGeneration, Generation, LLMResult
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import (
        WRITES_IDX_MAP,
        BaseCheckpointSaver,
        ChannelVersions,
        Checkpoint,
        CheckpointMetadata,
        CheckpointTuple,
        get_checkpoint_id,
        get_checkpoint_metadata,
    )
    from langgraph.config import get_config
    from langgraph.types import Command, Interrupt
except ImportError as error:
    raise ImportError("langgraph is missing or too old (pip install 'taskyard[langgraph]')") from error

from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import is_mapping
from taskyard.integrations.agent_steps import agent_run, approve, in_worker, keep_step, show
from taskyard.worker.context import Context
from taskyard.worker.current import enclosing_step, find_task

Stored = dict[str, Any]  # the body of a step
_STORED = "taskyard_stored"  # marks an answer that is a step, and is paid for


async def run(
    task: Context,
    graph: Any,
    input: Any,
    *,
    config: RunnableConfig | None = None,
    stream: bool = False,
    **options: Any,
) -> Any:
    """Run a compiled graph, or an entrypoint, on a task: gives what `ainvoke` gives, and takes its options.

    A graph that was cut off goes on where its last checkpoint was; one that has ended gives what it ended with. One
    that interrupts itself suspends the task until a person has answered. With `stream`, those who follow the task see
    the text of the models as it comes.
    """
    _check_breakpoints(graph, options)
    _install_cache()
    await task.known_steps()  # from here on, a model in a thread finds them without waiting for the loop
    name = graph.get_name()
    config = RunnableConfig(**(config or {}))
    config["configurable"] = {**config.get("configurable", {}), "thread_id": task.id}
    with agent_run(task, name):
        durable = graph.copy(update={"checkpointer": YardSaver(task)})
        config["callbacks"] = _with(_UnstoredCalls(task), config.get("callbacks"))
        state = await durable.aget_state(config)
        given: Any = input if state.created_at is None else None
        if state.next and state.interrupts:
            given = await _answered(task, name, state.interrupts)
        while True:
            if stream:
                result = await _streamed(task, durable, given, config, options)
            else:
                result = await durable.ainvoke(given, config, **options)
            state = await durable.aget_state(config)
            if not state.interrupts:
                return result
            given = await _answered(task, name, state.interrupts)


async def _streamed(task: Context, graph: Any, given: Any, config: RunnableConfig, options: Mapping[str, Any]) -> Any:
    """As `ainvoke`, with the text of the models shown. A stored answer is shown at once."""
    result, modes = None, ["messages", "values"]
    whole = {"output_keys": graph.output_channels, **options, "stream_mode": modes, "subgraphs": True}
    async for namespace, mode, part in graph.astream(given, config, **whole):
        if mode == "values" and not namespace:
            result = part
        elif mode == "messages" and isinstance(part[0], AIMessage):
            await show(task, str(part[0].text))
    return result


def _check_breakpoints(graph: Any, options: Mapping[str, Any]) -> None:
    """A breakpoint asks nothing: behind it, the half of the work would be taken for the whole."""
    for name in ("interrupt_before", "interrupt_after"):
        if getattr(graph, f"{name}_nodes", None) or options.get(name):
            raise InvalidInput(name, "stops a graph without a question: call interrupt() in the node instead")


# Questions


async def _answered(task: Context, graph: str, interrupts: Sequence[Interrupt[Any]]) -> Command[Any]:
    """Ask a person about each thing that the graph waits for, one after the other."""
    return Command(resume={each.id: await _asked(task, graph, each) for each in interrupts})


async def _asked(task: Context, graph: str, interrupt: Interrupt[Any]) -> Any:
    value, name = interrupt.value, f"interrupt:{interrupt.id}"
    if (calls := _member(value, "action_requests")) is not None:
        return {"decisions": [await _decided(task, graph, name, place, call) for place, call in enumerate(calls)]}
    schema = interrupt.response_schema if isinstance(interrupt.response_schema, dict) else _schema_in(value)
    question = value if isinstance(value, str) else str(_member(value, "question", "message") or f"{graph} asks")
    context = None if isinstance(value, str) else value
    return await task.ask(question, schema=schema, context=context, name=name)


async def _decided(task: Context, graph: str, name: str, place: int, call: Any) -> Mapping[str, Any]:
    """One call of a tool, as LangChain's middleware for people in the loop asks about it."""
    tool = str(_member(call, "name", "action") or "tool")
    decided = await approve(
        task, agent=graph, tool=tool, call_id=f"{name}:{place}", arguments=_member(call, "args", "arguments")
    )
    return {"type": "approve"} if decided.approved else {"type": "reject", "message": decided.comment or "denied"}


def _schema_in(value: Any) -> Mapping[str, Any]:
    """The shape of an answer that the graph names itself; any JSON where it names none."""
    named = _member(value, "schema", "response_schema")
    return named if is_mapping(named) else {}


def _member(value: Any, *names: str) -> Any:
    return next((value[name] for name in names if name in value), None) if is_mapping(value) else None


# Checkpoints


class YardSaver(BaseCheckpointSaver[str]):
    """Keeps the checkpoints of one run of a graph as steps of a task; the thread is the task.

    A checkpoint holds the channels that changed in it. Others are found in the checkpoints before it, by their version.
    """

    def __init__(self, task: Context) -> None:
        super().__init__()
        self._task = task
        run = f"{step}/" if (step := enclosing_step()) else ""
        self._checkpoint_kind, self._write_kind = f"{run}checkpoint", f"{run}writes"

    def get_next_version(self, current: str | None, channel: None) -> str:  # noqa: ARG002 (LangGraph's)
        """Versions are numbers as text of one length, since they are compared as text."""
        return f"{int(current or 0) + 1:016}"

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        namespace = _namespace(config)
        values = checkpoint["channel_values"]
        changed = {
            channel: [str(version), *self._dumped(values[channel])] if channel in values else [str(version)]
            for channel, version in new_versions.items()
        }
        body = {
            "namespace": namespace,
            "id": checkpoint["id"],
            "parent": config.get("configurable", {}).get("checkpoint_id"),
            "checkpoint": self._dumped({**checkpoint, "channel_values": {}}),
            "metadata": self._dumped(get_checkpoint_metadata(config, metadata)),
            "channels": changed,
        }
        await self._store(f"{self._checkpoint_kind}:{_short(namespace)}:{checkpoint['id']}", body)
        return self._config(namespace, checkpoint["id"])

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",  # noqa: ARG002 (LangGraph's)
    ) -> None:
        namespace, checkpoint_id = _namespace(config), get_checkpoint_id(config)
        kind = f"{self._write_kind}:{_short(namespace)}:{checkpoint_id}:{task_id}"
        earlier = sum(name.startswith(f"{kind}:") for name in await in_worker(self._task, self._task.known_steps()))
        body = {
            "namespace": namespace,
            "checkpoint": checkpoint_id,
            "task": task_id,
            "writes": [
                [WRITES_IDX_MAP.get(channel, place), channel, *self._dumped(value)]
                for place, (channel, value) in enumerate(writes)
            ],
        }
        await self._store(f"{kind}:{earlier + 1:04}", body)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        asked = get_checkpoint_id(config)
        kept = await self._checkpoints(_namespace(config))
        found = kept.get(asked) if asked else next(reversed(kept.values()), None)
        return None if found is None else await self._tuple(found, kept)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        kept = await self._checkpoints(_namespace(config or {}))
        until = get_checkpoint_id(before) if before else None
        given = 0
        for checkpoint_id, found in reversed(kept.items()):
            if (until is not None and checkpoint_id >= until) or given == limit:
                continue
            each = await self._tuple(found, kept)
            facts: Mapping[str, Any] = {**each.metadata}
            if all(facts.get(name) == value for name, value in (filter or {}).items()):
                given += 1
                yield each

    # The same for a graph that runs in a thread

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        return _from_thread(self._task, self.aput(config, checkpoint, metadata, new_versions))

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        _from_thread(self._task, self.aput_writes(config, writes, task_id, task_path))

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return _from_thread(self._task, self.aget_tuple(config))

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        async def listed() -> list[CheckpointTuple]:
            return [each async for each in self.alist(config, filter=filter, before=before, limit=limit)]

        return iter(_from_thread(self._task, listed()))

    # What is stored

    async def _checkpoints(self, namespace: str) -> dict[str, Stored]:
        """Those of a graph or sub-graph by their ids, oldest first: the ids are made in the order of time."""
        bodies = await self._bodies(self._checkpoint_kind, namespace)
        return {each["id"]: each for each in sorted(bodies, key=lambda body: body["id"])}

    async def _tuple(self, body: Stored, kept: Mapping[str, Stored]) -> CheckpointTuple:
        namespace = body["namespace"]
        checkpoint = cast(Checkpoint, self._loaded(body["checkpoint"]))
        channels = {
            (channel, typed[0]): typed[1:] for each in kept.values() for channel, typed in each["channels"].items()
        }
        values = {
            channel: self._loaded(typed)
            for channel, version in checkpoint["channel_versions"].items()
            if (typed := channels.get((channel, str(version))))
        }
        return CheckpointTuple(
            config=self._config(namespace, body["id"]),
            checkpoint={**checkpoint, "channel_values": values},
            metadata=self._loaded(body["metadata"]),
            parent_config=self._config(namespace, body["parent"]) if body["parent"] else None,
            pending_writes=await self._writes(namespace, body["id"]),
        )

    async def _writes(self, namespace: str, checkpoint_id: str) -> list[tuple[str, str, Any]]:
        """What nodes have written since the checkpoint. Of a special write, such as an interrupt, the last counts."""
        written: dict[tuple[str, int], tuple[str, str, Any]] = {}
        for body in await self._bodies(f"{self._write_kind}:{_short(namespace)}:{checkpoint_id}", namespace):
            for place, channel, *typed in body["writes"]:
                key = (body["task"], place)
                if place < 0 or key not in written:
                    written[key] = (body["task"], channel, self._loaded(typed))
        return list(written.values())

    async def _bodies(self, kind: str, namespace: str) -> Sequence[Stored]:
        known = await in_worker(self._task, self._task.known_steps())
        names = sorted(name for name in known if name.startswith(f"{kind}:"))
        bodies = [await in_worker(self._task, self._task.unpacked_step(known[name])) for name in names]
        return [body for body in bodies if body["namespace"] == namespace]

    async def _store(self, name: str, body: Stored) -> None:
        known = await in_worker(self._task, self._task.known_steps())
        if name not in known:
            await in_worker(self._task, self._task.store_step(name, body))

    def _dumped(self, value: Any) -> Sequence[str]:
        kind, content = self.serde.dumps_typed(value)
        return [kind, b64encode(content).decode()]

    def _loaded(self, typed: Sequence[str]) -> Any:
        kind, content = typed
        return self.serde.loads_typed((kind, b64decode(content)))

    def _config(self, namespace: str, checkpoint_id: str) -> RunnableConfig:
        return {
            "configurable": {
                "thread_id": self._task.id,
                "checkpoint_ns": namespace,
                "checkpoint_id": checkpoint_id,
            }
        }


def _namespace(config: RunnableConfig) -> str:
    return config.get("configurable", {}).get("checkpoint_ns", "")


def _short(namespace: str) -> str:
    """Of a graph inside a graph inside a graph, the namespace is longer than the name of a step may be."""
    return sha256(namespace.encode()).hexdigest()[:12] if namespace else "main"


# Models


class StepCache(BaseCache):
    """Answers of chat models as steps of the task that is being worked on; elsewhere, another cache or none.

    LangChain looks for an answer here before it asks a model, and hands the answer in when it came: that is where a
    call becomes a step, for every chat model and without touching any. The same question twice is two steps.
    """

    def __init__(self, elsewhere: BaseCache | None) -> None:
        self._elsewhere = elsewhere
        self._began: dict[str, int] = {}

    async def alookup(self, prompt: str, llm_string: str) -> Sequence[Generation] | None:
        if (task := find_task()) is None:
            return None if self._elsewhere is None else await self._elsewhere.alookup(prompt, llm_string)
        kind = _kind(prompt, llm_string)
        name = task.next_name(kind)
        with suppress(_NotDone), task.naming(name):
            known = await in_worker(task, task.known_steps())
            if name in known:
                stored = await in_worker(task, task.unpacked_step(known[name]))
                return [_loaded_answer(each) for each in stored]
            self._began[f"{task.id}:{kind}"] = time_ns()
            raise _NotDone  # the number is for the answer that comes
        return None

    async def aupdate(self, prompt: str, llm_string: str, return_val: Sequence[Generation]) -> None:
        if (task := find_task()) is None:
            if self._elsewhere is not None:
                await self._elsewhere.aupdate(prompt, llm_string, return_val)
            return
        kind = _kind(prompt, llm_string)
        ran = (self._began.pop(f"{task.id}:{kind}", time_ns()), time_ns())
        stored = [_dumped_answer(each) for each in return_val]
        cost = _cost(return_val)
        await keep_step(task, task.next_name(kind), stored, cost, ran=ran)
        for each in return_val:
            each.generation_info = {**(each.generation_info or {}), _STORED: True}

    def lookup(self, prompt: str, llm_string: str) -> Sequence[Generation] | None:
        if (task := find_task()) is None:
            return None if self._elsewhere is None else self._elsewhere.lookup(prompt, llm_string)
        return _from_thread(task, self.alookup(prompt, llm_string))

    def update(self, prompt: str, llm_string: str, return_val: Sequence[Generation]) -> None:
        if (task := find_task()) is not None:
            _from_thread(task, self.aupdate(prompt, llm_string, return_val))
        elif self._elsewhere is not None:
            self._elsewhere.update(prompt, llm_string, return_val)

    async def aclear(self, **options: Any) -> None:
        if self._elsewhere is not None:
            await self._elsewhere.aclear(**options)

    def clear(self, **options: Any) -> None:
        if self._elsewhere is not None:
            self._elsewhere.clear(**options)


class _UnstoredCalls(BaseCallbackHandler):
    """Reports what calls cost that LangChain makes past its cache: `astream` in a node, a model with `cache=False`."""

    raise_error = True

    def __init__(self, task: Context) -> None:
        self._task = task

    def on_llm_end(self, response: LLMResult, **_: Any) -> None:
        for answers in response.generations:
            cost = _cost(answers) if not any(map(_is_stored, answers)) else None
            if cost is not None:
                _from_thread(self._task, self._task.spend(**cost))


def _is_stored(answer: Any) -> bool:
    """Whether an answer is that of a step. LangChain marks what comes from a cache by a cost of nothing."""
    usage: Mapping[str, Any] = getattr(getattr(answer, "message", None), "usage_metadata", None) or {}
    return _STORED in (answer.generation_info or {}) or usage.get("total_cost") == 0


def _with(ours: BaseCallbackHandler, theirs: list[BaseCallbackHandler] | BaseCallbackManager | None) -> Any:
    if isinstance(theirs, BaseCallbackManager):
        manager = theirs.copy()
        manager.add_handler(ours)
        return manager
    return [*(theirs or []), ours]


class _NotDone(Exception):
    """No answer is stored yet."""


def _install_cache() -> None:
    """Stand before the cache of the process, once. A model with `cache=False` or a cache of its own is left alone."""
    if not isinstance(cache := get_llm_cache(), StepCache):
        set_llm_cache(StepCache(cache))


def _kind(prompt: str, llm_string: str) -> str:
    """Names a question by its text and by the node that asks it, which is the same when a graph goes on."""
    node = ""
    with suppress(RuntimeError):  # outside of a node
        node = get_config().get("configurable", {}).get("checkpoint_ns", "")
    asked = "\0".join((node, prompt, llm_string))
    return f"model:{sha256(asked.encode()).hexdigest()[:24]}"


def _dumped_answer(answer: Generation) -> Stored:
    if isinstance(answer, ChatGeneration):
        return {"message": message_to_dict(answer.message), "info": answer.generation_info}
    return {"text": answer.text, "info": answer.generation_info}


def _loaded_answer(stored: Stored) -> Generation:
    if "message" not in stored:
        return Generation(text=stored["text"], generation_info=stored["info"])
    [message] = messages_from_dict([stored["message"]])
    return ChatGeneration(message=message, generation_info=stored["info"])


def _cost(answers: Sequence[Generation]) -> Mapping[str, Any] | None:
    """What the answers used, as the arguments of `Context.spend`; None where they do not say."""
    for answer in answers:
        message: Any = answer.message if isinstance(answer, ChatGeneration) else None
        if usage := getattr(message, "usage_metadata", None):
            details: Mapping[str, int] = usage.get("input_token_details") or {}
            model = message.response_metadata.get("model_name") or message.response_metadata.get("model")
            return {
                "model": model,
                "input_tokens": usage["input_tokens"],
                "output_tokens": usage["output_tokens"],
                "cache_read_tokens": details.get("cache_read", 0),
                "cache_write_tokens": details.get("cache_creation", 0),
            }
    return None


def _from_thread(task: Context, call: Coroutine[Any, Any, Any]) -> Any:
    """Make an asynchronous call for synchronous code in a thread."""
    with suppress(RuntimeError):
        if asyncio.get_running_loop() is task.loop:
            call.close()
            raise TypeError("a synchronous call would stop the worker: use `ainvoke` in asynchronous code")
    return asyncio.run_coroutine_threadsafe(call, task.loop).result()
