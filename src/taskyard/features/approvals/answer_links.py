"""Links in notifications that show one question to one recipient, and take one answer.

A link is signed and stored nowhere. It names a workspace, a task, one of its waits, and the notifier that it was sent
by; it is good until that wait ends, seven days at most, and as long as that notifier is there. Looking at it changes
nothing, however often that is done.
"""

from __future__ import annotations

import hmac
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error
from hashlib import sha256
from typing import NamedTuple
from urllib.parse import urlsplit

from taskyard.core.errors import InvalidInput, NotFound
from taskyard.core.json_value import Json, compact
from taskyard.core.task import TaskId
from taskyard.core.units import DAY, SECOND, Micros
from taskyard.features.approvals import rules
from taskyard.features.approvals.rules import AskedQuestion, Person
from taskyard.features.approvals.service import Approvals
from taskyard.features.approvals.views import LinkedQuestion
from taskyard.features.attempts.views import Receipt
from taskyard.ledger.ledger import Ledger

LONGEST = Micros(7 * DAY)
MOST_TEXT = 1_000  # characters of a link
PATH = "/answer/"  # of the page that shows the form
_NOTIFIER = "notifier"  # the kind of record of the recipients


class Link(NamedTuple):
    """What a link is for."""

    workspace: str
    task_id: str
    wait: int
    recipient: str  # the name of the notifier
    expires: int  # seconds since 1970


def public_url(given: str) -> str:
    """The address that people reach the server by, as links begin with it."""
    parts = urlsplit(given)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query or parts.fragment:
        raise InvalidInput("public_url", "must be like https://yard.example.org, without a user, query or fragment")
    return given.rstrip("/")


def expiry(until: Micros | None, now: Micros) -> int:
    """When a link that is made now ends: with the wait, and after seven days at the latest."""
    latest = now + LONGEST
    return (latest if until is None else min(until, latest)) // SECOND


def is_given(question: AskedQuestion, recipient: str) -> bool:
    """Whether a link to the question may be sent to this recipient."""
    return not question.login and rules.is_for(question, Person(f"link:{recipient}"))


def spelled(link: Link, secret: bytes, nonce: str) -> str:
    """The text of a link: what it is for, and the signature of that."""
    body = compact(list(link)).encode()
    return f"{_text(body)}.{_text(_signature(body, secret, nonce))}"


def _parts(text: str) -> tuple[Link, bytes, bytes] | None:
    """What a text claims to be for, with what is signed and its signature; None where it is no link at all."""
    try:
        body, signature = (urlsafe_b64decode(part + "=" * (-len(part) % 4)) for part in text[:MOST_TEXT].split("."))
        workspace, task_id, wait, recipient, expires = json.loads(body)
    except (ValueError, Error, TypeError):
        return None
    texts = all(isinstance(each, str) and "\0" not in each for each in (workspace, task_id, recipient))
    if not texts or not all(isinstance(each, int) for each in (wait, expires)):
        return None
    return Link(workspace, task_id, wait, recipient, expires), body, signature


class AnswerLinks:
    def __init__(self, ledger: Ledger, approvals: Approvals) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._workspace = ledger.workspace
        self._approvals = approvals

    async def url(self, task_id: TaskId, wait: int, recipient: str) -> str | None:
        """The address of a link for a recipient; None where none is to be made."""
        address = self._ledger.options.public_url
        record = None if address is None else await self._store.record(rules.KIND, self._workspace, task_id)
        nonce = await self._nonce(self._workspace, recipient)
        question = None if record is None else rules.question_of(record)
        if question is None or question.wait != wait or nonce is None or not is_given(question, recipient):
            return None
        link = Link(self._workspace, task_id, wait, recipient, expiry(question.until, self._ledger.now()))
        return f"{address}{PATH}{spelled(link, self._store.secret, nonce)}"

    async def show(self, link: Link) -> LinkedQuestion:
        """The question that a link is for, and how it stands. Nothing is changed by looking."""
        question = await self._question(link)
        approval = await self._approvals.get(link.task_id, question.name)
        if approval.question is None:
            raise NotFound("link", "of that address")
        return LinkedQuestion(
            task_type=approval.task.type,
            task_title=approval.task.title,
            question=approval.question,
            since=approval.since,
            until=approval.until,
            is_open=approval.is_open,
            recipient=link.recipient,
        )

    async def answer(self, link: Link, data: Json) -> Receipt:
        """Answer in the name of the recipient, once."""
        question = await self._question(link)
        person = Person(f"link:{link.recipient}")
        return await self._approvals.answer(link.task_id, question.name, data, wait=link.wait, by=person)

    async def opened(self, text: str) -> Link:
        """The link, where the yard has signed it for a recipient that is still there, and its time is not over.

        It may be of any workspace: which one is known only now.
        """
        found = _parts(text)
        nonce = None if found is None else await self._nonce(found[0].workspace, found[0].recipient)
        if found is None or nonce is None:
            raise NotFound("link", "of that address")
        link, body, signature = found
        is_signed = hmac.compare_digest(signature, _signature(body, self._store.secret, nonce))
        if not is_signed or link.expires <= self._ledger.now() // SECOND:
            raise NotFound("link", "of that address")
        return link

    async def _question(self, link: Link) -> AskedQuestion:
        record = await self._store.record(rules.KIND, self._workspace, link.task_id)
        question = None if record is None else rules.question_of(record)
        if question is None or question.wait != link.wait or not is_given(question, link.recipient):
            raise NotFound("link", "of that address")
        return question

    async def _nonce(self, workspace: str, recipient: str) -> str | None:
        """What the links of a notifier are signed with beside the yard's secret. One that replaces it has another."""
        record = await self._store.record(_NOTIFIER, workspace, recipient)
        return None if record is None else str(record.body["nonce"])


def _signature(body: bytes, secret: bytes, nonce: str) -> bytes:
    return hmac.digest(secret, compact(["link", nonce]).encode() + b"." + body, sha256)


def _text(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()
