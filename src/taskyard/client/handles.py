"""Handles of a yard that a server has."""

from __future__ import annotations

from taskyard.api import calls
from taskyard.client.remote import Remote, over_http
from taskyard.features.handles.service import Handles


class RemoteHandles(Remote, Handles):
    create = over_http(Handles.create, calls.CREATE_HANDLE)
    get = over_http(Handles.get, calls.HANDLE)
