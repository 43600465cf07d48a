"""Who is compared: every system with its store, its settings, and the module that answers for it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

ADAPTERS = "bench.peers.adapters"
NOTHING = "nothing: a finished job is deleted"


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
    keeps: str = ""  # what is stored of a job that was done, as it is set up here
    language: str = "Python"
    is_ours: bool = False
    checkout: Path | None = None  # of an earlier release of ours, which runs with its own code
    is_floor: bool = False


def _ours(store: Store, place: str = "{}") -> System:
    settings = "500 slots, sweeping, full history"
    module = f"{ADAPTERS}.taskyard_itself"
    return System(
        name="taskyard",
        store=store,
        module=module,
        package="taskyard",
        place=place,
        settings=settings,
        keeps="the job, every attempt, its output, every event",
        is_ours=True,
    )


def _peer(name: str, store: Store, settings: str, *, keeps: str = NOTHING, package: str | None = None) -> System:
    module = f"{ADAPTERS}.{name}_peer"
    return System(name=name, store=store, module=module, package=package or name, settings=settings, keeps=keeps)


def _on_node(name: str, store: Store, settings: str, *, keeps: str = NOTHING) -> System:
    module = f"node/{name.replace('-', '_')}.cjs"
    return System(name=name, store=store, module=module, package=name, settings=settings, keeps=keeps, language="Node")


def _floor(store: Store, module: str) -> System:
    settings = "not a queue: claim 100, finish 100, one connection"
    return System(name="floor", store=store, module=f"{ADAPTERS}.{module}", settings=settings, is_floor=True)


LINEUP = (
    _ours(Store.POSTGRES),
    _peer("pgqueuer", Store.POSTGRES, "batches of 500, pool of 16", keeps="a log row for each change of status"),
    _peer(
        "procrastinate",
        Store.POSTGRES,
        "concurrency 100",
        keeps="the job, an event for each change of status; no output",
    ),
    _peer(
        "absurd",
        Store.POSTGRES,
        "concurrency 100, batches of 100, polls every 10 ms",
        keeps="the job, every attempt, its output, checkpoints; no events",
        package="absurd-sdk",
    ),
    _peer(
        "dbos",
        Store.POSTGRES,
        "100 workflows, polls every 10 ms",
        keeps="the job, its output, its steps; attempts only counted, no events",
    ),
    _on_node("graphile-worker", Store.POSTGRES, "local queue 500, concurrency 100"),
    _on_node(
        "pg-boss",
        Store.POSTGRES,
        "batches of 500, notifications",
        keeps="the job and its output; attempts only counted, no events",
    ),
    _floor(Store.POSTGRES, "postgres_floor"),
    _ours(Store.REDIS),
    _peer("taskiq", Store.REDIS, "streams, 100 tasks"),
    _peer("dramatiq", Store.REDIS, "8 threads"),
    _peer("saq", Store.REDIS, "concurrency 100", keeps="the job and its output, for ten minutes"),
    _on_node(
        "bullmq",
        Store.REDIS,
        "concurrency 100",
        keeps="the job and its output, the last 10,000 events; attempts only counted",
    ),
    _ours(Store.SQLITE, place="sqlite:///{}/yard.db"),
    _peer("huey", Store.SQLITE, "one thread, polls every 10 ms; no acknowledgement"),
    _peer(
        "litequeue",
        Store.SQLITE,
        "synchronous FULL instead of its own NORMAL, polls every 2 ms",
        keeps="the job, when it was claimed and done; no output, no attempts",
    ),
    _floor(Store.SQLITE, "sqlite_floor"),
    _ours(Store.HTTP),
)


def earlier_release(name: str, checkout: Path) -> tuple[System, ...]:
    """The release of this checkout on every store, beside which the present one is measured in turns."""
    return tuple(
        replace(system, name=f"taskyard-{name}", package=None, checkout=checkout, is_ours=False)
        for system in LINEUP
        if system.is_ours and system.store is not Store.HTTP
    )
