"""A coding agent's command line, as npm has it, works as a command agent whose model calls go through the gateway.

The worker is a process of its own, started as an operator starts it; the provider plays a script.
"""

import asyncio
import json
import shlex
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

import taskyard
from scripts.get_coding_agent import PROGRAM, bring
from scripts.node import command
from taskyard import Status
from tests.worker.conftest import until
from tests.worker.gateway.upstream import (
    GPT_4O_COST,
    REAL_KEY,
    SONNET_COST,
    ScriptedProvider,
    provider,
    refusal,
    streamed_completion,
    streamed_message,
)

pytestmark = pytest.mark.timeout(240)
BIN = Path(sys.executable).parent / "taskyard"
# What an operator writes for an agent that reads a file of its own, and none of the providers' variables.
WRAPPER = """
import json, os, subprocess, sys
provider, model, variable, behind = sys.argv[1:5]
task = json.load(sys.stdin)
endpoint = {{"provider": provider, "model": model, "apiKey": os.environ[f"{{variable}}_API_KEY"]}}
models = [{{"name": model, **endpoint, "apiBase": os.environ[f"{{variable}}_BASE_URL"] + behind, "roles": ["chat"]}}]
with open("agent.yaml", "w") as file:
    json.dump({{"name": "tests", "version": "1.0.0", "schema": "v1", "models": models}}, file)
words = {words!r}
sys.exit(subprocess.run([*words, "--config", "agent.yaml", "-p", task["prompt"]], stdin=subprocess.DEVNULL).returncode)
"""
MODELS = {
    "anthropic": (["anthropic", "claude-sonnet-4-5", "ANTHROPIC", "/v1/"], streamed_message, SONNET_COST),
    "openai": (["openai", "gpt-4o", "OPENAI", ""], streamed_completion, GPT_4O_COST),
}


@pytest.fixture(scope="module", autouse=True)
def brought() -> None:
    bring()


@asynccontextmanager
async def a_worker(folder: Path, url: str, upstream: ScriptedProvider, words: list[str]) -> AsyncGenerator[None]:
    node, environment = command("node", str(PROGRAM))
    (folder / "agent.py").write_text(WRAPPER.format(words=node))
    program = shlex.join([sys.executable, str(folder / "agent.py"), *words])
    keys = {"ANTHROPIC_BASE_URL": upstream.url, "OPENAI_BASE_URL": f"{upstream.url}/v1"}
    keys |= {"ANTHROPIC_API_KEY": REAL_KEY, "OPENAI_API_KEY": REAL_KEY, "CONTINUE_TELEMETRY_ENABLED": "0"}
    worker = await asyncio.create_subprocess_exec(
        *(BIN, "--url", url, "work", "--exec", program, "--gateway", "--env", "CONTINUE_TELEMETRY_ENABLED"),
        cwd=folder,
        env={**environment, **keys, "HOME": str(folder)},
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield
    finally:
        worker.send_signal(signal.SIGTERM)
        _, complaints = await worker.communicate()
        sys.stderr.write(complaints.decode())


@pytest.mark.parametrize("maker", MODELS)
async def test_it_works_through_the_gateway_and_every_call_is_paid_and_recorded(maker: str, tmp_path: Path) -> None:
    words, answer, cost = MODELS[maker]
    url = f"sqlite:///{tmp_path / 'yard.db'}"
    with provider(*[answer] * 9) as upstream:
        async with taskyard.connect(url) as yard:
            task = await yard.enqueue("code", prompt="Say hello.", max_attempts=1, max_cost_usd=1)
            async with a_worker(tmp_path, url, upstream, words):
                await until(yard, task.id, Status.COMPLETED, within=120)
            details = await yard.get(task.id)
            events = [each.event for each in await yard.events() if each.event.event == "task.message"]

    calls = len(upstream.heard)
    assert (details.result, calls >= 1) == ("Hello.", True)
    assert details.cost == calls * cost
    assert [json.loads(each.data or "{}")["kind"] for each in events] == ["model_call"] * calls
    sent = {each.headers.get("x-api-key") or each.headers["authorization"] for each in upstream.heard}
    assert sent <= {REAL_KEY, f"Bearer {REAL_KEY}"}


async def test_a_rate_limit_parks_the_task_until_the_time_that_the_provider_named(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'yard.db'}"
    limited = {"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}}
    with provider(*[refusal(429, limited, retry_after="90", x_should_retry="false")] * 9) as upstream:
        async with taskyard.connect(url) as yard:
            task = await yard.enqueue("code", prompt="Say hello.", max_attempts=1)
            async with a_worker(tmp_path, url, upstream, MODELS["anthropic"][0]):
                await until(yard, task.id, Status.RETRYING, within=120)
            details = await yard.get(task.id)

    (attempt,) = details.attempts
    assert (attempt.reason, details.failures) == ("rate_limit", 0)
    assert details.wake_at is not None
    assert details.wake_at > details.updated_at
