"""Work is put in with the browser: tasks, DAGs, schedules and triggers, each tried before and refused in place."""

from __future__ import annotations

import json
import re
import time

import httpx
from playwright.sync_api import Locator, expect

from taskyard.ledger.signing import signed
from taskyard.sync import SyncYard
from tests.dashboard.browsing import Visit
from tests.dashboard.conftest import Enter
from tests.dashboard.scenes import given_a_scene


def editor(visit: Visit) -> Locator:
    return visit.page.get_by_role("textbox", name=re.compile("^The (task|DAG)"))


def test_a_task_is_put_in_by_its_form(visit: Visit, yard: SyncYard):
    given_a_scene(yard)
    visit.open("/tasks", "Tasks")
    visit.main.get_by_role("link", name="New task").click()
    visit.sees_heading("New task")

    visit.main.get_by_label("Type", exact=True).fill("write")
    visit.main.get_by_label("Title", exact=True).fill("A new one")
    visit.main.get_by_label("Prompt", exact=True).fill("Write something")
    visit.main.get_by_label("Priority, lower goes first").fill("7")
    visit.button("Dry run").click()
    expect(visit.main.get_by_role("region", name="What it would come to")).to_contain_text("$0.50")
    assert yard.find(type="write", status="ready") == []
    visit.button("Put it in").click()

    visit.sees_heading("A new one")
    (task,) = yard.find(type="write", status="ready")
    assert (task.prompt, task.priority) == ("Write something", 7)


def test_the_editor_completes_fields_and_values_from_the_schema(visit: Visit):
    visit.open("/tasks/new", "New task")
    visit.main.get_by_role("tab", name="JSON").click()
    editor(visit).fill("")
    editor(visit).press_sequentially('{"typ')
    listbox = visit.main.get_by_role("listbox", name="What may come here")
    expect(listbox.get_by_role("option", name='"type"')).to_be_visible()
    editor(visit).press("Enter")
    editor(visit).press_sequentially('"code", "ded')
    editor(visit).press("Enter")
    editor(visit).press("Control+Space")
    listbox.get_by_role("option", name='"payload"').click()
    editor(visit).press_sequentially("}")

    expect(editor(visit)).to_have_value('{"type": "code", "dedup": "payload"}')
    expect(visit.button("Put it in")).to_be_enabled()


def test_what_is_wrong_is_named_by_field_and_rule(visit: Visit):
    visit.open("/tasks/new", "New task")
    visit.main.get_by_role("tab", name="JSON").click()

    editor(visit).fill('{"type": "code", "colour": 1}')
    visit.sees("is not a field that is known here")
    editor(visit).fill('{"type": "code"')
    visit.sees("is no JSON yet")
    editor(visit).fill('{"type": "code", "priority": 900}')
    visit.button("Put it in").click()

    expect(visit.main.get_by_role("alert")).to_contain_text("priority")


def test_another_task_like_this_one_begins_as_it_did(visit: Visit, yard: SyncYard):
    scene = given_a_scene(yard)
    visit.open(f"/tasks/{scene.dead}", "Dead one")
    visit.main.get_by_role("link", name="Again like this one").click()

    visit.sees_heading("New task")
    expect(visit.main.get_by_label("Prompt", exact=True)).to_have_value("Fix the bug")
    visit.main.get_by_label("Title", exact=True).fill("Second try")
    visit.button("Put it in").click()
    visit.sees_heading("Second try")

    (task,) = yard.find(text="Second try")
    assert (task.type, task.prompt, task.max_attempts) == ("code", "Fix the bug", 3)


def test_a_dag_is_tried_corrected_and_put_in(visit: Visit, yard: SyncYard):
    visit.open("/dags/new", "New DAG")
    tasks = [{"name": "a", "type": "x", "depends_on": ["b"]}, {"name": "b", "type": "y", "depends_on": ["a"]}]
    editor(visit).fill(json.dumps({"title": "Round", "tasks": tasks}))
    visit.sees("A cycle: a, b")
    visit.button("Dry run").click()
    expect(visit.main.locator(".note.tone-bad").last).to_contain_text("cycle")

    tasks[0]["depends_on"] = ["nobody"]
    editor(visit).fill(json.dumps({"title": "Round", "tasks": tasks}))
    visit.sees("nobody is no task of this DAG")
    tasks[0]["depends_on"] = []
    editor(visit).fill(json.dumps({"title": "Round", "tasks": tasks}))
    visit.button("Dry run").click()
    expect(visit.main.get_by_role("region", name="What it would come to")).to_contain_text("a → b")
    visit.button("Put it in").click()

    visit.sees_heading("Round")
    assert [dag.title for dag in yard.dags.list()] == ["Round"]


