"""Every call of the HTTP interface, once: how it is spelled, who may make it, and how much it may carry.

The server makes its routes from this table and the client its requests, so neither has a path of its own. A call
without its roles cannot be written down.
"""

from __future__ import annotations

from string import Formatter
from typing import NamedTuple
from urllib.parse import quote

from taskyard.core.json_value import DEEPEST, MOST_VALUES
from taskyard.features.tokens.rules import ADMINISTER, ANYBODY, OPERATE, SEE, STEER, WORK, Role
from taskyard.features.triggers.rules import MOST_DELIVERED_VALUES

NOW = "taskyard-now"  # the header in which every answer says the yard's time, in microseconds since 1970

HEARTBEAT_WITHIN = 6.0  # seconds: who waits longer for an answer may hold a lease that is gone
VERIFIED_WITHIN = 600.0  # seconds: it reads everything


class Body(NamedTuple):
    """The most that the body of a call may come to: looked at before anything of it is decoded."""

    most_bytes: int
    most_values: int  # numbers, texts, objects, lists and so on, however they are nested
    deepest: int = DEEPEST + 6  # what a task carries may be as deep as DEEPEST, and is itself inside a request
    within_sec: float = 60  # from the first byte to the last


NOTHING = Body(0, 0, within_sec=0)  # such a call has no body, and one that is sent is not read
LOGIN = Body(4 << 10, 8, deepest=1, within_sec=10)
FIELDS = Body(1 << 20, 10_000)  # names and figures
ITEM = Body(8 << 20, MOST_VALUES + 10_000)  # one task, result, message or template
BY_LINK = Body(1 << 20, 20_000)  # of whoever has a link: less than of those with a token
BATCH = Body(16 << 20, 500_000)
DELIVERY = Body(1 << 20, MOST_DELIVERED_VALUES, within_sec=30)
FILE = Body(0, 0)  # passed on as it comes, and never decoded: `max_artifact_bytes` of the yard is its end


class Call(NamedTuple):
    """One call. `roles` may make it; None: anybody, also without a token."""

    method: str
    path: str
    roles: frozenset[Role] | None
    body: Body | None = None  # None: FIELDS, where the method has a body
    carries: str | None = None  # the field of the body whose items are counted, each like a call of its own
    is_own: bool = False  # the role agent may make it too, about a task that it holds or has held
    is_repeatable: bool = True  # the same call again, after an answer was lost, does no harm
    answer: str | None = None  # the member of the answer that the verb returns; None: the whole of it
    takes_sec: float = 0  # that the server may work before it answers
    within_sec: float | None = None  # the client gives up after this time; None: after its own

    @property
    def bounds(self) -> Body:
        if self.body is not None:
            return self.body
        return FIELDS if self.method in ("POST", "PUT") else NOTHING

    @property
    def path_names(self) -> list[str]:
        return [name for _, name, _, _ in Formatter().parse(self.path) if name]

    def to(self, **names: str) -> str:
        """The path for these."""
        return self.path.format(**{name: quote(value, safe="") for name, value in names.items()})

    def allows(self, role: Role) -> bool:
        return self.roles is None or role in self.roles or (self.is_own and role is Role.AGENT)


# Tasks: putting in, and looking
ENQUEUE = Call("POST", "/api/tasks", STEER, ITEM)
ENQUEUE_MANY = Call("POST", "/api/tasks/batch", STEER, BATCH, carries="tasks")
FIND = Call("GET", "/api/tasks", SEE, answer="tasks")
COUNT = Call("GET", "/api/tasks/counts", SEE)
SUGGEST = Call("GET", "/api/tasks/suggestions", SEE, answer="values")
GET = Call("GET", "/api/tasks/{task_id}", SEE, is_own=True)
TASK_EVENTS = Call("GET", "/api/tasks/{task_id}/events", SEE, is_own=True)
WHY = Call("GET", "/api/tasks/{task_id}/why", SEE, is_own=True)
INPUTS = Call("GET", "/api/tasks/{task_id}/inputs", SEE, is_own=True, answer="inputs")
CHECKPOINTS = Call("GET", "/api/tasks/{task_id}/checkpoints", SEE, is_own=True, answer="checkpoints")
STEPS = Call("GET", "/api/tasks/{task_id}/steps", SEE, is_own=True, answer="steps")
CHILDREN = Call("GET", "/api/tasks/{task_id}/children", SEE, is_own=True, answer="children")
RELATIONS = Call("GET", "/api/tasks/{task_id}/relations", SEE)
STREAM = Call("GET", "/api/tasks/{task_id}/stream", SEE, is_own=True)

