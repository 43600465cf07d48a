"""The Claude Agent SDK as a worker: `await run(task)` in a handler.

Claude keeps its conversation itself, as a session. The yard keeps a copy of it with the task, so that another attempt
goes on where the last one was cut off, on whichever machine. What each answer cost is reported when it comes.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import warnings
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from time import time
from typing import Any, cast

try:
    import claude_agent_sdk
    from claude_agent_sdk import (
        AssistantMessage,
        CanUseToolShadowedWarning,
        ClaudeAgentOptions,
        Message,
        PermissionResultAllow,
        PermissionResultDeny,
        RateLimitEvent,
        ResultError,
        ResultMessage,
        StreamEvent,
        SystemMessage,
        TextBlock,
        ToolPermissionContext,
        project_key_for_directory,
        query,
    )
    from claude_agent_sdk.types import (
        PermissionResult,
        SessionKey,
        SessionListSubkeysKey,
        SessionStore,
        SessionStoreEntry,
    )
except ImportError as error:
    raise ImportError("claude-agent-sdk is missing or too old (pip install 'taskyard[claude]')") from error

from taskyard.core.json_value import object_of
from taskyard.core.task import Reason
from taskyard.core.units import Micros
from taskyard.features.budgets.token_counts import anthropic_usage
from taskyard.integrations.agent_steps import ToolDecision, agent_run, approve, context_of, in_worker
from taskyard.worker.context import Context
from taskyard.worker.control import Fail, Retry
from taskyard.worker.current import enclosing_step
from taskyard.worker.isolation.programs import ending_with_worker
from taskyard.worker.providers import Fault, diagnose
from taskyard.worker.sync_context import SyncContext

logger = logging.getLogger(__name__)
BUSY = frozenset({429, 529})  # what the API answers when it has had enough
MICRO = 1_000_000  # micro-dollars of a dollar
LARGEST_MESSAGE = 64 * 1024 * 1024  # bytes of Claude's; the SDK's own 1 MiB is less than a file that it reads
NEARLY = 0.9  # of a rate limit: from here on it is said
Written = Callable[[SessionKey, list[SessionStoreEntry]], None]
GO_ON = "Go on where you were cut off."
DECIDED = (
    "A person has decided about the tool calls that were refused. Go on, and make those again that you still need."
)


async def run(
    task: Context | SyncContext,
    prompt: str | None = None,
    *,
    options: ClaudeAgentOptions | None = None,
    on_message: Callable[[Message], object] | None = None,
) -> Any:
    """Let Claude work on a task, and give what it ends with: its structured output, or its text.

    A tool that needs permission suspends the task until a person has decided, unless the options name who decides.
    """
    task = context_of(task)
    conversation = _conversation(task, task.prompt if prompt is None else prompt, options, on_message)
    return await in_worker(task, conversation)


async def _conversation(
    task: Context,
    prompt: str,
    options: ClaudeAgentOptions | None,
    on_message: Callable[[Message], object] | None,
) -> Any:
    with agent_run(task, "claude"):
        return await _Conversation(task, options or ClaudeAgentOptions()).finish(prompt, on_message)


class _Conversation:
    def __init__(self, task: Context, options: ClaudeAgentOptions) -> None:
        self._task = task
        self._options = options
        self._kind = f"{step}/" if (step := enclosing_step()) else ""
        self._decisions: dict[str, ToolDecision] = {}
        self._open: list[Mapping[str, Any]] = []  # tool calls that nobody has decided about yet
        self._reported = 0  # micro-dollars of this turn that the yard knows of
        self._before: int | None = None  # micro-dollars in Claude's own sum that are of earlier turns; None: not known
        self._counted: set[str] = set()  # ids of answers whose tokens are counted, or will be at the end of each
        self._coming: dict[str | None, dict[str, Any]] = {}  # the beginning of an answer, by the sub-agent that gets it
        self._limited: RateLimitEvent | None = None
        self._of_subagents: list[tuple[str | None, Mapping[str, Any]]] = []  # models and tokens, to be reported

    async def finish(self, prompt: str, on_message: Callable[[Message], object] | None) -> Any:
        known = await self._task.known_steps()
        if (stored := known.get(self._named("result"))) is not None:
            return (await self._task.unpacked_step(stored))["output"]
        store = TaskSessionStore(self._task, written=self._written)
        session = await self._session(store)
        while True:
            was_asked = await self._ask_people()
            given = prompt if session is None else DECIDED if was_asked else GO_ON
            result = await self._turn(given, session, store, on_message)
            session = result.session_id
            if not self._open:
                return await self._ended(result)
            asked = len(await self._asked_about())
            for number, call in enumerate(self._open, asked + 1):
                await self._task.store_step(self._named(f"asked:{number}"), call)

    async def _session(self, store: TaskSessionStore) -> str | None:
        """The session to go on with: one whose transcript is kept. Another may be on another machine, or nowhere."""
        if (theirs := self._options.session_store) is None:
            return await store.latest()
        if (session := self._task.session_id) is None:
            return None
        return session if await theirs.load(_key(self._folder(), session)) else None

    def _folder(self) -> str | Path | None:
        return self._options.cwd or self._task.work_dir

    async def _turn(
        self,
        prompt: str,
        session: str | None,
        store: TaskSessionStore,
        on_message: Callable[[Message], object] | None,
    ) -> ResultMessage:
        self._open, self._reported = [], 0
        options = await self._prepared(session, store)
        self._before = await _spent_before(options)
        result = None
        try:
            answering = query(prompt=_asked(prompt), options=options)
            async with aclosing(cast(AsyncGenerator[Message], answering)) as messages:
                async for message in messages:
                    await self._heard(message)
                    is_wanted = self._options.include_partial_messages or not isinstance(message, StreamEvent)
                    if on_message is not None and is_wanted:
                        on_message(message)
                    result = message if isinstance(message, ResultMessage) else result
        except ResultError:
            # After a result that is an error, Claude's program ends with an error as well. The result says more.
            if result is None:
                raise
        except Exception:
            await self._count_begun()
            raise
        if result is None:
            raise RuntimeError("Claude ended without a result")
        return result

    async def _prepared(self, session: str | None, store: TaskSessionStore) -> ClaudeAgentOptions:
        task, options = self._task, self._options
        most = task.task.spec.constraints.max_cost
        left = None if most is None else max(most - task.cost, 0) / MICRO
        models = [*task.models, None, None]
        if (decide := options.can_use_tool) is None and options.permission_prompt_tool_name is None:
            decide = self._may_use
            # It is for the tools that the options do not allow, and is not to be asked about the others.
            warnings.filterwarnings("ignore", category=CanUseToolShadowedWarning)
        program, variables = _program(options)
        return replace(
            options,
            cli_path=program,
            env={**options.env, **variables},
            resume=session or options.resume,
            cwd=self._folder(),
            model=options.model or models[0],
            fallback_model=options.fallback_model or models[1],
            max_budget_usd=options.max_budget_usd if left is None else min(options.max_budget_usd or left, left),
            can_use_tool=decide,
            include_partial_messages=True,  # only the end of an answer says how many tokens were written
            max_buffer_size=options.max_buffer_size or LARGEST_MESSAGE,
            session_store_flush="eager",  # what is not stored when a worker dies is paid for again
            session_store=options.session_store or cast(SessionStore, store),  # of which it has what is needed
        )

    # What is heard

    def _written(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        """Count the answers of sub-agents: only their transcripts have all of these, with the tokens of their end."""
        for entry in entries if "subpath" in key else []:
            answer: Any = entry.get("message") if entry.get("type") == "assistant" else None
            if answer and answer.get("usage") and not self._is_counted(answer.get("id")):
                self._of_subagents.append((answer.get("model"), answer["usage"]))

    async def _heard(self, message: Message) -> None:
        while self._of_subagents:
            await self._spend(*self._of_subagents.pop(0))
        match message:
            case SystemMessage(subtype="init"):
                session, folder = message.data.get("session_id"), message.data.get("cwd")
                await self._task.session(session, work_dir=folder)
            case StreamEvent():
                await self._measured(message)
            case AssistantMessage():
                in_transcript = message.parent_tool_use_id is not None and self._options.session_store is None
                if message.usage and not in_transcript and not self._is_counted(message.message_id):
                    await self._spend(message.model, message.usage)
                for text in (block.text for block in message.content if isinstance(block, TextBlock)):
                    await self._task.stream(text)
            case RateLimitEvent():
                self._limited = message if message.rate_limit_info.status == "rejected" else None
                if (message.rate_limit_info.utilization or 0) > NEARLY:
                    logger.warning("%s: Claude is near its rate limit: %s", self._task.id, message.rate_limit_info)
            case ResultMessage():
                await self._settle(message)
            case _:
                pass

    async def _measured(self, message: StreamEvent) -> None:
        """Count the tokens of an answer at its end. The parts that it comes in have those of its beginning, each."""
        event, place = message.event, message.parent_tool_use_id
        if event.get("type") == "message_start":
            self._coming[place] = event["message"]
            self._is_counted(event["message"].get("id"))
        elif event.get("type") == "message_delta" and (answer := self._coming.pop(place, None)) is not None:
            began: dict[str, Any] = answer.get("usage") or {}
            ended: dict[str, Any] = event.get("usage") or {}
            usage = {**began, **{name: count for name, count in ended.items() if count is not None}}
            await self._spend(answer.get("model"), usage)

    async def _count_begun(self) -> None:
        """Count what was read for an answer whose end nobody waits for."""
        while self._coming:
            _, answer = self._coming.popitem()
            await self._spend(answer.get("model"), answer.get("usage") or {})

    def _is_counted(self, answer_id: str | None) -> bool:
        """Whether an answer was counted before. From here on it is. One without an id never was."""
        if answer_id is None:
            return False
        before = len(self._counted)
        self._counted.add(answer_id)
        return len(self._counted) == before

    async def _spend(self, model: str | None, usage: Mapping[str, Any]) -> None:
        tokens = anthropic_usage(usage)
        if not any(tokens.values()):
            return  # what Claude's program says itself, such as of an error
        before = self._task.cost
        await self._task.spend(model=model, **tokens)
        self._reported += self._task.cost - before

    async def _settle(self, result: ResultMessage) -> None:
        """Report what Claude's own sum has beyond its answers: tools of the server, models without a known price.

        The sum is that of the whole session, also of its turns in earlier attempts.
        """
        if self._before is None:
            return
        total = round((result.total_cost_usd or 0) * MICRO) - self._before
        if total > self._reported:
            await self._task.spend((total - self._reported) / MICRO)
            self._reported = total

    async def _ended(self, result: ResultMessage) -> Any:
        if not result.is_error:
            output = result.result if result.structured_output is None else result.structured_output
            await self._task.store_step(self._named("result"), {"output": output})
            return output
        error = result.result or "; ".join(result.errors or []) or result.subtype
        if self._limited is not None or result.api_error_status in BUSY:
            resets = self._limited.rate_limit_info.resets_at if self._limited else None
            raise Retry(max(resets - time(), 1) if resets else 60, error, reason=Reason.RATE_LIMIT)
        refused = diagnose(Fault((), result.api_error_status, {}, error), now=Micros(round(time() * MICRO)))
        if refused is not None and refused.reason in (Reason.AUTH_FAILURE, Reason.CONTEXT_LENGTH):
            raise Fail(refused.reason, error)
        if result.subtype == "error_max_budget_usd":
            raise Fail(Reason.BUDGET_EXCEEDED, error)
        raise Fail(Reason.AGENT_ERROR, error)

    def _named(self, what: str) -> str:
        return f"{self._kind}{what}"

    # Permissions

    async def _may_use(self, tool: str, given: dict[str, Any], _: ToolPermissionContext) -> PermissionResult:
        """What a person decided; where nobody has, the turn ends here, and the task waits for somebody who does."""
        call_id = _call_id(tool, given)
        decided = self._decisions.get(call_id)
        if decided is None:
            self._open.append({"tool": tool, "arguments": given, "id": call_id})
            return PermissionResultDeny(message="A person is asked first.", interrupt=True)
        if decided.approved:
            return PermissionResultAllow(updated_input=given)
        return PermissionResultDeny(message=decided.comment or "A person has denied it.")

    async def _ask_people(self) -> bool:
        """Ask about the calls that earlier turns ended with. Whether there were any."""
        asked = await self._asked_about()
        for call in asked:
            tool, given, call_id = call["tool"], call["arguments"], call["id"]
            self._decisions[call_id] = await approve(
                self._task, agent="Claude", tool=tool, call_id=call_id, arguments=given
            )
        return bool(asked)

    async def _asked_about(self) -> list[dict[str, Any]]:
        known = await self._task.known_steps()
        names = [name for name in known if name.startswith(self._named("asked:"))]
        return [await self._task.unpacked_step(known[name]) for name in names]


def _call_id(tool: str, given: Mapping[str, Any]) -> str:
    """By what is called: a call that is made again after a decision has another id of Claude's."""
    return sha256(json.dumps([tool, given], sort_keys=True).encode()).hexdigest()[:16]


