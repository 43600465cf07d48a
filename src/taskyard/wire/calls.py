"""Every call of the HTTP interface, once: how it is spelled, and who may make it.

The server makes its routes from this table and the client its requests, so neither has a path of its own. A call
without its roles cannot be written down.
"""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import quote

from taskyard.core.access import ADMINISTER, ANYBODY, OPERATE, SEE, STEER, WORK, Role

NOW = "taskyard-now"  # the header in which every answer says the yard's time, in microseconds since 1970


class Call(NamedTuple):
    """One call. `roles` may make it; None: anybody, also without a token."""

    method: str
    path: str
    roles: frozenset[Role] | None
    is_own: bool = False  # the role agent may make it too, about a task that it holds or has held
    is_repeatable: bool = True  # the same call again, after an answer was lost, does no harm

    def to(self, **names: str) -> str:
        """The path for these."""
        return self.path.format(**{name: quote(value, safe="") for name, value in names.items()})

    def allows(self, role: Role) -> bool:
        return self.roles is None or role in self.roles or (self.is_own and role is Role.AGENT)


# Tasks: putting in, and looking
ENQUEUE = Call("POST", "/api/tasks", STEER)
ENQUEUE_MANY = Call("POST", "/api/tasks/batch", STEER)
FIND = Call("GET", "/api/tasks", SEE)
GET = Call("GET", "/api/tasks/{task_id}", SEE, is_own=True)
TASK_EVENTS = Call("GET", "/api/tasks/{task_id}/events", SEE, is_own=True)
WHY = Call("GET", "/api/tasks/{task_id}/why", SEE, is_own=True)
INPUTS = Call("GET", "/api/tasks/{task_id}/inputs", SEE, is_own=True)
CHECKPOINTS = Call("GET", "/api/tasks/{task_id}/checkpoints", SEE, is_own=True)
CHILDREN = Call("GET", "/api/tasks/{task_id}/children", SEE, is_own=True)

# Tasks: working. Each of these carries a lease, or gives one.
CLAIM = Call("POST", "/api/tasks/claim", WORK)
START = Call("POST", "/api/tasks/{task_id}/start", WORK)
HEARTBEAT = Call("POST", "/api/tasks/{task_id}/heartbeat", WORK)
PROGRESS = Call("POST", "/api/tasks/{task_id}/progress", WORK)
MESSAGE = Call("POST", "/api/tasks/{task_id}/message", WORK, is_repeatable=False)
SESSION = Call("POST", "/api/tasks/{task_id}/session", WORK)
COMPLETE = Call("POST", "/api/tasks/{task_id}/complete", WORK)
FAIL = Call("POST", "/api/tasks/{task_id}/fail", WORK)
RELEASE = Call("POST", "/api/tasks/{task_id}/release", WORK)
SPAWN = Call("POST", "/api/tasks/{task_id}/spawn", WORK)
CHECKPOINT = Call("POST", "/api/tasks/{task_id}/checkpoint", WORK)
SUSPEND = Call("POST", "/api/tasks/{task_id}/suspend", WORK)
COMPLETE_MANY = Call("POST", "/api/tasks/complete", WORK)
FAIL_MANY = Call("POST", "/api/tasks/fail", WORK)
HEARTBEAT_MANY = Call("POST", "/api/tasks/heartbeat", WORK)

# Tasks: steering
CANCEL = Call("POST", "/api/tasks/{task_id}/cancel", STEER)
RERUN = Call("POST", "/api/tasks/{task_id}/rerun", STEER, is_repeatable=False)
SIGNAL = Call("POST", "/api/tasks/{task_id}/signal", STEER, is_repeatable=False)
PRIORITY = Call("POST", "/api/tasks/{task_id}/priority", STEER)
BULK = Call("POST", "/api/tasks/bulk", STEER)
RERUN_ISSUE = Call("POST", "/api/issues/{issue_id}/rerun", STEER, is_repeatable=False)
DEAD_LETTERS = Call("GET", "/api/dead-letters", SEE)
REVIEWS = Call("GET", "/api/dead-letters/reviews", SEE)
RESOLVE = Call("POST", "/api/dead-letters/{task_id}/resolve", STEER, is_repeatable=False)
APPROVALS = Call("GET", "/api/approvals", SEE)

