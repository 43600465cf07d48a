"""Answers of LangChain's chat models as steps of the task that is being worked on, with what they cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from time import time_ns
from typing import Any

from langchain_core.caches import BaseCache
from langchain_core.callbacks import BaseCallbackHandler, BaseCallbackManager
from langchain_core.globals import get_llm_cache, set_llm_cache
from langchain_core.messages import message_to_dict, messages_from_dict
from langchain_core.outputs import ChatGeneration, Generation, LLMResult
from langgraph.config import get_config
from pydantic import ConfigDict, TypeAdapter

from taskyard.core.task import Reason
from taskyard.integrations.agent_steps import from_thread, in_worker, keep_step
from taskyard.worker.context import Context
from taskyard.worker.control import Interrupted
from taskyard.worker.current import find_task
from taskyard.worker.faults import diagnose_error

Stored = dict[str, Any]  # the body of a step
_ANYTHING = TypeAdapter[Any](Any, config=ConfigDict(ser_json_bytes="base64", ser_json_inf_nan="strings"))
_STORED = "taskyard_stored"  # marks an answer that is a step, and is paid for


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
        return from_thread(task, self.alookup(prompt, llm_string))

    def update(self, prompt: str, llm_string: str, return_val: Sequence[Generation]) -> None:
        if (task := find_task()) is not None:
            from_thread(task, self.aupdate(prompt, llm_string, return_val))
        elif self._elsewhere is not None:
            self._elsewhere.update(prompt, llm_string, return_val)

    async def aclear(self, **options: Any) -> None:
        if self._elsewhere is not None:
            await self._elsewhere.aclear(**options)

    def clear(self, **options: Any) -> None:
        if self._elsewhere is not None:
            self._elsewhere.clear(**options)


class ModelCalls(BaseCallbackHandler):
    """What the cache does not see of the calls of models.

    That is the cost of those that LangChain makes past it, by `astream` in a node or of a model with `cache=False`, and
    rate limits, which a tool's node would make an answer of.
    """

    raise_error = True

    def __init__(self, task: Context) -> None:
        self._task = task
        self._rate_limits: list[BaseException] = []

    def on_llm_end(self, response: LLMResult, **_: Any) -> None:
        for answers in response.generations:
            cost = _cost(answers) if not any(map(_is_stored, answers)) else None
            if cost is not None:
                from_thread(self._task, self._task.spend(**cost))

    def on_llm_error(self, error: BaseException, **_: Any) -> None:
        diagnosis = diagnose_error(error)
        if diagnosis is not None and diagnosis.reason is Reason.RATE_LIMIT:
            self._rate_limits.append(error)

    def on_tool_error(self, error: BaseException, **_: Any) -> None:
        """A rate limit that a model inside of the tool met ends the attempt, and parks the task."""
        cause: BaseException | None = error
        while cause is not None:
            if isinstance(error, Exception) and any(cause is each for each in self._rate_limits):
                raise Interrupted(error) from error
            cause = cause.__cause__


def _is_stored(answer: Any) -> bool:
    """Whether an answer is that of a step. LangChain marks what comes from a cache by a cost of nothing."""
    usage: Mapping[str, Any] = getattr(getattr(answer, "message", None), "usage_metadata", None) or {}
    return _STORED in (answer.generation_info or {}) or usage.get("total_cost") == 0


def with_handler(ours: BaseCallbackHandler, theirs: list[BaseCallbackHandler] | BaseCallbackManager | None) -> Any:
    if isinstance(theirs, BaseCallbackManager):
        manager = theirs.copy()
        manager.add_handler(ours)
        return manager
    return [*(theirs or []), ours]


class _NotDone(Exception):
    """No answer is stored yet."""


def install_cache() -> None:
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
    """Parts that are not of JSON become so: OpenAI's model keeps the object that it parsed beside the text of it."""
    kept: Stored = (
        {"message": message_to_dict(answer.message)} if isinstance(answer, ChatGeneration) else {"text": answer.text}
    )
    return jsonable({**kept, "info": answer.generation_info})


def jsonable(value: Any) -> Any:
    """A value of Python's as JSON: for what is shown or kept, and is not needed as the object that it was."""
    return _ANYTHING.dump_python(value, mode="json", fallback=str)


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
