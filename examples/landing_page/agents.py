"""The studio: an orchestrator that plans, a crew that works, tests that check, and a critic that approves.

What a model would say is said by plain functions here, so that the story is the same each time.
"""

import json
import sys
from pathlib import Path
from typing import Any

import taskyard
from taskyard.worker.llm_judge import Question, judge_by_model
from taskyard.worker.test_judge import judge_by_tests

HERE = Path(__file__).parent
planner = taskyard.Agent("planner", orchestrator=True)
crew = taskyard.Agent("crew", capabilities={"html"}, max_concurrent_tasks=3)


@planner.handles("goal")
async def decompose(task: taskyard.Context, payload: dict[str, Any]) -> dict[str, Any]:
    """One goal, one DAG, one stored step. What becomes of it is told to this task's inbox."""
    client = payload["client"]
    dag_id = await task.submit(
        {
            "title": task.prompt,
            "tags": ["site"],
            "budget_ceiling_usd": 5,
            "tasks": [
                {"name": "research", "type": "research", "prompt": f"What do competitors of {client} offer?"},
                {"name": "design", "type": "design", "prompt": "Draw a wireframe."},
                {"name": "requirements", "type": "synthesis", "depends_on": ["research", "design"]},
                {
                    "name": "code",
                    "type": "code",
                    "payload": payload,
                    "depends_on": ["requirements"],
                    "required_capabilities": ["html"],
                    "retry": {"strategy": "immediate"},
                    "output": {"validation": "test-pass", "validation_schema": "page"},
                },
                {
                    "name": "release",
                    "type": "release",
                    "depends_on": ["code"],
                    "output": {"validation": "llm-judge", "validation_schema": f"Does the page speak of {client}?"},
                },
            ],
        }
    )
    return {"dag": dag_id}


@crew.handles("research", "design")
async def look(task: taskyard.Context) -> str:
    await task.spend("0.02", input_tokens=900, output_tokens=120, model="some-model")
    return f"{task.type}: three columns, one button"


@crew.handles("synthesis")
async def require(task: taskyard.Context) -> dict[str, Any]:
    return {"requirements": [given.data for given in await task.inputs()]}


@crew.handles("code")
async def write(task: taskyard.Context, payload: dict[str, Any]) -> dict[str, Any]:
    """The first draft has no title; what the tests said of it is handed to the next attempt."""
    complaints = [attempt["error"] for attempt in await task.previous_attempts()]
    title = f"<title>{payload['client']}</title>" if any("title" in str(each) for each in complaints) else ""
    return {"html": f"<!doctype html>{title}<main><h1>{payload['client']}</h1></main>"}


@crew.handles("release")
async def release(task: taskyard.Context) -> dict[str, Any]:
    page: Any = next(given.data for given in await task.inputs() if not given.ref.startswith("artifact:"))
    return {"page": await task.artifact("page.html", page["html"], media_type="text/html")}


def approve(question: Question) -> dict[str, Any]:
    """Where a model would be asked. What it is to judge is data, between two lines that only the yard knows."""
    asked = json.loads("\n".join(question.quoted.splitlines()[1:-1]))
    client = asked["rule"].removeprefix("Does the page speak of ").removesuffix("?")
    (page,) = asked["files"]  # nobody but the critic sees it yet
    good = client in page["text"]
    return {"passed": good, "reason": f"it {'speaks' if good else 'does not speak'} of {client}", "score": float(good)}


tester = judge_by_tests({"page": [sys.executable, str(HERE / "check_page.py")]}, work_dir=HERE, limit_sec=30)
critic = judge_by_model(approve)
