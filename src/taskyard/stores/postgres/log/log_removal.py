"""Taking events out of the log: those of removed tasks and DAGs, and old ones of no owner.

A row goes with the last of its owners. Before that, readers leave out the events of those that are gone. The row is
written again without them once three quarters of its owners are gone: few events are written again, and few twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from taskyard.core.changes import Event, StoredEvent, is_prunable
from taskyard.core.units import Micros
from taskyard.stores.postgres.connection.reader import PostgresReader
from taskyard.stores.postgres.log.log_reads import gone_owners, owner_of
from taskyard.stores.postgres.statements import transpose
from taskyard.stores.postgres.transaction import PostgresTransaction
from taskyard.stores.shared.log_rows import PLACES, decode_row, keep_events, last_number_of
from taskyard.stores.shared.rows import Row

Owners = Mapping[tuple[int, str], set[str]]  # by number of the log and workspace: ids of tasks, and of DAGs
_LOOSE_ROWS = 100  # rows of the log with events of nothing that are looked at in one transaction


class _Shared(NamedTuple):
    """A row of the log that has events of owners which go."""

    number: int
    workspace: str
    owners: int
    live: int  # owners that are left
    loose: int

    @property
    def is_over(self) -> bool:
        return not self.live and not self.loose

    @property
    def is_mostly_gone(self) -> bool:
        return 4 * self.live <= self.owners


async def lock_shared(transaction: PostgresTransaction, owners: Owners) -> list[_Shared]:
    """Lock the rows with events of these owners."""
    counted = sorted((*key, len(ids)) for key, ids in owners.items())
    found = await transaction.query("lock_log_rows", *transpose(counted, 3)) if counted else []
    return [_Shared(*row) for row in found]


async def note_pruned(transaction: PostgresTransaction, shared: Sequence[_Shared], owners: Owners) -> None:
    """Note up to which number events are gone, in each workspace."""
    last = {row.workspace: row.number for row in shared}
    through: list[Row] = []
    for number, workspace, body in await _bodies(transaction, [(number, name) for name, number in last.items()]):
        last = last_number_of(number, body, owners[number, workspace])
        through += [(workspace, last)] if last else []
    transaction.write("note_pruned", through)


async def remove_shared(transaction: PostgresTransaction, shared: Sequence[_Shared]) -> None:
    """Remove the events of the owners, which are gone by now."""
    transaction.write("remove_log_rows", [row[:2] for row in shared if row.is_over])
    left = [row for row in shared if not row.is_over]
    transaction.write("count_live", [(*row[:2], row.live) for row in left if not row.is_mostly_gone])
    await transaction.flush()
    await _rewrite_living(transaction, [row[:2] for row in left if row.is_mostly_gone])


async def _bodies(transaction: PostgresTransaction, keys: Sequence[Row]) -> list[Row]:
    return await transaction.query("log_bodies", *transpose(keys, 2)) if keys else []


async def _rewrite_living(transaction: PostgresTransaction, keys: Sequence[Row]) -> None:
    """Write these rows again without the events of owners that are gone."""
    page = await _bodies(transaction, keys)
    gone = await gone_owners(PostgresReader(transaction.connection, transaction.sql), page)
    kept: list[Row] = []
    for number, workspace, body in page:
        key = number, workspace
        kept += _keep(*key, body, lambda event, key=key: (*key, owner_of(event)) not in gone)
    transaction.write("rewrite_living", kept)
    await transaction.flush()


def _keep(number: int, workspace: str, body: str, is_kept: Callable[[Event], bool]) -> list[Row]:
    """The row with only these events; no row: none is kept."""
    return [(number, workspace, *row[2:]) for row in keep_events(number, workspace, body, is_kept)]


async def prune_events(transaction: PostgresTransaction, before: Micros, after: int, limit: int) -> int | None:
    """Remove old events of no owner. Answers the number to go on after; None: none follows."""
    rows = await transaction.query("lock_loose_rows", after // PLACES, before, min(limit, _LOOSE_ROWS))
    old: list[StoredEvent] = []
    for number, workspace, body in rows:
        old += [stored for stored in decode_row(number, workspace, body) if is_prunable(stored.event, before)]
        kept = _keep(number, workspace, body, lambda event: not is_prunable(event, before))
        transaction.write("rewrite_log_rows", kept)
        transaction.write("remove_log_rows", [] if kept else [(number, workspace)])
        await transaction.flush()
        if len(old) >= limit:
            break
    through = {stored.event.workspace: stored.seq for stored in old}
    transaction.write("note_pruned", list(through.items()))
    await transaction.flush()
    return old[-1].seq if len(old) >= limit or len(rows) == _LOOSE_ROWS else None
