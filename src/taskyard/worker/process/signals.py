"""The signals that ask a process to stop, heard in whichever loop listens and not only in the main thread's.

The interpreter runs Python's own handlers in the main thread, which may be blocked. The number of a signal is also
written to a descriptor, at once and by the kernel's handler itself: that is what is read here.
"""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import AsyncGenerator

STOPPING = (signal.SIGTERM, signal.SIGINT)


class Signals:
    """Catches what asks to stop. Made and closed in the main thread, listened to in any loop."""

    def __init__(self) -> None:
        self._reader, self._writer = socket.socketpair()
        self._reader.setblocking(False)
        self._writer.setblocking(False)
        self._before = {number: signal.signal(number, _noted) for number in STOPPING}
        self._descriptor_before = signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)

    def close(self) -> None:
        """Leave signals to whoever had them before."""
        signal.set_wakeup_fd(self._descriptor_before)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._writer.close()

    async def heard(self) -> AsyncGenerator[int]:
        """The number of each, as it comes."""
        loop = asyncio.get_running_loop()
        try:
            while written := await loop.sock_recv(self._reader, 64):
                for number in written:
                    if number in STOPPING:
                        yield number
        finally:
            self._reader.close()


def _noted(number: int, frame: object) -> None:
    """The descriptor has it."""
