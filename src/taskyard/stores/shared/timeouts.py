"""How long a call waits for a store, and how a dead connection is detected."""

from __future__ import annotations

import socket
from asyncio import BaseTransport

CALL_TIMEOUT = 10.0  # seconds after which a call of a store ends, whatever the connection does; configurable
LEAST_CALL_TIMEOUT = 0.5
MOST_CALL_TIMEOUT = 600.0
PER_ROW = 0.002  # additional seconds for each row of a batch
SLOW_CALL_TIMEOUT = 600.0  # seconds for migrations and for checks of all stored data

# The operating system gives up a silent peer after IDLE + PROBES * BETWEEN seconds.
IDLE = 5
BETWEEN = 2
PROBES = 3
UNACKNOWLEDGED = 10_000  # milliseconds that sent data may stay unacknowledged


def keepalive_options() -> list[tuple[int, int, int]]:
    """The socket options for keepalive, as far as the operating system has them."""
    wanted = {"TCP_KEEPIDLE": IDLE, "TCP_KEEPINTVL": BETWEEN, "TCP_KEEPCNT": PROBES, "TCP_USER_TIMEOUT": UNACKNOWLEDGED}
    known = {name: getattr(socket, name, None) for name in wanted}
    options = [(socket.IPPROTO_TCP, option, wanted[name]) for name, option in known.items() if option is not None]
    return [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1), *options]


def keep_alive(transport: BaseTransport) -> None:
    """Let the operating system probe whether the peer still answers."""
    connected = transport.get_extra_info("socket")
    if connected is not None and connected.family in (socket.AF_INET, socket.AF_INET6):
        for option in keepalive_options():
            connected.setsockopt(*option)
