"""Tries to break the limits that it runs under, and prints as JSON what it could do: `probe.py BYTES PROCESSES PORT`.

Run as a file, without the rest of the package. A zero asks for nothing. The worker runs it when it starts: a limit that
a machine does not hold a program to is seen here, and not when an agent breaks it.
"""

import json
import os
import resource
import signal
import socket
import sys
import time

PAGE = 4096
BURNT = 0.03  # seconds of processor time that a small share of a core takes much longer for
SMALL = 1.0  # seconds in which a connection on this machine is made, or never


def main() -> None:
    size, processes, port = (int(word) for word in sys.argv[1:4])
    while time.process_time() < BURNT:
        pass
    found = {
        "memory": bool(size) and could_have(size),
        "processes": could_start(processes) if processes else 0,
        "network": bool(port) and could_reach(port),
        "cpu": resource.getrlimit(resource.RLIMIT_CPU)[0],
    }
    sys.stdout.write(json.dumps(found))


def could_have(size: int) -> bool:
    try:
        had = bytearray(size)
        had[::PAGE] = b"x" * len(range(0, size, PAGE))  # a control group counts what was written to
        return True
    except MemoryError:
        return False


def could_start(most: int) -> int:
    """How many processes more it could start, up to this many."""
    children: list[int] = []
    try:
        for _ in range(most):
            if (child := os.fork()) == 0:
                signal.pause()
            children.append(child)
    except OSError:
        pass
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return len(children)


def could_reach(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), SMALL).close()
    except OSError:
        return False
    return True


if __name__ == "__main__":
    main()
