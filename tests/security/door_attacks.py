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
    "sign-in": SIGN_IN,
}
