"""Who may listen to what, and what they would have heard: the same for pages, streams and sockets."""

from __future__ import annotations

import json

from taskyard.core.errors import Forbidden
from taskyard.core.json_value import Json
from taskyard.core.task import TaskId
from taskyard.features.events.labels import with_labels
from taskyard.features.tokens.rules import Role
from taskyard.server.access.auth import Caller, check_own
from taskyard.server.live.event_buffer import Interest, entry_of
from taskyard.yard import Yard

SCANNED = 500  # events read from the store at once
MOST_SCANS = 10  # for one page


async def must_be_theirs(caller: Caller, interest: Interest) -> None:
    """Refuse to tell an agent of tasks that it never held, and anybody of tasks that are not in the workspace."""
    if interest.task_id is None:
        if caller.token.role is Role.AGENT:
            raise Forbidden("it has the role agent, which hears of tasks it holds or has held: name one in task_id")
    elif caller.token.role is Role.AGENT:
        await check_own(caller, interest.task_id)
    else:
        await caller.yard.local.permissions.holders(interest.task_id)


async def page(yard: Yard, interest: Interest, *, after: int, limit: int) -> dict[str, Json]:
    """Up to so many events that are wanted. Where they are rare, a page may have fewer although more come later."""
    found: list[Json] = []
    for _ in range(MOST_SCANS):
        scanned = await yard.events(after=after, limit=SCANNED, task_id=interest.task_id)
        for stored in scanned:
            after = stored.seq
            if interest.wants(entry := entry_of(stored)):
                found += map(json.loads, interest.texts(entry))
            if len(found) >= limit:
                return {"events": found, "after": after}
        if len(scanned) < SCANNED:
            break
    return {"events": found, "after": after}


async def last_page(yard: Yard, interest: Interest, *, limit: int) -> dict[str, Json]:
    """The last events that are wanted, newest first: of those that are not long past, where they are rare."""
    head, oldest = await yard.local.events.newest(), await yard.store.pruned(yard.workspace)
    found: list[Json] = []
    below, of = head + 1, None if interest.task_id is None else TaskId(interest.task_id)
    for _ in range(MOST_SCANS):
        scanned = await yard.store.newest_events(limit=SCANNED, below=below, workspace=yard.workspace, task_id=of)
        # Some older ones may be left of work that is still there, among others that are gone.
        kept = [stored for stored in scanned if stored.seq > oldest]
        for stored in await with_labels(yard.store, kept):
            if interest.wants(entry := entry_of(stored)):
                found += map(json.loads, interest.texts(entry))
        if len(found) >= limit or len(kept) < SCANNED:
            break
        below = kept[-1].seq
    return {"events": found[:limit], "after": head}
