"""Several processes write to one inbox and read from it, one dies with a batch in its hands, and nothing is lost."""

import asyncio

from taskyard.yard import Yard
from tests.processes.correspondent import INBOX
from tests.processes.crew import Crew, Member

ITEMS = 45  # that each of two writes: together below the limit from which on the oldest would be dropped


async def test_what_two_processes_write_and_read_is_read_once_though_a_third_dies(yard: Yard, url: str, crew: Crew):
    mortal = await crew.start("correspondent", url, "mortal")
    lasting = [await crew.start("correspondent", url, f"lasting-{number}") for number in range(2)]
    theirs = [f"lasting-{number}.{item}" for number in range(2) for item in range(ITEMS)]
    wanted = sorted(["held", *theirs])
    consumed: list[str] = []

    async def listen(member: Member) -> None:
        while len(consumed) < len(wanted):
            consumed.extend((await member.hear())["read"])

    await yard.inbox.put(*INBOX, "held")
    mortal.tell(write=0, dies=True)
    assert (await mortal.hear())["holding"] == ["held"]
    await mortal.kill()
    for member in lasting:
        member.tell(write=ITEMS, dies=False)
    listening = [asyncio.create_task(listen(member)) for member in lasting]
    async with asyncio.timeout(60):
        await asyncio.wait(listening, return_when=asyncio.FIRST_COMPLETED)
    for each in listening:
        each.cancel()
    await asyncio.wait(listening)

    assert sorted(consumed) == wanted
    (view,) = await yard.inbox.list()
    assert (view.queue_len, view.held) == (0, 0)
