"""Queues of a yard that a server has."""

from __future__ import annotations

from operator import itemgetter

from taskyard.api import calls
from taskyard.client.remote import Remote, over_http
from taskyard.core.errors import InvalidInput
from taskyard.features.queues.presets import Presets
from taskyard.features.queues.service import Queues
from taskyard.host import NEEDS_THE_STORE


class RemoteQueues(Remote, Queues):
    list = over_http(Queues.list, calls.QUEUES)
    throttles = over_http(Queues.throttles, calls.THROTTLES)
    lift_throttle = over_http(Queues.lift_throttle, calls.LIFT_THROTTLE)
    pause = over_http(Queues.pause, calls.PAUSE_QUEUE)
    resume = over_http(Queues.resume, calls.RESUME_QUEUE)
    set_preset = over_http(Queues.set_preset, calls.QUEUE_PRESET, names={"name": "preset"})
    set_report_policy = over_http(Queues.set_report_policy, calls.REPORT_POLICY)


class RemotePresets(Remote, Presets):
    current = over_http(Presets.current, calls.WHO, reads=itemgetter("preset"))
    set = over_http(Presets.set, calls.SET_PRESET, names={"name": "preset"})

    async def adopt(self, name: str) -> int:
        """Not from here: it goes with a migration of the store."""
        raise InvalidInput("url", NEEDS_THE_STORE)
