"""An output that is not what was asked for is a failed attempt. No rule for it can do harm."""

from time import thread_time
from typing import Any

import pytest

from taskyard.core.errors import InvalidInput, ReportRequired
from taskyard.core.json_value import Json
from taskyard.core.task import Status
from taskyard.features.tasks.views import Held
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.yards import OpenYard, claim_that, data_of, elapse, events_of, given_a_running_task, given_an_agent, row_of

PERSON = {
    "type": "object",
    "required": ["name"],
    "properties": {"name": {"$ref": "#/$defs/name"}, "age": {"type": "integer", "minimum": 0}},
    "$defs": {"name": {"type": "string", "pattern": "^[A-Z]"}},
}


async def given_a_task_that_is_checked(yard: Yard, validation: str, rule: object, **fields: Any) -> Held:
    output = {"validation": validation, "validation_schema": rule}
    return await given_a_running_task(yard, output=output, **fields)


async def test_an_output_that_fits_its_schema_is_accepted(yard: Yard):
    held = await given_a_task_that_is_checked(yard, "json-schema", PERSON)
    receipt = await yard.complete(held.id, held.lease, {"name": "Ada", "age": 36})

    assert receipt.status is Status.COMPLETED
    assert (await events_of(yard, held.id))[-1] == "task.completed"
    assert (await data_of(yard, "task.completed"))[0]["through"] == ["validating"]


@pytest.mark.parametrize(
    ("output", "where"),
    [({}, "output"), ({"name": "ada"}, "name"), ({"name": "Ada", "age": -1}, "age"), ([], "output"), (None, "output")],
)
async def test_an_output_that_does_not_is_a_failed_attempt_that_says_why(yard: Yard, output: Json, where: str):
    held = await given_a_task_that_is_checked(yard, "json-schema", PERSON)
    receipt = await yard.complete(held.id, held.lease, output, cost_usd="0.10")

    assert (receipt.status, receipt.failures) == (Status.RETRYING, 1)
    task = await yard.get(held.id)
    assert task.attempts[0].reason == "invalid_output"
    assert (task.attempts[0].error or "").startswith(where)
    assert task.attempts[0].cost == 100_000
    assert task.output.attempt is None


async def test_what_depends_on_it_stays_blocked_until_an_output_is_accepted(yard: Yard, clock: ManualClock):
    await given_an_agent(yard)
    rule = {"validation": "regex", "validation_schema": "^ok$"}
    dag = await yard.submit(
        {
            "tasks": [
                {"name": "first", "type": "code", "output": rule},
                {"name": "second", "type": "code", "depends_on": ["first"]},
            ]
        }
    )
    held = await claim_that(yard, dag.tasks["first"].id, start=True)
    await yard.complete(held.id, held.lease, "nearly ok")
    assert (await yard.get(dag.tasks["second"].id)).status is Status.PENDING

    await elapse(yard, clock, 11)
    held = await claim_that(yard, dag.tasks["first"].id, start=True)
    await yard.complete(held.id, held.lease, "ok")
    assert (await yard.get(dag.tasks["second"].id)).status is Status.READY


async def test_a_completion_that_failed_its_check_is_answered_the_same_again(yard: Yard, clock: ManualClock):
    held = await given_a_task_that_is_checked(yard, "regex", "^ok$")
    first = await yard.complete(held.id, held.lease, "no")
    await elapse(yard, clock, 11)
    await claim_that(yard, held.id, start=True)

    assert await yard.complete(held.id, held.lease, "no") == first
    assert (await yard.get(held.id)).status is Status.RUNNING


@pytest.mark.parametrize(
    ("output", "status"),
    [
        ("all tests pass", Status.COMPLETED),
        ("PASS", Status.RETRYING),
        ({"result": "pass"}, Status.COMPLETED),
        (["pa", "ss"], Status.RETRYING),
        (None, Status.RETRYING),
    ],
)
async def test_a_regular_expression_is_looked_for_in_the_text_of_the_output(yard: Yard, output: Json, status: Status):
    held = await given_a_task_that_is_checked(yard, "regex", "pass")

    assert (await yard.complete(held.id, held.lease, output)).status is status


# Rules that could do harm


@pytest.mark.parametrize(
    ("validation", "rule", "output"),
    [
        ("regex", "^(a+)+$", "a" * 200_000 + "!"),
        ("regex", "^(a|a)*$", "a" * 200_000 + "!"),
        ("regex", "(.*)*x" * 8, "a" * 100_000),
        ("json-schema", {"pattern": "^(a+)+$"}, "a" * 200_000 + "!"),
        ("json-schema", {"items": {"pattern": "^(a|aa)+$"}}, ["a" * 60 + "!"] * 1000),
    ],
)
async def test_a_catastrophic_expression_takes_no_longer_than_any_other(
    yard: Yard, validation: str, rule: object, output: Json
):
    held = await given_a_task_that_is_checked(yard, validation, rule)
    before = thread_time()  # of this thread alone: what else the machine does is no matter
    receipt = await yard.complete(held.id, held.lease, output)
    took = thread_time() - before

    assert receipt.failures == 1
    assert took < 0.05


