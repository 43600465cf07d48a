"""Files that handlers make."""

from pathlib import Path

from taskyard.app import Yard
from taskyard.worker.context import Context
from taskyard.worker.handlers import Agent
from tests.files import content_of


async def test_a_file_that_a_handler_stores_is_handed_in_with_its_output(yard: Yard, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("<h1>Done</h1>")
    agent = Agent("worker")

    @agent.handles("build")
    async def build(task: Context) -> str:
        await task.artifact("notes.md", "a draft")
        await task.artifact("notes.md", "# Notes", media_type="text/markdown")
        return await task.artifact("page.html", tmp_path / "page.html")

    task = await yard.enqueue("build")
    await yard.drain(agent)

    details = await yard.get(task.id)
    found = {each.name: each for each in await yard.artifacts.list(task_id=task.id)}
    assert details.result == found["page.html"].reference
    assert sorted(details.output.artifacts) == sorted(each.reference for each in found.values())
    assert await content_of(yard, found["notes.md"].id) == b"# Notes"
    assert await content_of(yard, found["page.html"].id) == b"<h1>Done</h1>"


async def test_a_plain_function_stores_files_too_and_those_of_a_failed_attempt_are_not_seen(yard: Yard) -> None:
    agent = Agent("worker")

    @agent.handles("build")
    def build(task: Context) -> str:
        task.artifact("log.txt", f"attempt {task.attempt}")  # pyright: ignore[reportUnusedCoroutine]
        if task.attempt == 1:
            raise ValueError("not yet")
        return "built"

    task = await yard.enqueue("build", retry={"strategy": "immediate"})
    await yard.drain(agent)

    (log,) = await yard.artifacts.list(task_id=task.id)
    assert await content_of(yard, log.id) == b"attempt 2"


async def test_the_next_task_reads_what_the_one_before_made(yard: Yard) -> None:
    agent, read = Agent("worker"), list[bytes]()

    @agent.handles("draw")
    async def draw(task: Context) -> None:
        await task.artifact("plan.svg", "<svg/>")

    @agent.handles("build")
    async def build(task: Context) -> None:
        refs = [given.ref for given in await task.inputs() if given.ref.startswith("artifact:")]
        read.extend([await content_of(yard, ref) for ref in refs])

    await yard.submit({"tasks": [{"name": "plan", "type": "draw"}, {"type": "build", "depends_on": ["plan"]}]})
    await yard.drain(agent)

    assert read == [b"<svg/>"]
