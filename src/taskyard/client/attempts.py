"""Attempts of a yard that a server has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from secrets import token_hex
from time import monotonic
from typing import TYPE_CHECKING, Any, Unpack

from taskyard.api import calls
from taskyard.api.calls import Call
from taskyard.api.codec import outcome_of, read
from taskyard.client.remote import Remote
from taskyard.client.transport.batches import Batches, BatchItem
from taskyard.client.transport.body import body, draft, listed, mended, parts, several
from taskyard.client.transport.headers import LONGEST_WAIT
from taskyard.core.errors import InvalidInput, TaskyardError
from taskyard.core.json_value import Json
from taskyard.core.task import Reason
from taskyard.features.attempts.claims import Claims
from taskyard.features.attempts.conversations import Conversations
from taskyard.features.attempts.endings.completions import Completions
from taskyard.features.attempts.endings.failures import Failures
from taskyard.features.attempts.notes import Notes
from taskyard.features.attempts.suspension import Suspension
from taskyard.features.attempts.views import Heartbeat, HeartbeatAnswer, Receipt, Waited
from taskyard.features.budgets.views import Spent
from taskyard.features.tasks.views import Held

if TYPE_CHECKING:
    from taskyard.client.transport.connection import Connection


HASTE = 6.0  # seconds in which a heartbeat is answered: who waits longer for it may hold a lease that is gone

LONGEST_ERROR = 10_000  # characters; what is more is cut off, as everywhere


def ends_of_attempts(connection: Connection, one: Call, many: Call) -> Batches[Receipt]:
    """Ends of attempts that come at the same time go out in one request."""

    async def send_one(item: BatchItem) -> Receipt:
        return read(Receipt, await connection.ask_about(one, item.task_id, f"{{{item.members}}}".encode()))

    async def send_many(items: Sequence[BatchItem]) -> list[Receipt | TaskyardError]:
        answer = await connection.ask(many, f'{{"results":{_objects(items)}}}'.encode())
        return [outcome_of(each) for each in answer["results"]]

    return Batches(send_one, send_many)


class RemoteNotes(Remote, Notes):
    async def checkpoints(self, task_id: str) -> dict[str, Json]:
        """What is remembered of the task's steps and waits, by their names."""
        return (await self._connection.ask_about(calls.CHECKPOINTS, task_id))["checkpoints"]

    async def message(self, task_id: str, lease: str, message: Json) -> None:
        """Something the agent said or did, for those who watch. It is an event and nothing more."""
        await self._connection.ask_about(calls.MESSAGE, task_id, body(lease=lease, message=message))

    async def checkpoint(self, task_id: str, lease: str, name: str, data: Json, **spent: Unpack[Spent]) -> Json:
        """Store the result of a named step once, and answer with the one that is stored.

        What the attempt has cost so far is stored in the same change.
        """
        request = body(lease=lease, name=name, data=data, **spent)
        return (await self._connection.ask_about(calls.CHECKPOINT, task_id, request))["data"]


