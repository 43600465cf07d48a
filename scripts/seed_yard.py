"""Fills a yard with ten days of believable work, to look around in: `python -m scripts.seed_yard URL`."""

import asyncio
import random
import sys
import time
from typing import Any, NamedTuple

import taskyard
from scripts import seed_showcase, seed_waits
from taskyard.app import Yard
from taskyard.core.json_value import Json
from taskyard.core.units import DAY, HOUR, MINUTE, SECOND, Micros
from taskyard.features.tasks.views import Held


class Kind(NamedTuple):
    """What one type of task is like."""

    agent: str
    model: str
    seconds: tuple[int, int]
    dollars: float
    titles: tuple[str, ...]


KINDS = {
    "code": Kind(
        "coder", "claude-sonnet", (60, 500), 0.16,
        ("Add retries to the billing client", "Fix the flaky login test", "Port the importer to async"),
    ),
    "review": Kind("reviewer", "claude-opus", (30, 160), 0.09, ("Review the schema change", "Look at the auth patch")),
    "research": Kind(
        "researcher", "gemini-pro", (40, 240), 0.05, ("Compare three vector stores", "What changed in the tax rules")
    ),
    "summarise": Kind("researcher", "claude-haiku", (4, 30), 0.004, ("Summarise the support thread", "Weekly digest")),
    "index": Kind("indexer", "embedding-small", (1, 8), 0.0005, ("Embed the new documents", "Refresh the index")),
}  # fmt: skip
AGENTS: dict[str, dict[str, Any]] = {
    "coder": {"types": ["code"], "capabilities": ["git", "python"], "max_concurrent_tasks": 3, "budget_usd": 90},
    "reviewer": {"types": ["review"], "capabilities": ["git", "judgement"], "budget_usd": 40},
    "researcher": {"types": ["research", "summarise"], "capabilities": ["web"], "max_concurrent_tasks": 4},
    "indexer": {"types": ["index"], "capabilities": ["embedding"], "max_concurrent_tasks": 2},
}
FAILURES = (
    ("agent_error", "ValueError: the model answered with prose instead of a diff"),
    ("timeout", "no answer from the model within 300 s"),
    ("crash", "the process ended with status 137: out of memory"),
)
PATIENT = {"lease_sec": 3600, "heartbeat_sec": 600}  # what is under way stays so while somebody looks
DRAWN: dict[str, Any] = {"required_capabilities": ["drawing"], "timeouts": PATIENT}
LAUNCH: list[dict[str, Any]] = [
    {"name": "brief", "type": "research", "title": "Read the brief"},
    {"name": "rivals", "type": "research", "title": "Look at three rivals", "depends_on": ["brief"]},
    {"name": "tone", "type": "research", "title": "Settle the tone", "depends_on": ["brief"]},
    {"name": "wire", "type": "design", "title": "Draw a wireframe", "depends_on": ["rivals"], **DRAWN},
    {"name": "copy", "type": "summarise", "title": "Write the copy", "depends_on": ["tone", "rivals"]},
    {"name": "art", "type": "design", "title": "Choose the pictures", "depends_on": ["tone"], **DRAWN},
    {"name": "page", "type": "code", "title": "Build the page", "depends_on": ["wire", "copy", "art"]},
    {"name": "form", "type": "code", "title": "Build the sign-up form", "depends_on": ["wire"]},
    {"name": "tests", "type": "review", "title": "Try it in three browsers", "depends_on": ["page", "form"]},
    {"name": "ship", "type": "deploy", "title": "Put it on staging", "depends_on": ["tests"]},
]


