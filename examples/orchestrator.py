"""An orchestrator turns a goal into a DAG, in one stored step, and hears in its inbox what becomes of it.

Run it: python examples/orchestrator.py
"""

import asyncio
from typing import Any

import taskyard

planner = taskyard.Agent("planner", orchestrator=True)
crew = taskyard.Agent("crew", max_concurrent_tasks=3)


@planner.handles("goal")
async def decompose(task: taskyard.Context) -> dict[str, Any]:
    """Submitted once, however often this is run; news of the DAG go to this task's inbox."""
    dag_id = await task.submit(
        {
            "title": task.prompt,
            "tasks": [
                {"name": "research", "type": "research", "agent": "crew"},
                {"name": "design", "type": "design", "agent": "crew"},
                {"name": "code", "type": "code", "depends_on": ["research", "design"], "max_attempts": 1},
            ],
        }
    )
    return {"dag": dag_id}


@crew.handles("research", "design")
async def look(task: taskyard.Context) -> str:
    return f"{task.type} done"


@crew.handles("code")
async def write(task: taskyard.Context) -> str:
    if "React" in task.prompt:
        return "<main>…</main>"
    raise taskyard.Fail("agent_error", "which framework?")


async def oversee(yard: taskyard.Yard, goal: taskyard.Task) -> None:
    """What an orchestrator does once its DAG is under way: it answers what it is told of."""
    inbox = taskyard.Inbox(yard, "planner", goal.id)
    async for batch in inbox.batches():
        for item in batch.items:
            news: Any = item.content
            print(
                f"told: {news['news']} {news.get('type', '')}{news.get('status', '')} {news.get('error', '')}".rstrip()
            )
            if news["news"] == "dead_lettered":
                spec = {"prompt": "Write it in React"}
                await yard.dead_letters.resolve(news["task_id"], "modify_and_retry", by="agent:planner", spec=spec)
            elif news.get("status") == "completed":
                return


async def main() -> None:
    async with taskyard.connect("memory://") as yard:
        goal = await yard.enqueue("goal", prompt="Build a landing page")
        overseeing = asyncio.create_task(oversee(yard, goal))
        while not overseeing.done():
            await yard.drain(planner, crew)
        print(await yard.verify())


if __name__ == "__main__":
    asyncio.run(main())
