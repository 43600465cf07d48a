"""What a process has stored before it was killed, another does not do again."""

from pathlib import Path

from taskyard.yard import Yard
from tests.processes.crew import Crew


async def test_a_process_killed_between_two_steps_is_resumed_without_the_first(
    yard: Yard, url: str, crew: Crew, tmp_path: Path
):
    effects = tmp_path / "effects"
    await yard.agents.register("stepper")
    timeouts = {"heartbeat_sec": 1, "lease_sec": 2}
    task = await yard.enqueue("code", timeouts=timeouts, retry={"strategy": "immediate"})

    first = await crew.start("stepper", url, effects)
    assert await first.hear() == {"stored": "first"}
    await first.kill()
    second = await crew.start("stepper", url, effects)
    assert await second.hear() == {"stored": "first"}
    second.tell(go=True)
    assert await second.hear() == {"completed": task.id}

    assert effects.read_text().splitlines() == ["first", "second"]
    done = await yard.get(task.id)
    assert [step["done_by"] for step in done.result] == [first.pid, second.pid]
    assert [attempt.reason for attempt in done.attempts] == ["heartbeat_timeout", None]
