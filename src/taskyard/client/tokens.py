"""Tokens of a yard that a server has."""

from __future__ import annotations

from taskyard.api import calls
from taskyard.client.remote import Remote, over_http
from taskyard.features.tokens.service import Tokens


class RemoteTokens(Remote, Tokens):
    create = over_http(Tokens.create, calls.CREATE_TOKEN)
    grant = over_http(Tokens.grant, calls.GRANT, names={"agent": "agent_id"})
    list = over_http(Tokens.list, calls.TOKENS)
    revoke = over_http(Tokens.revoke, calls.REVOKE_TOKEN)
