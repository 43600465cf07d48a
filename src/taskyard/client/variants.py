"""Variants of task types of a yard that a server has."""

from __future__ import annotations

from taskyard.api import calls
from taskyard.client.remote import Remote, over_http
from taskyard.features.variants.service import Variants


class RemoteVariants(Remote, Variants):
    set = over_http(Variants.set, calls.SET_VARIANTS)
    list = over_http(Variants.list, calls.VARIANTS)