# Tasks: working. Each of these carries a lease, or gives one.
CLAIM = Call("POST", "/api/tasks/claim", WORK)
START = Call("POST", "/api/tasks/{task_id}/start", WORK)
HEARTBEAT = Call("POST", "/api/tasks/{task_id}/heartbeat", WORK, ITEM)
PROGRESS = Call("POST", "/api/tasks/{task_id}/progress", WORK, ITEM)
MESSAGE = Call("POST", "/api/tasks/{task_id}/message", WORK, ITEM)
APPEND = Call("POST", "/api/tasks/{task_id}/stream", WORK, ITEM)
APPEND_MANY = Call("POST", "/api/tasks/stream", WORK, BATCH, carries="appends")
SESSION = Call("POST", "/api/tasks/{task_id}/session", WORK)
COMPLETE = Call("POST", "/api/tasks/{task_id}/complete", WORK, ITEM)
FAIL = Call("POST", "/api/tasks/{task_id}/fail", WORK, ITEM)
RELEASE = Call("POST", "/api/tasks/{task_id}/release", WORK)
SPAWN = Call("POST", "/api/tasks/{task_id}/spawn", WORK, BATCH, carries="tasks")
CHECKPOINT = Call("POST", "/api/tasks/{task_id}/checkpoint", WORK, ITEM, answer="data")
SUSPEND = Call("POST", "/api/tasks/{task_id}/suspend", WORK)
COMPLETE_MANY = Call("POST", "/api/tasks/complete", WORK, BATCH, carries="results")
FAIL_MANY = Call("POST", "/api/tasks/fail", WORK, BATCH, carries="results")
HEARTBEAT_MANY = Call("POST", "/api/tasks/heartbeat", WORK, BATCH, carries="heartbeats", within_sec=HEARTBEAT_WITHIN)
CHECK_LEASES = Call(
    "POST", "/api/tasks/leases", WORK, BATCH, carries="leases", answer="told", within_sec=HEARTBEAT_WITHIN
)

# Tasks: steering
CANCEL = Call("POST", "/api/tasks/{task_id}/cancel", STEER)
RERUN = Call("POST", "/api/tasks/{task_id}/rerun", STEER, is_repeatable=False)
SIGNAL = Call("POST", "/api/tasks/{task_id}/signal", STEER, ITEM, is_repeatable=False)
PRIORITY = Call("POST", "/api/tasks/{task_id}/priority", STEER)
BULK = Call("POST", "/api/tasks/bulk", STEER)
RERUN_ISSUE = Call("POST", "/api/issues/{issue_id}/rerun", STEER, is_repeatable=False)
DEAD_LETTERS = Call("GET", "/api/dead-letters", SEE, answer="tasks")
REVIEWS = Call("GET", "/api/dead-letters/reviews", SEE, answer="reviews")
RESOLVE = Call("POST", "/api/dead-letters/{task_id}/resolve", STEER, ITEM, is_repeatable=False)
APPROVALS = Call("GET", "/api/approvals", SEE, answer="approvals")
APPROVAL = Call("GET", "/api/approvals/{task_id}", SEE)
LINK = Call("GET", "/api/links/{link}", None)  # anybody who was sent it; looking changes nothing
ANSWER_LINK = Call("POST", "/api/links/{link}", None, BY_LINK, is_repeatable=False)
ANSWER = Call("POST", "/api/tasks/{task_id}/answer", STEER, ITEM)

