"""How the store and the sweep are doing, in figures, and what to make of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from math import inf
from typing import NamedTuple

from taskyard.core.changes import ChangeSet, RecordChange
from taskyard.core.json_value import Json
from taskyard.core.policy import PRESETS
from taskyard.core.units import SECOND
from taskyard.features.memory.recall import Recall
from taskyard.features.memory.service import Memory
from taskyard.ledger.ledger import Ledger
from taskyard.visible_text import visible

MIB = 1024 * 1024
GIB = 1024 * MIB
DUE_AT_ONCE = 500  # due tasks that are looked at
NO_EMBEDDER = "none"
WATCHER = "watcher"  # of records: a file watcher that has ended
LONGEST_PROBLEM = 500  # characters


class Finding(NamedTuple):
    """One figure, whether it is as it should be, and in words what it is or what to do about it."""

    name: str
    ok: bool
    words: str


class Health:
    def __init__(self, ledger: Ledger, memory: Memory, recall: Recall) -> None:
        self._ledger = ledger
        self._memory = memory
        self._recall = recall
        self._store = ledger.store
        self._workspace = ledger.workspace

    async def report(self) -> dict[str, Json]:
        """The store's own figures, and how far the sweep is behind."""
        now = self._ledger.now()
        due = await self._store.due(now, DUE_AT_ONCE)
        expired = [hot.lease_expires_at for hot in due if hot.status.is_held and hot.lease_expires_at is not None]
        behind = max(now - min(expired, default=now), 0) / SECOND
        return {
            **await self._store.health(),
            "oldest_expired_lease_sec": behind,
            **await self._watchers(),
            **await self._memory_figures(),
        }

    async def note_watcher(self, host: str, folders: Sequence[str], problem: str | None) -> None:
        """Keep what is wrong with the file watcher of a machine; None where it watches, or was asked to stop."""
        id_ = sha256("\0".join([host, *folders]).encode("utf-8", "surrogateescape")).hexdigest()[:32]

        async def decide() -> tuple[ChangeSet | None, None]:
            record = await self._store.record(WATCHER, self._workspace, id_)
            if record is None and problem is None:
                return None, None
            version = 0 if record is None else record.version
            shown = visible(problem or "")[:LONGEST_PROBLEM]
            body: dict[str, Json] | None = None if problem is None else {"host": host, "problem": shown}
            change = RecordChange(WATCHER, self._workspace, id_, version, body)
            return ChangeSet(records=(change,), at=self._ledger.now()), None

        await self._ledger.commit(decide)

    async def _watchers(self) -> dict[str, Json]:
        failed = await self._store.records(WATCHER, self._workspace)
        if not failed:
            return {}
        return {"failed_watchers": {str(each.body["host"]): each.body["problem"] for each in failed}}

    async def _memory_figures(self) -> dict[str, Json]:
        """What embeds finished work, and how long the first of it has waited."""
        state, embedders = await self._memory.state(), await self._recall.embedders_at_work()
        if not embedders:
            return {"memory_embedder": NO_EMBEDDER if await self._memory_is_asked_for() else "none, and none is needed"}
        figures: dict[str, Json] = {"memory_embedder": ", ".join(embedders)}
        if state.embedder is not None:
            since = state.waiting_since
            figures["memory_waiting_sec"] = 0 if since is None else max(self._ledger.now() - since, 0) / SECOND
        if state.problem is not None:
            figures["memory_problems"] = {"embedder": state.problem}
        return figures

    async def _memory_is_asked_for(self) -> bool:
        """Whether tasks of this workspace are to be remembered, as far as the workspace says so."""
        policy, planning = await self._memory.policy(), await self._ledger.configuration.current()
        if policy.remember is not None:
            return policy.remember or any(policy.types.values())
        return PRESETS[planning.preset].remembers or any(policy.types.values())


class _Rule(NamedTuple):
    """What a figure should be, and what it means where it is not."""

    advice: str
    most: float = inf
    least: float = -inf
    never: str = ""

    def allows(self, value: Json) -> bool:
        if isinstance(value, int | float):
            return self.least <= value <= self.most
        if isinstance(value, dict):
            return not value  # of what is wrong, by where
        return value != self.never


# For a look, not for an alarm: yards that do well pass all of these for a while.
_RULES = {
    "wal_bytes": _Rule("the log is not copied into the file: a read has no end, or writes never pause", most=256 * MIB),
    "free_bytes": _Rule("much of the file is empty: VACUUM would make it smaller", most=GIB),
    "disk_free_bytes": _Rule("the disk is nearly full", least=GIB),
    "dead_rows_share": _Rule("autovacuum does not keep up: look for an old transaction, or give it more", most=0.5),
    "oldest_transaction_sec": _Rule("a transaction is open for long, and keeps dead rows from being removed", most=300),
    "connections_share": _Rule("few connections are left: lower pool_size, or put PgBouncer in between", most=0.8),
    "memory_share": _Rule("writes are refused when it is full: raise maxmemory, or keep less", most=0.8),
    "synchronous_commit": _Rule("a crash may lose what was acknowledged", never="off"),
    "appendonly": _Rule("a crash of the server loses what was acknowledged: CONFIG SET appendonly yes", never="no"),
    "appendfsync": _Rule("a crash of the machine may lose much: CONFIG SET appendfsync always", never="no"),
    "fsync": _Rule("a crash of the machine may lose everything", never="off"),
    "replication_lag_bytes": _Rule("a standby is far behind", most=256 * MIB),
    "clock_jump_sec": _Rule("the clock was set back within the last day: look at how this machine keeps time", most=0),
    "failed_watchers": _Rule("files that change there fire no trigger: look at the log of that process"),
    "memory_embedder": _Rule(
        "work is to be remembered, and nothing is: set TASKYARD_EMBEDDER, for example to hash:", never=NO_EMBEDDER
    ),
    "memory_waiting_sec": _Rule("finished work is not embedded: no process with an embedder keeps up", most=600),
    "memory_problems": _Rule("nothing is embedded until the embedder answers"),
    "oldest_expired_lease_sec": _Rule("nobody takes back what its agent has lost: no process sweeps", most=60),
}


def findings(figures: Mapping[str, Json]) -> list[Finding]:
    """Every figure with a verdict; one without a rule is only shown."""
    return [_finding(name, value) for name, value in figures.items()]


def _finding(name: str, value: Json) -> Finding:
    rule, words = _RULES.get(name), _words(name, value)
    if rule is None or rule.allows(value):
        return Finding(name, True, words)
    return Finding(name, False, f"{words}: {rule.advice}")


_UNITS = (("days", 86_400), ("h", 3600), ("min", 60))


def _length(seconds: float) -> str:
    """In the largest unit that the time has two of: 319.7 days, 2.5 h, 90.0 s."""
    for unit, length in _UNITS:
        if seconds >= 2 * length:
            return f"{seconds / length:.1f} {unit}"
    return f"{seconds:.1f} s"


def _words(name: str, value: Json) -> str:
    match value:
        case dict():
            return ", ".join(f"{key} {each}" for key, each in value.items()) or "none"
        case int() | float() if name.endswith("_bytes"):
            return f"{value / MIB:.1f} MiB" if value < GIB else f"{value / GIB:.1f} GiB"
        case int() | float() if name.endswith("_sec"):
            return _length(value)
        case int() | float() if name.endswith("_share"):
            return f"{value:.0%}"
        case _:
            return str(value)
