"""A package outside of this tree adds one of everything: a store, a channel, an embedder, a provider of batches, …"""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import taskyard
from tests.plugins import toy_package
from tests.receivers import receiving

BIN = Path(sys.executable).parent / "taskyard"

START = """
import asyncio, json, sys
import taskyard
from taskyard.core.errors import InvalidInput

def show(value):
    print(json.dumps(value))
"""


@pytest.fixture
def installed(tmp_path: Path) -> dict[str, str]:
    """The variables of a process that finds the toy package beside its own."""
    folder = toy_package.install(tmp_path / "site-packages")
    return {**os.environ, "PYTHONPATH": str(folder), "TASKYARD_URL": ""}


async def run(program: str, environment: dict[str, str], *words: str) -> Any:
    """What the program prints, as JSON: it is a process of its own, so that nothing stays in this one."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        START + program,
        *words,
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        cwd=environment["PYTHONPATH"],
    )
    out, _ = await process.communicate()
    assert process.returncode == 0
    return json.loads(out)


async def test_a_url_opens_the_store_of_an_installed_package(installed: dict[str, str]):
    program = """
async def main():
    async with taskyard.connect("toy://somewhere/else") as yard:
        task = await yard.enqueue("greet")
        show([type(yard.store).__module__, yard.store.url, (await yard.get(task.id)).status.value])
asyncio.run(main())
"""
    assert await run(program, installed) == ["toyard.store", "toy://somewhere/else", "ready"]


async def test_artifacts_go_to_the_place_of_an_installed_package(installed: dict[str, str]):
    program = """
async def main():
    async with taskyard.connect("memory://", artifacts="toy://shelf") as yard:
        put = await yard.artifacts.put("notes.txt", b"hello")
        show(b"".join([piece async for piece in yard.artifacts.read(put.id)]).decode())
asyncio.run(main())
"""
    assert await run(program, installed) == "hello"


async def test_a_notification_goes_to_the_channel_of_an_installed_package(installed: dict[str, str]):
    program = """
async def main():
    async with taskyard.connect("memory://", allowed_targets=["127.0.0.1"]) as yard:
        await yard.notifications.set("me", sys.argv[1], events=["dead_letter"])
        await yard.notifications.try_out("me")
        show([each.target for each in await yard.notifications.list()])
asyncio.run(main())
"""
    async with receiving() as receiver:
        assert await run(program, installed, f"toy://127.0.0.1:{receiver.port}") == ["toy://***"]

    (received,) = receiver.received
    assert (received.path, received.body) == ("/toy", b"Test")


async def test_calls_are_batched_by_the_provider_of_an_installed_package(installed: dict[str, str]):
    program = """
agent = taskyard.Agent("reader", batch="toy", max_concurrent_tasks=5)

@agent.handles("read")
async def read(task):
    return await task.call_model({"say": task.prompt})

async def main():
    async with taskyard.connect("memory://") as yard:
        tasks = [await yard.enqueue("read", prompt=each, service="batch") for each in "ab"]
        await yard.drain(agent)
        (batch,) = await yard.provider_batches.list()
        show([batch.parts[0].provider_id, *[await yard.result(task.id) for task in tasks]])
asyncio.run(main())
"""
    said = [{"batched": {"say": "a"}}, {"batched": {"say": "b"}}]
    assert await run(program, installed) == ["toy-2", *said]


@pytest.mark.parametrize(("name", "rule"), [("nobody", "openai, anthropic, toy"), ("unfit", "no provider of batches")])
async def test_a_provider_that_is_none_is_refused_by_name(installed: dict[str, str], name: str, rule: str):
    program = f"""
try:
    asyncio.run(taskyard.connect("memory://").drain(taskyard.Agent("reader", batch="{name}")))
except InvalidInput as error:
    show(str(error))
"""
    assert rule in await run(program, installed)


async def test_finished_work_is_embedded_by_an_installed_package(installed: dict[str, str]):
    program = """
async def main():
    async with taskyard.connect("memory://", embedder="toy:", sweeps=False) as yard:
        await yard.agents.register("me")
        task = await yard.enqueue("greet", title="hello", remember=True)
        (held,) = await yard.claim("me", start=True)
        await yard.complete(held.id, held.lease)
        embedded = await yard.memory.catch_up()
        show([embedded, (await yard.memory.state()).embedder, [hit.title for hit in await yard.memory.search("x")]])
asyncio.run(main())
"""
    assert await run(program, installed) == [1, "toy:1", ["hello"]]


async def test_a_channel_of_a_package_reaches_no_address_that_is_not_allowed(installed: dict[str, str]):
    program = """