CREATE_HANDLE = Call("POST", "/api/tasks/{task_id}/handles", STEER, is_repeatable=False)
HANDLE = Call("GET", "/api/handles/{handle}", SEE)

# A2A: what agents elsewhere may ask for, and what they asked for
PUBLISH_TYPE = Call("PUT", "/api/a2a/types/{type}", OPERATE)
PUBLISHED_TYPES = Call("GET", "/api/a2a/types", SEE, answer="types")
UNPUBLISH_TYPE = Call("DELETE", "/api/a2a/types/{type}", OPERATE)
SHARE_TASK = Call("POST", "/api/tasks/{task_id}/a2a", STEER)
AGENT_TASKS = Call("GET", "/api/a2a/tasks", SEE)
AGENT_TASK = Call("GET", "/api/a2a/tasks/{handle}", SEE)
MESSAGE_AGENT_TASK = Call("POST", "/api/a2a/tasks/{handle}/messages", STEER, ITEM)
SET_PUSH = Call("PUT", "/api/a2a/tasks/{handle}/pushes/{push_id}", STEER)
PUSHES = Call("GET", "/api/a2a/tasks/{handle}/pushes", STEER, answer="pushes")
REMOVE_PUSH = Call("DELETE", "/api/a2a/tasks/{handle}/pushes/{push_id}", STEER)

# Graphs
SUBMIT = Call("POST", "/api/dags", STEER, BATCH, carries="tasks")
ESTIMATE = Call("POST", "/api/dags/estimate", STEER, BATCH, carries="tasks")
DAGS = Call("GET", "/api/dags", SEE, answer="dags")
DAG = Call("GET", "/api/dags/{dag_id}", SEE)
ADD = Call("POST", "/api/dags/{dag_id}/tasks", STEER, BATCH, carries="tasks")
CANCEL_DAG = Call("POST", "/api/dags/{dag_id}/cancel", STEER)
DAG_BUDGET = Call("POST", "/api/dags/{dag_id}/budget", OPERATE)
DAG_LIMIT = Call("POST", "/api/dags/{dag_id}/limit", OPERATE)

# Where work comes from by itself
ADD_SCHEDULE = Call("POST", "/api/schedules", OPERATE, ITEM, is_repeatable=False)
PREVIEW_SCHEDULE = Call("POST", "/api/schedules/preview", STEER)
SCHEDULES = Call("GET", "/api/schedules", SEE, answer="schedules")
SCHEDULE = Call("GET", "/api/schedules/{schedule_id}", SEE)
SCHEDULE_FIRES = Call("GET", "/api/schedules/{schedule_id}/fires", SEE, answer="fires")
PAUSE_SCHEDULE = Call("POST", "/api/schedules/{schedule_id}/pause", OPERATE)
RESUME_SCHEDULE = Call("POST", "/api/schedules/{schedule_id}/resume", OPERATE)
RUN_SCHEDULE = Call("POST", "/api/schedules/{schedule_id}/run", STEER, is_repeatable=False)
REMOVE_SCHEDULE = Call("DELETE", "/api/schedules/{schedule_id}", OPERATE)
ADD_TRIGGER = Call("POST", "/api/triggers", OPERATE, ITEM, is_repeatable=False)
TRIGGERS = Call("GET", "/api/triggers", SEE, answer="triggers")
TRIGGER = Call("GET", "/api/triggers/{trigger_id}", SEE)
TRIGGER_FIRES = Call("GET", "/api/triggers/{trigger_id}/fires", SEE, answer="fires")
PAUSE_TRIGGER = Call("POST", "/api/triggers/{trigger_id}/pause", OPERATE)
RESUME_TRIGGER = Call("POST", "/api/triggers/{trigger_id}/resume", OPERATE)
FIRE_TRIGGER = Call("POST", "/api/triggers/{trigger_id}/fire", STEER, ITEM, is_repeatable=False)
ROTATE_HOOK = Call("POST", "/api/triggers/{trigger_id}/rotate", OPERATE, is_repeatable=False, answer="secret")
REMOVE_TRIGGER = Call("DELETE", "/api/triggers/{trigger_id}", OPERATE)
DELIVER = Call("POST", "/api/hooks/{path}", None, DELIVERY)  # anybody, who can sign it

