"""Provider batches from a shell."""

import asyncio

import taskyard as library
from tests.cli.conftest import Command


async def _sent(url: str) -> str:
    """A batch that was sent, with the call of the task that is there."""
    async with library.connect(url) as yard:
        await yard.agents.register("reader")
        (held,) = await yard.claim("reader", start=True)
        await yard.provider_batches.join(
            held.id, held.lease, "call", provider="openai:host", group="gpt-4o", request={"n": 1}, gather_sec=0
        )
        (batch,) = await yard.claim("reader", start=True)
        await yard.provider_batches.sent(batch.id, batch.lease, "key", provider_id="batch_abc", calls=1)
        return batch.id


def test_a_batch_is_listed_shown_and_the_reason_of_its_tasks(taskyard: Command, url: str) -> None:
    task = taskyard("enqueue", "read", "--service", "batch", "--json").json["id"]
    assert "none" in taskyard("batches", "ls").out
    assert taskyard("show", task, "--json").json["service"] == "batch"
    batch = asyncio.run(_sent(url))

    assert ("batch_abc" in taskyard("batches", "ls").out, taskyard("batches", "ls", "--json").json[0]["id"]) == (
        True,
        batch,
    )
    shown = taskyard("batches", "show", batch)
    assert ("batch_abc" in shown.out, "openai:host" in shown.out) == (True, True)
    assert "in provider batch batch_abc since" in taskyard("why", task).out
    refused = taskyard("enqueue", "read", "--service", "cheap")
    assert (refused.status, "service" in refused.out) == (2, True)
