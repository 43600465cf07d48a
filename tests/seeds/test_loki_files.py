"""The queue files of the document that the preset loki comes from: brought in, written out, and followed."""

import asyncio
import json
import os
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from taskyard.core.errors import InvalidInput, StoreUnavailable
from taskyard.core.json_value import Json
from taskyard.core.task import Status
from taskyard.integrations.loki import queue_files
from taskyard.integrations.loki.documents import task_id_of
from taskyard.integrations.loki.mirror import Mirror
from taskyard.integrations.loki.queue_files import QUEUES, QueueFiles
from taskyard.ledger.clock import ManualClock
from taskyard.ledger.options import Options
from taskyard.yard import Yard, local_yard
from tests.graphs import status_of
from tests.storage import asked_for
from tests.transfer.moving import opened
from tests.yards import claim_that, elapse, given_an_agent

REPORT: Json = {"decision": "JWT", "why": "ADR-001"}
# The document's script, with Python where it has jq, which not every machine has.
CLAIM = r"""
QUEUE_FILE=".loki/queue/pending.json"
LOCK_FILE=".loki/state/locks/queue.lock"
(
  flock -x -w 10 200 || exit 1
  TASK_ID=$("$PYTHON" - "$QUEUE_FILE" "$AGENT_ID" <<'PROGRAM'
import json, sys, time
path, agent = sys.argv[1:]
queue = json.load(open(path))
task = next(each for each in queue["tasks"] if each["claimedBy"] is None)
task.update(claimedBy=agent, claimedAt=time.time())
json.dump(queue, open(path + ".tmp", "w"))
print(task["id"])
PROGRAM
)
  mv "${QUEUE_FILE}.tmp" "$QUEUE_FILE"
  echo "$TASK_ID"
) 200>"$LOCK_FILE"
"""


async def run_script(script: str, folder: Path, **environment: str) -> str:
    process = await asyncio.create_subprocess_exec(
        *("bash", "-c", script), cwd=folder, env={**os.environ, **environment}, stdout=PIPE
    )
    said, _ = await process.communicate()
    return said.decode()


# The mirror has the store itself: beyond a server there is none.
@pytest.fixture(params=[name for name in asked_for() if name != "http"])
async def yard(request: pytest.FixtureRequest, tmp_path: Path, clock: ManualClock) -> AsyncGenerator[Yard]:
    async with opened(request.param, tmp_path, clock) as store:
        yard = local_yard(store, Options(sweeps=False, preset="loki", dice=lambda: 0.5))
        await yard.presets.set("loki")
        await given_an_agent(yard, "agent-1", capabilities=["eng-backend"])
        yield yard
        verified = await yard.verify()
        assert verified.ok, str(verified)


class Folder:
    """The queue files of a project, as scripts read and write them."""

    def __init__(self, root: Path, *, bare: bool = False) -> None:
        self.root = root
        self.bare = bare  # files that are lists
        (root / ".loki" / "queue").mkdir(parents=True)
        for queue in QUEUES:
            self.put(queue)

    def path(self, queue: str) -> Path:
        return self.root / ".loki" / "queue" / f"{queue}.json"

    def put(self, queue: str, *tasks: dict[str, Any]) -> None:
        self.path(queue).write_text(json.dumps([*tasks] if self.bare else {"tasks": [*tasks]}))

    def tasks(self, queue: str) -> dict[str, dict[str, Any]]:
        value = json.loads(self.path(queue).read_text())
        return {task["id"]: task for task in (value if self.bare else value["tasks"])}

    def all(self) -> dict[str, list[dict[str, Any]]]:
        return {queue: list(self.tasks(queue).values()) for queue in QUEUES}

    def move(self, task_id: str, before: str, after: str, **changed: object) -> None:
        here, there = self.tasks(before), self.tasks(after)
        there[task_id] = {**here.pop(task_id), **changed}
        self.put(before, *here.values())
        self.put(after, *there.values())


