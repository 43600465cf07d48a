"""What a history can be guilty of."""

from __future__ import annotations


class Violation(AssertionError):
    """A promise was broken, or two stores did not agree."""

    def __init__(self, promise: str, what: str) -> None:
        super().__init__(f"{promise}: {what}")
        self.promise = promise


def require(holds: object, promise: str, what: str) -> None:
    if not holds:
        raise Violation(promise, what)
