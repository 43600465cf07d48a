"""The attacks on the doors beside the plain calls: MCP, A2A, streams, audit, saved views, scores, batches, sign-in."""

from __future__ import annotations

from tests.security.attacks import Attack, invalid

LARGE = b'{"x":"' + b"x" * (17 << 20) + b'"}'
CROWDED = b'{"x":[' + b"0," * 1_000_000 + b"0]}"
A_CHUNK = {"lease": "{lease}", "number": 1, "text": "x"}

# A protocol of its own is let through and bounded like every other call, before anything of it is decoded.
PROTOCOLS = [
    *(
        Attack(f"{who} {call}", who, call, 401, "unauthorized", content=b"{}")
        for who in ("nobody", "forged", "revoked", "expired")
        for call in ("POST /mcp", "GET /mcp", "DELETE /mcp", "POST /a2a", "POST /a2a/message:send", "GET /a2a/tasks")
    ),
    *(
        Attack(f"a body of 17 MiB: {call}", "admin", call, 413, "too_large", content=LARGE)
        for call in ("POST /mcp", "POST /a2a", "POST /a2a/message:send")
    ),
    *(
        Attack(f"{header}: {call}", "admin", call, 403, "forbidden", content=b"{}", headers={header: value})
        for header, value in {"origin": "https://evil.example", "host": "evil.example"}.items()
        for call in ("POST /mcp", "POST /a2a", "POST /a2a/message:send")
    ),
    invalid("thousands of parameters of MCP", "admin", "GET /mcp?" + "&".join(["a=b"] * 3_000)),
    Attack("an agent speaks A2A", "agent", "POST /a2a", 403, "forbidden", content=b"{}"),
    Attack("a viewer sends by A2A", "viewer", "POST /a2a/message:send", 403, "forbidden", content=b"{}"),
    Attack("an agent publishes a type", "agent", "PUT /api/a2a/types/code", 403, "forbidden", {}),
    Attack("an orchestrator publishes a type", "orchestrator", "PUT /api/a2a/types/code", 403, "forbidden", {}),
    Attack("another workspace shares a task", "elsewhere", "POST /api/tasks/{task}/a2a", 404, "not_found", {}),
    Attack("another workspace makes a handle", "elsewhere", "POST /api/tasks/{task}/handles", 404, "not_found", {}),
    Attack("another workspace reads a shared task", "elsewhere", "GET /api/a2a/tasks/{handle}", 404, "not_found"),
    Attack("another workspace writes to it", "elsewhere", "POST /api/a2a/tasks/{handle}/messages", 404, "not_found",
           {"content": "x", "message_id": "m"}),
    *(
        invalid(f"pushes to {url}", "orchestrator", "PUT /api/a2a/tasks/{handle}/pushes/p", {"url": url})
        for url in ("http://127.0.0.1/x", "http://169.254.169.254/", "file:///etc/passwd", "http://[::1]/", "x" * 3_000)
    ),
    Attack("a way out of A2A", "admin", "GET /a2a/..%2f..%2fapi%2ftokens", 404, "no_such_route"),
]  # fmt: skip

STREAMS = [
    Attack("another's stream is read", "agent", "GET /api/tasks/{other}/stream", 404, "not_found"),
    Attack("another workspace reads a stream", "elsewhere", "GET /api/tasks/{task}/stream", 404, "not_found"),
    Attack("another's stream is written", "agent", "POST /api/tasks/{other}/stream", 404, "not_found",
           {**A_CHUNK, "lease": "{other_lease}"}),
    invalid("a chunk of a list", "agent", "POST /api/tasks/{task}/stream", {**A_CHUNK, "text": ["x"]}),
    invalid("a chunk without a lease", "agent", "POST /api/tasks/{task}/stream", {"number": 1, "text": "x"}),
    invalid("a chunk of a million values", "agent", "POST /api/tasks/{task}/stream", content=CROWDED),
    Attack("a chunk of 17 MiB", "agent", "POST /api/tasks/{task}/stream", 413, "too_large", content=LARGE),
    invalid("a stream from before all", "viewer", "GET /api/tasks/{task}/stream?after=-1"),
    invalid("NUL as the task of a stream", "viewer", "GET /api/tasks/%00/stream"),
]  # fmt: skip

