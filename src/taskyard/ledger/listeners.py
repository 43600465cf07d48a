"""Who else has a part in a commit: a feature that reacts to another is registered with the ledger as one of these."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from taskyard.core.changes import ChangeSet, Committed


class Contributor(Protocol):
    """Adds to a change set before it is committed: what it adds is stored with it, or not at all."""

    def wants(self, change_set: ChangeSet) -> bool:
        """Whether there is anything to add. Asked at every commit, so it looks at the set alone."""
        ...

    async def contribute(self, change_set: ChangeSet) -> ChangeSet: ...


class Commit(NamedTuple):
    """A change set that is stored, and what its counters came to."""

    change_set: ChangeSet
    result: Committed
    in_cascade: bool = False  # whoever cascades settles what it came to, once all of it is stored


class Follower(Protocol):
    """Acts after a commit, in the process that made it. A crash may lose it: the sweep finds the same in the log."""

    async def committed(self, commit: Commit) -> None: ...
