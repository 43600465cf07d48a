"""What users write is checked by their own type checker: a wrong field or argument is refused where it is written."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

PROGRAM = """\
from typing import Any

import taskyard

ISSUE: dict[str, Any] = {"issue_id": "MUL-7"}  # a name of the preset multica


async def asynchronous() -> None:
    async with taskyard.connect() as yard:
        task = await yard.enqueue("code", prompt="Fix it", priority=3, tags=["a"])
        await yard.enqueue("code", promt="Fix it")  # wrong
        await yard.enqueue("code", **ISSUE)
        await yard.enqueue("code", issue_id="MUL-7")  # wrong
        await yard.enqueue("code", priority="high")  # wrong
        await yard.agents.register("ada", max_concurrent_tasks=2)
        await yard.agents.register("ada", slots=2)  # wrong
        await yard.complete(task.id, "lease", cost_usd="0.10", tokens_input=7)
        await yard.complete(task.id, "lease", cost="0.10")  # wrong
        print((await yard.get(task.id)).attempts, (await yard.get(task.id)).atempts)  # wrong
        async for stored in yard.tail(task_type="code"):
            print(stored.event.task_id, stored.event.task)  # wrong


def synchronous() -> None:
    with taskyard.connect_sync() as yard:
        task = yard.enqueue("code", prompt="Fix it", deadline="2030-01-01T00:00:00Z")
        yard.enqueue("code", dead_line="2030-01-01T00:00:00Z")  # wrong
        yard.enqueue("code", **ISSUE)
        yard.queues.pause("default", by="human:ann")
        yard.queues.pause("default", who="ann")  # wrong
        yard.queues.stop("default")  # wrong
        yard.attempts.sleep(task.id, "lease", "nap", "long")  # wrong
        print(yard.get(task.id).title, yard.get(task.id).titel)  # wrong
"""


def test_a_type_checker_refuses_each_wrong_field_and_nothing_else(tmp_path: Path):
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    pyright = shutil.which("pyright", path=str(Path(sys.executable).parent))
    assert pyright is not None

    ran = subprocess.run(
        [pyright, "--outputjson", "--pythonpath", sys.executable, "program.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    refused = {found["range"]["start"]["line"] for found in json.loads(ran.stdout)["generalDiagnostics"]}
    lines = PROGRAM.splitlines()
    assert [lines[number] for number in sorted(refused)] == [line for line in lines if line.endswith("# wrong")]
