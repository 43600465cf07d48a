"""Programs as agents: what they are given, what their lines mean, and how they end."""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any, cast

import pytest

from taskyard import Agent, Status
from taskyard.app import Yard
from taskyard.core.errors import InvalidInput
from taskyard.features.tasks.views import Details
from taskyard.worker import adapters
from taskyard.worker.adapters import adapter, built_in
from taskyard.worker.command import Command, command_agent
from tests.worker.conftest import until, working


def program(text: str, **how: Any) -> Agent:
    """An agent whose work is done by this Python program."""
    return command_agent(Agent("program"), Command(words=[sys.executable, "-c", text], **how))


async def outcome(yard: Yard, agent: Agent, **fields: Any) -> Details:
    fields.setdefault("max_attempts", 1)
    task = await yard.enqueue("code", **fields)
    await yard.drain(agent)
    return await yard.get(task.id)


async def test_a_program_gets_its_task_and_its_text_is_the_output(yard: Yard) -> None:
    agent = program("import json,sys; task = json.load(sys.stdin); print(task['prompt'], task['payload']['n'])")

    details = await outcome(yard, agent, prompt="count to", payload={"n": 3})

    assert (details.status, details.result) == (Status.COMPLETED, "count to 3")


async def test_lines_report_progress_messages_money_session_and_output(yard: Yard) -> None:
    lines = [
        {"type": "session", "session_id": "s-1", "work_dir": "/nowhere"},
        {"type": "progress", "fraction": 0.5, "note": "half way"},
        {"type": "message", "text": "reading"},
        {"type": "spend", "usd": 0.03, "input_tokens": 900, "output_tokens": 200, "model": "m"},
        {"type": "output", "data": {"answer": 42}},
    ]
    agent = program(f"print({chr(10).join(map(json.dumps, lines))!r}); print('chatter')")

    details = await outcome(yard, agent)

    assert details.result == {"answer": 42}
    (attempt,) = details.attempts
    assert (attempt.cost, attempt.tokens.input, attempt.model) == (30_000, 900, "m")
    assert cast(dict[str, Any], attempt.session)["session_id"] == "s-1"
    said = [stored.event.data for stored in await yard.events() if stored.event.event == "task.message"]
    assert "reading" in (said[0] or "")


@pytest.mark.parametrize(
    ("text", "reason", "error"),
    [
        ("import sys; print('no key', file=sys.stderr); sys.exit(77)", "auth_failure", "no key"),
        ("import sys; sys.exit(3)", "agent_error", "exit status 3"),
        ("import os; os.kill(os.getpid(), 9)", "crash", "exit status -9"),
        ('print(\'{"type": "fail", "reason": "stuck", "error": "no way on"}\')', "stuck", "no way on"),
        ('print(\'{"type": "fail", "reason": null, "error": null}\')', "agent_error", ""),
        ("print('x' * 2000000)", "invalid_output", "bytes"),
        ("for _ in range(3000): print('x' * 1000)", "invalid_output", "bytes were printed"),
    ],
    ids=["auth", "status", "signal", "fail line", "fail line of nulls", "one long line", "too much"],
)
async def test_how_a_program_ends_says_what_went_wrong(yard: Yard, text: str, reason: str, error: str) -> None:
    details = await outcome(yard, program(text))

    (attempt,) = details.attempts
    assert attempt.reason == reason
    assert error in (attempt.error or "")


async def test_a_line_of_objects_in_objects_without_end_is_text(yard: Yard) -> None:
    details = await outcome(yard, program("print('{\"a\":' * 100000)"))

    assert (details.status, str(details.result)[:10]) == (Status.COMPLETED, '{"a":{"a":')


async def test_a_rate_limit_reported_by_the_exit_status_uses_up_no_attempt(yard: Yard) -> None:
    details = await outcome(yard, program("import sys; sys.exit(75)"))

    assert (details.status, details.failures) == (Status.RETRYING, 0)


