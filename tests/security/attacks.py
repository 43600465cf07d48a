"""Requests that somebody who means harm would send, as a table: who sends what, and how it is refused.

In paths and bodies, `{…}` is filled in from the scene: the ids, leases and addresses of what is there to be attacked.
"""

from __future__ import annotations

import gzip
from typing import Any, NamedTuple

from tests.guarantees.hostile_rules import with_addresses

LISTENER = "http://127.0.0.1:9/meta"  # stands for the one of the scene, which is not there when the table is made
MANY = b"[" + b"[]," * 5_000 + b"[]]"


class Attack(NamedTuple):
    name: str
    who: str  # the role whose token is shown; nobody, forged, or elsewhere: an admin of another workspace
    call: str  # method and path
    status: int
    code: str
    json: Any = None
    content: bytes | None = None
    headers: dict[str, str] = {}  # noqa: RUF012 - read, never written


def invalid(name: str, who: str, call: str, json: Any = None, **more: Any) -> Attack:
    return Attack(name, who, call, 422, "invalid_input", json, **more)


def task(**more: Any) -> dict[str, Any]:
    return {"type": "code", **more}


def ruled(rule: Any) -> dict[str, Any]:
    return task(output={"validation": "json-schema", "validation_schema": rule})


# Addresses in schemas: nothing is fetched, whichever way they come in.
SCHEMAS = [
    attack
    for name, rule in with_addresses(LISTENER).items()
    for attack in (
        invalid(f"{name}, put in", "orchestrator", "POST /api/tasks", ruled(rule)),
        invalid(
            f"{name}, spawned",
            "agent",
            "POST /api/tasks/{task}/spawn",
            {"lease": "{lease}", "name": "n", "tasks": [ruled(rule)]},
        ),
        invalid(
            f"{name}, in a schedule",
            "operator",
            "POST /api/schedules",
            {"id": "s", "when": "@daily", "task": ruled(rule)},
        ),
    )
]

# Bodies that are no JSON of ours, to who shows a token and to who shows none.
BROKEN = {
    "nothing": b"",
    "half an object": b'{"token":"x"',
    "two values": b'{"token":"x"}{"token":"x"}',
    "a key twice": b'{"token":"x","token":"y"}',
    "NaN": b'{"token":NaN}',
    "an infinity": b'{"token":-Infinity}',
    "a number beyond all": b'{"token":1e999}',
    "too many digits": b'{"token":' + b"9" * 4_000 + b"9" * 301 + b"}",
    "too deep": b'{"token":' + b"[" * 100 + b"]" * 100 + b"}",
    "far too deep": b"[" * 4_000,
    "NUL": b'{"token":"\\u0000"}',
    "half a character": b'{"token":"\\ud800"}',
    "no UTF-8": b'{"token":"\xff"}',
    "UTF-16": '{"token":"x"}'.encode("utf-16"),
    "a mark of byte order": b'\xef\xbb\xbf{"token":"x"}',
    "a list": b'[{"token":"x"}]',
    "a text": b'"token"',
    "an unknown field": b'{"token":"x","admin":true}',
    "a token that is a list": b'{"token":["x"]}',
    "a token without an end": b'{"token":"' + b"x" * 3_000 + b'"}',
}
BODIES = [
    *(
        invalid(f"login with {name}", "nobody", "POST /api/session", content=body)
        for name, body in BROKEN.items()
        if len(body) <= 4096
    ),
    *(
        invalid(f"task with {name}", "admin", "POST /api/tasks", content=body.replace(b"token", b"payload"))
        for name, body in BROKEN.items()
        if name not in ("a token that is a list", "a token without an end")
    ),
    Attack("login of many lists", "nobody", "POST /api/session", 413, "too_large", content=MANY * 10),
    invalid("login of a few lists too many", "nobody", "POST /api/session", content=b"[" + b"[]," * 900 + b"[]]"),
    Attack("login of 5 KiB", "nobody", "POST /api/session", 413, "too_large", content=b" " * 5_000),
    Attack("token of 2 MiB", "admin", "POST /api/tokens", 413, "too_large", content=b" " * (2 << 20)),
    invalid("token of many values", "admin", "POST /api/tokens", content=b"[" + b"[]," * 9_999 + b"[]]"),
    invalid("a million keys", "admin", "POST /api/tasks", content=b"{" + b'"k":0,' * 999_999 + b'"k":0}'),
    invalid(
        "a body that unfolds",
        "admin",
        "POST /api/tasks",
        content=gzip.compress(b" " * (8 << 20)),
        headers={"content-encoding": "gzip"},
    ),
    *(
        invalid(f"as {kind or 'nothing'}", "admin", "POST /api/tasks", content=b"{}", headers={"content-type": kind})
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/jsonx", "")
    ),
    invalid("a queue of 300 characters", "admin", "POST /api/tasks", task(queue="q" * 300)),
    invalid("a batch of 10,001", "admin", "POST /api/tasks/batch", {"tasks": [task()] * 10_001}),
    invalid("a claim of 1,001", "agent", "POST /api/tasks/claim", {"agent_id": "ada", "count": 1_001}),
    invalid("a wait of an hour", "agent", "POST /api/tasks/claim", {"agent_id": "ada", "wait_sec": 3_600}),
    invalid("a regular expression without an end", "admin", "POST /api/tasks",
            task(output={"validation": "regex", "validation_schema": "((a{100}){100}){100}"})),
]  # fmt: skip

