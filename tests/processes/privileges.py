"""Becoming somebody who may only do what the modes of files allow, also where the tests are run by root."""

import ctypes

_VERSION_3 = 0x20080522
_SETS = 6  # effective, permitted and inheritable, of two words each


def give_up_privileges() -> None:
    """Let all capabilities of this process go; it gets none of them back."""
    libc = ctypes.CDLL(None, use_errno=True)
    header, none = (ctypes.c_uint32 * 2)(_VERSION_3, 0), (ctypes.c_uint32 * _SETS)()
    assert libc.capset(header, none) == 0, ctypes.get_errno()
