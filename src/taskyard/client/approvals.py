"""Approvals of a yard that a server has."""

from __future__ import annotations

from taskyard.api import calls
from taskyard.client.remote import Remote, over_http
from taskyard.client.transport.call_encoding import Arguments
from taskyard.features.approvals.questions import Questions
from taskyard.features.approvals.rules import NO_DEFAULT
from taskyard.features.approvals.service import Approvals


class RemoteApprovals(Remote, Approvals):
    answer = over_http(Approvals.answer, calls.ANSWER)
    get = over_http(Approvals.get, calls.APPROVAL)
    list = over_http(Approvals.list, calls.APPROVALS)
    signal = over_http(Approvals.signal, calls.SIGNAL)


def _question(given: Arguments) -> Arguments:
    """A default that is not given is not sent: null would be one."""
    return {"kind": "question", **{name: value for name, value in given.items() if value is not NO_DEFAULT}}


class RemoteQuestions(Remote, Questions):
    ask = over_http(Questions.ask, calls.SUSPEND, prepare=_question)
