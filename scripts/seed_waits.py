"""What stands around the tasks: DAGs that ended, providers that turn work away, and deliveries."""

from collections.abc import Callable
from typing import Any

from taskyard.app import Yard
from taskyard.core.changes import ChangeSet, RecordChange
from taskyard.core.notice import Notice
from taskyard.core.units import MINUTE
from taskyard.features.notifications.rules import PARKED, Notification

Forward = Callable[[float], None]  # puts the clock forward by so many microseconds
ENDED: tuple[tuple[str, str, list[str]], ...] = (
    ("Translate the handbook", "completed", ["handbook"]),
    ("Quarterly report", "failed", ["finance"]),
    ("Move the images to the new bucket", "cancelled", []),
    ("Import the price lists", "completed", ["nightly"]),
)


async def show_dags(yard: Yard, forward: Forward) -> None:
    """DAGs of two tasks, each with another end."""
    await yard.agents.register("planner", types=["outline"], models=["claude-haiku"])
    for title, end, tags in ENDED:
        tasks = [
            {"name": "plan", "type": "outline", "title": "Plan it", "max_attempts": 1},
            {"name": "do", "type": "outline", "title": "Do it", "max_attempts": 1, "depends_on": ["plan"]},
        ]
        dag = await yard.submit(
            {"title": title, "tags": tags, "budget_ceiling_usd": 2, "tasks": tasks}, created_by="human:bo"
        )
        forward(0.4 * MINUTE)
        for held in await yard.claim("planner", start=True):
            forward(0.3 * MINUTE)
            await yard.complete(held.id, held.lease, {}, cost_usd="0.21", model="claude-haiku")
        if end == "cancelled":
            await yard.dags.cancel(dag.id, "the bucket stays", by="human:bo")
            continue
        for held in await yard.claim("planner", start=True):
            forward(0.2 * MINUTE)
            if end == "failed":
                await yard.fail(held.id, held.lease, "agent_error", "the ledger has no March", cost_usd="0.08")
            else:
                await yard.complete(held.id, held.lease, {}, cost_usd="0.35", model="claude-haiku")


async def show_waits(yard: Yard) -> None:
    """A provider that asks for patience, a task that is tried again later, and deliveries of each kind."""
    await yard.agents.register("translator", types=["translate"], models=["gemini-pro"], max_concurrent_tasks=2)
    for title in ("Translate the release notes", "Translate the price list"):
        await yard.enqueue("translate", title=title, priority=1, model_preferences=["gemini-pro"])
    turned_away, failed = await yard.claim("translator", count=2, start=True)
    await yard.fail(turned_away.id, turned_away.lease, "rate_limit", "429: slow down", retry_after_sec=1500)
    await yard.fail(failed.id, failed.lease, "agent_error", "ValueError: half of the rows are missing")
    await yard.triggers.fire("reviews", {"body": _opened("Count each request once", 852)})
    await _give_up(yard, "Write the migration for orders died of crash", "the target answered 500")


def _opened(title: str, number: int) -> dict[str, Any]:
    return {
        "action": "opened",
        "pull_request": {"number": number, "title": title, "html_url": f"https://git.example.org/shop/pull/{number}"},
        "repository": {"full_name": "acme/shop"},
    }


async def _give_up(yard: Yard, title: str, error: str) -> None:
    """A notification that was tried for a day."""
    (letter, *_) = await yard.dead_letters.list()
    parked = Notification(
        id="notification_7F3K",
        notifier="ops",
        notice=Notice.DEAD_LETTER,
        title=title,
        text="",
        task_id=letter.task.id,
        dag_id=letter.task.dag_id,
        facts={"reason": "crash"},
        at=yard.now(),
        tries=9,
        error=error,
    )
    change = RecordChange(PARKED, yard.workspace, parked.id, 0, parked.body())
    await yard.local.ledger.commit_set(ChangeSet(records=(change,), at=yard.now()))
