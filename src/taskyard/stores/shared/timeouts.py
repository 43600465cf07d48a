"""How long a store is waited for, and how a line that has gone silent is found out."""

from __future__ import annotations

import socket
from asyncio import BaseTransport

CALL_TIMEOUT = 10.0  # seconds in which a call of a store ends, whatever the line does; a setting
LEAST_CALL_TIMEOUT = 0.5
MOST_CALL_TIMEOUT = 600.0
PER_ROW = 0.002  # seconds more for every row of a batch
SLOW_CALL_TIMEOUT = 600.0  # seconds: migrating, and checking all that is stored

# A peer that is gone without a word is given up by the system after IDLE + PROBES * BETWEEN seconds.
IDLE = 5
BETWEEN = 2
PROBES = 3
UNACKNOWLEDGED = 10_000  # milliseconds that what was sent may stay unacknowledged


def keepalive_options() -> list[tuple[int, int, int]]:
    """What a socket is set to; where the system lacks one of these, the others do."""
    wanted = {"TCP_KEEPIDLE": IDLE, "TCP_KEEPINTVL": BETWEEN, "TCP_KEEPCNT": PROBES, "TCP_USER_TIMEOUT": UNACKNOWLEDGED}
    known = {name: getattr(socket, name, None) for name in wanted}
    fine = [(socket.IPPROTO_TCP, option, wanted[name]) for name, option in known.items() if option is not None]
    return [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1), *fine]


def keep_alive(transport: BaseTransport) -> None:
    """Have the system look whether the peer is still there."""
    line = transport.get_extra_info("socket")
    if line is not None and line.family in (socket.AF_INET, socket.AF_INET6):
        for option in keepalive_options():
            line.setsockopt(*option)
