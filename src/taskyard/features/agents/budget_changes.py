"""Events that say who changed what an agent may do."""

from __future__ import annotations

from taskyard.core.agent import AgentType
from taskyard.core.changes import Event
from taskyard.features.agents.rules import budget_moved
from taskyard.ledger.ledger import Ledger


def budget_events(ledger: Ledger, before: AgentType, after: AgentType, by: str) -> list[Event]:
    """What a type may spend, from what to what; nothing where that is the same."""
    if before.budget == after.budget:
        return []
    return [ledger.audit("agent.budget", by, budget_moved(after.name, before.budget, after.budget))]
