"""Keeping what a worker knows from programs that run as the same user."""

from __future__ import annotations

import ctypes
import sys

PR_SET_DUMPABLE = 4


def hide() -> bool:
    """Close this process's environment and memory to others of its user; False where the system cannot.

    On Linux, a program can read the environment that its parent was started with. Root can read it nevertheless.
    """
    if sys.platform != "linux":
        return False
    return ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0
