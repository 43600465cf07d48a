"""Attempts of a yard that a server has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import wraps
from secrets import token_hex
from time import monotonic
from typing import TYPE_CHECKING, Any

from taskyard.api import calls
from taskyard.api.codec import outcome_of, read
from taskyard.client.remote import AS_THEY_ARE, P, R, Remote, Verb, feature, over_http
from taskyard.client.transport.batches import Batches, BatchItem
from taskyard.client.transport.body import draft, listed, parts, several
from taskyard.client.transport.call_encoding import Arguments, Encoding, Prepare
from taskyard.client.transport.headers import LONGEST_WAIT
from taskyard.client.transport.long_polling import until_changed
from taskyard.core.errors import InvalidInput, TaskyardError
from taskyard.core.json_value import mended
from taskyard.features.attempts.claims import Claims
from taskyard.features.attempts.conversations import Conversations
from taskyard.features.attempts.endings.completions import Completions
from taskyard.features.attempts.endings.failures import Failures
from taskyard.features.attempts.notes import Notes
from taskyard.features.attempts.suspension import Suspension
from taskyard.features.attempts.views import Heartbeat, HeartbeatAnswer, Receipt
from taskyard.features.tasks.views import Held, MarkedClaim

if TYPE_CHECKING:
    from taskyard.client.transport.connection import Connection

LONGEST_ERROR = 10_000  # characters; what is more is cut off, as everywhere


class Batched(Remote):
    """A feature with a verb that many call at the same time: what they say goes out in one request."""

    outgoing: Batches[Any]

    async def close(self) -> None:
        await self.outgoing.close()


def in_batches(verb: Verb[P, R], call: calls.Call, *, prepare: Prepare | None = None) -> Verb[P, R]:
    """The local verb, carried out by a server together with others that are called meanwhile."""
    encoding = Encoding(verb, call, AS_THEY_ARE, prepare)

    @wraps(verb)
    async def send(*arguments: P.args, **named: P.kwargs) -> R:
        asked = encoding.request(*arguments[1:], **named)
        return await feature(Batched, arguments).outgoing.send(BatchItem(asked.names["task_id"], asked.members or ""))

    return send


def ends_of_attempts(connection: Connection, one: calls.Call, many: calls.Call) -> Batches[Receipt]:
    async def send_one(item: BatchItem) -> Receipt:
        return read(Receipt, await connection.ask(one, f"{{{item.members}}}".encode(), task_id=item.task_id))

    async def send_many(items: Sequence[BatchItem]) -> list[Receipt | TaskyardError]:
        return _outcomes(await connection.ask(many, f'{{"results":{objects_of(items)}}}'.encode()))

    return Batches(send_one, send_many)


def claiming(verb: Verb[P, list[Held]]) -> Verb[P, list[Held]]:
    """By hand: it asks until there is something or the time is over, each time for what a lost answer gave."""
    encoding = Encoding(verb, calls.CLAIM, AS_THEY_ARE)

    @wraps(verb)
    async def claim(*arguments: P.args, **named: P.kwargs) -> list[Held]:
        given = encoding.bind(*arguments[1:], **named)
        if given.pop("only_for", None) is not None:
            raise InvalidInput("only_for", "is said by the token: use one of that agent")
        given["request_id"] = given["request_id"] or token_hex(16)
        until = monotonic() + given["wait_sec"]
        while True:
            wait = given["wait_sec"] = max(0.0, min(until - monotonic(), LONGEST_WAIT))
            asked = feature(Remote, arguments).connection.ask(calls.CLAIM, encoding.encode(given).body, wait_sec=wait)
            if (tasks := (await asked)["tasks"]) or monotonic() >= until:
                return read(list[Held], tasks)

    return claim


def repeatable(given: Arguments) -> Arguments:
    """With the id of the request, by which the server knows it again where its answer was lost."""
    return {**given, "request_id": given["request_id"] or token_hex(8)}


class RemoteNotes(Remote, Notes):
    checkpoints = over_http(Notes.checkpoints, calls.CHECKPOINTS)
    steps = over_http(Notes.steps, calls.STEPS)
    message = over_http(Notes.message, calls.MESSAGE, prepare=repeatable)
    checkpoint = over_http(Notes.checkpoint, calls.CHECKPOINT)


def _pairs(given: Arguments) -> Arguments:
    return {"leases": [{"task_id": task_id, "lease": mended(lease)} for task_id, lease in given["leases"]]}


def _claimed_once(given: Arguments) -> Arguments:
    return {**given, "request_id": given["request_id"] or token_hex(16)}


def _marked(document: Any) -> MarkedClaim:
    return MarkedClaim(read(list[Held], document["tasks"]), document["mark"], document["took_all"])


def marking(verb: Verb[P, MarkedClaim]) -> Verb[P, MarkedClaim]:
    """With where all servers stood that had answered before the claim: any of them may be asked to wait."""

    @wraps(verb)
    async def claim(*arguments: P.args, **named: P.kwargs) -> MarkedClaim:
        marks = feature(Remote, arguments).connection.marks
        known, claimed = marks.known(), await verb(*arguments, **named)
        return claimed._replace(mark=marks.hear(claimed.mark, known))

    return claim


class RemoteClaims(Batched, Claims):
    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self.outgoing = Batches(self._send_heartbeat, self._send_heartbeats)

    claim = claiming(Claims.claim)
    claim_marked = marking(over_http(Claims.claim_marked, calls.CLAIM, prepare=_claimed_once, reads=_marked))
    claim_for_runtime = claiming(Claims.claim_for_runtime)
    start = over_http(Claims.start, calls.START)
    heartbeat = in_batches(Claims.heartbeat, calls.HEARTBEAT)
    check_leases = over_http(Claims.check_leases, calls.CHECK_LEASES, prepare=_pairs)
    progress = over_http(Claims.progress, calls.PROGRESS, prepare=repeatable)

    async def wait_for_work(
        self,
        agent_id: str,
        mark: str,
        timeout_sec: float,
        *,
        queues: Sequence[str] | None = None,
        types: Sequence[str] | None = None,
        took_all: bool = False,
    ) -> str:
        about = {"agent_id": agent_id, "queues": queues, "types": types, "took_all": took_all}
        return await until_changed(self.connection, mark, timeout_sec, about)

    async def heartbeat_many(self, heartbeats: Sequence[Heartbeat]) -> list[HeartbeatAnswer]:
        """By hand: each is encoded as one that is sent by itself."""
        return await self._send_heartbeats([_beat(each) for each in heartbeats])

    async def _send_heartbeats(self, items: Sequence[BatchItem]) -> list[HeartbeatAnswer]:
        request = f'{{"heartbeats":{objects_of(items)}}}'.encode()
        return read(list[HeartbeatAnswer], (await self.connection.ask(calls.HEARTBEAT_MANY, request))["told"])

    async def _send_heartbeat(self, item: BatchItem) -> HeartbeatAnswer:
        (answer,) = await self._send_heartbeats([item])
        return answer


class RemoteConversations(Remote, Conversations):
    pin_session = over_http(Conversations.pin_session, calls.SESSION)


def _results(given: Arguments) -> Arguments:
    return {"results": [_result(each) for each in given["results"]]}


def _outcomes(document: Any) -> list[Receipt | TaskyardError]:
    return [outcome_of(each) for each in document["results"]]


class RemoteCompletions(Batched, Completions):
    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self.outgoing = ends_of_attempts(connection, calls.COMPLETE, calls.COMPLETE_MANY)

    complete = in_batches(Completions.complete, calls.COMPLETE)
    complete_many = over_http(Completions.complete_many, calls.COMPLETE_MANY, prepare=_results, reads=_outcomes)


def _cut_off(given: Arguments) -> Arguments:
    return {**given, "error": mended(given["error"])[:LONGEST_ERROR]}


class RemoteFailures(Batched, Failures):
    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self.outgoing = ends_of_attempts(connection, calls.FAIL, calls.FAIL_MANY)

    fail = in_batches(Failures.fail, calls.FAIL, prepare=_cut_off)
    fail_many = over_http(Failures.fail_many, calls.FAIL_MANY, prepare=_results, reads=_outcomes)
    release = over_http(Failures.release, calls.RELEASE)


def _of_kind(kind: str) -> Prepare:
    return lambda given: {"kind": kind, **given}


def _snoozed(document: Any) -> Receipt:
    return read(Receipt, document["receipt"])


class RemoteSuspension(Remote, Suspension):
    sleep = over_http(Suspension.sleep, calls.SUSPEND, prepare=_of_kind("sleep"))
    wait_for = over_http(Suspension.wait_for, calls.SUSPEND, prepare=_of_kind("signal"))
    snooze = over_http(Suspension.snooze, calls.SUSPEND, prepare=_of_kind("snooze"), reads=_snoozed)


def _beat(heartbeat: Heartbeat) -> BatchItem:
    return BatchItem(
        heartbeat.task_id,
        parts(
            lease=heartbeat.lease,
            progress=heartbeat.progress,
            rate_limited_sec=heartbeat.rate_limited_sec,
            **heartbeat.spent,
        ),
    )


def objects_of(items: Sequence[BatchItem]) -> str:
    """The list of what is said about each task."""
    return listed(f"{{{parts(task_id=item.task_id)},{item.members}}}" for item in items)


def _result(given: Mapping[str, Any]) -> object:
    return draft({**given, "artifacts": several(given["artifacts"])} if "artifacts" in given else given)
