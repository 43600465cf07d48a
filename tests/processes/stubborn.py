"""A worker whose handler does not stop: stubborn.py URL HOW [GRACE].

HOW: `swallows` its cancellation, `blocks` the loop, keeps a `thread`, or `waits` and would stop. `early` waits too, in
a worker whose second connection is still being opened when it is asked to end.
"""

import asyncio
import logging
import sys
import threading
import time

import taskyard
from taskyard.host import Host
from taskyard.worker.process import runner
from tests.processes.child import say

agent = taskyard.Agent("stubborn")


@agent.handles("swallows")
async def swallows(task: taskyard.Context) -> None:
    say(begun=True)
    while True:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            continue


@agent.handles("blocks")
async def blocks(task: taskyard.Context) -> None:
    say(begun=True)
    time.sleep(600)  # the point of it  # noqa: ASYNC251


@agent.handles("thread")
async def thread(task: taskyard.Context) -> None:
    say(begun=True)
    await asyncio.to_thread(time.sleep, 600)


@agent.handles("early")
@agent.handles("waits")
async def waits(task: taskyard.Context) -> None:
    say(begun=True)
    await asyncio.Event().wait()


def open_late(yard: taskyard.Yard) -> None:
    """Let the second connection be opened when the process gives back what it holds, and no sooner."""
    gives_back, twin_of = threading.Event(), yard.host.twin

    class Listening(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if "gives back" in record.getMessage():
                gives_back.set()

    def late_twin() -> Host | None:
        twin = twin_of()
        assert twin is not None
        opens = twin.open

        async def open_later() -> None:
            await asyncio.to_thread(gives_back.wait)
            await opens()

        twin.open = open_later  # pyright: ignore[reportAttributeAccessIssue]
        return twin

    logging.getLogger("taskyard.worker").addHandler(Listening())
    yard.host.twin = late_twin  # pyright: ignore[reportAttributeAccessIssue]


async def main(url: str, how: str, grace: float) -> None:
    runner.ENDING = 0.5
    # What swallows its cancellation is ended by the worker itself, without these.
    runner.PARTING = runner.LEAVING = 600 if how == "swallows" else 0.5
    agent.handlers = {how: agent.handlers[how]}
    async with taskyard.connect(url) as yard:
        if how == "early":
            open_late(yard)
        say(up=True)
        await yard.work(agent, grace_sec=grace)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], float(sys.argv[3])))
