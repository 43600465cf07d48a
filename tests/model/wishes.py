"""What people and agents ask for, and how often. The world is kept small, so that what they ask for meets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from taskyard.core.units import SECOND, Micros

AGENTS = ("ann", "bob", "cat")
TYPES = ("code", "research")
SKILLS = ("gpu", "llm-judge", *TYPES)
QUEUES = ("default", "loki", "multica", "ade", "automechanica")  # each but the first follows the preset of its name
SIGNALS = ("approved", "answered")

Draw = Callable[[Random, Micros], Any]
Wish = tuple[float, Draw]


def any_of(*choices: Any) -> Draw:
    return lambda dice, _: dice.choice(choices)


def after(*seconds: float) -> Draw:
    return lambda dice, now: now + int(dice.choice(seconds) * SECOND)


def all_of(**parts: Draw) -> Draw:
    return lambda dice, now: {name: draw(dice, now) for name, draw in parts.items()}


# Of a task: how often somebody wishes it, and what.
OF_TASKS: Mapping[str, Wish] = {
    "queue": (0.16, any_of(*QUEUES[1:])),
    "priority": (0.1, any_of(0, 10, 90)),
    "idempotency_key": (0.1, any_of("once", "only")),
    "concurrency_key": (0.22, any_of("repo", "file")),
    "run_after": (0.06, after(-1, 3, 100)),
    "expires_at": (0.06, after(130, 500, 4000)),
    "deadline": (0.05, after(60, 2000)),
    "max_cost_usd": (0.2, any_of("0", "0.1", "0.25", "0.6")),
    "max_duration_sec": (0.05, any_of(20, 200)),
    "required_capabilities": (0.05, any_of(["gpu"])),
    "agent": (0.06, any_of(*AGENTS)),
    "subject": (0.06, any_of("issue:1", "issue:2")),
    "max_attempts": (0.2, any_of(1, 2, 5)),
    "payload": (0.06, any_of({"n": 1}, {"n": 2}, {"text": "é\n𝄞"})),
    "model_preferences": (0.06, any_of(["opus"])),
    "fallback_models": (0.06, any_of(["haiku"])),
    "priority_boost_per_minute": (0.05, any_of(0, 1.5)),
    "retry": (
        0.25,
        any_of(
            {"strategy": "immediate"},
            {"strategy": "fixed", "initial_delay_sec": 7, "jitter": 0},
            {"strategy": "quadratic", "initial_delay_sec": 2, "max_delay_sec": 5},
            {"retry_on": ["crash"], "no_retry_on": []},
        ),
    ),
    "timeouts": (0.12, any_of({"claim_ttl_sec": 0}, {"lease_sec": 20}, {"claim_ttl_sec": 9})),
    "output": (
        0.06,
        any_of(
            {"validation": "json-schema", "validation_schema": {"type": "object"}},
            {"validation": "regex", "validation_schema": "ok"},
        ),
    ),
    "tags": (0.03, any_of(["night"])),
}

# The same where agents judge each other's work.
OF_JUDGED_TASKS: Mapping[str, Wish] = {**OF_TASKS, "output": (0.5, any_of({"validation": "llm-judge"}))}

# In the scale of the preset.
PRIORITIES = {"loki": 7, "multica": 3, "ade": 2, "automechanica": 1}

_COST = any_of(None, None, "0.05", "0.3")

# Of an agent at work: how often it makes the call, and with what. What it spawns is drawn elsewhere.
OF_AGENTS: Mapping[str, Wish] = {
    "start": (1, all_of()),
    "heartbeat": (
        5,
        all_of(progress=any_of(None, {"done": 0.5}), cost_usd=_COST, tokens_input=any_of(None, 10)),
    ),
    "complete": (
        11,
        all_of(
            # Each is a verdict too, for those who judge.
            output=any_of({"is": "ok", "passed": True}, {"is": "ok", "passed": False, "reason": "no"}, "odd"),
            decision_report=any_of({"why": "so"}, None),
            cost_usd=_COST,
        ),
    ),
    "fail": (
        8,
        all_of(
            reason=any_of("crash", "crash", "agent_error", "rate_limit", "auth_failure", "my_own_word"),
            error=any_of("boom", "boom", "Error: 429 Too Many Requests\nRetry-After: 30"),
            cost_usd=_COST,
            retry_after_sec=any_of(None, None, None, 15),
            model=any_of(None, "opus"),
        ),
    ),
    "release": (3, all_of()),
    "attempts.checkpoint": (2, all_of(name=any_of("plan", "nap"), data=any_of(1, 2))),
    "attempts.pin_session": (1, all_of(session_id=any_of("s1", "s2"))),
    "attempts.sleep": (2, all_of(name=any_of("nap", "night"), duration_sec=any_of(0, 3, 200))),
    "attempts.wait_for": (
        3,
        all_of(name=any_of("ask", "ask again"), signal=any_of(*SIGNALS), timeout_sec=any_of(None, None, 50)),
    ),
    "tasks.spawn": (2, all_of(name=any_of("first", "second"), wait=any_of(True, True, False))),
}

# Of people, while the yard runs.
OF_PEOPLE: Mapping[str, Draw] = {
    "queues.pause": all_of(queue=any_of(*QUEUES)),
    "queues.resume": all_of(queue=any_of(*QUEUES)),
    "agents.drain": all_of(agent_id=any_of(*AGENTS)),
    "agents.resume": all_of(agent_id=any_of(*AGENTS)),
    "agents.sign_off": all_of(agent_id=any_of(*AGENTS)),
    "agents.remove": all_of(agent_id=any_of(*AGENTS)),
    "breakers.open": all_of(type_=any_of(*TYPES)),
    "breakers.close": all_of(type_=any_of(*TYPES)),
    "runtimes.register": all_of(runtime_id=any_of("machine")),
    "runtimes.heartbeat": all_of(runtime_id=any_of("machine")),
    "runtimes.orphans": all_of(runtime_id=any_of("machine")),
    "agents.set_budget": all_of(name=any_of(*AGENTS), budget_usd=any_of(None, "0.2", "1")),
    "budgets.set": all_of(daily_budget_usd=any_of(None, "0.2", "1"), default_reserve_usd=any_of("0", "0.1")),
}
