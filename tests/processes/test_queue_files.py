"""`import loki --follow` and `export loki --watch` as processes of their own, beside scripts that edit the files."""

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from taskyard.app import Yard, connect
from taskyard.integrations.loki.documents import task_id_of
from tests.processes.nursery import Forked, nursery
from tests.seeds.test_loki_files import CLAIM, REPORT, Folder, run_script, task
from tests.storage import asked_for_by_url, url_of

LOADS = (
    "taskyard.cli.commands.transfer",
    "taskyard.integrations.loki.queue_files",
    "taskyard.integrations.loki.mirror",
)
# Completes a task as the document has it, with Python where it has jq: under the lock, from the file that has it.
COMPLETE = r"""
(
  flock -x -w 10 200 || exit 1
  "$PYTHON" - "$TASK_ID" <<'PROGRAM'
import json, os, sys
def load(queue): return json.load(open(f".loki/queue/{queue}.json"))
def save(queue, value):
    with open(f".loki/queue/{queue}.json.new", "w") as file:
        json.dump(value, file)
    os.replace(f".loki/queue/{queue}.json.new", f".loki/queue/{queue}.json")
queue = "in-progress" if sys.argv[1] in open(".loki/queue/in-progress.json").read() else "pending"
before, after = load(queue), load("completed")
(task,) = [each for each in before["tasks"] if each["id"] == sys.argv[1]]
before["tasks"].remove(task)
report = {"decision": "JWT", "why": "ADR-001"}
task.update(completedAt="2026-01-01T00:00:01Z", result={"status": "success", "output": 1, "decisionReport": report})
after["tasks"].append(task)
save(queue, before)
save("completed", after)
PROGRAM
) 200>".loki/state/locks/queue.lock"
"""
# Takes the lock, and writes a file in two pieces: whoever looks between them under the lock sees nothing of it.
IN_PIECES = r"""
(
  flock -x 200
  head -c 20 "$NEW" > .loki/queue/pending.json
  echo half
  read -r _
  cat "$NEW" > .loki/queue/pending.json
) 200>".loki/state/locks/queue.lock"
"""


class Looking:
    """One of the two commands at work, and the lines that it prints."""

    def __init__(self, process: Forked) -> None:
        self.process = process

    async def line(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        async with asyncio.timeout(60):
            said = await self.process.stdout.readline()
        assert said, "the process has ended"
        return json.loads(said)

    async def until(self, key: str) -> dict[str, Any]:
        """The next line that says something under that word."""
        while not (said := await self.line()).get(key):
            pass
        return said


@asynccontextmanager
async def looking(url: str, folder: Folder, *words: str) -> AsyncGenerator[Looking]:
    command = ("--url", url, "--preset", "loki", *words, str(folder.root), "--every", "0.1", "--json")
    process = await nursery().fork(
        "taskyard", *command, loads=["taskyard.cli.commands.transfer", "taskyard.integrations.loki"]
    )
    try:
        yield Looking(process)
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGKILL)
        await process.communicate()


@pytest.fixture(params=[name for name in asked_for_by_url() if name in ("sqlite", "postgres")])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return url_of(request.param, tmp_path)


@pytest.fixture
async def yard(url: str) -> AsyncIterator[Yard]:
    async with connect(url, preset="loki", sweeps=False) as yard:
        await yard.presets.set("loki")
        await yard.agents.register("agent-1", capabilities=["eng-backend"])
        yield yard
        verified = await yard.verify()
        assert verified.ok, str(verified)


async def script(folder: Folder, text: str, **variables: str) -> str:
    return (await run_script(text, folder.root, PYTHON=sys.executable, AGENT_ID="agent-9", **variables)).strip()


async def state_of(yard: Yard, loki_id: str) -> str:
    return (await yard.get(task_id_of(yard.workspace, loki_id))).status.value