class RemoteClaims(Remote, Claims):
    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._beats = Batches(self._send_heartbeat, self._send_heartbeats)

    async def close(self) -> None:
        await self._beats.close()

    async def claim(
        self,
        agent_id: str,
        *,
        count: int = 1,
        queues: Sequence[str] | None = None,
        types: Sequence[str] | None = None,
        start: bool = False,
        wait_sec: float = 0,
        request_id: str | None = None,
    ) -> list[Held]:
        """Lease up to `count` tasks, best first. The same request id gets the same tasks and leases again."""
        return await self._claim(
            wait_sec,
            agent_id=agent_id,
            count=count,
            queues=several(queues),
            types=several(types),
            start=start,
            request_id=token_hex(16) if request_id is None else request_id,
        )

    async def claim_for_runtime(
        self,
        runtime_id: str,
        *,
        count: int = 1,
        queues: Sequence[str] | None = None,
        types: Sequence[str] | None = None,
        start: bool = False,
        wait_sec: float = 0,
        request_id: str | None = None,
        only_for: str | None = None,
    ) -> list[Held]:
        """Lease tasks for any agent of a runtime, within each agent's own limit; a token may allow only one of them."""
        if only_for is not None:
            raise InvalidInput("only_for", "is said by the token: use one of that agent")
        return await self._claim(
            wait_sec,
            runtime_id=runtime_id,
            count=count,
            queues=several(queues),
            types=several(types),
            start=start,
            request_id=token_hex(16) if request_id is None else request_id,
        )

    async def start(self, task_id: str, lease: str) -> Receipt:
        """Say that work has begun."""
        return read(Receipt, await self._connection.ask_about(calls.START, task_id, body(lease=lease)))

    async def heartbeat(
        self, task_id: str, lease: str, *, progress: Json = None, **spent: Unpack[Spent]
    ) -> HeartbeatAnswer:
        """Keep the lease, say how it goes, and hear what there is to know."""
        return await self._beats.send(_beat(Heartbeat(task_id, lease, progress, **spent)))

    async def heartbeat_many(self, heartbeats: Sequence[Heartbeat]) -> list[HeartbeatAnswer]:
        return await self._send_heartbeats([_beat(each) for each in heartbeats])

    async def check_leases(self, leases: Sequence[tuple[str, str]]) -> list[HeartbeatAnswer]:
        """What a heartbeat for each task and lease would say of an attempt that is over. Keeps no lease."""
        asked = [{"task_id": task_id, "lease": mended(lease)} for task_id, lease in leases]
        answer = await self._connection.ask(calls.CHECK_LEASES, body(leases=asked), patience=HASTE)
        return read(list[HeartbeatAnswer], answer["told"])

    async def progress(self, task_id: str, lease: str, progress: Json) -> HeartbeatAnswer:
        """A heartbeat that is also an event, for those who watch."""
        return read(
            HeartbeatAnswer,
            await self._connection.ask_about(calls.PROGRESS, task_id, body(lease=lease, progress=progress)),
        )

    async def _claim(self, wait_sec: float, **asked: object) -> list[Held]:
        """Ask until there is something or the time is over. The same request again gets what a lost answer gave."""
        until = monotonic() + wait_sec
        while True:
            wait = max(0.0, min(until - monotonic(), LONGEST_WAIT))
            answer = await self._connection.ask(calls.CLAIM, body(**asked, wait_sec=wait), wait_sec=wait)
            if answer["tasks"] or monotonic() >= until:
                return read(list[Held], answer["tasks"])

    async def _send_heartbeats(self, items: Sequence[BatchItem]) -> list[HeartbeatAnswer]:
        request = f'{{"heartbeats":{_objects(items)}}}'.encode()
        answer = await self._connection.ask(calls.HEARTBEAT_MANY, request, patience=HASTE)
        return read(list[HeartbeatAnswer], answer["told"])

    async def _send_heartbeat(self, item: BatchItem) -> HeartbeatAnswer:
        (told,) = await self._send_heartbeats([item])
        return told


class RemoteConversations(Remote, Conversations):
    async def pin_session(
        self, task_id: str, lease: str, *, session_id: str | None = None, work_dir: str | None = None
    ) -> Receipt:
        """Remember where the agent's conversation can be resumed. What is not given stays as it was pinned before."""
        request = body(lease=lease, session_id=session_id, work_dir=work_dir)
        return read(Receipt, await self._connection.ask_about(calls.SESSION, task_id, request))


