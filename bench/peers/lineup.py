"""Who is compared: every system with its store, its settings, and the module that answers for it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

ADAPTERS = "bench.peers.adapters"


class Store(StrEnum):
    POSTGRES = "PostgreSQL"
    REDIS = "Redis"
    SQLITE = "SQLite"
    HTTP = "HTTP"  # a server of ours, on SQLite


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    name: str
    store: Store
    module: str
    package: str | None = None  # whose version is told
    place: str = "{}"  # how it wants to be told where it is to work
    settings: str = ""
    language: str = "Python"
    is_ours: bool = False
    is_floor: bool = False


def _ours(store: Store, place: str = "{}") -> System:
    settings = "500 slots, sweeping, full history"
    module = f"{ADAPTERS}.taskyard_itself"
    return System(
        name="taskyard", store=store, module=module, package="taskyard", place=place, settings=settings, is_ours=True
    )


def _peer(name: str, store: Store, settings: str, *, package: str | None = None) -> System:
    return System(name=name, store=store, module=f"{ADAPTERS}.{name}_peer", package=package or name, settings=settings)


def _on_node(name: str, store: Store, settings: str) -> System:
    module = f"node/{name.replace('-', '_')}.cjs"
    return System(name=name, store=store, module=module, package=name, settings=settings, language="Node")


def _floor(store: Store, module: str) -> System:
    settings = "not a queue: claim 100, finish 100, one connection"
    return System(name="floor", store=store, module=f"{ADAPTERS}.{module}", settings=settings, is_floor=True)


LINEUP = (
    _ours(Store.POSTGRES),
    _peer("pgqueuer", Store.POSTGRES, "batches of 500, pool of 16"),
    _peer("procrastinate", Store.POSTGRES, "concurrency 100"),
    _on_node("graphile-worker", Store.POSTGRES, "local queue 500, concurrency 100; deletes finished jobs"),
    _on_node("pg-boss", Store.POSTGRES, "batches of 500, notifications"),
    _floor(Store.POSTGRES, "postgres_floor"),
    _ours(Store.REDIS),
    _peer("taskiq", Store.REDIS, "streams, 100 tasks; no results, no history"),
    _peer("dramatiq", Store.REDIS, "8 threads; no results, no history"),
    _peer("saq", Store.REDIS, "concurrency 100"),
    _on_node("bullmq", Store.REDIS, "concurrency 100"),
    _ours(Store.SQLITE, place="sqlite:///{}/yard.db"),
    _peer("huey", Store.SQLITE, "one thread, polls every 10 ms; no acknowledgement, no results"),
    _peer("litequeue", Store.SQLITE, "synchronous FULL instead of its own NORMAL, polls every 2 ms"),
    _floor(Store.SQLITE, "sqlite_floor"),
    _ours(Store.HTTP),
)