async def _asked(prompt: str) -> AsyncIterator[dict[str, Any]]:
    """As a stream: only then does Claude ask for permissions."""
    yield {"type": "user", "message": {"role": "user", "content": prompt}, "parent_tool_use_id": None}


def _program(options: ClaudeAgentOptions) -> tuple[str | None, dict[str, str]]:
    """Claude's command line, such that it ends with this process: nobody would count what it costs after that."""
    brought = Path(claude_agent_sdk.__file__).with_name("_bundled") / "claude"
    program = options.cli_path or (brought if brought.is_file() else shutil.which("claude"))
    return (None, {}) if program is None else ending_with_worker(os.fspath(program))


def _key(folder: str | Path | None, session: str) -> SessionKey:
    return SessionKey(project_key=project_key_for_directory(folder), session_id=session)


async def _spent_before(options: ClaudeAgentOptions) -> int | None:
    """What Claude's own sum begins with, in micro-dollars: a session that goes on has the sum in its transcript."""
    if options.resume is None or options.session_store is None:
        return 0
    entries: Any = await options.session_store.load(_key(options.cwd, options.resume))
    if entries is None:
        return None  # it is in a file of this machine
    sums = [entry.get("totalCostUSD") for entry in entries if entry.get("type") == "cost-state"]
    return round((sums[-1] or 0) * MICRO) if sums else 0