QUERIES = [
    invalid("a filter that there is not", "viewer", "GET /api/tasks?stauts=ready"),
    invalid("a parameter twice", "viewer", "GET /api/tasks?limit=1&limit=2"),
    invalid("NUL in a filter", "viewer", "GET /api/tasks?queue=%00"),
    invalid("a number without an end", "viewer", "GET /api/tasks?limit=99999999999999999999999999"),
    invalid("a page without an end", "viewer", "GET /api/tasks?limit=100000"),
    invalid("a cursor below none", "viewer", "GET /api/tasks?cursor=-1"),
    invalid("thousands of parameters", "viewer", "GET /api/tasks?" + "&".join(["status=ready"] * 3_000)),
    invalid("a token in the query", "nobody", "POST /api/session?token=x", content=b'{"token":"x"}'),
    invalid("events from before all", "viewer", "GET /api/events?after=-1"),
    invalid("NUL in a path", "viewer", "GET /api/tasks/%00"),
    invalid("no UTF-8 in a path", "viewer", "GET /api/tasks/%ff"),
    invalid("half a character in a path", "viewer", "GET /api/tasks/%ed%a0%80"),
    invalid("a path of 300 characters", "viewer", "GET /api/tasks/" + "x" * 300),
    Attack("a way out of a path", "viewer", "GET /api/../etc/passwd", 404, "no_such_route"),
    Attack("a way out, spelled otherwise", "viewer", "GET /api/tasks/..%2f..%2fetc%2fpasswd", 404, "not_found"),
    Attack("a page that is a way out", "nobody", "GET /..%2f..%2fetc%2fpasswd", 404, "no_such_route"),
    Attack("a task that is a query", "viewer", "GET /api/tasks/task_'%20or%201=1--", 404, "not_found"),
    Attack("TRACE", "admin", "TRACE /api/tasks", 405, "no_such_method"),
    Attack("CONNECT by another name", "admin", "OPTIONS /api/tasks", 405, "no_such_method"),
]