# Agents and runtimes
REGISTER = Call("POST", "/api/agents", WORK)
AGENTS = Call("GET", "/api/agents", SEE, answer="agents")
AGENT_HEARTBEAT = Call("POST", "/api/agents/{agent_id}/heartbeat", WORK, answer="status")
DRAIN = Call("POST", "/api/agents/{agent_id}/drain", OPERATE)
RESUME = Call("POST", "/api/agents/{agent_id}/resume", OPERATE)
SIGN_OFF = Call("POST", "/api/agents/{agent_id}/sign-off", WORK)
AGENT_BUDGET = Call("POST", "/api/agents/{agent_id}/budget", OPERATE)
GRANT = Call("PUT", "/api/agents/{agent_id}/grant", ADMINISTER)
REMOVE_AGENT = Call("DELETE", "/api/agents/{agent_id}", OPERATE)
REGISTER_RUNTIME = Call("POST", "/api/runtimes", WORK)
RUNTIMES = Call("GET", "/api/runtimes", SEE, answer="runtimes")
RUNTIME_HEARTBEAT = Call("POST", "/api/runtimes/{runtime_id}/heartbeat", WORK)
ORPHANS = Call("POST", "/api/runtime/{runtime_id}/orphans", WORK)

# Inboxes and background subagents
INBOXES = Call("GET", "/api/inbox", SEE, answer="inboxes")
INBOX = Call("GET", "/api/inbox/{agent}/{conversation}", ANYBODY)  # an agent: its own, and so with the next four
INBOX_ENQUEUE = Call("POST", "/api/inbox/{agent}/{conversation}/enqueue", WORK, ITEM)
INBOX_DEQUEUE = Call("POST", "/api/inbox/{agent}/{conversation}/dequeue", WORK)
INBOX_CONSUME = Call("POST", "/api/inbox/{agent}/{conversation}/consume", WORK)
INBOX_CLEAR = Call("POST", "/api/inbox/{agent}/{conversation}/clear", WORK, answer="cleared")
START_SUBAGENT = Call("POST", "/api/subagents", STEER, ITEM)
SPAWN_SUBAGENT = Call("POST", "/api/tasks/{task_id}/subagents", WORK, ITEM)
SUBAGENTS = Call("GET", "/api/subagents", ANYBODY, answer="subagents")  # an agent: those that it is the parent of
SUBAGENT = Call("GET", "/api/tasks/{task_id}/subagent", SEE, is_own=True)
TRANSCRIPT = Call("GET", "/api/tasks/{task_id}/transcript", SEE, is_own=True, answer="lines")

# Artifacts
PUT_ARTIFACT = Call("PUT", "/api/artifacts/{name}", STEER, FILE, is_repeatable=False)
PUT_TASK_ARTIFACT = Call("PUT", "/api/tasks/{task_id}/artifacts/{name}", WORK, FILE)
ARTIFACTS = Call("GET", "/api/artifacts", SEE)
TASK_ARTIFACTS = Call("GET", "/api/tasks/{task_id}/artifacts", SEE, is_own=True)
READ_ARTIFACT = Call("GET", "/api/artifacts/{artifact_id}", ANYBODY)  # an agent: what its tasks made or are given
ARTIFACT = Call("GET", "/api/artifacts/{artifact_id}/about", ANYBODY)
REMOVE_ARTIFACT = Call("DELETE", "/api/artifacts/{artifact_id}", OPERATE)

# From another queue to this one
START_CUTOVER = Call("PUT", "/api/cutovers/{name}", OPERATE)
CUTOVERS = Call("GET", "/api/cutovers", SEE, answer="cutovers")
CUTOVER = Call("GET", "/api/cutovers/{name}", ANYBODY)
MOVE_CUTOVER = Call("POST", "/api/cutovers/{name}/move", OPERATE, is_repeatable=False)
REPORT_CUTOVER = Call("POST", "/api/cutovers/{name}/report", WORK, is_repeatable=False)
REMOVE_CUTOVER = Call("DELETE", "/api/cutovers/{name}", OPERATE)