class TaskSessionStore:
    """Keeps Claude's transcripts as steps of the task, under its lease: any machine can go on with a session."""

    def __init__(self, task: Context, name: str = "session", *, written: Written | None = None) -> None:
        self._task = task
        self._kind = f"{step}/{name}" if (step := enclosing_step()) else name
        self._written = written  # hears what was stored

    async def append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        if entries:
            number = len(await self._names()) + 1
            await self._task.store_step(f"{self._kind}:{number:06}", {"key": key, "entries": entries})
            if self._written is not None:
                self._written(key, entries)

    async def load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        """The project is named by the folder, and on another machine that may be another one: any will do, then."""
        bodies = await self._bodies()
        mine = [each for each in bodies if each["key"] == key] or [
            each for each in bodies if {**each["key"], "project_key": key["project_key"]} == key
        ]
        kept: dict[str, SessionStoreEntry] = {}  # an entry that comes again, comes once
        for entry in (entry for body in mine for entry in body["entries"]):
            kept[entry.get("uuid") or f"{len(kept)}"] = entry
        return list(kept.values()) or None

    async def list_subkeys(self, key: SessionListSubkeysKey) -> list[str]:
        keys = [body["key"] for body in await self._bodies()]
        return sorted(
            {each["subpath"] for each in keys if each["session_id"] == key["session_id"] and "subpath" in each}
        )

    async def latest(self) -> str | None:
        """The session that was written to last; None where there is none."""
        bodies = await self._bodies()
        return bodies[-1]["key"]["session_id"] if bodies else None

    async def _names(self) -> list[str]:
        return sorted(name for name in await self._task.known_steps() if name.startswith(f"{self._kind}:"))

    async def _bodies(self) -> list[dict[str, Any]]:
        known = await self._task.known_steps()
        return [object_of(await self._task.unpacked_step(known[name])) for name in await self._names()]
