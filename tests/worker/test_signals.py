"""What is left of listening for signals when a worker has ended by itself."""

import asyncio
import os
import signal

import pytest

from taskyard.app import Yard
from taskyard.worker.process.heartbeats import HeartbeatSender
from taskyard.worker.process.runtime_files import Process
from taskyard.worker.process.signals import Signals
from taskyard.worker.process.supervisor import Supervisor


@pytest.mark.parametrize("sent", [(), (signal.SIGTERM,)], ids=["no signal", "asked to stop"])
async def test_listening_ends_in_silence_when_the_signals_are_closed(yard: Yard, sent: tuple[signal.Signals, ...]):
    asked = asyncio.Event()

    def stop() -> float:
        asked.set()
        return 60

    supervisor = Supervisor(yard, HeartbeatSender(), Process("here", "0"), on_signal=stop)
    signals = Signals()
    listening = asyncio.create_task(supervisor._hear_signals(signals))  # pyright: ignore[reportPrivateUsage]
    try:
        for number in sent:
            os.kill(os.getpid(), number)
            await asyncio.wait_for(asked.wait(), 10)
        await asyncio.sleep(0)  # it listens
    finally:
        signals.close()

    await asyncio.wait_for(listening, 10)
    assert supervisor.signalled == (sent[0] if sent else 0)