# Memory
SEARCH_MEMORY = Call("GET", "/api/memory/search", ANYBODY, answer="hits")  # an agent: tasks of types it was granted
MEMORY_POLICY = Call("GET", "/api/memory/policy", SEE)
SET_MEMORY_POLICY = Call("PUT", "/api/memory/policy", OPERATE)
MEMORY_STATE = Call("GET", "/api/memory", SEE)
AGENT_EVENTS = Call("GET", "/api/memory/agent-events", SEE, answer="agent_events")
EMBEDDING_JOBS = Call("GET", "/api/memory/embedding-jobs", SEE, answer="embedding_jobs")

# Scores and variants
ADD_SCORE = Call("POST", "/api/scores", STEER)
SCORES = Call("GET", "/api/scores", SEE, answer="scores")
SCORE_REPORT = Call("GET", "/api/scores/report", SEE)
SET_VARIANTS = Call("PUT", "/api/variants/{type}", OPERATE, ITEM, is_repeatable=False)
VARIANTS = Call("GET", "/api/variants", SEE, answer="variants")

# Provider batches: calls join one under the lease of their task; the others have that of the batch's own task
JOIN_BATCH = Call("POST", "/api/tasks/{task_id}/batch", WORK, ITEM)
GATHER_BATCH = Call("POST", "/api/provider-batches/{task_id}/gather", WORK, answer="calls")
OUTSTANDING_CALLS = Call("POST", "/api/provider-batches/{task_id}/outstanding", WORK, answer="calls")
SENT_BATCH = Call("POST", "/api/provider-batches/{task_id}/sent", WORK)
COLLECT_BATCH = Call(
    "POST", "/api/provider-batches/{task_id}/collect", WORK, BATCH, carries="results", answer="settled"
)
PROVIDER_BATCHES = Call("GET", "/api/provider-batches", SEE, answer="batches")
PROVIDER_BATCH = Call("GET", "/api/provider-batches/{batch_id}", SEE)

# Lists under names
SAVE_VIEW = Call("PUT", "/api/saved-views/{name}", STEER)
SAVED_VIEWS = Call("GET", "/api/saved-views", SEE, answer="saved_views")
REMOVE_VIEW = Call("DELETE", "/api/saved-views/{name}", STEER)

# Notifications
SET_NOTIFIER = Call("PUT", "/api/notifiers/{name}", OPERATE, is_repeatable=False)
NOTIFIERS = Call("GET", "/api/notifiers", OPERATE, answer="notifiers")
CALLBACK_SECRET = Call("GET", "/api/notifiers/callback-secret", OPERATE)
REMOVE_NOTIFIER = Call("DELETE", "/api/notifiers/{name}", OPERATE)
TRY_NOTIFIER = Call("POST", "/api/notifiers/{name}/test", OPERATE, is_repeatable=False)
NOTIFICATIONS = Call("GET", "/api/notifications", SEE, answer="notifications")
RESEND_NOTIFICATION = Call("POST", "/api/notifications/{notification_id}/resend", OPERATE)
DISMISS_NOTIFICATION = Call("POST", "/api/notifications/{notification_id}/dismiss", OPERATE)