AUDIT = [
    *(
        Attack(f"{who} reads the audit log", who, "GET /api/audit", 403, "forbidden")
        for who in ("viewer", "agent", "orchestrator")
    ),
    Attack("an operator shortens the audit log", "operator", "PUT /api/audit/policy", 403, "forbidden", {"days": 1}),
    *(
        invalid(f"an audit log of {days} days", "admin", "PUT /api/audit/policy", {"days": days})
        for days in (-1, 1e9, "all", [1])
    ),
    invalid("a page of the audit log without an end", "admin", "GET /api/audit?limit=100000"),
]

NAMED = [
    Attack("an agent saves a view", "agent", "PUT /api/saved-views/v", 403, "forbidden", {}),
    Attack("another workspace removes a view", "elsewhere", "DELETE /api/saved-views/mine", 404, "not_found"),
    invalid("a view of 300 characters", "operator", "PUT /api/saved-views/" + "v" * 300, {"filter": {}}),
    invalid("a view whose filter is a list", "operator", "PUT /api/saved-views/v", {"filter": []}),
    Attack("an agent scores itself", "agent", "POST /api/scores", 403, "forbidden",
           {"task_id": "{task}", "name": "good", "value": 1}),
    Attack("another workspace scores a task", "elsewhere", "POST /api/scores", 404, "not_found",
           {"task_id": "{task}", "name": "good", "value": 1}),
    invalid("a score that is a text", "operator", "POST /api/scores",
            {"task_id": "{task}", "name": "good", "value": "1"}),
    Attack("an orchestrator sets variants", "orchestrator", "PUT /api/variants/code", 403, "forbidden", {}),
    Attack("an agent joins the batch of another's task", "agent", "POST /api/tasks/{other}/batch", 404, "not_found",
           {"lease": "{other_lease}", "request": {}}),
    Attack("an agent gathers what is not its own", "agent", "POST /api/provider-batches/{other}/gather", 404,
           "not_found", {"lease": "{other_lease}"}),
    Attack("another workspace reads batches", "elsewhere", "GET /api/provider-batches/{task}", 404, "not_found"),
]  # fmt: skip

