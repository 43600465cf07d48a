"""The audit log: read, narrowed down, exported, and kept as long as an admin says."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from playwright.sync_api import expect

from taskyard.sync import SyncYard
from tests.dashboard.browsing import Visit
from tests.dashboard.conftest import Enter


def given_acts(yard: SyncYard) -> str:
    task = yard.enqueue("code", title="One")
    yard.tasks.set_priority(task.id, 5, by="human:ada")
    yard.cancel(task.id, "=1+1 \u202eno", by="human:bo")
    yard.queues.pause("gpu", by="human:ada")
    return task.id


def test_who_did_what_is_listed_and_comes_by_itself(visit: Visit, yard: SyncYard):
    task = given_acts(yard)
    visit.open("/audit", "Audit")

    rows = visit.main.get_by_role("row")
    expect(rows.filter(has_text="task.cancelled")).to_contain_text("human:bo")
    expect(rows.filter(has_text="task.cancelled")).to_contain_text("\\u202eno")
    yard.breakers.open("code", why="it burns", by="human:cy")
    expect(rows.filter(has_text="breaker.opened")).to_contain_text("it burns")
    rows.filter(has_text="task.cancelled").get_by_role("link").click()
    visit.sees_heading("One")
    assert visit.page.url.endswith(task)


def test_filters_live_in_the_address(visit: Visit, yard: SyncYard):
    given_acts(yard)
    visit.open("/audit?who=human:ada", "Audit")

    expect(visit.main.get_by_role("row").filter(has_text="human:ada")).to_have_count(2)
    expect(visit.main.get_by_role("row").filter(has_text="human:bo")).to_have_count(0)
    act = visit.main.get_by_label("Act")
    act.fill("queue.*")
    act.press("Enter")
    expect(visit.main.get_by_role("row").filter(has_text="human:ada")).to_have_count(1)
    assert "action=queue" in visit.page.url
    visit.button("Entries as a command").click()
    visit.sees("taskyard audit ls --who human:ada --action 'queue.*'")
    visit.button("Clear").click()
    visit.main.get_by_role("button", name="human:bo").click()
    expect(visit.main.get_by_role("row").filter(has_text="task.")).to_have_count(1)


@pytest.mark.parametrize("kind", ["CSV", "JSON lines"])
def test_entries_are_exported(visit: Visit, yard: SyncYard, tmp_path: Path, kind: str):
    given_acts(yard)
    visit.open("/audit?action=task.*", "Audit")
    with visit.page.expect_download() as saved:
        visit.button(kind).click()
    file = tmp_path / saved.value.suggested_filename
    saved.value.save_as(file)

    with file.open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines)) if kind == "CSV" else [json.loads(line) for line in lines]
    assert [row["action"] for row in rows] == ["task.cancelled", "task.reprioritised"]


def test_an_admin_says_how_long_entries_are_kept(visit: Visit, yard: SyncYard):
    visit.open("/audit", "Audit")

    visit.sees("Entries are kept for 400 days")
    visit.act("Keep for", confirm="Set it", Days="30")

    visit.sees("Entries are kept for 30 days")
    assert yard.audit.policy().days == 30


def test_a_viewer_learns_who_may_read_it(enter: Enter, yard: SyncYard):
    given_acts(yard)
    visit = enter("viewer")
    visit.open("/audit", "Audit")

    visit.sees("It takes an operator or an admin")
    expect(visit.main.get_by_role("row")).to_have_count(0)
