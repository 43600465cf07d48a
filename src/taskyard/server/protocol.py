"""HTTP as uvicorn speaks it, but with an end to how long and how large the head of a request may be."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MOST_HEAD_BYTES = 64 << 10  # of the request line and the headers
MOST_HEAD_SEC = 20.0  # from the first byte to the end of the headers


class BoundedProtocol(HttpToolsProtocol):
    """Hangs up on who sends a head without an end, fast or slowly."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._head_bytes = 0
        self._is_headed = False
        self._head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        super().connection_made(transport)
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._got_head()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if not self._is_headed:
            self._head_bytes += len(data)
            if self._head_timer is None:
                self._expect_head()
        super().data_received(data)
        if not self._is_headed and self._head_bytes > MOST_HEAD_BYTES and not self.transport.is_closing():
            self.send_400_response(f"The head of a request may have {MOST_HEAD_BYTES} bytes.")

    def on_headers_complete(self) -> None:
        self._is_headed = True
        self._got_head()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._is_headed, self._head_bytes = False, 0
        super().on_message_complete()

    def _expect_head(self) -> None:
        self._head_timer = self.loop.call_later(MOST_HEAD_SEC, self.transport.close)

    def _got_head(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None
