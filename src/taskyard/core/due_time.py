"""When the sweep must look at a task: the earliest of what may happen to it by time alone."""

from __future__ import annotations

from taskyard.core.task import Hot, Status
from taskyard.core.units import Micros


def due(hot: Hot) -> Micros | None:
    """When the sweep must look at the task next."""
    return due_by(hot.status, hot.lease_expires_at, hot.limit_at, hot.wake_at, hot.expires_at)


def due_by(
    status: Status,
    lease_expires_at: Micros | None,
    limit_at: Micros | None,
    wake_at: Micros | None,
    expires_at: Micros | None,
) -> Micros | None:
    if status is Status.RUNNING or status is Status.CLAIMED:
        return earlier(lease_expires_at, limit_at)
    if status is Status.RETRYING or status is Status.PENDING:
        return earlier(wake_at, expires_at)
    return expires_at if status is Status.READY else None


def earlier(one: Micros | None, other: Micros | None) -> Micros | None:
    if one is None or other is None:
        return other if one is None else one
    return min(one, other)
