"""What agents and callers write is shown as text by every command: no markup is read, and no terminal is told anything.

Run as in a terminal, where colours and widths are decided; then what is left besides colours must be harmless.
"""

from __future__ import annotations

import io
import json
import logging
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

import taskyard
from taskyard.cli.logs import LogFormat, set_up_logs
from taskyard.cli.main import app, main
from taskyard.sync import SyncYard
from taskyard.visible_text import visible

CLIPBOARD = "\x1b]52;c;aGVsbG8=\x07"
CHARACTERS = f"{CLIPBOARD}\x1b[2J\x1b[31m\u202egnp.exe\u2066\x9b1mC1\x7f\r\u200e"
HOSTILE = f"[/bold][link=file:///etc]{CHARACTERS}[red]:boom:"
NAME = f"n[/b]{CHARACTERS}"[:60]  # where names are short
VARIANT: dict[str, Any] = {"name": NAME, "prompt": HOSTILE, "payload": {HOSTILE: HOSTILE}, "model_preferences": [NAME]}
COLOUR = re.compile(r"\x1b\[[0-9;]*m|\x1b\]8;[^\x1b]*\x1b\\|\x1b\[\?25[lh]|\x1b\[[0-9]*[AK]|\r(?=\n|\x1b|$)")
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
# Commands that show nothing of what somebody else wrote: they change something by its id, serve, or measure.
SILENT = {
    *(
        "schema",
        "tui",  # its screens: tests/tui/test_hostile_screens.py
        "audit keep",
        "queues lift",
        "saved-views rm",
        "demo",
        "bench",
        "serve",
        "work",
        "sweep",
        "verify",
        "start",
        "heartbeat",
        "progress",
        "release",
        "claim",
    ),
    *("complete", "fail", "priority", "signal", "rerun", "submit", "migrate plan", "migrate apply", "migrate status"),
    *("agents drain", "agents resume", "agents budget", "agents rm", "queues pause", "queues resume", "queues preset"),
    *(
        "queues reports",
        "breakers open",
        "breakers close",
        "budget dag",
        "budget tasks",
        "budget set",
        "artifacts put",
        "artifacts get",
    ),
    *("artifacts rm", "notify add", "notify rm", "notify test", "notify resend", "notify dismiss", "schedules add"),
    *("schedules pause", "schedules resume", "schedules run", "schedules rm", "triggers pause", "triggers resume"),
    *(
        "triggers fire",
        "triggers rm",
        "triggers watch",
        "triggers listen",
        "triggers add dag",
        "triggers add files",
        "triggers add rule",
    ),
    *("hooks add", "hooks rotate", "hooks rm", "inbox enqueue", "inbox clear", "inbox consume", "token revoke"),
    *("subagents start", "cancel", "preset show", "preset set", "notify callback-secret"),
    *("a2a unpublish", "cutover rm", "memory embed", "worktrees ls", "worktrees clean"),
    *("export yard", "export loki", "import yard", "import loki", "compare", "mcp install", "skills install"),
}


@pytest.fixture(scope="module")
def hostile_yard(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, str]]:
    """A yard in which every text that anybody can write is hostile; with the ids that commands need."""
    folder = tmp_path_factory.mktemp("hostile")
    url = f"sqlite:///{folder / 'yard.db'}"
    with taskyard.connect_sync(url, sweeps=False, embedder="hash:") as yard:
        ids = given_hostile_texts(yard)
        yard.memory.catch_up()
        assert yard.memory.search(HOSTILE)
        return url, ids