class PastClock:
    """A clock that is put forward by hand until it has caught up with the real one."""

    def __init__(self, behind: Micros) -> None:
        self.behind = behind

    def now(self) -> Micros:
        return Micros(time.time_ns() // 1000 - self.behind)

    def forward(self, by: float) -> None:
        self.behind = Micros(max(0, self.behind - int(by)))


class Seeding:
    def __init__(self, yard: Yard, clock: PastClock) -> None:
        self.yard = yard
        self.clock = clock
        self.dice = random.Random(7)
        self.number = 0

    async def seed(self) -> None:
        for name, facts in AGENTS.items():
            models = sorted({kind.model for kind in KINDS.values() if kind.agent == name})
            await self.yard.agents.register(name, models=models, **facts)
        await self.yard.budgets.set(daily_budget_usd=40)
        await self._days()
        await self._minutes(until=Micros(15 * MINUTE))
        dag = {"title": "Launch page for the autumn release", "budget_ceiling_usd": 5, "tasks": LAUNCH}
        await self.yard.submit(dag, created_by="human:ada")
        await self._minutes(until=Micros(9 * MINUTE))
        await seed_waits.show_dags(self.yard, self.clock.forward)
        await seed_showcase.show_work(self.yard, self.clock.forward)
        for title in ("Write the migration for orders", "Write the migration for invoices"):
            await self._die(title)
            await self._work_off("code", pace=0.1)  # or the breaker would open
        self.clock.behind = Micros(0)
        await self._now()
        await seed_showcase.stream(self.yard)
        await seed_waits.show_waits(self.yard)

    async def _days(self) -> None:
        """Hours of work, of which a working day has more."""
        while self.clock.behind > HOUR + 10 * MINUTE:
            hour = self.clock.now() % DAY // HOUR
            for _ in range(self.dice.randint(1, 5) if 7 <= hour <= 18 else self.dice.randint(0, 1)):
                await self._work_off(await self._put_in(), pace=1)
                self.clock.forward(MINUTE * self.dice.uniform(2, 9))
            self.clock.forward(min(20 * MINUTE, self.clock.behind - HOUR))
            await self.yard.sweep()

    async def _minutes(self, *, until: Micros) -> None:
        """Minute by minute, with more or less of it left over, so that the charts have something to draw."""
        while self.clock.behind > until:
            for _ in range(self.dice.randint(0, 4)):
                await self._put_in()
            for _ in range(self.dice.randint(0, 3)):
                await self._work_off(self.dice.choice(list(KINDS)), pace=0.1)
            self.clock.forward(MINUTE * 0.5)
            await self.yard.sweep()

    async def _put_in(self) -> str:
        type_ = self.dice.choices(list(KINDS), [5, 3, 4, 6, 5])[0]
        by = self.dice.choice(["human:ada", "schedule:nightly"])
        await self.yard.enqueue(type_, max_attempts=1, created_by=by, **self._spec(KINDS[type_]))
        self.clock.forward(SECOND * self.dice.uniform(0.5, 4))
        return type_

    async def _work_off(self, type_: str, *, pace: float) -> None:
        """One task, if there is one for the agent of this type."""
        for held in await self.yard.claim(KINDS[type_].agent, start=True):
            kind = KINDS.get(held.type, KINDS[type_])
            self.clock.forward(self.dice.uniform(*kind.seconds) * SECOND * pace)
            await self._end(held, kind)

    def _spec(self, kind: Kind) -> dict[str, Any]:
        self.number += 1
        return {
            "title": f"{self.dice.choice(kind.titles)} #{100 + self.number}",
            "prompt": f"Work on item {self.number} of the backlog.\nExplain what you did, and why.",
            "payload": {"item": self.number, "repository": "acme/shop"},
            "priority": self.dice.choice([10, 30, 50, 50, 50, 70, 90]),
            "subject": f"issue:{self.dice.randint(1, 400)}",
            "tags": self.dice.sample(["nightly", "customer", "shop"], k=self.dice.randint(0, 2)),
        }

    async def _end(self, held: Held, kind: Kind) -> None:
        spent: dict[str, Any] = {
            "cost_usd": f"{kind.dollars * self.dice.uniform(0.4, 2):.4f}",
            "model": kind.model,
            "tokens_input": self.dice.randint(500, 20_000),
            "tokens_output": self.dice.randint(100, 4000),
        }
        if self.dice.random() < 0.985:
            report: dict[str, Json] = {
                "decision": "changed two files",
                "confidence": round(self.dice.uniform(0.6, 0.99), 2),
            }
            await self.yard.complete(held.id, held.lease, {"files": ["src/app.py"]}, decision_report=report, **spent)
        else:
            await self.yard.fail(held.id, held.lease, *self.dice.choice(FAILURES), **spent)

    async def _die(self, title: str) -> None:
        """A task that no attempt succeeds at."""
        prompt = "Move the invoices to the new schema.\nKeep the old column until the next release."
        await self.yard.enqueue(
            "code",
            title=title,
            prompt=prompt,
            priority=1,
            payload={"table": "invoices"},
            retry={"strategy": "immediate"},
        )
        for failure in FAILURES:
            for held in await self.yard.claim("coder", start=True):
                self.clock.forward(40 * SECOND)
                await self.yard.fail(held.id, held.lease, *failure, cost_usd="0.21", model="claude-sonnet")

    async def _now(self) -> None:
        """What asks for somebody, and what is under way."""
        await self.yard.agents.register("designer", types=["design"], capabilities=["drawing"], models=["claude-opus"])
        for held in await self.yard.claim("designer", start=True):
            await self.yard.progress(held.id, held.lease, {"fraction": 0.35, "message": "the second of three drafts"})
        await self.yard.enqueue(
            "design", title="Logo for the status page", required_capabilities=["figma"], priority=20
        )
        await self.yard.agents.register("releaser", types=["deploy"], capabilities=["deploy"], budget_usd=5)
        await self.yard.enqueue("deploy", title="Roll out 4.2.1", prompt="To production, in two steps.", priority=5)
        for held in await self.yard.claim("releaser", start=True):
            await self.yard.attempts.message(
                held.id, held.lease, "Built and checked. I wait for a person before production."
            )
            await self.yard.attempts.ask(
                *(held.id, held.lease, "release", "May I roll 4.2.1 out to everybody?"),
                answer_schema=seed_showcase.RELEASE,
                who=["role:operator"],
                timeout_sec=7200,
                default={"approved": False, "channel": "canary"},
                context={"canary": {"hours": 2, "calls": 10_412, "errors": 3}},
            )
        for title, note in (
            ("Make the export stream rows", "reading the failing test"),
            ("Extract the limiter", "running the suite"),
        ):
            await self.yard.enqueue("code", title=title, prompt="In small steps.", timeouts=PATIENT, priority=10)
            for held in await self.yard.claim("coder", start=True):
                await self.yard.progress(
                    held.id, held.lease, {"fraction": round(self.dice.uniform(0.3, 0.8), 2), "message": note}
                )
                await self.yard.attempts.message(
                    held.id, held.lease, "The fixture leaks a connection: I close it first."
                )
        await self.yard.schedules.add(
            "audit", "every Monday at 09:00 Europe/Berlin", task={"type": "code", "title": "Audit the dependencies"}
        )
        await self.yard.schedules.add("digest", "every weekday at 17:30", task={"type": "summarise", "title": "Digest"})
        await self.yard.triggers.add("reviews", "webhook", ready_made="pull-request-opened")
        for name in ("coder", "researcher", "indexer", "releaser"):
            await self.yard.agents.heartbeat(name)  # the reviewer has fallen silent
        await self.yard.breakers.open(
            "research", why="five failures in a row: the provider answers 529", by="human:ada"
        )
        await self.yard.queues.pause("nightly", by="human:ada")
        await self.yard.agents.drain("indexer", by="human:ada")
        await self.yard.sweep()


async def seed(url: str) -> None:
    clock = PastClock(Micros(10 * DAY))
    async with taskyard.connect(url, clock=clock, sweeps=False) as yard:
        await Seeding(yard, clock).seed()


if __name__ == "__main__":
    asyncio.run(seed(sys.argv[1]))
