"""Triggers of a yard that a server has."""

from __future__ import annotations

from taskyard.api import calls
from taskyard.client.remote import Remote, over_http
from taskyard.features.triggers.service import Triggers


class RemoteTriggers(Remote, Triggers):
    add = over_http(Triggers.add, calls.ADD_TRIGGER, names={"trigger_id": "id"})
    list = over_http(Triggers.list, calls.TRIGGERS)
    get = over_http(Triggers.get, calls.TRIGGER)
    fires = over_http(Triggers.fires, calls.TRIGGER_FIRES)
    pause = over_http(Triggers.pause, calls.PAUSE_TRIGGER)
    resume = over_http(Triggers.resume, calls.RESUME_TRIGGER)
    remove = over_http(Triggers.remove, calls.REMOVE_TRIGGER)
    rotate = over_http(Triggers.rotate, calls.ROTATE_HOOK)
    fire = over_http(Triggers.fire, calls.FIRE_TRIGGER)
