"""Cutovers of a yard that a server has."""

from __future__ import annotations

from taskyard.api import calls
from taskyard.client.remote import Remote, over_http
from taskyard.features.cutovers.service import Cutovers


class RemoteCutovers(Remote, Cutovers):
    start = over_http(Cutovers.start, calls.START_CUTOVER)
    list = over_http(Cutovers.list, calls.CUTOVERS)
    get = over_http(Cutovers.get, calls.CUTOVER)
    move = over_http(Cutovers.move, calls.MOVE_CUTOVER)
    report = over_http(Cutovers.report, calls.REPORT_CUTOVER)
    remove = over_http(Cutovers.remove, calls.REMOVE_CUTOVER)
