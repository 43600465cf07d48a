"""The audit log of a yard that a server has."""

from __future__ import annotations

from taskyard.api import calls
from taskyard.client.remote import Remote, over_http
from taskyard.features.audit.service import Audit


class RemoteAudit(Remote, Audit):
    list = over_http(Audit.list, calls.AUDIT)
    policy = over_http(Audit.policy, calls.AUDIT_POLICY)
    set_policy = over_http(Audit.set_policy, calls.SET_AUDIT_POLICY)
