"""Words for tests of the gateway: programs that call models, and what became of their tasks."""

import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

import taskyard
from taskyard import Agent
from taskyard.app import Yard
from taskyard.features.tasks.views import Details
from taskyard.worker.command import Command, command_agent
from taskyard.worker.gateway.attempt_endpoint import Gateway

# What every program begins with: a call by the variables that the providers' own libraries read.
PRELUDE = """
import http.client, json, os, sys
from urllib.parse import urlsplit

def open_call(maker, path, body=None, key=None, method="POST"):
    base = urlsplit(os.environ[f"{maker}_BASE_URL"])
    connection = http.client.HTTPConnection(base.netloc, timeout=60)
    headers = {"x-api-key": key or os.environ[f"{maker}_API_KEY"], "content-type": "application/json"}
    if maker == "OPENAI":
        headers["authorization"] = "Bearer " + headers.pop("x-api-key")
    text = body if isinstance(body, bytes) else json.dumps(body or {}).encode()
    connection.request(method, base.path + path, text, headers)
    return connection.getresponse()

def call(*words, **more):
    answer = open_call(*words, **more)
    return answer.status, answer.read().decode()

def ask(maker, path, **body):
    status, text = call(maker, path, {"model": "asked-for", **body})
    return status, text if body.get("stream") else json.loads(text)

MESSAGES, CHAT, RESPONSES = ("ANTHROPIC", "/v1/messages"), ("OPENAI", "/chat/completions"), ("OPENAI", "/responses")
"""


@pytest.fixture
async def yard() -> AsyncIterator[Yard]:
    async with taskyard.connect("memory://") as yard:
        yield yard
        verified = await yard.verify()
        assert verified.ok, str(verified)


def program(gateway: Gateway, text: str, **how: Any) -> Agent:
    """An agent whose work is done by this Python program, which calls models through the gateway."""
    command = Command(words=[sys.executable, "-c", PRELUDE + text], gateway=gateway, **how)
    return command_agent(Agent("program", max_concurrent_tasks=2), command)


async def outcome(yard: Yard, agent: Agent, **fields: Any) -> Details:
    fields.setdefault("max_attempts", 1)
    task = await yard.enqueue("code", **fields)
    await yard.drain(agent)
    return await yard.get(task.id)


def touched(path: Path) -> str:
    """The statement of a program that says how far it has come."""
    return f"open({str(path)!r}, 'w').close()"