@pytest.mark.parametrize(
    ("validation", "rule"),
    [
        ("json-schema", {"$ref": "http://127.0.0.1:9/schema.json"}),
        ("json-schema", {"$ref": "https://json-schema.org/draft/2020-12/schema"}),
        ("json-schema", {"$ref": "other.json"}),
        ("json-schema", {"$ref": "file:///etc/passwd"}),
        ("json-schema", {"properties": {"a": {"anyOf": [{"$ref": "//host/x"}]}}}),
        ("json-schema", {"$dynamicRef": "http://127.0.0.1:9/schema.json#x"}),
        ("json-schema", {"$schema": "http://127.0.0.1:9/meta.json"}),
        ("json-schema", {"$ref": "#/$defs/nowhere"}),
        ("json-schema", {"type": "strnig"}),
        ("json-schema", {"minimum": "low"}),
        ("json-schema", {"pattern": "("}),
        ("json-schema", {"pattern": "^(?=(a+)+$)b"}),  # only a backtracking engine has these
        ("json-schema", {"pattern": "(a+)\\1"}),
        ("regex", "("),
        ("regex", "(?=a)"),
        ("regex", "(a)\\1"),
        ("regex", "((a{100}){100}){100}"),
    ],
)
async def test_a_rule_that_could_never_be_applied_is_refused_when_the_task_is_made(
    yard: Yard, validation: str, rule: object, capfd: pytest.CaptureFixture[str]
):
    with pytest.raises(InvalidInput) as refused:
        await yard.enqueue("code", output={"validation": validation, "validation_schema": rule})

    assert str(refused.value.facts["field"]).startswith("output.validation")
    assert "b'" not in str(refused.value)
    assert await yard.find() == []
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("rule", [{"$ref": "#"}, {"allOf": [{"$ref": "#"}]}])
async def test_a_schema_that_refers_to_itself_at_the_same_place_is_refused(yard: Yard, rule: object):
    with pytest.raises(InvalidInput, match="itself"):
        await yard.enqueue("code", output={"validation": "json-schema", "validation_schema": rule})


async def test_a_schema_that_refers_to_itself_further_down_comes_to_an_end(yard: Yard):
    tree = {"properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}}, "additionalProperties": False}
    held = await given_a_task_that_is_checked(yard, "json-schema", tree)

    assert (await yard.complete(held.id, held.lease, {"left": {"right": {}}})).status is Status.COMPLETED


# Decision reports


async def test_in_loki_completing_without_a_decision_report_is_refused_and_the_lease_stays_usable(
    open_yard: OpenYard, clock: ManualClock
):
    yard = await open_yard(preset="loki")
    await given_an_agent(yard, capabilities=["code"])
    task = await yard.enqueue("code")
    held = await claim_that(yard, task.id)
    before = await row_of(yard, held.id)
    with pytest.raises(ReportRequired) as refused:
        await yard.complete(held.id, held.lease, {"done": True})
    assert refused.value.facts == {"task_id": held.id}
    assert await row_of(yard, held.id) == before

    report: Json = {"why": "the tests pass", "alternatives": []}
    receipt = await yard.complete(held.id, held.lease, {"done": True}, decision_report=report)
    assert receipt.status is Status.COMPLETED
    output = (await yard.get(held.id)).to_dict()["output"]
    assert isinstance(output, dict)
    assert output["decision_report"] == report


async def test_elsewhere_a_decision_report_is_welcome_and_not_required(yard: Yard):
    held = await given_a_running_task(yard)
    await yard.complete(held.id, held.lease, decision_report="because")

    output = (await yard.get(held.id)).to_dict()["output"]
    assert isinstance(output, dict)
    assert output["decision_report"] == "because"


async def test_a_queue_may_have_the_preset_that_requires_one(yard: Yard):
    await yard.queues.set_preset("careful", "loki")
    await given_an_agent(yard, capabilities=["code"])
    task = await yard.enqueue("code", queue="careful")
    held = await claim_that(yard, task.id)

    with pytest.raises(ReportRequired):
        await yard.complete(held.id, held.lease)


@pytest.mark.parametrize("queue", [None, "careful"])
async def test_a_yard_or_a_queue_may_require_one_of_the_tasks_put_in_from_then_on(yard: Yard, queue: str | None):
    await given_an_agent(yard)
    before = await yard.enqueue("code", queue="careful")
    await yard.queues.set_report_policy(True, queue=queue)
    after = await yard.enqueue("code", queue="careful")
    assert [(each.queue, each.report_required) for each in await yard.queues.list()] == [("careful", True)]

    held = await claim_that(yard, before.id, start=True)
    await yard.complete(held.id, held.lease)
    held = await claim_that(yard, after.id, start=True)
    with pytest.raises(ReportRequired):
        await yard.complete(held.id, held.lease)
    await yard.complete(held.id, held.lease, decision_report="because")

    await yard.queues.set_report_policy(False, queue=queue)
    last = await yard.enqueue("code", queue="careful")
    held = await claim_that(yard, last.id, start=True)
    assert (await yard.complete(held.id, held.lease)).status is Status.COMPLETED


async def test_what_a_preset_requires_no_policy_lets_go(open_yard: OpenYard):
    yard = await open_yard(preset="loki")
    await given_an_agent(yard, capabilities=["code"])
    await yard.queues.set_report_policy(False)
    task = await yard.enqueue("code")
    held = await claim_that(yard, task.id)

    with pytest.raises(ReportRequired):
        await yard.complete(held.id, held.lease)


@pytest.mark.parametrize("empty", ["", {}, []])
async def test_a_report_that_says_nothing_is_none(yard: Yard, empty: Json):
    await yard.queues.set_report_policy(True)
    held = await given_a_running_task(yard)

    with pytest.raises(ReportRequired):
        await yard.complete(held.id, held.lease, decision_report=empty)


async def test_a_dead_letter_that_is_retried_still_needs_its_report(yard: Yard):
    await yard.queues.set_report_policy(True)
    held = await given_a_running_task(yard, max_attempts=1)
    await yard.fail(held.id, held.lease)
    await yard.dead_letters.resolve(held.id, "retry", by="human:ada")
    again = await claim_that(yard, held.id, start=True)

    with pytest.raises(ReportRequired):
        await yard.complete(again.id, again.lease)
