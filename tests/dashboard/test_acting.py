"""Each action, done as a person does it: it says what it will do, does it, and is the same as the command it shows."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from taskyard.sync import SyncYard
from tests.dashboard.browsing import Visit
from tests.dashboard.scenes import given_a_scene


def status_of(yard: SyncYard, task_id: str) -> str:
    return yard.get(task_id).status.value


# A task


def test_a_dead_letter_is_retried_with_a_changed_prompt(visit: Visit, yard: SyncYard):
    """From the overview: three clicks and what one types."""
    scene = given_a_scene(yard)
    visit.open("/", "Overview")
    visit.main.get_by_role("link", name="Dead letters 1").click()
    visit.sees_heading("Dead letters")

    visit.act("Edit and retry", Prompt="Fix it properly", Reason="the prompt was vague")

    expect(visit.main.get_by_text("Dead one")).to_have_count(0)
    task = yard.get(scene.dead)
    assert (task.status, task.prompt) == ("ready", "Fix it properly")
    (review,) = yard.dead_letters.reviews()
    assert (review.resolution, review.note) == ("modify_and_retry", "the prompt was vague")
    assert review.reviewed_by == "human:olga"


def test_a_dead_letter_is_retried_with_other_models_cost_and_attempts(visit: Visit, yard: SyncYard):
    scene = given_a_scene(yard)
    visit.open(f"/tasks/{scene.dead}", "Dead one")

    said = {"Models": "sonnet, haiku", "Most that an attempt may cost": "0.75", "Attempts": "4"}
    visit.act("Edit and retry", **said)

    expect(visit.button("Edit and retry")).to_have_count(0)
    task = yard.get(scene.dead)
    assert (task.status, task.prompt, task.models) == ("ready", "Fix the bug", ("sonnet", "haiku"))
    assert (task.spec.constraints.max_cost, task.max_attempts) == (750_000, 4)


def test_a_dead_letter_is_retried_escalated_or_cancelled(visit: Visit, yard: SyncYard):
    scene = given_a_scene(yard)
    visit.open(f"/tasks/{scene.dead}", "Dead one")

    visit.act("Escalate", Reason="ask the team")
    visit.sees("escalate")
    assert status_of(yard, scene.dead) == "dead_lettered"
    visit.act("Retry")
    expect(visit.button("Retry")).to_have_count(0)
    assert status_of(yard, scene.dead) == "ready"
    visit.act("Cancel", confirm="Cancel the task", Reason="not wanted")
    visit.sees("cancelled")
    assert status_of(yard, scene.dead) == "cancelled"


def test_a_branch_is_cancelled_after_a_look_at_what_goes_with_it(visit: Visit, yard: SyncYard):
    scene = given_a_scene(yard)
    visit.open(f"/tasks/{scene.first}", "Plan it")

    visit.button("Cancel").click()
    expect(visit.dialog).to_contain_text("2")
    expect(
        visit.dialog.get_by_text("Build it").or_(visit.dialog.get_by_text(re.compile("task_"))).first
    ).to_be_visible()
    expect(visit.dialog.get_by_text(f"taskyard cancel {scene.first}")).to_be_visible()
    assert yard.tasks.stats()["pending"], "looking changes nothing"
    visit.confirm("Cancel 3 tasks")

    assert yard.dags.get(scene.dag).status == "cancelled"


def test_a_finished_task_is_done_again(visit: Visit, yard: SyncYard):
    scene = given_a_scene(yard)
    visit.open(f"/tasks/{scene.done}", "Done one")

    visit.act("Rerun")

    (again,) = yard.find(type="write", status="ready")
    assert again.to_dict()["rerun_of"] == scene.done


def test_a_waiting_task_is_moved(visit: Visit, yard: SyncYard):
    scene = given_a_scene(yard)
    visit.open(f"/tasks/{scene.waiting}", "Waiting one")

    visit.button("Priority").click()
    visit.dialog.get_by_role("spinbutton").fill("5")
    visit.confirm("Move it")

    visit.sees("5 (critical)")
    assert yard.get(scene.waiting).to_dict()["priority"] == 5


def test_a_task_that_asks_is_answered(visit: Visit, yard: SyncYard):
    scene = given_a_scene(yard)
    visit.open("/approvals", "Approvals")

    visit.act("Approve", Note_to_the_agent="go ahead")

    expect(visit.main.get_by_text("Asking one")).to_have_count(0)
    assert status_of(yard, scene.asking) == "ready"
    assert yard.approvals.list() == []


# Many tasks


def test_everything_that_matches_is_cancelled_after_a_look_at_it(visit: Visit, yard: SyncYard):
    for number in range(30):
        yard.enqueue("night", title=f"Night {number}")
    kept = yard.enqueue("day", title="Day")
    visit.open("/tasks?type=night", "Tasks")
    visit.sees("Night 29")

    visit.button("Cancel").click()
    expect(visit.dialog).to_contain_text("30 tasks would be cancelled")
    expect(visit.dialog.get_by_role("listitem").first).to_contain_text("Night 29")
    visit.confirm("Cancel 30 tasks", Reason="the night is over")

    expect(visit.main.get_by_role("button", name="cancelled 30")).to_be_visible()
    assert {status: found for status, found in yard.tasks.count(type="night").counts.items() if found} == {
        "cancelled": 30
    }
    assert status_of(yard, kept.id) == "ready"


def test_tasks_that_were_picked_are_moved_and_no_others(visit: Visit, yard: SyncYard):
    picked, other = yard.enqueue("code", title="Picked"), yard.enqueue("code", title="Other")
    visit.open("/tasks", "Tasks")

    visit.main.get_by_role("checkbox", name="Select Picked").check()
    visit.button("Priority").click()
    expect(visit.dialog.get_by_role("listitem")).to_have_count(1)
    expect(visit.dialog.get_by_role("listitem")).to_contain_text("Picked")
    visit.dialog.get_by_role("spinbutton").fill("7")
    visit.confirm("Priority 1 task")

    assert [yard.get(each.id).to_dict()["priority"] for each in (picked, other)] == [7, 50]


# A graph


def test_a_graph_gets_a_budget_and_is_cancelled(visit: Visit, yard: SyncYard):
    scene = given_a_scene(yard)
    visit.open(f"/dags/{scene.dag}", "A graph")

    visit.button("Budget").click()
    visit.dialog.get_by_role("textbox").fill("9")
    visit.confirm("Set it")
    assert yard.dags.get(scene.dag).budget_ceiling == 9_000_000
    visit.act("Cancel", confirm="Cancel 3 tasks")

    visit.sees("cancelled")
    assert yard.dags.get(scene.dag).status == "cancelled"


# Agents, queues, breakers, money


def test_an_agent_is_drained_resumed_given_money_and_removed(visit: Visit, yard: SyncYard):
    """From the overview: two clicks to drain it."""
    given_a_scene(yard)
    visit.open("/", "Overview")
    visit.page.get_by_role("navigation", name="Pages").get_by_role("link", name="Agents").click()

    visit.act("Drain")
    visit.sees("draining")
    visit.act("Resume")
    visit.sees("active")
    visit.button("Budget").click()
    visit.dialog.get_by_role("textbox").fill("12")
    visit.confirm("Set it")
    visit.sees("$12.00")
    visit.act("Remove")

    expect(visit.main.get_by_role("heading", name="coder")).to_have_count(0)
    assert yard.agents.list() == []


def test_a_queue_is_paused_and_resumed(visit: Visit, yard: SyncYard):
    given_a_scene(yard)
    visit.open("/queues", "Queues")

    visit.act("Pause")
    visit.sees("paused")
    assert [queue.paused for queue in yard.queues.list()] == [True]
    visit.act("Resume")
    visit.sees("flowing")
    assert [queue.paused for queue in yard.queues.list()] == [False]


def test_a_breaker_is_opened_and_closed(visit: Visit, yard: SyncYard):
    visit.open("/queues", "Queues")

    visit.act("Open one", confirm="Open it", Type_of_task="code", Why="the provider is down")
    visit.sees("the provider is down")
    assert [breaker.state for breaker in yard.breakers.list()] == ["open"]
    visit.act("Close", confirm="Close it")

    expect(visit.main.get_by_role("cell", name="closed")).to_be_visible()
    assert [breaker.state for breaker in yard.breakers.list()] == ["closed"]


def test_a_day_gets_a_budget(visit: Visit, yard: SyncYard):
    given_a_scene(yard)
    visit.open("/spend", "Spend")

    visit.act("Daily budget", confirm="Set it", **{"In_a_day,_in_dollars": "20"})

    visit.sees("$20.00")
    assert yard.budgets.show().daily_budget == 20_000_000


def test_a_schedule_is_made_run_paused_and_removed(visit: Visit, yard: SyncYard):
    visit.open("/schedules", "Schedules")

    visit.act("Add", confirm="Add it", Name="audit", When="every day at 02:30", Type="audit")
    visit.sees("audit")
    visit.act("Run now")
    (made,) = yard.find(type="audit")
    assert made.status == "ready"
    visit.act("Pause")
    visit.sees("paused")
    visit.act("Remove audit", confirm="Remove")

    visit.sees("No schedule yet")
    assert yard.schedules.list() == []