# Graphs
SUBMIT = Call("POST", "/api/dags", STEER)
DAGS = Call("GET", "/api/dags", SEE)
DAG = Call("GET", "/api/dags/{dag_id}", SEE)
ADD = Call("POST", "/api/dags/{dag_id}/tasks", STEER)
CANCEL_DAG = Call("POST", "/api/dags/{dag_id}/cancel", STEER)
DAG_BUDGET = Call("POST", "/api/dags/{dag_id}/budget", OPERATE)

# Agents and runtimes
REGISTER = Call("POST", "/api/agents", WORK)
AGENTS = Call("GET", "/api/agents", SEE)
AGENT_HEARTBEAT = Call("POST", "/api/agents/{agent_id}/heartbeat", WORK)
DRAIN = Call("POST", "/api/agents/{agent_id}/drain", OPERATE)
RESUME = Call("POST", "/api/agents/{agent_id}/resume", OPERATE)
SIGN_OFF = Call("POST", "/api/agents/{agent_id}/sign-off", WORK)
AGENT_BUDGET = Call("POST", "/api/agents/{agent_id}/budget", OPERATE)
REMOVE_AGENT = Call("DELETE", "/api/agents/{agent_id}", OPERATE)
REGISTER_RUNTIME = Call("POST", "/api/runtimes", WORK)
RUNTIMES = Call("GET", "/api/runtimes", SEE)
RUNTIME_HEARTBEAT = Call("POST", "/api/runtimes/{runtime_id}/heartbeat", WORK)
ORPHANS = Call("POST", "/api/runtime/{runtime_id}/orphans", WORK)

# The yard
QUEUES = Call("GET", "/api/queues", SEE)
PAUSE_QUEUE = Call("POST", "/api/queues/{queue}/pause", OPERATE)
RESUME_QUEUE = Call("POST", "/api/queues/{queue}/resume", OPERATE)
QUEUE_PRESET = Call("POST", "/api/queues/{queue}/preset", OPERATE)
BREAKERS = Call("GET", "/api/breakers", SEE)
OPEN_BREAKER = Call("POST", "/api/breakers/{type}/open", OPERATE)
CLOSE_BREAKER = Call("POST", "/api/breakers/{type}/close", OPERATE)
BREAKER_POLICY = Call("PUT", "/api/breaker-policy", OPERATE)
THROTTLES = Call("GET", "/api/throttles", SEE)
SPEND = Call("GET", "/api/spend", SEE)
BUDGET = Call("PUT", "/api/budget", OPERATE)
STATS = Call("GET", "/api/stats", SEE)
VERIFY = Call("POST", "/api/verify", OPERATE)
CHANGED = Call("GET", "/api/changed", ANYBODY)
EVENTS = Call("GET", "/api/events", SEE, is_own=True)  # a page, or server-sent events to who accepts those
SOCKET = Call("WEBSOCKET", "/api/ws", SEE, is_own=True)

# Access
CREATE_TOKEN = Call("POST", "/api/tokens", ADMINISTER, is_repeatable=False)
TOKENS = Call("GET", "/api/tokens", ADMINISTER)
REVOKE_TOKEN = Call("DELETE", "/api/tokens/{token_id}", ADMINISTER)

# For machines that watch the server
HEALTHY = Call("GET", "/healthz", None)
READY = Call("GET", "/readyz", None)
METRICS = Call("GET", "/metrics", SEE)
DOCUMENT = Call("GET", "/openapi.json", None)
DOCS = Call("GET", "/docs", None)

CALLS: dict[str, Call] = {name: value for name, value in globals().items() if isinstance(value, Call)}
AT: dict[tuple[str, str], Call] = {(call.method, call.path): call for call in CALLS.values()}