def given_hostile_texts(yard: SyncYard) -> dict[str, str]:
    document: dict[str, Any] = {HOSTILE: HOSTILE}
    yard.runtimes.register(NAME, hostname=HOSTILE, version=HOSTILE, pid=7)
    yard.agents.register(
        NAME, "t", capabilities=[NAME], models=[NAME], max_concurrent_tasks=9, budget_usd=5, runtime_id=NAME
    )
    yard.enqueue(
        NAME, title=HOSTILE, prompt=HOSTILE, payload=document, tags=[NAME], agent="t", subject=NAME, queue=NAME,
        max_attempts=1, created_by=f"human:{NAME}", idempotency_key=HOSTILE,
    )  # fmt: skip
    (held,) = yard.claim(NAME, start=True)
    yard.artifacts.put("[bold]x[red]", b"x", task_id=held.id, lease=held.lease, media_type="text/plain")
    yard.progress(held.id, held.lease, {"fraction": 0.5, "message": HOSTILE, "note": HOSTILE})
    yard.attempts.message(held.id, held.lease, HOSTILE)
    yard.streams.append(held.id, held.lease, [{"text": HOSTILE}, {"kind": "stderr", "text": HOSTILE}])
    yard.fail(held.id, held.lease, NAME[:40], HOSTILE, details=document, model=NAME, cost_usd="0.01")
    yard.enqueue("decided", title=HOSTILE, agent="t", max_attempts=1)
    (dead,) = yard.claim(NAME, start=True)
    yard.fail(dead.id, dead.lease, NAME[:40], HOSTILE)
    yard.dead_letters.resolve(dead.id, "cancel", note=HOSTILE, by=f"human:{NAME}")
    yard.enqueue("running", title=HOSTILE, prompt=HOSTILE, agent="t")
    (running,) = yard.claim(NAME, start=True)
    yard.progress(running.id, running.lease, {"fraction": 0.5, "note": HOSTILE})
    dag = yard.submit({"title": HOSTILE, "tasks": [{"type": NAME, "title": HOSTILE, "name": "a"}]})
    yard.breakers.open(NAME, why=HOSTILE, by=f"human:{NAME}")
    yard.breakers.set_policy(overrides={NAME: 3})
    yard.queues.pause(NAME, by=f"human:{NAME}")
    yard.schedules.add("nightly", "every day at 09:00", task={"type": NAME, "title": HOSTILE}, by=f"human:{NAME}")
    yard.notifications.set(NAME, "https://example.org/h", events=["dead_letter"], types=[NAME], by=f"human:{NAME}")
    yard.inbox.put("t", NAME, HOSTILE)
    yard.a2a.publish(NAME, description=HOSTILE, examples=[NAME], by=f"human:{NAME}")
    yard.cutovers.start("c", by=f"human:{NAME}")
    difference: dict[str, str] = dict.fromkeys(("call", "old", "new"), HOSTILE)
    yard.cutovers.report("c", "dual_write", calls=1, compared=1, differences=1, latest=[difference])
    yard.memory.set_policy(types={NAME: True}, by=f"human:{NAME}")
    yard.scores.add(held.id, NAME, 0.5, note=HOSTILE, by=f"human:{NAME}")
    yard.variants.set(NAME, [VARIANT], by=f"human:{NAME}")
    return {"task": held.id, "running": running.id, "dag": dag.id, "asking": given_hostile_question(yard)}


def given_hostile_question(yard: SyncYard) -> str:
    asking = yard.enqueue("asking", title=HOSTILE, agent="t")
    (held,) = yard.claim(NAME, start=True, types=["asking"])
    schema = {"type": "object", "properties": {NAME: {"type": "string", "title": HOSTILE, "description": HOSTILE}}}
    yard.attempts.ask(
        held.id, held.lease, NAME, HOSTILE, answer_schema=schema, who=[NAME, "local"], default={NAME: HOSTILE},
        timeout_sec=9_000, context={HOSTILE: HOSTILE},
    )  # fmt: skip
    return asking.id


def commands(ids: dict[str, str]) -> dict[str, list[str]]:
    return {
        "enqueue": ["code", "--title", HOSTILE],
        "ls": [],
        "dags": [],
        "show": [ids["task"]],
        "why": [ids["task"]],
        "tree": [ids["dag"]],
        "watch": ["--for", "0.01"],
        "events": [],
        "logs": [ids["task"]],
        "stats": [],
        "doctor": [],
        "dead ls": [],
        "dead show": [ids["task"]],
        "dead resolve": [ids["task"], "escalate", "--reason", HOSTILE],
        "dead report": [],
        "token create": [NAME, "--role", "viewer"],
        "token grant": ["t", "--task-type", NAME, "--capability", NAME, "--queue", NAME],
        "token ls": [],
        "agents ls": [],
        "agents runtimes": [],
        "queues ls": [],
        "queues throttles": [],
        "breakers ls": [],
        "breakers policy": [],
        "budget show": [],
        "artifacts ls": [],
        "notify ls": [],
        "notify waiting": [],
        "notify parked": [],
        "schedules ls": [],
        "schedules show": ["nightly"],
        "triggers ls": [],
        "triggers show": [NAME],
        "hooks ls": [],
        "hooks show": [NAME],
        "inbox ls": [],
        "inbox peek": ["t", "-c", NAME],
        "inbox dequeue": ["t", "-c", NAME],
        "a2a ls": [],
        "a2a publish": [NAME, "--description", HOSTILE],
        "approvals ls": [],
        "approvals show": [ids["asking"]],
        "approvals answer": [ids["asking"], "--name", NAME, "--data", json.dumps({NAME: HOSTILE})],
        "cutover ls": [],
        "cutover compare": ["c"],
        "cutover start": ["c"],
        "cutover shadow": ["c", "--force"],
        "cutover switch": ["c", "--force"],
        "cutover back": ["c"],
        "cutover finish": ["c", "--force"],
        "memory search": [HOSTILE],
        "memory events": [],
        "memory jobs": [],
        "memory policy": [],
        "memory state": [],
        "scores add": [ids["task"], NAME, "1", "--note", HOSTILE, "--by", f"human:{NAME}"],
        "scores ls": [ids["task"]],
        "scores report": [NAME],
        "audit ls": [],
        "batches ls": [],
        "board": ["--lanes", "subject"],
        "batches show": [ids["task"]],
        "report": ["--by", "tag", "--by", "subject"],
        "saved-views save": ["hostile", "tasks", "status=ready", "--description", HOSTILE, "--by", f"human:{NAME}"],
        "saved-views ls": [],
        "schedules next": ["every day at 09:00"],
        "audit export": [],
        "variants ls": [],
        "variants set": [NAME, json.dumps([VARIANT])],
        "subagents ls": [],
        "subagents transcript": [ids["task"]],
    }


