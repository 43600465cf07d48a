"""A process that waits for work hears of what another puts in, without looking for it."""

from taskyard.yard import Yard
from tests.processes.crew import Crew


async def test_a_waiting_claim_is_woken_by_another_process(yard: Yard, url: str, crew: Crew):
    await yard.agents.register("waiter")
    waiter = await crew.start("waiter", url, "waiter")
    waiting = await waiter.hear()
    assert waiting["waiting"] > 3000, "the claim would look again by itself"

    task = await yard.enqueue("code")

    # What woke it may have been our registration; then it waits again.
    while "waiting" in (heard := await waiter.hear()):
        pass
    assert heard == {"claimed": task.id}
