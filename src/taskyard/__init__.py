"""A durable task queue for AI agents.

What a name needs is loaded when the name is first used: `import taskyard` alone costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from taskyard.app import Yard, connect, connect_sync
    from taskyard.core.errors import (
        Contended,
        CycleFound,
        DuplicateKey,
        EventsGone,
        IdentityTaken,
        IllegalTransition,
        InvalidInput,
        LeaseLost,
        NotFound,
        ReportRequired,
        StoreUnavailable,
        TaskCancelled,
        TaskFailed,
        TaskGone,
        TaskyardError,
    )
    from taskyard.core.task import Status
    from taskyard.features.attempts.views import Receipt
    from taskyard.features.tasks.views import Details, Held, Task
    from taskyard.ledger.clock import ManualClock
    from taskyard.worker.cheap_lane.anthropic_batches import AnthropicBatches
    from taskyard.worker.cheap_lane.batch_provider import BatchTerms
    from taskyard.worker.cheap_lane.openai_batches import OpenAIBatches
    from taskyard.worker.context import Context
    from taskyard.worker.control import Cancel, Fail, Retry, Snooze
    from taskyard.worker.current import current_task
    from taskyard.worker.faults import diagnose_error
    from taskyard.worker.handlers import Agent
    from taskyard.worker.inbox import Inbox
    from taskyard.worker.sync_context import SyncContext

__all__ = [
    "Agent",
    "AnthropicBatches",
    "BatchTerms",
    "Cancel",
    "Contended",
    "Context",
    "CycleFound",
    "Details",
    "DuplicateKey",
    "EventsGone",
    "Fail",
    "Held",
    "IdentityTaken",
    "IllegalTransition",
    "Inbox",
    "InvalidInput",
    "LeaseLost",
    "ManualClock",
    "NotFound",
    "OpenAIBatches",
    "Receipt",
    "ReportRequired",
    "Retry",
    "Snooze",
    "Status",
    "StoreUnavailable",
    "SyncContext",
    "Task",
    "TaskCancelled",
    "TaskFailed",
    "TaskGone",
    "TaskyardError",
    "Yard",
    "connect",
    "connect_sync",
    "current_task",
    "diagnose_error",
]

_HOMES = {
    "app": ("Yard", "connect", "connect_sync"),
    "core.task": ("Status",),
    "ledger.clock": ("ManualClock",),
    "features.attempts.views": ("Receipt",),
    "features.tasks.views": ("Details", "Held", "Task"),
    "worker.handlers": ("Agent",),
    "worker.cheap_lane.anthropic_batches": ("AnthropicBatches",),
    "worker.cheap_lane.batch_provider": ("BatchTerms",),
    "worker.cheap_lane.openai_batches": ("OpenAIBatches",),
    "worker.context": ("Context",),
    "worker.control": ("Cancel", "Fail", "Retry", "Snooze"),
    "worker.current": ("current_task",),
    "worker.faults": ("diagnose_error",),
    "worker.inbox": ("Inbox",),
    "worker.sync_context": ("SyncContext",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"taskyard.{_HOME_OF.get(name, 'core.errors')}"), name)
    globals()[name] = value  # and so the next time nothing is looked for
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
