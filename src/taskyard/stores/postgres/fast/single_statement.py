"""Fast path, 32 % of a lone enqueue and 58 % of a completion at the server: a commit in one statement.

It applies if all sets only bring new tasks, or all sets only end attempts of different tasks, as in nearly all
commits. The slow path (`commits`) takes three round trips for an enqueue and seven for the end of a batch; this path
takes one (decision 20). Of the processor time of the process it saves 47 % of a lone enqueue and 7 % of a completion;
of a bulk enqueue it saves nothing.

The only guards of such sets are the versions of tasks, and the statement checks them itself. If a task has changed, or
a new id exists already, the statement writes nothing, and the slow path finds out which set is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter

from taskyard.core.changes import Change, ChangeSet, Committed, Spend
from taskyard.core.identifiers import is_slots_ceiling
from taskyard.stores.postgres import commits
from taskyard.stores.postgres.commits import Counts
from taskyard.stores.postgres.fast.guarded_statements import OneStatement
from taskyard.stores.shared.commits import conflicts
from taskyard.stores.shared.commits.change_sets import Answer, newly_ready
from taskyard.stores.shared.commits.conflicts import takes_key
from taskyard.stores.shared.log_rows import split_events
from taskyard.stores.turns import pause_if_many

_BIRTH = frozenset({"at", "good_until", "tasks", "events"})
_END = frozenset({"at", "good_until", "changes", "attempts", "outputs", "spends", "counts", "outbox", "events"})


def _all_but(parts: frozenset[str]) -> itemgetter[tuple[object, ...]]:
    return itemgetter(*(place for place, name in enumerate(ChangeSet._fields) if name not in parts))


_beyond_birth, _beyond_end = _all_but(_BIRTH), _all_but(_END)


def is_applicable(sets: Sequence[ChangeSet]) -> bool:
    """Whether all sets only bring new tasks, or all sets only end attempts of different tasks."""
    if not any(map(any, map(_beyond_birth, sets))):
        # Another event of a new task names it by the id, by which the statement would not find the task yet.
        return all(event.task_id is None for each in sets for event in each.events)
    if any(map(any, map(_beyond_end, sets))):
        return False
    changes = [change for each in sets for change in each.changes]
    return (
        len({change.before.id for change in changes}) == len(changes)
        and all(map(_is_guarded_by_version, changes))
        and all(_keeps_its_row(spend) for each in sets for spend in each.spends)
        and all(count.clear and not count.add for each in sets for count in each.counts)
    )


def _is_guarded_by_version(change: Change) -> bool:
    """Whether the statement can check all guards of the change."""
    before, after, _, expiring, lease_unchanged = change
    if expiring or (lease_unchanged and before.lease_expires_at is None):
        return False
    return after.version == before.version + 1 and not takes_key(change)


def _keeps_its_row(spend: Spend) -> bool:
    """Whether the ceiling keeps its row after the spend, and gets no room for parked tasks."""
    return is_slots_ceiling(spend.name) or (spend.spent > 0 and spend.held >= 0)


async def commit_once(transaction: OneStatement, sets: Sequence[ChangeSet]) -> tuple[list[Answer], Counts]:
    late = conflicts.find_late(sets, transaction.now)
    current = [each for place, each in enumerate(sets) if place not in late] if late else sets
    transaction.good_until = min((each.good_until for each in current if each.good_until is not None), default=None)
    counts = await _write(transaction, current)
    answers: list[Answer] = [late.get(place) or Committed({}, newly_ready(each, ())) for place, each in enumerate(sets)]
    return answers, counts


async def _write(transaction: OneStatement, sets: Sequence[ChangeSet]) -> Counts:
    events = [event for each in sets for event in commits.own_events(each)]
    if events:
        transaction.plan_events(events)
        await pause_if_many(events)
    if changes := [change for each in sets for change in each.changes]:
        changes.sort(key=lambda change: change.before.seq)
        transaction.apply_changes(changes)
    await transaction.insert_tasks([task for each in sets for task in each.tasks])
    commits.write_attempts(transaction, sets)
    await pause_if_many(events)
    transaction.queue_log(split_events(events))
    return await commits.flush_moves(transaction, commits.sum_limits(sets), commits.sum_counts(sets))
