"""The daemon of examples/daemon.sh, as a process of its own against a real server."""

import asyncio
import os
import signal
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from types import MappingProxyType

import pytest

import taskyard
from taskyard.core.agent import AgentStatus
from taskyard.core.task import Outcome, Status
from taskyard.features.tasks.views import Details
from taskyard.server.server import served
from taskyard.yard import Yard
from tests.programs import environment

SCRIPT = Path(__file__).parents[2] / "examples" / "daemon.sh"
MOST_LINES = 60
PATIENCE = 60.0  # seconds
# It counts words, fails where it is told to, and takes a minute where it is told to.
AGENT = """
read -r prompt
case $prompt in
  fail) echo "no luck" >&2; exit 3 ;;
  wait) sleep 60 ;;
  *) wc -w <<<"$prompt" ;;
esac
"""


@pytest.fixture
async def yard(tmp_path: Path) -> AsyncGenerator[Yard]:
    async with taskyard.connect(f"sqlite:///{tmp_path / 'yard.db'}", preset="multica") as yard:
        yield yard
        assert (await yard.verify()).ok


@asynccontextmanager
async def running(
    yard: Yard,
    *,
    token: str = "",
    command: Sequence[str] = ("bash", "-c", AGENT),
    here: Mapping[str, str] = MappingProxyType({}),
) -> AsyncGenerator[Process]:
    """The daemon, at work; told to stop at the end, if it was not before, and seen off."""
    # Where the tests run in the background, their shell lets them ignore it, and a script cannot trap what it ignores.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    async with served(yard) as server:
        url = f"http://127.0.0.1:{server.port}"
        daemon = await asyncio.create_subprocess_exec(
            *(SCRIPT, "coder", *command),
            env=environment("curl", "jq")
            | {"TASKYARD_URL": url, "TASKYARD_RUNTIME": "shed", "TASKYARD_TOKEN": token, **here},
            stdout=PIPE,
            stderr=PIPE,
        )
        signal.signal(signal.SIGINT, before)
        try:
            yield daemon
        finally:
            if daemon.returncode is None:
                daemon.terminate()
            said = await daemon.communicate()
        assert daemon.returncode == 0, said


async def until(yard: Yard, task_id: str, status: Status) -> Details:
    """Wait for a task to get there."""
    async with asyncio.timeout(PATIENCE):
        while True:
            mark = await yard.mark()
            task = await yard.get(task_id)
            if task.status is status:
                return task
            await yard.changed(mark, 1.0)


def test_the_daemon_has_at_most_sixty_lines():
    assert len(SCRIPT.read_text(encoding="utf-8").splitlines()) <= MOST_LINES


async def test_it_works_through_tasks_and_says_how_each_went(yard: Yard):
    good = [await yard.enqueue("code", agent="coder", prompt=prompt) for prompt in ("one", "a 'quoted' \"text\" ✓")]
    bad = await yard.enqueue("code", agent="coder", prompt="fail")

    async with running(yard):
        outputs = [(await until(yard, each.id, Status.COMPLETED)).result for each in good]
        failed = await until(yard, bad.id, Status.DEAD_LETTERED)

    assert [output.strip() for output in outputs] == ["1", "4"]
    assert (failed.attempts[0].reason, failed.attempts[0].error) == ("agent_error", "no luck")
    assert [view.status for view in await yard.agents.list()] == [AgentStatus.OFFLINE]


async def test_when_it_starts_again_what_it_held_before_is_tried_again(yard: Yard):
    await yard.runtimes.register("shed")
    await yard.agents.register("coder", runtime_id="shed")
    lost = await yard.enqueue("code", agent="coder", prompt="two words")
    await yard.claim("coder", start=True)

    async with running(yard):
        done = await until(yard, lost.id, Status.COMPLETED)

    assert [attempt.reason for attempt in done.attempts] == ["runtime_recovery", None]


