"""Types published over A2A, and tasks asked for there, of a yard that a server has."""

from __future__ import annotations

from taskyard.api import calls
from taskyard.client.remote import Remote, over_http
from taskyard.features.a2a.service import A2A


class RemoteA2A(Remote, A2A):
    publish = over_http(A2A.publish, calls.PUBLISH_TYPE)
    list = over_http(A2A.list, calls.PUBLISHED_TYPES)
    unpublish = over_http(A2A.unpublish, calls.UNPUBLISH_TYPE)
    share = over_http(A2A.share, calls.SHARE_TASK)
    task = over_http(A2A.task, calls.AGENT_TASK)
    tasks = over_http(A2A.tasks, calls.AGENT_TASKS)
    send = over_http(A2A.send, calls.MESSAGE_AGENT_TASK)
    set_push = over_http(A2A.set_push, calls.SET_PUSH)
    pushes = over_http(A2A.pushes, calls.PUSHES)
    remove_push = over_http(A2A.remove_push, calls.REMOVE_PUSH)
