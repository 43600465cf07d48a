"""A lead agent splits a question into as many parts as it needs, waits for them, and sums up.

Run it: python examples/research_team.py
"""

import asyncio
from typing import Any

import taskyard

lead = taskyard.Agent("lead")
researcher = taskyard.Agent("researcher", capabilities={"web"}, max_concurrent_tasks=3, budget_usd=1)


@lead.handles("question")
async def answer(task: taskyard.Context, payload: dict[str, Any]) -> dict[str, Any]:
    """While its parts are worked on, the question holds no slot and no money."""
    vendors: list[str] = payload["vendors"]
    parts = [{"type": "part", "payload": {"vendor": vendor}, "required_capabilities": ["web"]} for vendor in vendors]
    found: list[Any] = [child.output for child in await task.spawn_all(parts, wait=True)]
    prices = {part["vendor"]: part["price"] for part in found}
    return {"cheapest": min(prices, key=lambda vendor: prices[vendor]), "prices": prices}


@researcher.handles("part")
async def look_up(task: taskyard.Context, payload: dict[str, Any]) -> dict[str, Any]:
    price = await task.step("price", lambda: len(payload["vendor"]) * 7)  # a model's answer, in real life
    await task.spend("0.02", input_tokens=900, output_tokens=120, model="some-model")
    return {"vendor": payload["vendor"], "price": price}


async def main() -> None:
    async with taskyard.connect("memory://") as yard:
        task = await yard.enqueue("question", payload={"vendors": ["Acme", "Globex", "Initech"]})
        while (done := await yard.get(task.id)).status is not taskyard.Status.COMPLETED:
            await yard.drain(lead, researcher)
        print(done.result)
        print(await yard.verify())


if __name__ == "__main__":
    asyncio.run(main())