COMMANDS = tuple(commands(dict.fromkeys(("task", "running", "dag", "asking"), "")))


def walked(command: Any, path: tuple[str, ...] = ()) -> list[str]:
    if hasattr(command, "commands"):
        return [each for name, below in command.commands.items() for each in walked(below, (*path, name))]
    return [" ".join(path)]


def test_every_command_is_run_here_or_shows_nothing_of_others():
    every = set(walked(typer.main.get_command(app)))

    assert every - {*COMMANDS, *SILENT} == set()
    assert {*COMMANDS, *SILENT} - every == set()


class Screen(io.TextIOWrapper):
    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", write_through=True)

    def isatty(self) -> bool:
        return True

    @property
    def shown(self) -> str:
        buffer = self.buffer
        assert isinstance(buffer, io.BytesIO)
        return buffer.getvalue().decode()


def run(monkeypatch: pytest.MonkeyPatch, *words: str) -> str:
    """What a terminal gets, on standard output and standard error."""
    screen = Screen()
    for name, value in {"TERM": "xterm-256color", "COLUMNS": "400", "FORCE_COLOR": "1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(sys, "argv", ["taskyard", *words])
    try:
        main()
    except SystemExit as ended:
        if ended.code not in (0, 1, 3):  # 1: the doctor found something; 3: there is none of that name
            raise AssertionError(screen.shown) from ended
    return screen.shown


def harmless(shown: str) -> None:
    left = COLOUR.sub("", shown)
    found = OBEYED.search(left)
    assert found is None, f"{found} in {left!r}"
    assert "\x1b]8" not in shown  # a link of theirs


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("as_json", [False, True], ids=["people", "json"])
def test_nothing_that_somebody_wrote_is_obeyed(
    command: str, as_json: bool, hostile_yard: tuple[str, dict[str, str]], monkeypatch: pytest.MonkeyPatch
):
    url, ids = hostile_yard
    monkeypatch.setenv("TASKYARD_EMBEDDER", "hash:")
    words = [*command.split(), *commands(ids)[command], *(["--json"] if as_json and command != "watch" else [])]

    harmless(run(monkeypatch, "--url", url, *words))


@pytest.mark.parametrize("command", ["ls", "show", "tree", "events", "dead ls"])
def test_what_would_be_obeyed_is_seen(
    command: str, hostile_yard: tuple[str, dict[str, str]], monkeypatch: pytest.MonkeyPatch
):
    url, ids = hostile_yard

    shown = COLOUR.sub("", run(monkeypatch, "--url", url, *command.split(), *commands(ids)[command]))

    assert "[/bold]" in shown
    assert "\\u001b" in shown


def test_an_error_shows_what_it_was_given_as_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    url = f"sqlite:///{tmp_path / 'yard.db'}"
    with taskyard.connect_sync(url, sweeps=False) as yard:
        yard.tasks.stats()

    shown = run(monkeypatch, "--url", url, "notify", "rm", HOSTILE)

    harmless(shown)
    assert "[/bold]" in shown


@pytest.mark.parametrize("format", LogFormat)
def test_a_log_line_is_one_of_ours_or_is_set_in(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, format: LogFormat
):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    set_up_logs(format)
    try:
        raise RuntimeError(f"{HOSTILE}\n2026-11-16 forged")
    except RuntimeError as error:
        extra = {"title": HOSTILE, "word": "\x1b[2J\u202egnp", "nested": {"x": [HOSTILE]}}
        logging.getLogger("taskyard").error("said %s\n2026 forged", HOSTILE, exc_info=error, extra=extra)

    written = capsys.readouterr().err
    harmless(written)
    assert "\n2026" not in written
    if format is LogFormat.JSON:
        assert json.loads(written)["title"] == HOSTILE


@pytest.mark.parametrize("text", ["Straße 日本 é\n\tend", "👩‍👩‍👧", "नमस्ते"])
def test_a_harmless_text_stays_as_it_is(text: str):
    assert visible(text) == text


def test_json_stays_the_same_json():
    value = {"x": "".join(map(chr, [*range(0x20, 0x100), 0x202E, 0xE0041, 0x2066, 0xFEFF]))}

    assert json.loads(visible(json.dumps(value, ensure_ascii=False))) == value
