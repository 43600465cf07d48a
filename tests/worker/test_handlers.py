"""What handlers get, and what becomes of what they return and raise."""

from dataclasses import dataclass

import pydantic
import pytest

import taskyard
from taskyard import Agent, Cancel, Context, Fail, Retry, Snooze, Status, SyncContext
from taskyard.app import Yard
from taskyard.core.errors import InvalidInput
from tests.worker.conftest import until, working


class Order(pydantic.BaseModel):
    name: str
    count: int = 1


@dataclass
class Bill:
    name: str
    total: float


async def test_a_handler_gets_its_task_and_its_output_is_kept(yard: Yard) -> None:
    agent = Agent("worker")

    @agent.handles("greet")
    async def greet(task: Context, payload: dict[str, str]) -> dict[str, str]:
        assert task.prompt == "be kind"
        return {"said": f"hello {payload['name']}"}

    task = await yard.enqueue("greet", prompt="be kind", payload={"name": "ada"})
    await yard.drain(agent)

    assert (await yard.get(task.id)).result == {"said": "hello ada"}


async def test_models_and_dataclasses_go_in_and_out_as_json(yard: Yard) -> None:
    agent = Agent("worker")

    @agent.handles("order")
    async def order(task: Context, payload: Order) -> Bill:
        return Bill(payload.name, payload.count * 2.5)

    task = await yard.enqueue("order", payload={"name": "tea", "count": 2})
    await yard.drain(agent)

    assert (await yard.get(task.id)).result == {"name": "tea", "total": 5.0}


async def test_a_payload_that_does_not_fit_the_handler_is_a_failure_that_says_why(yard: Yard) -> None:
    agent = Agent("worker")

    @agent.handles("order")
    async def order(task: Context, payload: Order) -> None:
        raise AssertionError("must not be reached")

    task = await yard.enqueue("order", payload={"count": 2}, max_attempts=1)
    await yard.drain(agent)

    (attempt,) = (await yard.get(task.id)).attempts
    assert attempt.reason == "invalid_input"
    assert "name" in (attempt.error or "")


async def test_a_plain_function_has_the_same_context_without_await(yard: Yard) -> None:
    agent = Agent("worker", max_concurrent_tasks=2)
    done: list[str] = []

    @agent.handles("sync")
    def work(task: SyncContext) -> dict[str, int]:
        first = task.step("first", lambda: done.append("first") or 20)
        child = task.spawn("child", wait=True)
        task.progress(0.5, "half way")
        task.spend(0.02, input_tokens=3)
        return {"sum": first + child}

    @agent.handles("child")
    def child(task: SyncContext) -> int:
        return 22

    task = await yard.enqueue("sync")
    await yard.drain(agent)

    details = await yard.get(task.id)
    assert details.result == {"sum": 42}
    assert details.to_dict()["cost_usd"] == "0.02"
    assert done == ["first"]


async def test_the_files_a_handler_names_are_handed_in_with_its_output(yard: Yard) -> None:
    agent = Agent("worker")

    @agent.handles("build")
    async def build(task: Context) -> str:
        await task.artifact("dist/page.html")
        return "built"

    task = await yard.enqueue("build")
    await yard.drain(agent)

    details = await yard.get(task.id)
    assert (details.result, details.output.artifacts) == ("built", ("dist/page.html",))


async def test_what_a_handler_raises_fails_the_attempt_with_its_words(yard: Yard) -> None:
    agent = Agent("worker")

    @agent.handles("code")
    async def code(task: Context) -> None:
        raise ValueError("no such file")

    task = await yard.enqueue("code", max_attempts=1)
    await yard.drain(agent)

    details = await yard.get(task.id)
    assert details.status is Status.DEAD_LETTERED
    assert (details.attempts[0].reason, details.attempts[0].error) == ("agent_error", "ValueError: no such file")


@pytest.mark.parametrize(
    ("raised", "status", "reason", "counted"),
    [
        (Fail("auth_failure", "bad key"), Status.DEAD_LETTERED, "auth_failure", 1),
        (Retry(after_sec=60, error="later"), Status.RETRYING, "agent_error", 1),
        (Snooze(60), Status.PENDING, None, 0),
        (Cancel("not wanted"), Status.CANCELLED, "cancelled", 0),
    ],
    ids=["fail", "retry", "snooze", "cancel"],
)
async def test_a_handler_says_how_its_attempt_ends(
    yard: Yard, raised: Exception, status: Status, reason: str | None, counted: int
) -> None:
    agent = Agent("worker")

    @agent.handles("code")
    async def code(task: Context) -> None:
        raise raised

    task = await yard.enqueue("code")
    await yard.drain(agent)

    details = await yard.get(task.id)
    assert details.status is status
    assert details.attempts[0].reason == reason
    assert details.failures == counted


