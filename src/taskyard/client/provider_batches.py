"""Provider batches of a yard that a server has."""

from __future__ import annotations

from taskyard.api import calls
from taskyard.client.remote import Remote, over_http
from taskyard.features.provider_batches.service import ProviderBatches


class RemoteProviderBatches(Remote, ProviderBatches):
    join = over_http(ProviderBatches.join, calls.JOIN_BATCH)
    gather = over_http(ProviderBatches.gather, calls.GATHER_BATCH)
    outstanding = over_http(ProviderBatches.outstanding, calls.OUTSTANDING_CALLS)
    sent = over_http(ProviderBatches.sent, calls.SENT_BATCH)
    collect = over_http(ProviderBatches.collect, calls.COLLECT_BATCH)
    list = over_http(ProviderBatches.list, calls.PROVIDER_BATCHES)
    get = over_http(ProviderBatches.get, calls.PROVIDER_BATCH)
