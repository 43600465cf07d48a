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
from taskyard.worker.judging import Answer, ChatCompletions, Question, judge_by_model
from taskyard.worker.proving import judge_by_tests
from taskyard.worker.shadowing import Difference, Phase, ShadowedInbox

__all__ = [
    "Agent",
    "Answer",
    "Cancel",
    "ChatCompletions",
    "Contended",
    "Context",
    "CycleFound",
    "Details",
    "Difference",
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
    "Phase",
    "Question",
    "Receipt",
    "ReportRequired",
    "Retry",
    "ShadowedInbox",
    "Snooze",
    "Status",
    "StoreUnavailable",
    "SyncContext",
    "Task",
    "TaskyardError",
    "Yard",
    "connect",
    "connect_sync",
    "judge_by_model",
    "judge_by_tests",
]