async def test_what_is_cancelled_is_stopped_and_the_next_is_taken(yard: Yard):
    timeouts = {"heartbeat_sec": 1, "lease_sec": 10}
    unwanted = await yard.enqueue("code", agent="coder", prompt="wait", priority=4, timeouts=timeouts)
    wanted = await yard.enqueue("code", agent="coder", prompt="two words")

    async with running(yard):
        await until(yard, unwanted.id, Status.RUNNING)
        await yard.cancel(unwanted.id)
        await until(yard, wanted.id, Status.COMPLETED)

    assert (await yard.get(unwanted.id)).status is Status.CANCELLED


@pytest.mark.parametrize("word", [signal.SIGTERM, signal.SIGINT])
async def test_when_it_is_asked_to_stop_it_gives_back_what_it_has(yard: Yard, word: signal.Signals):
    task = await yard.enqueue("code", agent="coder", prompt="wait")

    async with running(yard) as daemon:
        await until(yard, task.id, Status.RUNNING)
        daemon.send_signal(word)
        given_back = await until(yard, task.id, Status.READY)

    assert [(attempt.outcome, attempt.counted) for attempt in given_back.attempts] == [(Outcome.RELEASED, False)]


async def test_it_shows_its_token(yard: Yard):
    issued = await yard.tokens.create("shed", "agent", agent="coder")
    task = await yard.enqueue("code", agent="coder", prompt="two words")

    async with running(yard, token=issued.text):
        await until(yard, task.id, Status.COMPLETED)


async def test_it_works_under_a_service_manager(yard: Yard, tmp_path: Path):
    """No terminal, a session of its own, and commands that end before their heart has begun to beat."""
    tasks = [await yard.enqueue("code", agent="coder", prompt=f"one two {number}") for number in range(25)]
    async with served(yard) as server:
        here = {"TASKYARD_URL": f"http://127.0.0.1:{server.port}", "TASKYARD_RUNTIME": "shed", "TMPDIR": str(tmp_path)}
        daemon = await asyncio.create_subprocess_exec(
            *("bash", SCRIPT, "coder", "wc", "-w"),
            env=environment("curl", "jq") | here,
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=PIPE,
            start_new_session=True,
        )
        try:
            results = [(await until(yard, each.id, Status.COMPLETED)).result for each in tasks]
        finally:
            daemon.terminate()
            _, complaints = await daemon.communicate()

    assert {str(result).strip() for result in results} == {"3"}
    assert (daemon.returncode, complaints) == (0, b"")
    assert folders_in(tmp_path) == []


# Read by the daemon's shell as it starts. A job that is killed between its fork and its first line runs what its parent
# has for its own end. Here every heart does so before its first beat, and lets the command go on once it has.
KILLED_AT_BIRTH = """
sleep() {
  if [[ $BASHPID != $$ ]]; then
    (eval "$(trap -p EXIT)"; exit)
    echo >"$DIED"
  fi
  command sleep "$@"
}
"""


async def test_a_job_that_is_killed_as_it_is_born_takes_nothing_with_it(yard: Yard, tmp_path: Path):
    tasks = [await yard.enqueue("code", agent="coder", prompt="one two three") for _ in range(2)]
    (tmp_path / "shell").write_text(KILLED_AT_BIRTH)
    os.mkfifo(tmp_path / "died")
    here = {"TMPDIR": str(tmp_path), "BASH_ENV": str(tmp_path / "shell"), "DIED": str(tmp_path / "died")}

    async with running(yard, command=("sh", "-c", 'read -r _ <"$DIED"; wc -w'), here=here):
        results = [(await until(yard, each.id, Status.COMPLETED)).result for each in tasks]

    assert {str(result).strip() for result in results} == {"3"}
    assert folders_in(tmp_path) == []


def folders_in(folder: Path) -> list[str]:
    return [each.name for each in folder.glob("tmp.*")]
