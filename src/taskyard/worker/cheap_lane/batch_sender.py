"""The agent that sends batches to a provider and collects their answers, beside the agent whose calls they are.

Before anything is sent, a step says which calls are in it. After a crash, the provider is asked for a batch of that key
before anything is sent again. Between looks at a batch, its task is suspended: it holds no slot.
"""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import Json, compact, object_of
from taskyard.core.units import SECOND, Micros, to_iso
from taskyard.definition import fields
from taskyard.features.provider_batches.rules import TYPE
from taskyard.features.provider_batches.service import MOST_AT_ONCE
from taskyard.features.provider_batches.views import CallOutcome, GatheredCall
from taskyard.worker.cheap_lane.batch_provider import (
    BatchProvider,
    ProviderCall,
    ProviderError,
    ProviderResult,
    SentBatch,
    UnknownYet,
    provider_of,
)
from taskyard.worker.context import Context
from taskyard.worker.control import Snooze
from taskyard.worker.handlers import Agent

logger = logging.getLogger("taskyard.batches")
SLOTS = 4
MOST_SETTLED = 4 << 20  # characters of the answers that one call settles
LARGEST = 7 << 20  # characters of an answer, which may take twice as many bytes in a call
AGE_PART = 10  # a batch is looked at again after this part of its age


def with_senders(agents: Iterable[Agent]) -> list[Agent]:
    """The agents, and beside each that makes calls in batches one of its type that sends them."""
    given = list(agents)
    return [*given, *(_sender(agent) for agent in given if agent.batch is not None)]


def _sender(agent: Agent) -> Agent:
    provider = provider_of(agent.batch)
    sender = Agent(
        agent.type,
        id=None if agent.id is None else f"{agent.id}-batches",
        max_concurrent_tasks=SLOTS,
        queues=agent.queues,
        poll_interval_sec=agent.poll_interval_sec,
    )

    @sender.handles(TYPE)
    async def send_and_collect(task: Context) -> dict[str, Json]:
        return await BatchWork(task, provider).run()

    return sender


class _BatchPart(NamedTuple):
    """What of a batch is sent at once: the calls from one custom id down to another."""

    number: int
    below: str | None
    last: str
    calls: int
    cancel_at: Micros | None
    at: Micros


