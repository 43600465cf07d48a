"""HTTP as uvicorn speaks it, but with an end to how long and how large the head of a request may be.

The same holds for a body that nobody reads any more, because its request is answered already: who is refused before the
body was read cannot keep the connection by sending on.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MOST_HEAD_BYTES = 64 << 10  # of the request line and the headers
MOST_HEAD_SEC = 20.0  # from the first byte to the end of the headers
MOST_REST_BYTES = 32 << 20  # of a body after its answer, which a caller reads only once it has sent everything
MOST_REST_SEC = 5.0


class BoundedProtocol(HttpToolsProtocol):
    """Hangs up on who sends a head without an end, fast or slowly."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._head_bytes = 0
        self._header_bytes = 0
        self._is_headed = False
        self._head_timer: asyncio.TimerHandle | None = None
        self._rest_bytes = 0
        self._rest_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        super().connection_made(transport)
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._got_head()
        self._got_rest()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if not self._is_headed:
            self._head_bytes += len(data)
            if self._head_timer is None:
                self._expect_head()
        super().data_received(data)
        if not self._is_headed and self._head_bytes > MOST_HEAD_BYTES and not self.transport.is_closing():
            self.send_400_response(f"The head of a request may have {MOST_HEAD_BYTES} bytes.")

    def on_header(self, name: bytes, value: bytes) -> None:
        """Refuse a head that is too large also where all of it comes at once."""
        self._header_bytes += len(name) + len(value) + 4
        if self._header_bytes > MOST_HEAD_BYTES:
            raise ValueError("too many headers")  # which the parser makes a request that is not sound
        super().on_header(name, value)

    def on_message_begin(self) -> None:
        self._header_bytes = 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._is_headed = True
        self._got_head()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._is_headed, self._head_bytes = False, 0
        self._got_rest()
        super().on_message_complete()

    def on_body(self, body: bytes) -> None:
        super().on_body(body)
        if self._rest_timer is not None:
            self._rest_bytes += len(body)
            if self._rest_bytes > MOST_REST_BYTES:
                self.transport.close()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._is_headed and self.cycle.response_complete:
            self._rest_bytes = 0
            self._rest_timer = self.loop.call_later(MOST_REST_SEC, self.transport.close)

    def _expect_head(self) -> None:
        self._head_timer = self.loop.call_later(MOST_HEAD_SEC, self.transport.close)

    def _got_head(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _got_rest(self) -> None:
        if self._rest_timer is not None:
            self._rest_timer.cancel()
            self._rest_timer = None