# What an attempt says of itself, and what is said to it.
DEEP = b'{"lease":"{lease}","message":' + b"[" * 100 + b"]" * 100 + b"}"
SAID = [
    *(
        Attack(f"{who} sends a message", who, "POST /api/tasks/{task}/message", status, code,
               {"lease": "{lease}", "message": "x"})
        for who, status, code in (
            ("nobody", 401, "unauthorized"), ("forged", 401, "unauthorized"), ("revoked", 401, "unauthorized"),
            ("expired", 401, "unauthorized"), ("viewer", 403, "forbidden"), ("elsewhere", 404, "not_found"),
        )
    ),
    *(
        Attack(f"{what} of another's task", "agent", "POST /api/tasks/{other}/" + what, 404, "not_found",
               {"lease": "{other_lease}", what: "x"})
        for what in ("message", "progress")
    ),
    Attack("a message under another's lease", "agent", "POST /api/tasks/{task}/message", 409, "lease_lost",
           {"lease": "{other_lease}", "message": "x"}),
    *(
        invalid(f"a message of the request {name}", "agent", "POST /api/tasks/{task}/message",
                {"lease": "{lease}", "message": "x", "request_id": request})
        for name, request in {"NUL": "a\0b", "without an end": "r" * 300, "nothing": "", "list": ["r"]}.items()
    ),
    invalid("a message too deep", "agent", "POST /api/tasks/{task}/message", content=DEEP),
    Attack("a message of 17 MiB", "agent", "POST /api/tasks/{task}/message", 413, "too_large", content=LARGE),
    invalid("a message of 2 MiB", "agent", "POST /api/tasks/{task}/message",
            {"lease": "{lease}", "message": "x" * (2 << 20)}),
    *(
        Attack(f"{who} answers", who, "POST /api/tasks/{asked}/answer", status, code, {"name": "deploy", "data": "x"})
        for who, status, code in (
            ("nobody", 401, "unauthorized"), ("revoked", 401, "unauthorized"), ("viewer", 403, "forbidden"),
            ("agent", 403, "forbidden"), ("elsewhere", 404, "not_found"),
        )
    ),
    *(
        Attack(f"the file of an answer: {name}", "operator", "POST /api/tasks/{asked}/answer", 422, "invalid_answer",
               {"name": "deploy", "data": file})
        for name, file in {
            "a path": "/etc/passwd", "a way out": "artifact:../../etc/passwd", "an address": "file:///etc/passwd",
            "a list": ["artifact:{artifact}"], "one that is not there": "artifact:art_" + 26 * "0",
        }.items()
    ),
    *(
        attack
        for link in ("x", "..%2f..%2fapi%2ftokens", "a" * 200)
        for attack in (
            Attack(f"looks at the link {link}", "nobody", f"GET /api/links/{link}", 404, "not_found"),
            Attack(f"answers by the link {link}", "nobody", f"POST /api/links/{link}", 404, "not_found", {"data": True},
                   headers={"origin": "http://127.0.0.1:{port}"}),
            Attack(f"answers by the link {link} without its page", "nobody", f"POST /api/links/{link}", 403,
                   "forbidden", {"data": True}),
        )
    ),
    invalid("NUL as a link", "nobody", "GET /api/links/%00"),
    Attack("an answer by link of 2 MiB", "nobody", "POST /api/links/x", 413, "too_large", content=b" " * (2 << 20)),
]  # fmt: skip

ADDRESSES = (
    "http://127.0.0.1/x",
    "http://169.254.169.254/",
    "http://[::ffff:127.0.0.1]/",
    "http://0/",
    "http://a@127.0.0.1/",
    "file:///etc/passwd",
    "javascript:alert(1)",
    "http://10.0.0.1/",
)
CALLBACKS = [
    attack
    for url in ADDRESSES
    for attack in (
        invalid(f"a callback to {url}", "orchestrator", "POST /api/tasks", {"type": "code", "callback": url}),
        invalid(f"in a batch: {url}", "orchestrator", "POST /api/tasks/batch",
                {"tasks": [{"type": "code", "callback": url}]}),
        invalid(f"in a DAG: {url}", "orchestrator", "POST /api/dags",
                {"tasks": [{"key": "a", "type": "code", "callback": url}]}),
        invalid(f"in a schedule: {url}", "operator", "POST /api/schedules",
                {"id": "s", "when": "@daily", "task": {"type": "code", "callback": url}}),
        invalid(f"for a subagent: {url}", "orchestrator", "POST /api/subagents",
                {"agent": "bob", "prompt": "x", "callback": url}),
        invalid(f"pushed to {url}", "orchestrator", "PUT /api/a2a/tasks/{handle}/pushes/p", {"url": url}),
    )
] + [
    invalid("an agent has itself called back", "agent", "POST /api/tasks/{task}/spawn",
            {"lease": "{lease}", "name": "n", "tasks": [{"type": "code", "callback": "https://example.org/"}]}),
    *(
        Attack(f"{who} reads what callbacks are signed with", who, "GET /api/notifiers/callback-secret", 403,
               "forbidden")
        for who in ("viewer", "agent", "orchestrator")
    ),
    *(
        Attack(f"{who} pushes", who, "PUT /api/a2a/tasks/{handle}/pushes/p", status, code,
               {"url": "https://example.org/"})
        for who, status, code in (
            ("viewer", 403, "forbidden"), ("agent", 403, "forbidden"), ("elsewhere", 404, "not_found")
        )
    ),
    invalid("a push of 300 characters", "orchestrator", "PUT /api/a2a/tasks/{handle}/pushes/" + "p" * 300,
            {"url": "https://example.org/"}),
    invalid("a push called NUL", "orchestrator", "PUT /api/a2a/tasks/{handle}/pushes/%00",
            {"url": "https://example.org/"}),
]  # fmt: skip

