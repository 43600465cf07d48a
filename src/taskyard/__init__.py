"""A durable task queue for AI agents."""

from taskyard.app import connect
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
from taskyard.service.views import Details, Held, Receipt, Task
from taskyard.service.yard import Yard

__all__ = [
    "Contended",
    "CycleFound",
    "Details",
    "DuplicateKey",
    "EventsGone",
    "Held",
    "IllegalTransition",
    "InvalidInput",
    "LeaseLost",
    "ManualClock",
    "NotFound",
    "Receipt",
    "ReportRequired",
    "Status",
    "StoreUnavailable",
    "Task",
    "TaskyardError",
    "Yard",
    "connect",
]