def task(task_id: str, **fields: object) -> dict[str, Any]:
    """A task with every field of the document's schema."""
    return {
        "id": task_id,
        "idempotencyKey": f"hash of {task_id}",
        "type": "eng-backend",
        "priority": 5,
        "dependencies": [],
        "payload": {"action": "implement", "target": task_id},
        "createdAt": "2025-12-31T10:00:00Z",
        "claimedBy": None,
        "claimedAt": None,
        "timeout": 3600,
        "retries": 0,
        "maxRetries": 3,
        "backoffSeconds": 60,
        "lastError": None,
        "completedAt": None,
        "result": None,
        **fields,
    }


@pytest.fixture(params=[False, True], ids=["an object with tasks", "a list"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Folder:
    """A folder with a task in every state."""
    folder = Folder(tmp_path / "project", bare=request.param)
    folder.put(
        "pending",
        task("first", priority=8, owner="ada"),
        task("second", dependencies=["first", "done"]),
        task("failed-once", retries=1, lastError="it broke", availableAt="2030-01-01T00:00:00Z"),
    )
    folder.put("in-progress", task("running", claimedBy="agent-7", claimedAt=1767225600))
    result = {"status": "success", "output": "yes", "decisionReport": REPORT}
    folder.put("completed", task("done", claimedBy="agent-7", completedAt="2026-01-01T00:00:00Z", result=result))
    folder.put("dead-letter", task("dead", claimedBy="agent-7", retries=3, lastError="it broke for good"))
    folder.put("cancelled", task("gone", cancelledAt="2026-01-01T00:00:00Z", cancelReason="not needed"))
    return folder


def mirror_of(yard: Yard, folder: Folder) -> Mirror:
    return Mirror(yard, QueueFiles(folder.root))


def yards_id(yard: Yard, loki_id: str) -> str:
    return task_id_of(yard.workspace, loki_id)


async def test_every_task_comes_in_where_its_file_has_it(yard: Yard, folder: Folder):
    mirrored = await mirror_of(yard, folder).look(follows=True, writes=False)

    assert mirrored.conflicts == {}
    assert mirrored.imported == {name: yards_id(yard, name) for name in mirrored.imported}
    states = {name: (await yard.get(each)).status.value for name, each in mirrored.imported.items()}
    assert states == {
        "first": "ready",
        "second": "pending",
        "failed-once": "retrying",
        "running": "running",
        "done": "completed",
        "dead": "dead_lettered",
        "gone": "cancelled",
    }
    done: Any = (await yard.get(yards_id(yard, "done"))).to_dict()
    assert (done["output"]["data"], done["output"]["decision_report"]) == (
        {"status": "success", "output": "yes"},
        REPORT,
    )
    [letter] = await yard.dead_letters.list()
    assert (letter.task.id, letter.task.attempts[-1].error) == (yards_id(yard, "dead"), "it broke for good")
    assert await yard.store.outbox("notify", 10) == []


async def test_a_round_trip_loses_nothing(yard: Yard, folder: Folder):
    before = folder.all()

    await mirror_of(yard, folder).look(follows=True, writes=False)
    again = await mirror_of(yard, folder).look(follows=True, writes=True)

    assert folder.all() == before
    assert (again.imported, again.conflicts) == ({}, {})


async def test_the_yard_goes_on_with_what_came_in_and_the_files_say_so(yard: Yard, folder: Folder):
    mirror = mirror_of(yard, folder)
    await mirror.look(follows=True, writes=False)
    held = await claim_that(yard, yards_id(yard, "first"), by="agent-1")
    await mirror.look(follows=False, writes=True)
    assert folder.tasks("in-progress")["first"]["claimedBy"] == "agent-1"
    assert folder.tasks("in-progress")["first"]["owner"] == "ada"

    await yard.complete(held.id, held.lease, {"status": "success", "output": 7}, decision_report=REPORT)
    await yard.enqueue("eng-backend", payload={"target": "new"})
    await mirror.look(follows=False, writes=True)

    assert folder.tasks("completed")["first"]["result"] == {
        "status": "success",
        "output": 7,
        "decisionReport": REPORT,
    }
    assert {each["payload"]["target"] for each in folder.tasks("pending").values()} == {"second", "failed-once", "new"}
    assert await status_of(yard, yards_id(yard, "second")) is Status.READY


async def test_what_the_documents_own_script_claims_is_claimed_in_the_yard(yard: Yard, tmp_path: Path):
    folder = Folder(tmp_path / "project")
    folder.put("pending", task("first"))
    mirror = mirror_of(yard, folder)
    await mirror.look(follows=True, writes=True)

    said = await run_script(CLAIM, folder.root, AGENT_ID="agent-9", PYTHON=sys.executable)
    mirrored = await mirror.look(follows=True, writes=True)

    assert said == "first\n"
    assert (mirrored.followed, mirrored.conflicts) == (["first"], {})
    claimed = await yard.get(yards_id(yard, "first"))
    assert (claimed.status, claimed.worker) == (Status.RUNNING, "agent-9")
    assert await yard.claim("agent-1") == []


@pytest.mark.parametrize("bare", [False, True])
async def test_a_script_that_completes_fails_and_cancels_is_followed(yard: Yard, tmp_path: Path, bare: bool):
    folder = Folder(tmp_path / "project", bare=bare)
    folder.put("pending", task("done"), task("failed"), task("gone"), task("released"), task("raised", priority=3))
    mirror = mirror_of(yard, folder)
    await mirror.look(follows=True, writes=True)
    for name in ("done", "failed", "released"):
        folder.move(name, "pending", "in-progress", claimedBy="agent-9", claimedAt=1.5)
    await mirror.look(follows=True, writes=True)

    result = {"status": "success", "output": 1, "decisionReport": REPORT}
    folder.move("done", "in-progress", "completed", result=result, completedAt="2026-01-01T00:00:01Z")
    folder.move("failed", "in-progress", "pending", retries=1, lastError="it broke", claimedBy=None, claimedAt=None)
    folder.move("released", "in-progress", "pending", claimedBy=None, claimedAt=None)
    folder.move("gone", "pending", "cancelled", cancelReason="no longer wanted")
    folder.put(
        "pending", *({**each, "priority": 9} if each["id"] == "raised" else each for each in folder.all()["pending"])
    )
    mirrored = await mirror.look(follows=True, writes=True)

    assert mirrored.conflicts == {}
    found = {name: await yard.get(yards_id(yard, name)) for name in ("done", "failed", "gone", "released", "raised")}
    assert [each.status.value for each in found.values()] == ["completed", "retrying", "cancelled", "ready", "ready"]
    assert found["raised"].to_dict()["priority"] == 9
    assert (await mirror.look(follows=True, writes=True)).is_idle


async def test_a_dead_letter_that_is_moved_back_is_tried_again_and_one_that_is_deleted_is_cancelled(
    yard: Yard, tmp_path: Path
):
    folder = Folder(tmp_path / "project")
    folder.put("dead-letter", task("again", retries=3, lastError="down"), task("invalid", retries=3, lastError="bad"))
    mirror = mirror_of(yard, folder)
    await mirror.look(follows=True, writes=True)

    folder.move("again", "dead-letter", "pending", retries=0)
    folder.put("dead-letter")
    mirrored = await mirror.look(follows=True, writes=True)

    assert (sorted(mirrored.followed), mirrored.conflicts) == (["again", "invalid"], {})
    assert await status_of(yard, yards_id(yard, "again")) is Status.READY
    assert await status_of(yard, yards_id(yard, "invalid")) is Status.CANCELLED
    assert set(folder.tasks("cancelled")) == {"invalid"}


async def test_where_both_sides_moved_the_yard_is_right_and_the_report_names_it(yard: Yard, tmp_path: Path):
    folder = Folder(tmp_path / "project")
    folder.put("pending", task("wanted"))
    mirror = mirror_of(yard, folder)
    await mirror.look(follows=True, writes=True)

    await claim_that(yard, yards_id(yard, "wanted"), by="agent-1")
    folder.move("wanted", "pending", "in-progress", claimedBy="agent-9")
    mirrored = await mirror.look(follows=True, writes=True)

    assert set(mirrored.conflicts) == {"wanted"}
    assert folder.tasks("in-progress")["wanted"]["claimedBy"] == "agent-1"
    assert (await mirror.look(follows=True, writes=True)).is_idle


@pytest.mark.parametrize(
    ("queue", "changed", "said"),
    [
        ("pending", {"payload": {"target": "other"}}, "payload"),
        ("completed", {"result": {"status": "success", "output": 1}}, "decision report"),
        ("dead-letter", {"claimedBy": "agent-9", "lastError": "no"}, "by the yard's rules"),
    ],
)
async def test_what_the_rules_refuse_is_put_back_and_reported(
    yard: Yard, tmp_path: Path, queue: str, changed: dict[str, Any], said: str
):
    folder = Folder(tmp_path / "project")
    folder.put("pending", task("first"))
    mirror = mirror_of(yard, folder)
    await mirror.look(follows=True, writes=True)

    folder.move("first", "pending", queue, **changed)
    mirrored = await mirror.look(follows=True, writes=True)

    assert said in mirrored.conflicts["first"]
    assert "first" not in folder.tasks(queue) or queue == "pending"
    assert (await mirror.look(follows=True, writes=True)).is_idle


async def test_a_claim_of_a_file_that_runs_out_goes_back_to_pending(yard: Yard, tmp_path: Path, clock: ManualClock):
    folder = Folder(tmp_path / "project")
    folder.put("in-progress", task("first", claimedBy="agent-9", timeout=60))
    mirror = mirror_of(yard, folder)
    await mirror.look(follows=True, writes=True)

    await elapse(yard, clock, 61)
    await mirror.look(follows=True, writes=True)

    assert folder.tasks("pending")["first"]["claimedBy"] is None


async def test_what_is_cleared_away_on_one_side_goes_from_the_other(yard: Yard, tmp_path: Path, clock: ManualClock):
    folder = Folder(tmp_path / "project")
    result = {"status": "success", "output": 1, "decisionReport": REPORT}
    folder.put("completed", task("old", result=result))
    mirror = mirror_of(yard, folder)
    await mirror.look(follows=True, writes=True)
    folder.put("completed")
    assert (await mirror.look(follows=True, writes=False)).is_idle

    clock.advance(seconds=30 * 24 * 3600)
    await yard.sweep()
    await mirror.look(follows=True, writes=True)

    assert folder.tasks("completed") == {}
    assert await yard.store.page("loki", yard.workspace, limit=9) == []


async def test_a_file_that_is_half_written_is_looked_at_again_and_then_refused_by_name(
    yard: Yard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(queue_files, "_BETWEEN_LOOKS", 0.0)
    folder = Folder(tmp_path / "project")
    folder.path("pending").write_text('{"tasks": [{"id": "fir')

    with pytest.raises(InvalidInput, match=r"pending\.json"):
        await mirror_of(yard, folder).look(follows=True, writes=True)
    assert folder.path("pending").read_text() == '{"tasks": [{"id": "fir'


async def test_a_folder_whose_lock_is_kept_is_left_alone(yard: Yard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(queue_files, "LOCK_WITHIN", 0.0)
    folder = Folder(tmp_path / "project")
    async with QueueFiles(folder.root).locked():
        with pytest.raises(StoreUnavailable, match=r"queue\.lock"):
            await mirror_of(yard, folder).look(follows=True, writes=True)


@pytest.mark.parametrize(
    ("tasks", "said"),
    [
        ([{"type": "eng-backend"}], "an id"),
        ([task("one"), task("one")], "has too"),
        (["text"], "only objects"),
        ([task("one", dependencies="two")], "dependencies"),
        ([task("one", dependencies=["two"]), task("two", dependencies=["one"])], "cycle"),
    ],
)
async def test_a_folder_that_makes_no_sense_is_refused_whole(yard: Yard, tmp_path: Path, tasks: list[Any], said: str):
    folder = Folder(tmp_path / "project")
    folder.put("pending", *tasks)

    with pytest.raises(Exception, match=said):
        await mirror_of(yard, folder).look(follows=True, writes=False)
    assert await yard.find() == []


async def test_a_task_that_the_rules_refuse_stays_in_its_file_and_is_reported(yard: Yard, tmp_path: Path):
    folder = Folder(tmp_path / "project")
    folder.put("pending", task("good"), task("bad", priority=77), task("orphan", dependencies=["nowhere"]))

    mirrored = await mirror_of(yard, folder).look(follows=True, writes=True)

    assert set(mirrored.imported) == {"good"}
    assert "priority" in mirrored.conflicts["bad"]
    assert set(mirrored.conflicts) == {"bad", "orphan"}
    assert set(folder.tasks("pending")) == {"good", "bad", "orphan"}
