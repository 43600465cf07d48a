"""`taskyard work` as an agent that judges, from a command line."""

import asyncio
import sys
from pathlib import Path

import pytest

import taskyard as library
from taskyard.core.task import Status
from tests.cli.conftest import Command
from tests.worker.chat import chat
from tests.worker.conftest import until

BIN = Path(sys.executable).parent / "taskyard"


async def test_a_worker_judges_by_the_tests_and_the_model_it_was_started_with(url: str, tmp_path: Path) -> None:
    unit = f"unit={sys.executable} -c 'import json, sys; sys.exit(json.load(sys.stdin)[\"output\"] != 42)'"
    with chat('{"passed": true, "reason": "yes"}') as talk:
        words = ["--test-runner", unit, "--work-dir", str(tmp_path), "--judge", talk.url, "--judge-model", "m"]
        worker = await asyncio.create_subprocess_exec(
            *(BIN, "--url", url, "work", *words, "--judge-key", "KEY"),
            env={"KEY": "secret", "PATH": "/usr/bin:/bin"},
            cwd=tmp_path,
        )
        try:
            async with library.connect(url) as yard:
                await yard.agents.register("me")
                for output in (
                    {"validation": "test-pass", "validation_schema": "unit"},
                    {"validation": "llm-judge", "validation_schema": "Is it the answer?"},
                ):
                    task = await yard.enqueue("answer", output=output)
                    (held,) = await yard.claim("me", types=["answer"], start=True)
                    await yard.complete(held.id, held.lease, 42)
                    await until(yard, task.id, Status.COMPLETED)
        finally:
            worker.terminate()
            await worker.wait()

    assert talk.keys == ["Bearer secret"]
    assert worker.returncode == 0


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        (["--test-runner", "pytest"], "--test-runner"),
        (["--test-runner", "unit="], "tests"),
        (["--test-runner", "unit=true", "--work-dir", "/nowhere"], "work_dir"),
        (["--judge", "http://127.0.0.1:9"], "--judge-model"),
        (["--judge", "ftp://x", "--judge-model", "m"], "url"),
        (["--judge", "http://127.0.0.1:9", "--judge-model", "m", "--judge-key", "NO_SUCH_VARIABLE"], "--judge-key"),
        ([], "--judge"),
    ],
)
def test_what_makes_no_agent_is_refused(taskyard: Command, words: list[str], wrong: str) -> None:
    said = taskyard("work", *words)

    assert said.status == 2
    assert wrong in said.out