# The yard
QUEUES = Call("GET", "/api/queues", SEE, answer="queues")
PAUSE_QUEUE = Call("POST", "/api/queues/{queue}/pause", OPERATE)
RESUME_QUEUE = Call("POST", "/api/queues/{queue}/resume", OPERATE)
QUEUE_PRESET = Call("POST", "/api/queues/{queue}/preset", OPERATE)
SET_PRESET = Call("PUT", "/api/preset", OPERATE)
REPORT_POLICY = Call("PUT", "/api/report-policy", OPERATE)
BREAKERS = Call("GET", "/api/breakers", SEE, answer="breakers")
OPEN_BREAKER = Call("POST", "/api/breakers/{type}/open", OPERATE)
CLOSE_BREAKER = Call("POST", "/api/breakers/{type}/close", OPERATE)
BREAKER_POLICY = Call("PUT", "/api/breaker-policy", OPERATE)
THROTTLES = Call("GET", "/api/throttles", SEE, answer="throttles")
LIFT_THROTTLE = Call("POST", "/api/throttles/lift", OPERATE)
SPEND = Call("GET", "/api/spend", SEE, answer="spend")
SPEND_REPORT = Call("GET", "/api/spend/report", SEE)
SETTINGS = Call("GET", "/api/budget", SEE)
BUDGET = Call("PUT", "/api/budget", OPERATE)
STATS = Call("GET", "/api/stats", SEE, answer="tasks")
REPORT = Call("GET", "/api/reports", SEE)
BOARD = Call("GET", "/api/board", SEE)
OVERVIEW = Call("GET", "/api/overview", SEE)
SERIES = Call("GET", "/api/series", SEE)
VERIFY = Call("POST", "/api/verify", OPERATE, takes_sec=VERIFIED_WITHIN)
CHANGED = Call("GET", "/api/changed", ANYBODY)
EVENTS = Call("GET", "/api/events", SEE, is_own=True)  # a page, or server-sent events to who accepts those
SOCKET = Call("WEBSOCKET", "/api/ws", SEE, is_own=True)

# Access
AUDIT = Call("GET", "/api/audit", OPERATE)
AUDIT_POLICY = Call("GET", "/api/audit/policy", OPERATE)
SET_AUDIT_POLICY = Call("PUT", "/api/audit/policy", ADMINISTER)
CREATE_TOKEN = Call("POST", "/api/tokens", ADMINISTER, is_repeatable=False)
TOKENS = Call("GET", "/api/tokens", ADMINISTER, answer="tokens")
REVOKE_TOKEN = Call("DELETE", "/api/tokens/{token_id}", ADMINISTER)

WHO = Call("GET", "/api/session", ANYBODY)
LOG_IN = Call("POST", "/api/session", None, LOGIN, is_repeatable=False)
LOG_OUT = Call("DELETE", "/api/session", None)
SIGN_IN_WAYS = Call("GET", "/api/session/ways", None)
OIDC_START = Call("GET", "/api/session/oidc", None)  # sends a browser to the provider, who sends it back
OIDC_CALLBACK = Call("GET", "/api/session/oidc/callback", None)

# MCP: a protocol of its own. What a request of it does is made of the calls above, with the same token.
MCP = Call("POST", "/mcp", ANYBODY, ITEM, is_repeatable=False)
MCP_STREAM = Call("GET", "/mcp", ANYBODY)
MCP_END = Call("DELETE", "/mcp", ANYBODY)
MCP_METADATA = Call("GET", "/.well-known/oauth-protected-resource/mcp", None)  # RFC 9728

# A2A: a protocol of its own, too. The card is for everybody: it shows what was published.
A2A_CARD = Call("GET", "/.well-known/agent-card.json", None)
A2A_RPC = Call("POST", "/a2a", SEE, ITEM, is_repeatable=False)
A2A_SEND = Call("POST", "/a2a/{operation}", STEER, ITEM, is_repeatable=False)
A2A_READ = Call("GET", "/a2a/{operation}", SEE)
A2A_REMOVE = Call("DELETE", "/a2a/{operation}", STEER)

# For machines that watch the server
HEALTHY = Call("GET", "/healthz", None)
READY = Call("GET", "/readyz", None)
METRICS = Call("GET", "/metrics", SEE)
DOCUMENT = Call("GET", "/openapi.json", None)
DOCS = Call("GET", "/docs", None)
PAGE = Call("GET", "/{page}", None)  # the dashboard: whatever is none of the above

CALLS: dict[str, Call] = {name: value for name, value in globals().items() if isinstance(value, Call)}
AT: dict[tuple[str, str], Call] = {(call.method, call.path): call for call in CALLS.values()}