MOVED = [
    *(
        Attack(f"{who} moves a card", who, "POST /api/tasks/{task}/priority", status, code, {"priority": 0})
        for who, status, code in (
            ("nobody", 401, "unauthorized"), ("viewer", 403, "forbidden"), ("agent", 403, "forbidden"),
            ("elsewhere", 404, "not_found"),
        )
    ),
    *(
        invalid(f"a card is moved to {priority}", "operator", "POST /api/tasks/{task}/priority", {"priority": priority})
        for priority in (-1, 10**30, 1.5, "0", [0], None)
    ),
    *(
        Attack(f"an agent reads {what}", "agent", f"GET /api/{what}", 403, "forbidden")
        for what in ("board", "reports", "saved-views", "provider-batches", "approvals", "notifications", "series")
    ),
    *(
        invalid(f"a report {name}", "viewer", f"GET /api/reports?{query}")
        for name, query in {
            "by what there is not": "by=password", "of what there is not": "measure=token",
            "twice by the same": "by=type&by=type&by=type&by=type", "by a query": "by=type;drop%20table%20task",
            "since NUL": "since=%00", "by a tag without an end": "by=tag:" + "t" * 3_000,
        }.items()
    ),
    invalid("a board by what there is not", "viewer", "GET /api/board?lanes=password"),
    invalid("a board of all cards", "viewer", "GET /api/board?limit=1000000"),
    *(
        invalid(f"a view called {name}", "operator", f"PUT /api/saved-views/{name}", {"page": "tasks", "query": "a=b"})
        for name in ("%00", "%ff")
    ),
    invalid("a view too deep", "operator", "PUT /api/saved-views/v",
            content=b'{"page":"tasks","query":' + b"[" * 100 + b"]" * 100 + b"}"),
    Attack("a view of 2 MiB", "operator", "PUT /api/saved-views/v", 413, "too_large", content=b" " * (2 << 20)),
    *(
        invalid(f"a view that leads to {query!r}", "operator", "PUT /api/saved-views/v",
                {"page": "tasks", "query": query})
        for query in ("?a=b", "a#b", "a b", "a\nb", "a\u202eb")
    ),
    invalid("a view of what there is not", "operator", "PUT /api/saved-views/v", {"page": "tokens", "query": "a=b"}),
    invalid("a view without an end", "operator", "PUT /api/saved-views/v",
            {"page": "tasks", "query": "queue=" + "q" * 10_000}),
    invalid("a task that sends no batch collects", "agent", "POST /api/provider-batches/{task}/collect",
            {"lease": "{lease}", "results": []}),
    *(
        Attack(f"another workspace: {what}", "elsewhere", "POST /api/provider-batches/{task}/" + what, 404, "not_found",
               {"lease": "{lease}"})
        for what in ("gather", "outstanding")
    ),
    Attack("another workspace collects", "elsewhere", "POST /api/provider-batches/{task}/collect", 404, "not_found",
           {"lease": "{lease}", "results": []}),
    Attack("another workspace sends", "elsewhere", "POST /api/provider-batches/{task}/sent", 404, "not_found",
           {"lease": "{lease}", "key": "k", "provider_id": "p", "calls": 1}),
]  # fmt: skip

SIGN_IN = [
    Attack("sign-in where there is no provider", "nobody", "GET /api/session/oidc", 404, "no_such_route"),
    Attack("back from a provider that there is not", "nobody", "GET /api/session/oidc/callback?code=x&state=y", 404,
           "no_such_route"),
]  # fmt: skip

DOORS: dict[str, list[Attack]] = {
    "protocols": PROTOCOLS,
    "streams": STREAMS,
    "audit": AUDIT,
    "named": NAMED,
    "said": SAID,
    "callbacks": CALLBACKS,
    "moved": MOVED,
    "sign-in": SIGN_IN,
}