@pytest.mark.parametrize(
    "failure",
    [
        Fail("r" * 200, "no way on"),
        Fail("stuck\0", "no way on"),
        Fail("stuck", "no way on", details=float("nan")),
        Retry(float("nan"), "no way on"),
    ],
    ids=["long reason", "NUL", "details", "time"],
)
async def test_a_failure_that_cannot_be_stored_as_it_is_ends_the_attempt_all_the_same(
    yard: Yard, failure: Exception
) -> None:
    agent = Agent("worker")

    @agent.handles("code")
    async def code(task: Context) -> None:
        raise failure

    task = await yard.enqueue("code", max_attempts=1)
    await yard.drain(agent)

    (attempt,) = (await yard.get(task.id)).attempts
    assert attempt.reason == "agent_error"
    assert str(attempt.error).startswith("no way on (how it failed was refused: ")


async def test_a_handler_for_everything_takes_what_no_other_does(yard: Yard) -> None:
    agent = Agent("worker", max_concurrent_tasks=2)

    @agent.handles("code")
    async def code(task: Context) -> str:
        return "code"

    @agent.handles("*")
    async def anything(task: Context) -> str:
        return f"anything: {task.type}"

    tasks = [await yard.enqueue("code"), await yard.enqueue("song")]
    await yard.drain(agent)

    assert [(await yard.get(task.id)).result for task in tasks] == ["code", "anything: song"]


async def test_steps_waits_and_children_are_found_done_by_the_next_run(yard: Yard) -> None:
    agent = Agent("worker", max_concurrent_tasks=3)
    ran: list[str] = []

    @agent.handles("story")
    async def story(task: Context) -> list[object]:
        ran.append("story")
        first = await task.step("first", lambda: ran.append("first") or 1)
        outcomes = await task.spawn_all([{"type": "good"}, {"type": "bad", "max_attempts": 1}], wait=True)
        answer = await task.wait_for("answer")
        await task.sleep(0.05)
        return [first, [child.status.value for child in outcomes], answer]

    @agent.handles("good")
    async def good(task: Context) -> str:
        return "well"

    @agent.handles("bad")
    async def bad(task: Context) -> None:
        raise Fail("crash")

    task = await yard.enqueue("story")
    await yard.drain(agent)
    await yard.signal(task.id, "answer", 42)
    await yard.drain(agent)
    await _due(yard, task.id)
    await yard.drain(agent)

    assert (await yard.get(task.id)).result == [1, ["completed", "dead_lettered"], 42]
    assert ran.count("first") == 1
    assert ran.count("story") == 4


async def _due(yard: Yard, task_id: str) -> None:
    """Wait until the task has slept and is ready again."""
    slept = False
    async for stored in yard.tail():
        if stored.event.task_id == task_id:
            slept = slept or (stored.event.event == "task.suspended" and '"time"' in (stored.event.data or ""))
            if slept and stored.event.status is Status.READY:
                return


async def test_an_attempt_that_spends_more_than_it_may_is_stopped_where_it_says_so(yard: Yard) -> None:
    agent = Agent("worker")
    went_on: list[bool] = []

    @agent.handles("dear")
    async def dear(task: Context) -> None:
        await task.spend("0.60")
        went_on.append(True)

    task = await yard.enqueue("dear", max_cost_usd="0.50")
    await yard.drain(agent)

    details = await yard.get(task.id)
    assert details.attempts[0].reason == "budget_exceeded"
    assert details.to_dict()["cost_usd"] == "0.6"
    assert went_on == []


async def test_a_session_is_handed_to_the_next_attempt_on_the_same_runtime(yard: Yard) -> None:
    agent = Agent("worker", id="fixed")
    seen: list[str | None] = []

    @agent.handles("chat")
    async def chat(task: Context) -> str:
        seen.append(task.session_id)
        if task.attempt == 1:
            await task.session("s-1", work_dir="/somewhere")
            raise Retry(after_sec=0.01)
        return "done"

    async with working(yard, agent):
        task = await yard.enqueue("chat")
        await until(yard, task.id, Status.COMPLETED)

    assert seen == [None, "s-1"]


def test_a_function_that_cannot_be_a_handler_is_refused_when_it_is_registered() -> None:
    agent = Agent("worker")

    with pytest.raises(InvalidInput, match="must take a context"):

        @agent.handles("x")
        def nothing() -> None: ...

    async def twice(task: Context) -> None: ...

    with pytest.raises(InvalidInput, match="handled twice"):
        agent.handles("a", "a")(twice)


def test_the_names_a_user_needs_are_public() -> None:
    assert sorted(taskyard.__all__) == taskyard.__all__
    assert len(taskyard.__all__) <= 37  # one more is a decision, not an accident
