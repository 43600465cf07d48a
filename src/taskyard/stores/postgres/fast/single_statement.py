"""How plain change sets land: in one statement, which is a transaction by itself.

Nearly all that a yard writes is plain: lone tasks that come in, and attempts at them that end. Such sets touch nothing
that has to be looked at first, but for the versions of the tasks that they move, and the statement looks at those
itself. Where one has moved, or what is new is there already, it writes nothing at all, and `landing` finds out which.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter

from taskyard.core.changes import Change, ChangeSet, Committed, Spend
from taskyard.core.identifiers import is_slots_ceiling
from taskyard.stores.postgres import commits
from taskyard.stores.postgres.commits import Counts
from taskyard.stores.postgres.transaction import Transaction
from taskyard.stores.shared.commits import conflicts
from taskyard.stores.shared.commits.change_sets import Answer, newly_ready
from taskyard.stores.shared.commits.conflicts import takes_key

_BIRTH = frozenset({"at", "good_until", "tasks", "events"})
_END = frozenset({"at", "good_until", "changes", "attempts", "outputs", "spends", "counts", "outbox", "events"})


def _all_but(parts: frozenset[str]) -> itemgetter[tuple[object, ...]]:
    return itemgetter(*(place for place, name in enumerate(ChangeSet._fields) if name not in parts))


_beyond_birth, _beyond_end = _all_but(_BIRTH), _all_but(_END)


def is_plain(sets: Sequence[ChangeSet]) -> bool:
    """Whether all of them are births, or all of them ends of different tasks."""
    if not any(map(any, map(_beyond_birth, sets))):
        return True
    if any(map(any, map(_beyond_end, sets))):
        return False
    changes = [change for each in sets for change in each.changes]
    return (
        len({change.before.id for change in changes}) == len(changes)
        and all(map(_is_guarded, changes))
        and all(_keeps_its_row(spend) for each in sets for spend in each.spends)
        and all(count.clear and not count.add for each in sets for count in each.counts)
    )


def _is_guarded(change: Change) -> bool:
    """Whether the statement itself can tell that it may be applied."""
    before, after, _, expiring, unbeaten = change
    if expiring or (unbeaten and before.lease_expires_at is None):
        return False
    return after.version == before.version + 1 and not takes_key(change)


def _keeps_its_row(spend: Spend) -> bool:
    """Whether its ceiling neither comes to nothing, for then its row goes, nor has room for what is parked on it."""
    return is_slots_ceiling(spend.name) or (spend.spent > 0 and spend.held >= 0)


async def land(transaction: Transaction, sets: Sequence[ChangeSet]) -> tuple[list[Answer], Counts]:
    late = conflicts.find_late(sets, transaction.now)
    timely = [each for place, each in enumerate(sets) if place not in late] if late else sets
    transaction.good_until = min((each.good_until for each in timely if each.good_until is not None), default=None)
    counts = await _write(transaction, timely)
    answers: list[Answer] = [late.get(place) or Committed({}, newly_ready(each, ())) for place, each in enumerate(sets)]
    return answers, counts


async def _write(transaction: Transaction, sets: Sequence[ChangeSet]) -> Counts:
    changes = [change for each in sets for change in each.changes]
    changes.sort(key=lambda change: change.before.id)
    transaction.move(changes)
    transaction.insert([task for each in sets for task in each.tasks])
    commits.write_ends(transaction, sets)
    for each in sets:
        transaction.tell([step.event for step in (*each.changes, *each.tasks)])
        transaction.tell(each.events)
    transaction.tell_now()
    return await commits.finish(transaction, commits.folded_limits(sets), commits.folded_counts(sets))