async def test_a_program_sees_only_what_it_is_allowed_of_the_environment(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_KEY", "hidden")
    monkeypatch.setenv("ALLOWED_KEY", "seen")
    agent = program(
        "import os; print(os.environ.get('SECRET_KEY'), os.environ.get('ALLOWED_KEY'), 'PATH' in os.environ)",
        passed=["ALLOWED_KEY"],
    )

    assert (await outcome(yard, agent)).result == "None seen True"


async def test_a_cancelled_task_ends_the_program_and_everything_it_started(yard: Yard, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    child = "import time; time.sleep(600)"
    agent = program(
        "import os, subprocess, sys, time; from pathlib import Path\n"
        f"child = subprocess.Popen([sys.executable, '-c', {child!r}])\n"
        f"Path({str(pids)!r}).write_text(f'{{os.getpid()}} {{child.pid}}')\n"
        'print(\'{"type": "message", "text": "begun"}\', flush=True)\n'
        "time.sleep(600)"
    )
    task = await yard.enqueue("code", timeouts={"lease_sec": 2, "heartbeat_sec": 1})
    async with working(yard, agent):
        async for stored in yard.tail():
            if stored.event.event == "task.message":
                break
        await yard.cancel(task.id)

    await until(yard, task.id, Status.CANCELLED)
    for pid in map(int, pids.read_text().split()):
        await _gone(pid)


BACKGROUND = (
    "import subprocess, sys; sys.stdin.read()\n"
    "left = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], start_new_session={away})\n"
    "print(left.pid)"
)


@pytest.mark.parametrize("away", [False, True], ids=["in its group", "out of its group"])
async def test_what_a_program_leaves_running_does_not_hold_up_its_end(
    yard: Yard, away: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("taskyard.worker.command.PATIENCE", 0.1)

    details = await outcome(yard, program(BACKGROUND.format(away=away)))

    assert details.status is Status.COMPLETED
    os.kill(int(str(details.result)), signal.SIGKILL)  # it is still there: nobody has asked for its end


async def test_a_program_with_a_relative_path_is_found_wherever_an_attempt_works(
    yard: Yard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    line = json.dumps({"type": "session", "session_id": "s", "work_dir": str(elsewhere)})
    (tmp_path / "agent.sh").write_text(f"#!/bin/sh\necho '{line}'\ntest $TASKYARD_ATTEMPT = 2 && pwd\n")
    (tmp_path / "agent.sh").chmod(0o700)
    monkeypatch.chdir(tmp_path)
    agent = command_agent(Agent("program"), Command(words=["./agent.sh"]))
    monkeypatch.chdir("/")
    task = await yard.enqueue("code", retry={"strategy": "immediate"})
    async with working(yard, agent):
        await until(yard, task.id, Status.COMPLETED)

    assert (await yard.get(task.id)).result == str(elsewhere)


@pytest.mark.parametrize("words", [[], ["no-such-program"], ["./no-such-program"], ["/etc/passwd"], ["/"]])
def test_a_program_that_cannot_be_run_is_refused_at_the_start(words: list[str]) -> None:
    with pytest.raises(InvalidInput, match="--exec"):
        command_agent(Agent("program"), Command(words=words))


async def _gone(pid: int) -> None:
    async with asyncio.timeout(30):
        while _is_there(pid):  # another program's process tells nobody when it goes  # noqa: ASYNC110
            await asyncio.sleep(0)


def _is_there(pid: int) -> bool:
    """A process that was killed may be a zombie until it is reaped; it is gone either way."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


async def test_a_session_is_resumed_by_the_adapters_own_words(yard: Yard, tmp_path: Path) -> None:
    spoken = adapters.Adapter(resume=("--resume", "{session_id}"), prompt="argument")
    text = (
        "import sys; attempt = len(sys.argv)\n"
        'print(\'{"type": "session", "session_id": "s-9"}\')\n'
        "if '--resume' not in sys.argv: sys.exit(1)\n"
        "print(sys.argv[1:])"
    )
    agent = program(text, adapter=spoken)
    task = await yard.enqueue("code", prompt="go", retry={"strategy": "immediate"})
    async with working(yard, agent):
        await until(yard, task.id, Status.COMPLETED)

    assert (await yard.get(task.id)).result == "['--resume', 's-9', '--', 'go']"


def test_the_ready_made_adapters_understand_their_programs() -> None:
    claude = built_in("claude")
    assert claude.words([], session_id="s", prompt="p", model=None)[-2:] == ["--resume", "s"]
    assert claude.request({}, "the prompt") == "the prompt"
    result = {
        "type": "result",
        "is_error": False,
        "result": "done",
        "total_cost_usd": 0.02,
        "usage": {"input_tokens": 5},
    }
    assert claude.understood(result) == [
        {
            "type": "spend",
            "usd": 0.02,
            "input_tokens": 5,
            "output_tokens": None,
            "cache_read_tokens": None,
            "cache_write_tokens": None,
        },
        {"type": "output", "data": "done"},
    ]
    cached = {"input_tokens": 5, "cache_read_input_tokens": 700, "cache_creation_input_tokens": 20}
    spend = (claude.understood(result | {"usage": cached}) or [{}])[0]
    assert (spend["input_tokens"], spend["cache_read_tokens"], spend["cache_write_tokens"]) == (725, 700, 20)
    codex = built_in("codex")
    line = {"type": "item.completed", "item": {"type": "agent_message", "text": "done"}}
    assert codex.understood(line) == [{"type": "output", "data": "done"}]


@pytest.mark.parametrize("name", adapters.names())
def test_every_adapter_is_well_formed(name: str) -> None:
    found = built_in(name)

    assert found.command
    assert found.prompt in ("task", "stdin", "argument")
    assert all(rule.message.get("type", "").removeprefix("=") in adapters.OWN for rule in found.rules)


HOSTILE_PROMPTS = ("--dangerously-skip-permissions", "-c", "--", "-", "--model=x\n--yolo")


@pytest.mark.parametrize("name", adapters.names())
@pytest.mark.parametrize("prompt", HOSTILE_PROMPTS)
@pytest.mark.parametrize("session_id", [None, "s-1"])
def test_no_ready_made_adapter_puts_a_prompt_among_the_words(name: str, prompt: str, session_id: str | None) -> None:
    found = built_in(name)
    plain = found.words([], session_id=session_id, prompt="p", model="m")

    assert found.words([], session_id=session_id, prompt=prompt, model="m") == plain
    assert found.request({}, prompt) == prompt


@pytest.mark.parametrize("prompt", HOSTILE_PROMPTS)
def test_a_prompt_that_has_to_be_a_word_comes_after_the_end_of_options(prompt: str) -> None:
    spoken = adapters.Adapter(prompt="argument", model=("-m", "{model}"))

    assert spoken.words(["tool"], session_id=None, prompt=prompt, model="m") == ["tool", "-m", "m", "--", prompt]


@pytest.mark.parametrize("name", adapters.names())
@pytest.mark.parametrize("value", ["-c", "--config=x", "-", "m\n-x"])
def test_a_model_or_a_session_that_reads_as_an_option_is_refused(name: str, value: str) -> None:
    found = built_in(name)
    with pytest.raises(InvalidInput, match="model"):
        found.words([], session_id=None, prompt="p", model=value)
    if found.resume:
        with pytest.raises(InvalidInput, match="session_id"):
            found.words([], session_id=value, prompt="p", model=None)


async def test_a_task_that_prefers_an_option_for_a_model_is_refused(yard: Yard) -> None:
    for field in ("model_preferences", "fallback_models"):
        asked: dict[str, Any] = {field: ["-c"]}
        with pytest.raises(InvalidInput, match=field):
            await yard.enqueue("code", **asked)


def test_an_adapter_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(InvalidInput, match="claude"):
        adapter("nobody")