class BatchWork:
    """One attempt at a batch's task."""

    def __init__(self, task: Context, provider: BatchProvider) -> None:
        self._task = task
        self._provider = provider
        self._batches = task.yard.provider_batches
        self._parts: list[_BatchPart] = []

    async def run(self) -> dict[str, Json]:
        if (meant := (await self._batches.get(self._task.id)).provider) != self._provider.name:
            logger.warning("%s: is for %s, and waits for an agent that has it", self._task.id, meant)
            raise Snooze(self._provider.terms.poll_sec)
        unsent = await self._send_all()
        waits = [await self._attend(part) for part in self._parts if not await self._is_collected(part)]
        if left := [wait for wait in (unsent, *waits) if wait is not None]:
            raise Snooze(min(left))
        await self._expire([each async for each in self._outstanding()])  # what no result was about
        return {"calls": sum(part.calls for part in self._parts), "parts": len(self._parts)}

    # Sending

    async def _send_all(self) -> float | None:
        """Send the parts that are not sent yet; the seconds until the next try, where one cannot be sent now."""
        steps = await self._task.known_steps()
        while (noted := steps.get(f"sending:{len(self._parts) + 1}")) is not None:
            part: Any = object_of(noted)
            self._parts.append(_BatchPart(**part))
        try:
            for part in self._parts:
                if self._key(part) not in await self._sent() and not await self._is_collected(part):
                    wait = await self._search_and_send(part)
                    if wait is not None:
                        return wait  # what follows may look like this part to a provider that knows no keys
            await self._send_rest()
        except ProviderError as error:
            if not await self._sent():
                raise
            # Some of it is under way and paid for, so the batch is not given up for the rest.
            logger.warning("%s: the rest is sent later: %s", self._task.id, error)
            return self._provider.terms.poll_sec
        return None

    async def _send_rest(self) -> None:
        while "sent_all" not in await self._task.known_steps():
            below = self._parts[-1].last if self._parts else None
            if not (calls := await self._next_calls(below)):
                await self._task.step("sent_all", lambda: len(self._parts))
                return
            part = await self._intend(len(self._parts) + 1, below, calls)
            self._parts.append(part)
            await self._send(part, calls)

    async def _intend(self, number: int, below: str | None, calls: Sequence[GatheredCall]) -> _BatchPart:
        """Store which calls the next part has before it is sent: after a crash, the provider is searched for it."""
        cancel_at = min((each.cancel_at for each in calls if each.cancel_at is not None), default=None)
        part = _BatchPart(number, below, calls[-1].custom_id, len(calls), cancel_at, self._task.yard.now())
        await self._task.step(f"sending:{number}", part._asdict)
        return part

    async def _search_and_send(self, part: _BatchPart) -> float | None:
        """Send what an earlier attempt may have sent, where the provider has not got it; else wait until that is sure.

        What was under way in that attempt has to have ended, so that the provider's list has it.
        """
        left = self._until(Micros(part.at + round(self._provider.terms.search_after_sec * SECOND)))
        if left > 0:
            return left
        intended = [each async for each in self._outstanding(part)]
        try:
            found = await self._provider.find(self._key(part), [each.custom_id for each in intended], since=part.at)
        except UnknownYet:
            logger.info("%s: waits for batches of the provider that may be its own", self._task.id)
            return self._poll(part)
        if found is None:
            await self._send(part, await self._calls_of(part))
        else:
            logger.info("%s: found as %s, and not sent again", self._task.id, found.id)
            await self._note_sent(part, found, part.calls)
        return None

    async def _send(self, part: _BatchPart, calls: Sequence[GatheredCall]) -> None:
        if not calls:
            await self._task.step(f"collected:{part.number}", lambda: 0)  # nobody waits for any of them any more
            return
        try:
            sent = await self._provider.send(
                self._key(part), [ProviderCall(each.custom_id, each.request) for each in calls]
            )
        except ProviderError as error:
            if not error.is_refusal:
                raise
            logger.warning("%s: refused, so its calls are made one by one: %s", self._key(part), error)
            await self._expire(calls)
            await self._task.step(f"collected:{part.number}", lambda: 0)
            return
        await self._note_sent(part, sent, len(calls))

    async def _note_sent(self, part: _BatchPart, sent: SentBatch, calls: int) -> None:
        await self._batches.sent(
            self._task.id,
            self._task.lease,
            self._key(part),
            provider_id=sent.id,
            calls=calls,
            expires_at=None if sent.expires_at is None else to_iso(sent.expires_at),
        )

    async def _sent(self) -> dict[str, str]:
        """What the provider calls each part that was sent."""
        return {each.key: each.provider_id for each in (await self._batches.get(self._task.id)).parts}

    async def _is_collected(self, part: _BatchPart) -> bool:
        return f"collected:{part.number}" in await self._task.known_steps()

    async def _next_calls(self, below: str | None) -> list[GatheredCall]:
        """What fits into one batch of the provider."""
        terms, size, found = self._provider.terms, 0, list[GatheredCall]()
        async for call in self._in_time(below):
            size += len(json.dumps(call.request))  # its bytes as they are sent
            if found and (size > terms.most_bytes or len(found) >= terms.most_calls):
                break
            found.append(call)
        return found

    async def _calls_of(self, part: _BatchPart) -> list[GatheredCall]:
        return [each async for each in self._in_time(part.below) if each.custom_id >= part.last]

    async def _in_time(self, below: str | None) -> AsyncIterator[GatheredCall]:
        """Calls that are to be sent. Those for which it is too late are made in the ordinary way."""
        async for call in self._pages(self._batches.gather, below):
            if call.cancel_at is not None and self._until(call.cancel_at) <= 0:
                await self._expire([call])
            else:
                yield call

    # Collecting

    async def _attend(self, part: _BatchPart) -> float | None:
        """Look at a part, and collect it where it is over; else the seconds until the next look.

        Whatever goes wrong with the provider, the batch is not given up: its calls are paid for.
        """
        if (batch_id := (await self._sent()).get(self._key(part))) is None:
            return None  # it was empty, refused, or could not be sent yet
        try:
            if await self._provider.is_over(batch_id):
                await self._collect(batch_id)
                await self._task.step(f"collected:{part.number}", lambda: part.calls)
                return None
            if part.cancel_at is not None and self._until(part.cancel_at) <= 0:
                await self._cancel(part, batch_id)
        except ProviderError as error:
            logger.warning("%s: %s is looked at again later: %s", self._task.id, batch_id, error)
        return self._poll(part)

    async def _cancel(self, part: _BatchPart, batch_id: str) -> None:
        name = f"cancelled:{part.number}"
        if name not in await self._task.known_steps():
            logger.info("%s: a deadline is near, %s is cancelled", self._task.id, batch_id)
            await self._provider.cancel(batch_id)
            await self._task.step(name, lambda: batch_id)

    async def _collect(self, batch_id: str) -> None:
        """Settle all results that can be read, also where the provider then fails."""
        results: list[Mapping[str, Any]] = []
        size = 0
        try:
            async for result in self._provider.results(batch_id):
                if _name(result.custom_id) is None:
                    continue  # it is about none of our calls
                length = len(compact(result.answer))
                if results and (len(results) == MOST_AT_ONCE or size + length > MOST_SETTLED):
                    await self._settle(results)
                    results, size = [], 0
                results.append(self._settlement(result, length))
                size += length
        except ProviderError:
            await self._settle(results)
            raise
        await self._settle(results)

    def _settlement(self, result: ProviderResult, length: int) -> dict[str, Any]:
        settlement: dict[str, Any] = {**result._asdict()}
        if result.outcome is not CallOutcome.ANSWERED:
            return settlement
        if length > LARGEST:  # it is paid for all the same
            error = f"the answer has {length} characters, more than {LARGEST}, and is not kept"
            settlement |= {"outcome": CallOutcome.FAILED, "answer": error}
        spent = self._provider.spent(result.answer)
        return settlement | {
            "tokens_input": spent["input_tokens"],
            "tokens_output": spent["output_tokens"],
            "tokens_cache_read": spent.get("cache_read_tokens", 0),
            "tokens_cache_write": spent.get("cache_write_tokens", 0),
            "model": _name(spent.get("model")),
        }

    async def _expire(self, calls: Sequence[GatheredCall]) -> None:
        for start in range(0, len(calls), MOST_AT_ONCE):
            page = calls[start : start + MOST_AT_ONCE]
            await self._settle([{"custom_id": each.custom_id, "outcome": CallOutcome.EXPIRED} for each in page])

    async def _settle(self, results: Sequence[Mapping[str, Any]]) -> None:
        if results:
            await self._batches.collect(self._task.id, self._task.lease, results)

    async def _outstanding(self, part: _BatchPart | None = None) -> AsyncIterator[GatheredCall]:
        async for call in self._pages(self._batches.outstanding, None if part is None else part.below):
            if part is not None and call.custom_id < part.last:
                return
            yield call

    async def _pages(self, verb: Any, below: str | None) -> AsyncIterator[GatheredCall]:
        while page := await verb(self._task.id, self._task.lease, below=below, limit=MOST_AT_ONCE):
            for call in page:
                yield call
            below = page[-1].custom_id

    def _key(self, part: _BatchPart) -> str:
        return f"{self._task.id}.{part.number}"

    def _until(self, at: Micros) -> float:
        return (at - self._task.yard.now()) / SECOND

    def _poll(self, part: _BatchPart) -> float:
        terms, age = self._provider.terms, -self._until(part.at)
        wait = min(max(terms.poll_sec, age / AGE_PART), terms.longest_poll_sec)
        left = None if part.cancel_at is None else self._until(part.cancel_at)
        if left is None:
            return wait
        return min(wait, left) if left > 0 else terms.poll_sec  # a deadline is near


def _name(given: object) -> str | None:
    """An id or a model, where it is one: what is paid for is settled, however strange the rest of it is."""
    try:
        return fields.name(given, "name")
    except InvalidInput:
        return None
