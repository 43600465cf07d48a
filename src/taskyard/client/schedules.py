"""Schedules of a yard that a server has."""

from __future__ import annotations

from taskyard.api import calls
from taskyard.client.remote import Remote, over_http
from taskyard.features.schedules.service import Schedules


class RemoteSchedules(Remote, Schedules):
    add = over_http(Schedules.add, calls.ADD_SCHEDULE, names={"schedule_id": "id"})
    list = over_http(Schedules.list, calls.SCHEDULES)
    preview = over_http(Schedules.preview, calls.PREVIEW_SCHEDULE)
    get = over_http(Schedules.get, calls.SCHEDULE)
    fires = over_http(Schedules.fires, calls.SCHEDULE_FIRES)
    pause = over_http(Schedules.pause, calls.PAUSE_SCHEDULE)
    resume = over_http(Schedules.resume, calls.RESUME_SCHEDULE)
    remove = over_http(Schedules.remove, calls.REMOVE_SCHEDULE)
    run = over_http(Schedules.run, calls.RUN_SCHEDULE)
