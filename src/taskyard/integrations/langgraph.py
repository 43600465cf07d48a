"""Graphs of LangGraph as workers: `await run(task, graph, {"question": task.prompt})` in a handler.

The checkpoints of the graph and the answers of its chat models are steps of the task, so that they are written under
its lease: an attempt that lost it changes nothing any more. What a graph interrupts for is a question to a person.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, cast

try:
    from langchain_core.messages import AIMessage
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
    from langgraph.types import Command, Interrupt

    from taskyard.integrations.langgraph_models import ModelCalls, install_cache, jsonable, with_handler
except ImportError as error:
    raise ImportError("langgraph is missing or too old (pip install 'taskyard[langgraph]')") from error

from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import is_mapping
from taskyard.integrations.agent_steps import agent_run, approve, context_of, from_thread, in_worker, show
from taskyard.worker.context import Context
from taskyard.worker.current import enclosing_step
from taskyard.worker.sync_context import SyncContext

Stored = dict[str, Any]  # the body of a step


async def run(
    task: Context | SyncContext,
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
    install_cache()
    task = context_of(task)
    return await in_worker(task, _run(task, graph, input, config, options, stream=stream))


async def _run(
    task: Context,
    graph: Any,
    input: Any,
    config: RunnableConfig | None,
    options: Mapping[str, Any],
    *,
    stream: bool,
) -> Any:
    await task.known_steps()  # from here on, a model in a thread finds them without waiting for the loop
    name = graph.get_name()
    config = RunnableConfig(**(config or {}))
    config["configurable"] = {**config.get("configurable", {}), "thread_id": task.id}
    with agent_run(task, name):
        durable = graph.copy(update={"checkpointer": YardSaver(task)})
        config["callbacks"] = with_handler(ModelCalls(task), config.get("callbacks"))
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
    context = None if isinstance(value, str) else jsonable(value)
    return await task.ask(question, schema=schema, context=context, name=name)


async def _decided(task: Context, graph: str, name: str, place: int, call: Any) -> Mapping[str, Any]:
    """One call of a tool, as LangChain's middleware for people in the loop asks about it."""
    tool = str(_member(call, "name", "action") or "tool")
    arguments = jsonable(_member(call, "args", "arguments"))
    decided = await approve(task, agent=graph, tool=tool, call_id=f"{name}:{place}", arguments=arguments)
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
        self._numbers: dict[str, int] = {}  # of the last writes of each node's run: LangGraph does not wait for one

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
        task_path: str = "",
    ) -> None:
        namespace, checkpoint_id = _namespace(config), get_checkpoint_id(config)
        kind = f"{self._write_kind}:{_short(namespace)}:{checkpoint_id}:{task_id}"
        known = await in_worker(self._task, self._task.known_steps())
        number = 1 + max(sum(name.startswith(f"{kind}:") for name in known), self._numbers.get(kind, 0))
        self._numbers[kind] = number
        body = {
            "namespace": namespace,
            "checkpoint": checkpoint_id,
            "task": task_id,
            "path": task_path,
            "writes": [
                [WRITES_IDX_MAP.get(channel, place), channel, *self._dumped(value)]
                for place, (channel, value) in enumerate(writes)
            ],
        }
        await self._store(f"{kind}:{number:04}", body)

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
        return from_thread(self._task, self.aput(config, checkpoint, metadata, new_versions))

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        from_thread(self._task, self.aput_writes(config, writes, task_id, task_path))

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return from_thread(self._task, self.aget_tuple(config))

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

        return iter(from_thread(self._task, listed()))

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
        """What nodes have written since the checkpoint, in the order in which LangGraph applies it.

        Of a special write, such as an interrupt, the last counts.
        """
        written: dict[tuple[str, int], tuple[str, str, Any]] = {}
        paths: dict[str, str] = {}  # of the runs of nodes; what is written before they begin has none
        for body in await self._bodies(f"{self._write_kind}:{_short(namespace)}:{checkpoint_id}", namespace):
            paths[body["task"]] = body["path"] or paths.get(body["task"], "")
            for place, channel, *typed in body["writes"]:
                key = (body["task"], place)
                if place < 0 or key not in written:
                    written[key] = (body["task"], channel, self._loaded(typed))
        return [written[key] for key in sorted(written, key=lambda key: (paths[key[0]], *key))]

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
