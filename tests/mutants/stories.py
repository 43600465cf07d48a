"""Short histories that lead straight to a trap, for mutants that chance alone would be long in finding.

A story that turns on the moment at which somebody else comes in between is told once for every moment.
"""

from collections.abc import Callable, Iterator

from tests.model.steps import Mishap, Step, task

MOMENTS = range(14)
ANN = Step("agents.register", {"agent_id": "ann", "max_concurrent_tasks": 9})
Story = Callable[[], Iterator[list[Step]]]


def claim(request: str, count: int = 1) -> Step:
    return Step("claim", {"agent_id": "ann", "count": count, "start": True, "request_id": request})


def task_of(number: int, **fields: object) -> Step:
    return Step("enqueue", {"id": task(number), "type": "code", **fields})


def a_heartbeat_comes_while_its_lease_expires() -> Iterator[list[Step]]:
    for moment in MOMENTS:
        beat = Step("heartbeat", {"hold": "1.1"}, process=1)
        sweep = Step("sweep", mishap=Mishap("meanwhile", moment, beat))
        yield [ANN, task_of(1, timeouts={"lease_sec": 20}), claim("a"), Step("advance", {"seconds": 25}), sweep]


def a_heartbeat_comes_while_a_late_change_is_on_its_way() -> Iterator[list[Step]]:
    pinned = Step("attempts.pin_session", {"hold": "1.1", "session_id": "s1"}, mishap=Mishap("delayed"))
    beat = Step("heartbeat", {"hold": "1.1", "progress": {"done": 0.5}, "cost_usd": "0.01"})
    yield [ANN, task_of(1), claim("a"), pinned, Step("advance", {"seconds": 5}), beat, Step("deliver", {"which": 0})]


def a_zombie_comes_back_to_a_task_in_other_hands() -> Iterator[list[Step]]:
    for verb in ("complete", "heartbeat", "release", "fail", "attempts.checkpoint"):
        given = {"name": "plan", "data": 1} if verb == "attempts.checkpoint" else {}
        taken_back = [Step("release", {"hold": "1.1"}), claim("b")]
        yield [
            ANN,
            task_of(1),
            claim("a"),
            *taken_back,
            Step("advance", {"seconds": 1}),
            Step(verb, {"hold": "1.1", **given}),
        ]


def two_producers_use_one_key_at_once() -> Iterator[list[Step]]:
    for moment in MOMENTS:
        other = Step("enqueue", {"id": task(2), "type": "code", "idempotency_key": "once"}, process=1)
        first = Step("enqueue", {**other.given, "id": task(1)}, mishap=Mishap("meanwhile", moment, other))
        yield [ANN, first]


def a_cascade_is_cut_short() -> Iterator[list[Step]]:
    for moment in range(3):
        yield [
            *(ANN, task_of(1), task_of(2, depends_on=[task(1)]), task_of(3, depends_on=[task(2)])),
            Step("cancel", {"task_id": task(1), "cascade": True}, mishap=Mishap("dies_after", moment)),
        ]


def a_queue_is_paused_by_another_process() -> Iterator[list[Step]]:
    yield [ANN, task_of(1), task_of(2), claim("a"), Step("queues.pause", {"queue": "default"}, process=1), claim("b")]


def who_was_up_for_a_key_goes_without_it() -> Iterator[list[Step]]:
    keyed = [task_of(number, concurrency_key="repo") for number in (1, 2, 3)]
    done = Step("complete", {"hold": "1.1", "output": 1})
    yield [ANN, *keyed, claim("a", 3), done, Step("cancel", {"task_id": task(2)})]


def a_sweep_dies_between_a_time_and_the_next() -> Iterator[list[Step]]:
    for moment in MOMENTS:
        yield [
            *(ANN, task_of(1), task_of(2, depends_on=[task(1)], run_after="2026-01-01T00:00:05Z")),
            Step("advance", {"seconds": 6}),
            Step("sweep", mishap=Mishap("dies_after", moment)),
            Step("advance", {"seconds": 6}),
            Step("sweep"),
        ]


def a_breaker_is_half_open() -> Iterator[list[Step]]:
    opened = [Step("breakers.open", {"type_": "code"}), Step("advance", {"seconds": 61})]
    yield [ANN, task_of(1), task_of(2), *opened, claim("a", 2)]


STORIES: dict[str, Story] = {
    story.__name__: story
    for story in (
        a_heartbeat_comes_while_its_lease_expires,
        a_heartbeat_comes_while_a_late_change_is_on_its_way,
        a_zombie_comes_back_to_a_task_in_other_hands,
        two_producers_use_one_key_at_once,
        a_cascade_is_cut_short,
        a_queue_is_paused_by_another_process,
        who_was_up_for_a_key_goes_without_it,
        a_sweep_dies_between_a_time_and_the_next,
        a_breaker_is_half_open,
    )
}
