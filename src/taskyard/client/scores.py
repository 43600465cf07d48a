"""Scores of a yard that a server has."""

from __future__ import annotations

from taskyard.api import calls
from taskyard.client.remote import Remote, over_http
from taskyard.features.scores.service import Scores


class RemoteScores(Remote, Scores):
    add = over_http(Scores.add, calls.ADD_SCORE)
    list = over_http(Scores.list, calls.SCORES)
    report = over_http(Scores.report, calls.SCORE_REPORT)
