"""Breakers of a yard that a server has."""

from __future__ import annotations

from taskyard.api import calls
from taskyard.client.remote import Remote, over_http
from taskyard.features.breakers.service import Breakers


class RemoteBreakers(Remote, Breakers):
    list = over_http(Breakers.list, calls.BREAKERS)
    open = over_http(Breakers.open, calls.OPEN_BREAKER, names={"type_": "type"})
    close = over_http(Breakers.close, calls.CLOSE_BREAKER, names={"type_": "type"})
    set_policy = over_http(Breakers.set_policy, calls.BREAKER_POLICY)
