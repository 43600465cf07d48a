"""How a handler ends other than by returning its output or raising an error of its own."""

from __future__ import annotations

from taskyard.core.json_value import Json


class Control(Exception):
    """What a handler raises to say how its attempt ends."""


class Fail(Control):
    """The attempt failed, for a reason that the retry policy knows."""

    def __init__(self, reason: str, error: str = "", *, details: Json = None) -> None:
        super().__init__(reason, error)
        self.reason = reason
        self.error = error
        self.details = details


class Retry(Control):
    """The attempt failed and is to be tried again after a time of the handler's choosing."""

    def __init__(self, after_sec: float, error: str = "", *, reason: str = "agent_error") -> None:
        super().__init__(after_sec, error)
        self.after_sec = after_sec
        self.error = error
        self.reason = reason


class Snooze(Control):
    """Not now: the task comes back after a time, and no attempt is counted."""

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self.seconds = seconds


class Cancel(Control):
    """The work is not wanted any more: the task is cancelled."""

    def __init__(self, reason: str = "cancelled by its agent") -> None:
        super().__init__(reason)
        self.reason = reason


class Suspended(BaseException):
    """The task waits, as the message says, and its handler must stop here.

    Not an `Exception`, so that a handler's own `except Exception` does not swallow it: the lease is gone already.
    """


class Stopped(BaseException):
    """The attempt is over for this process: cancelled, lease lost, money gone, or the worker is stopping."""

    def __init__(self, word: str) -> None:
        super().__init__(word)
        self.word = word


class Interrupted(BaseException):
    """The attempt fails with the error that is given, which nothing between here and the worker is to handle.

    Not an `Exception`: a framework that makes text for its model of every error of a tool would make an answer of a
    rate limit that the tool met, and go on.
    """

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error