async def main():
    async with taskyard.connect("memory://") as yard:
        try:
            await yard.notifications.set("me", "toy://127.0.0.1:9", events=["dead_letter"])
        except InvalidInput as refused:
            show(str(refused))
asyncio.run(main())
"""
    assert "not public" in await run(program, installed)


async def test_a_worker_speaks_to_a_program_by_the_adapter_of_an_installed_package(
    installed: dict[str, str], tmp_path: Path
):
    url = f"sqlite:///{tmp_path / 'yard.db'}"
    async with taskyard.connect(url) as yard:
        task = await yard.enqueue("greet", prompt="world")
        worker = await asyncio.create_subprocess_exec(
            BIN, "--url", url, "work", "--adapter", "toy", "-q", env=installed, cwd=installed["PYTHONPATH"]
        )
        try:
            assert await yard.result(task.id, timeout=60) == "hello world"
        finally:
            worker.terminate()
            await worker.wait()


ADD_TRIGGER = """
async def main():
    async with taskyard.connect(sys.argv[1]) as yard:
        task = {"type": "greet", "prompt": "{{ greeting }}"}
        added = await yard.triggers.add("greeter", "toy", settings={"word": "hello"}, task=task)
        try:
            await yard.triggers.add("other", "toy", settings={}, task=task)
        except InvalidInput as refused:
            show([added.view.trigger.source, str(refused)])
asyncio.run(main())
"""


async def test_a_source_of_an_installed_package_fires_its_triggers(installed: dict[str, str], tmp_path: Path):
    url = f"sqlite:///{tmp_path / 'yard.db'}"
    source, refused = await run(ADD_TRIGGER, installed, url)
    assert source == "toy"
    assert "settings.word" in refused

    words = ["--url", url, "triggers", "listen", "toy", "moon"]
    listener = await asyncio.create_subprocess_exec(BIN, *words, env=installed, cwd=installed["PYTHONPATH"])
    try:
        # This process has no such package, and works on what the trigger made.
        async with taskyard.connect(url) as yard:
            await yard.agents.register("me", max_concurrent_tasks=2)
            (held,) = await yard.claim("me", count=2, wait_sec=60)
            assert (await yard.get(held.id)).prompt == "hello moon"
            assert [view.trigger.source for view in await yard.triggers.list()] == ["toy"]
    finally:
        listener.terminate()
        await listener.wait()
    assert listener.returncode == 0


async def test_an_error_names_what_is_built_in_and_what_is_installed(installed: dict[str, str]):
    calls = {
        'taskyard.connect("nobody://x")': ["sqlite:///", "toy://", "https://"],
        'taskyard.connect("memory://", artifacts="nobody://x")': ["s3://", "toy://"],
        'taskyard.connect("memory://", embedder="nobody:x")': ["hash:", "openai+https:", "toy:"],
        'channels.target_of("nobody://x")': ["slack://", "toy://"],
        'adapter("nobody")': ["claude", "toy"],
        'source.settings("nobody", {})': ["webhook", "files", "toy"],
        'channels.target_of("unfit://x")': ["unfit is no channel", "toyard", "taskyard.channels"],
        'adapter("broken")': ["broken of toyard cannot be loaded", "ModuleNotFoundError"],
    }
    program = """
from taskyard.features.triggers import source
from taskyard.outbound import channels
from taskyard.worker.adapters import adapter

def refused(call):
    try:
        eval(call)
    except InvalidInput as error:
        return str(error)

show([refused(call) for call in sys.argv[1:]])
"""
    said = dict(zip(calls, await run(program, installed, *calls), strict=True))

    assert {call: said[call] for call, named in calls.items() if any(name not in said[call] for name in named)} == {}


async def test_a_name_that_two_packages_offer_is_refused(installed: dict[str, str], tmp_path: Path):
    toy_package.install(tmp_path / "site-packages", "otherd", "[taskyard.stores]\ntoy = otherd.store:open_store\n")
    program = """
try:
    taskyard.connect("toy://x")
except InvalidInput as refused:
    show(str(refused))
"""
    assert "otherd and toyard" in await run(program, installed)


def test_no_metadata_of_packages_is_read_for_what_is_built_in():
    program = """
import sys, importlib.metadata
import taskyard
from taskyard.outbound import channels
def refuse(*_, **__):
    raise AssertionError("entry points were read")
importlib.metadata.entry_points = refuse
taskyard.connect("memory://", artifacts="file:///tmp")
channels.target_of("slack://a/b/c")
"""
    subprocess.run([sys.executable, "-c", program], check=True)
