"""The next wave of change sets, by what is stored."""

from __future__ import annotations

from collections.abc import Sequence

from taskyard.core.changes import ChangeSet
from taskyard.stores.shared import batching
from taskyard.stores.sqlite import lifting
from taskyard.stores.sqlite.transaction import Transaction


def first(transaction: Transaction, sets: Sequence[ChangeSet]) -> batching.Wave:
    """As many of the first sets as may land together: at least one."""
    apart = batching.apart(sets)
    blocked = lifting.blocked_by(transaction, apart.lifting) if apart.lifting else {}
    parked = lifting.blocking(transaction, set(apart.parking)) if apart.parking else set[str]()
    return batching.wave(apart, blocked, parked)