async def test_scripts_are_followed_through_a_kill_and_both_sides_converge(yard: Yard, url: str, tmp_path: Path):
    folder = Folder(tmp_path / "project")
    folder.put("pending", task("first", priority=9, owner="ada"), task("second"), task("third", dependencies=["first"]))
    async with looking(url, folder, "import", "loki", "--follow") as follower:
        assert set((await follower.until("imported"))["imported"]) == {"first", "second", "third"}
        claimed = await script(folder, CLAIM)
        assert (await follower.until("followed"))["followed"] == [claimed] == ["first"]
    assert await state_of(yard, "first") == "running"

    await script(folder, COMPLETE, TASK_ID="first")  # while nobody follows: the last one was killed
    held = (await yard.claim("agent-1"))[0]
    await yard.complete(held.id, held.lease, {"status": "success", "output": 2}, decision_report=REPORT)
    async with looking(url, folder, "import", "loki", "--follow") as follower:
        said = await follower.line()
        assert (said["followed"], said["conflicts"]) == (["first"], {})

    assert [await state_of(yard, each) for each in ("first", "second", "third")] == ["completed", "completed", "ready"]
    assert {queue: sorted(folder.tasks(queue)) for queue in ("pending", "in-progress", "completed")} == {
        "pending": ["third"],
        "in-progress": [],
        "completed": ["first", "second"],
    }
    assert folder.tasks("completed")["first"]["owner"] == "ada"


@pytest.mark.parametrize("bare", [False, True])
async def test_a_file_that_is_broken_for_a_while_ends_no_follower(yard: Yard, url: str, tmp_path: Path, bare: bool):
    folder = Folder(tmp_path / "project", bare=bare)
    folder.put("pending", task("first"))
    async with looking(url, folder, "import", "loki", "--follow") as follower:
        await follower.until("imported")
        whole = folder.path("pending").read_text()
        folder.path("pending").write_text(whole[:25])  # without the lock, as a careless script does
        error = (await follower.until("error"))["error"]
        assert (error["code"], "pending.json" in error["detail"]) == ("invalid_input", True)
        assert folder.path("pending").read_text() == whole[:25]
        assert await state_of(yard, "first") == "ready"

        folder.path("pending").write_text(whole)
        folder.put("pending", *folder.tasks("pending").values(), task("second"))
        assert set((await follower.until("imported"))["imported"]) == {"second"}
    assert await state_of(yard, "second") == "ready"


async def test_what_is_half_written_under_the_lock_is_never_seen(yard: Yard, url: str, tmp_path: Path):
    folder = Folder(tmp_path / "project")
    folder.put("pending", task("first"))
    async with looking(url, folder, "import", "loki", "--follow") as follower:
        await follower.until("imported")
        (tmp_path / "new.json").write_text(json.dumps({"tasks": [*folder.tasks("pending").values(), task("second")]}))
        writer = await asyncio.create_subprocess_exec(
            *("bash", "-c", IN_PIECES),
            cwd=folder.root,
            env={**os.environ, "NEW": str(tmp_path / "new.json")},
            stdin=PIPE,
            stdout=PIPE,
        )
        assert writer.stdout is not None
        await writer.stdout.readline()
        # Somebody who looks meanwhile waits for the lock: a claim in the yard comes after it in the files.
        held = (await yard.claim("agent-1"))[0]
        await writer.communicate(b"go on\n")
        said = await follower.line()

        assert (set(said["imported"]), said["conflicts"], "error" in said) == ({"second"}, {}, False)
    assert folder.tasks("in-progress")["first"]["claimedBy"] == "agent-1"
    await yard.release(held.id, held.lease)