ORIGINS = [
    Attack(f"{name}: {value or 'nothing'}", "admin", "POST /api/tasks", 403, "forbidden", task(), headers={name: value})
    for name, values in {
        "host": ("evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "", "[::1].evil.example"),
        "origin": ("https://evil.example", "null", "http://127.0.0.1:1", "http://localhost@evil.example"),
        "sec-fetch-site": ("cross-site", "same-site", "anything"),
    }.items()
    for value in values
]

ACCESS = [
    *(
        Attack(f"{who} {call}", who, call, 401, "unauthorized")
        for who in ("nobody", "forged", "revoked", "expired")
        for call in ("GET /api/tasks", "GET /metrics", "POST /api/tokens", "PUT /api/artifacts/a", "GET /api/events")
    ),
    Attack("a viewer makes a token", "viewer", "POST /api/tokens", 403, "forbidden", {"name": "me", "role": "admin"}),
    Attack("an operator makes one", "operator", "POST /api/tokens", 403, "forbidden", {"name": "x", "role": "admin"}),
    Attack("an agent puts work in", "agent", "POST /api/tasks", 403, "forbidden", task()),
    Attack("an agent reads the workspace", "agent", "GET /api/tasks", 403, "forbidden"),
    Attack("an agent hears of everything", "agent", "GET /api/events", 403, "forbidden"),
    Attack("an agent reads another's inbox", "agent", "GET /api/inbox/bob/c1", 403, "forbidden"),
    Attack("an agent claims as another", "agent", "POST /api/tasks/claim", 403, "forbidden", {"agent_id": "bob"}),
    Attack("an agent sees another's task", "agent", "GET /api/tasks/{other}", 404, "not_found"),
    Attack("an agent ends another's task", "agent", "POST /api/tasks/{other}/complete", 404, "not_found",
           {"lease": "{other_lease}"}),
    Attack("an agent's own task with a made up lease", "agent", "POST /api/tasks/{task}/complete", 409, "lease_lost",
           {"lease": "{other_lease}"}),
    Attack("another workspace reads a task", "elsewhere", "GET /api/tasks/{task}", 404, "not_found"),
    Attack("another workspace cancels a task", "elsewhere", "POST /api/tasks/{task}/cancel", 404, "not_found", {}),
    Attack("another workspace ends a task", "elsewhere", "POST /api/tasks/{task}/complete", 404, "not_found",
           {"lease": "{lease}"}),
    Attack("another workspace revokes a token", "elsewhere", "DELETE /api/tokens/{token}", 404, "not_found"),
    Attack("another workspace removes a hook", "elsewhere", "DELETE /api/triggers/reports", 404, "not_found"),
    invalid("another workspace takes an id", "elsewhere", "POST /api/tasks", task(id="{task}")),
    invalid("another workspace depends on a task", "elsewhere", "POST /api/tasks", task(depends_on=["{task}"])),
    Attack("an agent logs in to the dashboard", "nobody", "POST /api/session", 403, "forbidden", {"token": "{agent}"}),
    Attack("a session begins a session", "nobody", "POST /api/session", 403, "forbidden", {"token": "{session}"}),
    Attack("a forged token logs in", "nobody", "POST /api/session", 401, "unauthorized", {"token": "{forged}"}),
    Attack("a page of another site logs in", "nobody", "POST /api/session", 403, "forbidden", {"token": "{admin}"},
           headers={"origin": "https://evil.example"}),
    Attack("a session without a page", "nobody", "POST /api/tasks", 403, "forbidden", task(),
           headers={"cookie": "taskyard-session-{port}={session}"}),
]  # fmt: skip

# An agent is what was granted to it: it takes neither another's name nor a capability that judges.
IDENTITY = [
    Attack("the id of another", "agent", "POST /api/agents", 409, "identity_taken", {"id": "bob", "type": "ada"}),
    Attack("the type of another", "agent", "POST /api/agents", 403, "forbidden", {"id": "ada-2", "type": "bob"}),
    Attack("another's id alone", "agent", "POST /api/agents", 409, "identity_taken", {"id": "bob"}),
    *(
        Attack(
            f"the capability {name}",
            "agent",
            "POST /api/agents",
            403,
            "forbidden",
            {"id": "ada", "capabilities": [name]},
        )
        for name in ("llm-judge", "test-runner")
    ),
]

# What was granted is an admin's word: an agent widens neither its slots nor its money, and mints nobody.
GRANTS = [
    *(
        Attack(f"an agent grants itself {name}", "agent", "PUT /api/agents/ada/grant", 403, "forbidden", body)
        for name, body in {
            "all slots": {"slots": "unlimited"},
            "many slots": {"slots": 100_000},
            "to judge": {"capabilities": ["llm-judge"]},
            "slots for one id": {"agent_id": "ada", "slots": 1_000},
        }.items()
    ),
    *(
        Attack(f"{who} grants slots", who, "PUT /api/agents/ada/grant", 403, "forbidden", {"slots": "unlimited"})
        for who in ("viewer", "orchestrator", "operator")
    ),
    Attack("an agent raises its budget", "agent", "POST /api/agents/ada/budget", 403, "forbidden", {"budget_usd": 9}),
    Attack("an agent makes itself a token", "agent", "POST /api/tokens", 403, "forbidden",
           {"name": "x", "role": "agent", "agent": "ada", "slots": "unlimited"}),
    *(
        invalid(f"{slots} slots", "admin", "PUT /api/agents/ada/grant", {"slots": slots})
        for slots in (-1, 1.5, 100_001, "all", "", "10", [1])
    ),
    *(
        invalid(f"an agent with {number} slots", "agent", "POST /api/agents", {"max_concurrent_tasks": number})
        for number in (0, -1, 100_001, 10**30, "unlimited")
    ),
]  # fmt: skip

REFUSED = "delivery_refused"
HOOKS = [
    Attack(f"{name} to {where}", "nobody", f"POST /api/hooks/{where}", 401, REFUSED, content=b"{}", headers=headers)
    for where in ("{hook}", "reports", "0" * 32, "..%2fx")
    for name, headers in {
        "unsigned": {},
        "signed by nobody": {"webhook-id": "a", "webhook-timestamp": "1", "webhook-signature": "v1,AAAA"},
        "with a time that is none": {"webhook-id": "a", "webhook-timestamp": "1e9", "webhook-signature": "v1,AAAA"},
        "with dots": {"webhook-id": "a.b", "webhook-timestamp": "1", "webhook-signature": "v1,AAAA"},
        "as GitHub": {"x-hub-signature-256": "sha256=" + "0" * 64},
    }.items()
] + [
    Attack("a delivery of 2 MiB", "nobody", "POST /api/hooks/{hook}", 413, "too_large", content=b" " * (2 << 20)),
    invalid("NUL as a hook", "nobody", "POST /api/hooks/%00", content=b"{}"),
]  # fmt: skip

FILES = [
    *(
        invalid(f"a file called {name!r}", "orchestrator", f"PUT /api/artifacts/{name}", content=b"x")
        for name in ("%2e%2e%2f", "..%2f..%2fetc%2fpasswd", "%2fetc%2fpasswd", "a%00b", "a%0ab", "x" * 250)
    ),
    Attack("part of a file after its end", "viewer", "GET /api/artifacts/{artifact}", 416, "no_such_range",
           headers={"range": "bytes=10-"}),
    Attack("another workspace reads a file", "elsewhere", "GET /api/artifacts/{artifact}", 404, "not_found"),
    Attack("an agent reads a file that is not its own", "agent", "GET /api/artifacts/{artifact}", 404, "not_found"),
    Attack("a file of another's task", "agent", "PUT /api/tasks/{other}/artifacts/a", 404, "not_found", content=b"x",
           headers={"taskyard-lease": "{other_lease}"}),
    invalid("a file that hashes to something else", "orchestrator", "PUT /api/artifacts/a", content=b"x",
            headers={"taskyard-sha256": "0" * 64}),
]  # fmt: skip

TARGETS = [
    invalid(f"notify {target}", "operator", "PUT /api/notifiers/n", {"target": target})
    for target in (
        "http://127.0.0.1/x",
        "http://[::1]/x",
        "http://169.254.169.254/latest/meta-data",
        "http://2130706433/x",
        "http://10.0.0.1/x",
        "file:///etc/passwd",
        "gopher://127.0.0.1/x",
        "syslog://",
        "dbus://",
        "slack://AAAAAAAAA/BBBBBBBBB/CCCCCCCCCCCCCCCCCCCCCCCC/?template=http%3A%2F%2F127.0.0.1%2Fx",
        "discord://1/x/?template=/etc/passwd",
        "json://127.0.0.1/x",
        "ntfy://169.254.169.254/topic",
    )
]

# What an agent spawns is placed no better, costs no more and sees no more than the task that it holds.
GROWTH = [
    invalid(
        f"spawned with {name}",
        "agent",
        "POST /api/tasks/{task}/spawn",
        {"lease": "{lease}", "name": "n", "tasks": [task(**more)]},
    )
    for name, more in {
        "the best priority": {"priority": 0},
        "a boost": {"priority_boost_per_minute": 100},
        "a deadline that is over": {"deadline": "2026-01-01T00:00:00Z"},
        "another queue": {"queue": "vip"},
        "a maximum of 8 billion dollars": {"max_cost_usd": 8_000_000_000},
        "the output of another's task": {"context_refs": ["task:{other}:output"]},
        "a file of others": {"context_refs": ["artifact:{artifact}"]},
        "another's task to wait for": {"depends_on": ["{other}"]},
    }.items()
] + [
    invalid(
        "1,001 children",
        "agent",
        "POST /api/tasks/{task}/spawn",
        {"lease": "{lease}", "name": "n", "tasks": [task()] * 1_001},
    ),
    invalid(
        "a file of others in an output",
        "agent",
        "POST /api/tasks/{task}/complete",
        {"lease": "{lease}", "output": {}, "artifacts": ["artifact:{artifact}"]},
    ),
    Attack("a larger DAG", "orchestrator", "POST /api/dags/x/limit", 403, "forbidden", {"max_tasks": 20_000}),
]

# The scene lists one proxy, at 10.9.9.9, and everybody else is none.
PROXIES = [
    Attack(f"{name}, shown by {who}: {call}", who, call, 403, "forbidden", headers=headers)
    for name, headers in {
        "a name": {"x-forwarded-user": "root"},
        "a name in capitals": {"X-FORWARDED-USER": "root"},
        "a group": {"x-forwarded-groups": "ops"},
        "a name and a group": {"x-forwarded-user": "root", "x-forwarded-groups": "ops"},
        "a name and the proxy's address": {"x-forwarded-user": "root", "x-forwarded-for": "10.9.9.9"},
        "a name and a chain": {"x-forwarded-user": "root", "x-forwarded-for": "10.9.9.9, 127.0.0.1"},
        "a name and another address": {
            "x-forwarded-user": "root",
            "forwarded": "for=10.9.9.9",
            "x-real-ip": "10.9.9.9",
        },
        "nobody's name": {"x-forwarded-user": ""},
        "a session and a name": {"x-forwarded-user": "root", "cookie": "taskyard-session-{port}={session}"},
    }.items()
    for who in ("nobody", "viewer", "admin")
    for call in ("GET /api/tasks", "GET /api/session", "POST /mcp")
]

TABLE: dict[str, list[Attack]] = {
    "proxies": PROXIES,
    "schemas": SCHEMAS,
    "bodies": BODIES,
    "queries": QUERIES,
    "origins": ORIGINS,
    "access": ACCESS,
    "identity": IDENTITY,
    "grants": GRANTS,
    "growth": GROWTH,
    "hooks": HOOKS,
    "files": FILES,
    "targets": TARGETS,
}


class Exchange(NamedTuple):
    """What no client library would send: bytes, and how the answer begins; nothing: the line goes dead."""

    name: str
    sent: bytes
    answer: bytes = b"HTTP/1.1 400 "


def head(*lines: str, request: str = "GET /healthz HTTP/1.1") -> bytes:
    return "\r\n".join((request, *lines, "", "")).encode("latin-1")


POST = "POST /api/session HTTP/1.1"
SPOKEN = [
    Exchange("two hosts", head("host: localhost", "host: evil.example"), b"HTTP/1.1 403 "),
    Exchange("two hosts, the other first", head("host: evil.example", "host: localhost"), b"HTTP/1.1 403 "),
    Exchange("the same host twice", head("host: localhost", "host: localhost"), b"HTTP/1.1 403 "),
    Exchange("no host", head(), b"HTTP/1.1 403 "),
    Exchange("two origins", head("host: localhost", "origin: a", "origin: b"), b"HTTP/1.1 403 "),
    Exchange("two tokens", head("host: localhost", "authorization: a", "authorization: b"), b"HTTP/1.1 403 "),
    Exchange("two cookies", head("host: localhost", "cookie: a=b", "cookie: a=c"), b"HTTP/1.1 403 "),
    Exchange("two lengths", head("host: localhost", "content-length: 0", "content-length: 5", request=POST)),
    Exchange("a length and chunks",
           head("host: localhost", "content-length: 5", "transfer-encoding: chunked", request=POST)),
    Exchange("a length below none", head("host: localhost", "content-length: -5", request=POST)),
    Exchange("a length that is none", head("host: localhost", "content-length: 0x5", request=POST)),
    Exchange("chunks of no length", head("host: localhost", "transfer-encoding: chunked", request=POST) + b"zz\r\n"),
    Exchange("an encoding that is none", head("host: localhost", "transfer-encoding: xchunked", request=POST)),
    Exchange("a space before the colon", head("host : localhost")),
    Exchange("a folded header", b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n x\r\n\r\n"),
    Exchange("a method that is none", head("host: localhost", request="GET\x01 /healthz HTTP/1.1")),
    Exchange("a version that is none", head("host: localhost", request="GET /healthz HTTP/9.9")),
    Exchange("a head of 70 KiB", head("host: localhost", "x: " + "y" * 70_000)),
    Exchange("many headers", head("host: localhost", *["a: b"] * 12_000)),
    Exchange("a request line of 70 KiB", head("host: localhost", request=f"GET /{'x' * 70_000} HTTP/1.1")),
    Exchange("no HTTP at all", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 4),
]  # fmt: skip
