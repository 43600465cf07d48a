"""A durable task queue for AI agents."""

from taskyard.app import Yard, connect, connect_sync
from taskyard.core.errors import (
    Contended,
    CycleFound,
    DuplicateKey,
    EventsGone,
    IllegalTransition,
    InvalidInput,
    LeaseLost,
    NotFound,
    ReportRequired,
    StoreUnavailable,
    TaskyardError,
)
from taskyard.core.task import Status
from taskyard.service.clock import ManualClock
from taskyard.wire.tasks import Details, Held, Receipt, Task
from taskyard.worker.agent import Agent
from taskyard.worker.context import Context, SyncContext
from taskyard.worker.control import Cancel, Fail, Retry, Snooze
from taskyard.worker.inbox import Inbox

__all__ = [
    "Agent",
    "Cancel",
    "Contended",
    "Context",
    "CycleFound",
    "Details",
    "DuplicateKey",
    "EventsGone",
    "Fail",
    "Held",
    "IllegalTransition",
    "Inbox",
    "InvalidInput",
    "LeaseLost",
    "ManualClock",
    "NotFound",
    "Receipt",
    "ReportRequired",
    "Retry",
    "Snooze",
    "Status",
    "StoreUnavailable",
    "SyncContext",
    "Task",
    "TaskyardError",
    "Yard",
    "connect",
    "connect_sync",
]