def test_a_dag_like_another_has_its_tasks_and_dependencies(visit: Visit, yard: SyncYard):
    given_a_scene(yard)
    visit.open("/dags", "DAGs")
    visit.main.get_by_role("link", name="Again like A graph").click()
    visit.sees_heading("New DAG")

    draft = json.loads(editor(visit).input_value())
    assert [task["type"] for task in draft["tasks"]] == ["plan", "build", "sell"]
    assert draft["tasks"][1]["depends_on"] == [draft["tasks"][0]["name"]]
    visit.button("Put it in").click()
    visit.sees_heading("A graph")

    assert [dag.title for dag in yard.dags.list()] == ["A graph", "A graph"]


def test_a_schedule_is_added_with_its_next_times_and_changed(visit: Visit, yard: SyncYard):
    visit.open("/schedules", "Schedules")
    visit.main.get_by_role("button", name="Add", exact=True).first.click()
    visit.dialog.get_by_label("Name", exact=True).fill("nightly")
    visit.dialog.get_by_label("When", exact=True).fill("30 2 * * *")
    visit.dialog.get_by_label("Time zone").select_option("Europe/Berlin")
    expect(visit.dialog.get_by_text("every day at 02:30, Europe/Berlin")).to_be_visible()
    expect(visit.dialog.get_by_role("list", name="Next times").get_by_role("listitem")).to_have_count(5)
    visit.dialog.get_by_label("Times that were missed").select_option("skip")
    visit.dialog.get_by_label("Type", exact=True).fill("report")
    visit.confirm("Add it")
    visit.sees("every day at 02:30")
    visit.button("Edit nightly").click()
    visit.dialog.get_by_label("When", exact=True).fill("every weekday at 9am")
    visit.confirm("Change it")
    visit.sees("every weekday at 9am")

    (found,) = yard.schedules.list()
    assert (found.schedule.timing.cron, found.schedule.timing.zone) == ("0 9 * * 1-5", "Europe/Berlin")
    assert (found.schedule.misfire.value, found.schedule.template) == (
        "skip",
        {"task": {"type": "report", "prompt": ""}},
    )


def deliver(visit: Visit, yard: SyncYard, secret: str) -> None:
    """A delivery to the only hook, signed with this secret."""
    (hook,) = yard.triggers.list()
    body, stamp = b"{}", int(time.time())
    signature = signed(secret, "msg_1", stamp, body)
    headers = {"webhook-id": "msg_1", "webhook-timestamp": str(stamp), "webhook-signature": signature}
    httpx.post(f"{visit.address}/api/hooks/{hook.trigger.path}", content=body, headers=headers).raise_for_status()


def test_a_trigger_is_added_and_the_secret_of_a_hook_shown_once(visit: Visit, yard: SyncYard):
    visit.open("/schedules?new=trigger", "Schedules")
    visit.dialog.get_by_label("Name", exact=True).fill("reviews")
    visit.dialog.get_by_label("Type", exact=True).fill("review")
    visit.dialog.get_by_role("button", name="Add it").click()
    expect(visit.page.get_by_role("heading", name="The secret of the hook")).to_be_visible()
    deliver(visit, yard, visit.dialog.locator("code").inner_text())
    assert [task.type for task in yard.find()] == ["review"]
    visit.dialog.get_by_role("button", name="I have it").click()
    visit.sees("reviews")
    visit.button("Edit reviews").click()
    visit.dialog.get_by_label("Only where (JSON)").fill('{"action": "opened"}')
    visit.confirm("Change it")

    (found,) = yard.triggers.list()
    assert dict(found.trigger.only) == {"action": "opened"}


def test_a_viewer_sees_why_nothing_can_be_put_in(enter: Enter):
    visit = enter("viewer")
    visit.open("/tasks/new", "New task")
    visit.main.get_by_label("Type", exact=True).fill("code")

    expect(visit.button("Put it in")).to_be_disabled()
    visit.sees("You are signed in as viewer")
