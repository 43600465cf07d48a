"""Memory of a yard that a server has."""

from __future__ import annotations

from taskyard.api import calls
from taskyard.client.remote import Remote, over_http
from taskyard.features.memory.service import Memory


class RemoteMemory(Remote, Memory):
    search = over_http(Memory.search, calls.SEARCH_MEMORY)
    policy = over_http(Memory.policy, calls.MEMORY_POLICY)
    set_policy = over_http(Memory.set_policy, calls.SET_MEMORY_POLICY)
    state = over_http(Memory.state, calls.MEMORY_STATE)
    agent_events = over_http(Memory.agent_events, calls.AGENT_EVENTS)
    embedding_jobs = over_http(Memory.embedding_jobs, calls.EMBEDDING_JOBS)
