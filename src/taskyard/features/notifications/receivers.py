"""Where a notification goes: to its notifier, to the callback of its task, or to an agent that asked over A2A."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from taskyard.core.json_value import compact
from taskyard.core.notice import Notice
from taskyard.core.units import Micros
from taskyard.features.a2a.asked_tasks import AskedTasks
from taskyard.features.a2a.rules import asked_task
from taskyard.features.notifications import rules
from taskyard.features.notifications.rules import Notification, Notifier, notifier_of
from taskyard.ledger import signing
from taskyard.ledger.ledger import Ledger


class Receiver(NamedTuple):
    """A target, and what it expects."""

    target: str
    secret: str  # that its webhooks are signed with
    notifier: Notifier | None = None  # None: it is nobody's rule, and has neither reminders nor quiet hours
    headers: Mapping[str, str] | None = None  # of one that gets the facts as they are, and no message

    def free_at(self, notification: Notification, now: Micros) -> Micros:
        """When it may be notified of this: at once, or when its quiet hours are over."""
        return now if self.notifier is None else self.notifier.due_at(notification.notice, now)


class Receivers:
    def __init__(self, ledger: Ledger, asked_tasks: AskedTasks) -> None:
        self._store = ledger.store
        self._workspace = ledger.workspace
        self._asked_tasks = asked_tasks

    async def of(self, notification: Notification) -> Receiver | None:
        """Where it goes now; None where that is gone."""
        match notification.notice:
            case Notice.TASK_UPDATE:
                return await self._push(notification)
            case Notice.TASK_ENDED:
                return await self._callback(notification)
            case _:
                found = await self._store.record(rules.KIND, self._workspace, notification.notifier)
                return None if found is None else self.of_notifier(notifier_of(found))

    def of_notifier(self, notifier: Notifier) -> Receiver:
        return Receiver(notifier.target, self.signing_secret(notifier), notifier)

    def signing_secret(self, notifier: Notifier) -> str:
        return signing.hook_secret(self._store.secret, self._workspace, f"notifier:{notifier.name}", notifier.nonce)

    def callback_secret(self) -> str:
        """What callbacks are signed with: one secret for the workspace, since a task has no notifier."""
        return signing.hook_secret(self._store.secret, self._workspace, rules.CALLBACK, "")

    async def _callback(self, notification: Notification) -> Receiver | None:
        task_id = notification.task_id
        definition = None if task_id is None else (await self._store.definitions([task_id])).get(task_id)
        if definition is None or definition.callback is None:
            return None
        return Receiver(definition.callback, self.callback_secret())

    async def _push(self, notification: Notification) -> Receiver | None:
        """Where an agent that asked for the task over A2A wants to hear of it; None where it does no more."""
        found = await self._asked_tasks.record(str(notification.task_id))
        pushes = () if found is None else asked_task(found).pushes
        push = next((each for each in pushes if each.id == notification.notifier), None)
        return None if push is None else Receiver(push.url, "", headers=push.headers())


def pushed_body(notification: Notification) -> bytes:
    return compact(dict(notification.facts)).encode()