async def test_where_both_sides_moved_the_report_says_so_and_the_yard_is_right(yard: Yard, url: str, tmp_path: Path):
    folder = Folder(tmp_path / "project")
    folder.put("pending", task("wanted"))
    async with looking(url, folder, "import", "loki", "--follow") as follower:
        await follower.until("imported")
        # One thing at a time for the follower: the script and the yard both move while it waits for the lock.
        writer = await asyncio.create_subprocess_exec(
            *("bash", "-c", 'exec 200>".loki/state/locks/queue.lock"; flock -x 200; echo held; read -r _'),
            cwd=folder.root,
            stdin=PIPE,
            stdout=PIPE,
        )
        assert writer.stdout is not None
        await writer.stdout.readline()
        await yard.claim("agent-1")
        folder.move("wanted", "pending", "in-progress", claimedBy="agent-9")
        await writer.communicate(b"\n")
        said = await follower.until("conflicts")

    assert set(said["conflicts"]) == {"wanted"}
    assert folder.tasks("in-progress")["wanted"]["claimedBy"] == "agent-1"


async def test_a_reader_beside_watch_finds_every_file_whole_and_in_the_end_everything(
    yard: Yard, url: str, tmp_path: Path
):
    folder = Folder(tmp_path / "project", bare=True)
    async with looking(url, folder, "export", "loki", "--watch") as watcher:
        await watcher.line()
        for number in range(12):
            await yard.enqueue("eng-backend", payload={"target": number})
            if number % 3 == 0:
                held = (await yard.claim("agent-1"))[0]
                await yard.complete(held.id, held.lease, {"status": "success"}, decision_report=REPORT)
            folder.all()  # whoever reads without the lock finds whole files too: each is replaced at once
        async with asyncio.timeout(30):
            while sum(map(len, folder.all().values())) < 12 or len(folder.tasks("completed")) < 4:
                await watcher.line()

    assert len(folder.tasks("pending")) == 8
    assert isinstance(json.loads(folder.path("pending").read_text()), list)


async def somebody_writes(pipe: Path) -> int:
    """The other end of a named pipe, once somebody has opened it to write."""
    opening = asyncio.ensure_future(asyncio.to_thread(os.open, pipe, os.O_RDONLY))
    try:
        async with asyncio.timeout(60):
            return await asyncio.shield(opening)
    except TimeoutError:
        os.close(os.open(pipe, os.O_RDWR))  # lets the thread go on
        os.close(await opening)
        raise


@pytest.mark.parametrize("words", [("export", "loki", "--watch"), ("import", "loki", "--follow")])
async def test_a_kill_in_the_middle_of_writing_leaves_whole_files_and_the_next_one_goes_on(
    yard: Yard, url: str, tmp_path: Path, words: tuple[str, ...]
):
    folder = Folder(tmp_path / "project")
    folder.put("pending", task("first"), task("second"))
    async with looking(url, folder, "import", "loki", "--follow") as follower:
        await follower.until("imported")
    before = folder.path("completed").read_text()
    half = folder.path("completed").with_name("completed.json.tmp")
    os.mkfifo(half)  # whoever writes it gets no further than the pipe has room
    async with looking(url, folder, *words) as writer:
        held = (await yard.claim("agent-1"))[0]
        long = "x" * 300_000
        await yard.complete(held.id, held.lease, {"status": "success", "output": long}, decision_report=REPORT)
        reader = await somebody_writes(half)
        piece = os.read(reader, 1000)
        writer.process.send_signal(signal.SIGKILL)
        await writer.process.wait()
    os.close(reader)
    half.unlink()
    half.write_bytes(piece)  # as a file it would have been left like this

    # It is in none of the files now: they are replaced one after the other, and each is whole.
    assert (piece.startswith(b"{"), folder.path("completed").read_text()) == (True, before)
    assert [each["id"] for tasks in folder.all().values() for each in tasks] == ["second"]
    assert await script(folder, CLAIM) == "second"  # the lock died with its holder
    async with looking(url, folder, "import", "loki", "--follow") as follower:
        said = await follower.until("followed")

    assert (said["followed"], said["conflicts"]) == (["second"], {})
    assert [await state_of(yard, each) for each in ("first", "second")] == ["completed", "running"]
    assert {queue: [each["id"] for each in tasks] for queue, tasks in folder.all().items() if tasks} == {
        "pending": ["second"],  # claimed there, as the script does it
        "completed": ["first"],
    }
    assert not half.exists()
