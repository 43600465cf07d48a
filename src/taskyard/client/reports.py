"""Reports of a yard that a server has."""

from __future__ import annotations

from taskyard.api import calls
from taskyard.client.remote import Remote, over_http
from taskyard.client.tasks import SPELLED
from taskyard.features.reports.service import Reports


class RemoteReports(Remote, Reports):
    make = over_http(Reports.make, calls.REPORT, names={**SPELLED, "by": "by"})  # not who asks