class RemoteCompletions(Remote, Completions):
    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._batches = ends_of_attempts(connection, calls.COMPLETE, calls.COMPLETE_MANY)

    async def close(self) -> None:
        await self._batches.close()

    async def complete(
        self,
        task_id: str,
        lease: str,
        output: Json = None,
        *,
        artifacts: Sequence[str] = (),
        decision_report: Json = None,
        **spent: Unpack[Spent],
    ) -> Receipt:
        """Hand the output in. One that fails its validation is a failed attempt, reason `invalid_output`."""
        members = parts(
            lease=lease,
            output=output,
            artifacts=several(artifacts),
            decision_report=decision_report,
            **spent,
        )
        return await self._batches.send(BatchItem(task_id, members))

    async def complete_many(self, results: Sequence[Mapping[str, Any]]) -> list[Receipt | TaskyardError]:
        """Hand in many outputs. Each stands or falls alone, and its answer stands in its place."""
        answer = await self._connection.ask(calls.COMPLETE_MANY, body(results=[_result(each) for each in results]))
        return [outcome_of(each) for each in answer["results"]]


class RemoteFailures(Remote, Failures):
    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._batches = ends_of_attempts(connection, calls.FAIL, calls.FAIL_MANY)

    async def close(self) -> None:
        await self._batches.close()

    async def fail(
        self,
        task_id: str,
        lease: str,
        reason: str = Reason.AGENT_ERROR,
        error: str = "",
        *,
        details: Json = None,
        retry_after_sec: float | None = None,
        **spent: Unpack[Spent],
    ) -> Receipt:
        """Say that the attempt failed. What follows is decided by the reason and the task's policy."""
        members = parts(
            lease=lease,
            reason=reason,
            error=mended(error)[:LONGEST_ERROR],
            details=details,
            retry_after_sec=retry_after_sec,
            **spent,
        )
        return await self._batches.send(BatchItem(task_id, members))

    async def fail_many(self, results: Sequence[Mapping[str, Any]]) -> list[Receipt | TaskyardError]:
        """Report many failures. Each stands or falls alone, and its answer stands in its place."""
        answer = await self._connection.ask(calls.FAIL_MANY, body(results=[_result(each) for each in results]))
        return [outcome_of(each) for each in answer["results"]]

    async def release(self, task_id: str, lease: str) -> Receipt:
        """Give the task back unfinished. No attempt is counted."""
        return read(Receipt, await self._connection.ask_about(calls.RELEASE, task_id, body(lease=lease)))


class RemoteSuspension(Remote, Suspension):
    async def sleep(self, task_id: str, lease: str, name: str, duration_sec: float) -> Waited:
        """Wait for a time, without a slot."""
        return await self._suspend(task_id, kind="sleep", lease=lease, name=name, duration_sec=duration_sec)

    async def wait_for(
        self, task_id: str, lease: str, name: str, signal: str, *, timeout_sec: float | None = None
    ) -> Waited:
        """Wait for a signal. Each wait that is not in vain takes one, in the order they were sent, also from before."""
        return await self._suspend(
            task_id, kind="signal", lease=lease, name=name, signal=signal, timeout_sec=timeout_sec
        )

    async def snooze(self, task_id: str, lease: str, duration_sec: float) -> Receipt:
        """Not now: the task comes back after a time, and no attempt is counted."""
        request = body(kind="snooze", lease=lease, duration_sec=duration_sec)
        return read(Receipt, (await self._connection.ask_about(calls.SUSPEND, task_id, request))["receipt"])

    async def _suspend(self, task_id: str, **asked: object) -> Waited:
        return read(Waited, await self._connection.ask_about(calls.SUSPEND, task_id, body(**asked)))


def _beat(heartbeat: Heartbeat) -> BatchItem:
    return BatchItem(
        heartbeat.task_id,
        parts(lease=heartbeat.lease, progress=heartbeat.progress, **heartbeat.spent),
    )


def _objects(items: Sequence[BatchItem]) -> str:
    return listed(f"{{{parts(task_id=item.task_id)},{item.members}}}" for item in items)


def _result(given: Mapping[str, Any]) -> object:
    return draft({**given, "artifacts": several(given["artifacts"])} if "artifacts" in given else given)
