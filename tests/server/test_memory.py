"""Memory over HTTP: whose tasks a token finds."""

from pathlib import Path

from taskyard.ledger.clock import ManualClock
from taskyard.ledger.options import Options
from taskyard.stores.memory import MemoryStore
from taskyard.yard import local_yard
from tests.server.calling import calling
from tests.yards import given_a_running_task


async def test_an_agents_token_finds_tasks_of_types_that_it_was_granted(clock: ManualClock, tmp_path: Path):
    options = Options(sweeps=False, transcripts=tmp_path, embedder="hash:")
    async with local_yard(MemoryStore(clock=clock), options) as yard:
        for type_ in ("code", "secret"):
            held = await given_a_running_task(yard, type_, title="Migrate the invoices", remember=True)
            await yard.complete(held.id, held.lease)
        await yard.memory.catch_up()
        agent = await yard.tokens.create("a", "agent", agent="worker", types=["code"])
        viewer = await yard.tokens.create("v", "viewer")

        found: dict[str, list[str]] = {}
        for name, token in (("agent", agent.text), ("viewer", viewer.text)):
            async with calling(yard, token) as client:
                hits = (await client.get("/api/memory/search", params={"text": "invoices"})).json()["hits"]
                found[name] = sorted(hit["type"] for hit in hits)

    assert found == {"agent": ["code"], "viewer": ["code", "secret"]}
