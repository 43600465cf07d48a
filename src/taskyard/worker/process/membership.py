"""A process as a member of its runtime: it registers, is heard of, gives up what the dead held, and leaves."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Awaitable, Callable
from functools import cache
from time import monotonic
from typing import TypeVar

from taskyard.core.errors import MigrationNeedsStop, NotFound, TaskyardError, Unavailable
from taskyard.worker.process.runtime_files import Process, dead_processes
from taskyard.yard import Yard

logger = logging.getLogger("taskyard.worker")
EVERY = 20.0  # seconds between heartbeats of a process: after 75 of silence it loses its tasks
AGAIN = 1.0  # seconds until one that failed is sent again
ASKED_AGAIN = 1.0  # seconds until a yard that is away is asked again
REMINDED = 30.0  # seconds until it is said again that a yard is waited for
Answer = TypeVar("Answer")


async def when_reached(call: Callable[[], Awaitable[Answer]]) -> Answer:
    """Make the call until the yard answers. Says that it waits, and again from time to time."""
    began, reminded_at = monotonic(), 0.0
    while True:
        try:
            return await call()
        except MigrationNeedsStop:
            raise  # a worker that waits is one of those that must stop
        except Unavailable as error:
            now = monotonic()
            if not reminded_at or now - reminded_at > REMINDED:
                reminded_at = now
                logger.warning("waits for the yard, for %.0f s so far: %s", now - began, error)
            await asyncio.sleep(ASKED_AGAIN)


async def be_heard(yard: Yard, process: Process) -> None:
    """Register this process, and say for ever that it is there."""
    while True:
        try:
            await _heard(yard, process)
        except TaskyardError as error:
            logger.warning("the runtime's heartbeat failed, will be tried again: %s", error)
            await asyncio.sleep(AGAIN)
        except Exception:
            logger.exception("the runtime's heartbeat failed, will be tried again")
            await asyncio.sleep(AGAIN)
        else:
            await asyncio.sleep(EVERY)


async def _heard(yard: Yard, process: Process) -> None:
    try:
        # Each task has heartbeats of its own: an attempt that this process forgot must not be kept by this one.
        await yard.runtimes.heartbeat(process.runtime, incarnation=process.incarnation, keep_leases=False)
    except NotFound:
        await yard.runtimes.register(
            process.runtime,
            incarnation=process.incarnation,
            hostname=socket.gethostname(),
            pid=os.getpid(),
            version=_release(),
        )


@cache  # reading it takes longer than all else that a worker does when it starts
def _release() -> str:
    from importlib.metadata import version  # noqa: PLC0415 - slow to import, and once is enough

    return version("taskyard")


async def give_up_dead(yard: Yard, process: Process) -> None:
    """Give up what processes held that have died, so that it is tried again at once."""
    if process.path is None:
        return
    with dead_processes(process.path.parent) as found:
        for dead in found:
            try:
                given = await yard.runtimes.orphans(dead.runtime, incarnation=dead.incarnation)
            except Unavailable:
                raise
            except TaskyardError as error:  # it is not this worker's to give up: another one, or the sweep, does
                logger.warning("what process %s held cannot be given up from here: %s", dead.incarnation, error)
                continue
            if given.orphaned:
                logger.warning("a worker that has died held %d tasks: they are tried again", given.orphaned)
            dead.leave()


async def leave(yard: Yard, process: Process) -> None:
    """Take this process, which holds nothing any more, off the list of those that are heard of."""
    await yard.runtimes.orphans(process.runtime, incarnation=process.incarnation)
    process.leave()
