"""What happens is seen as it happens, without a reload; after an interruption too."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Route, expect

import taskyard
from taskyard.sync import SyncYard
from tests.dashboard.browsing import Visit, serving, visiting
from tests.dashboard.conftest import STORES, Enter
from tests.dashboard.scenes import given_a_scene
from tests.servers import free_port
from tests.storage import url_of


@pytest.fixture
def enter(enter_anew: Enter) -> Enter:
    """Everybody has a browser of their own: what is left of another's stream would be heard here."""
    return enter_anew


def mark(visit: Visit) -> None:
    """Leave something in the page that a reload would take away."""
    visit.page.evaluate("window.isTheSame = true")


def is_the_same(visit: Visit) -> bool:
    return visit.page.evaluate("window.isTheSame === true")


def test_the_list_changes_as_tasks_come_and_go(visit: Visit, yard: SyncYard):
    visit.open("/tasks", "Tasks")
    mark(visit)

    task = yard.enqueue("code", title="Fresh one")
    visit.sees("Fresh one")
    yard.cancel(task.id, "not wanted")
    expect(visit.main.get_by_role("button", name="cancelled 1")).to_be_visible()

    assert is_the_same(visit)


def test_figures_that_the_server_had_kept_from_before_are_asked_for_again(visit: Visit, yard: SyncYard):
    visit.open("/tasks", "Tasks")
    kept = visit.page.request.get(f"{visit.address}/api/overview").body()
    shown: list[bool] = []

    def answer(route: Route) -> None:
        shown.append(len(shown) < 2)
        if shown[-1]:
            route.fulfill(body=kept, content_type="application/json")
        else:
            route.continue_()

    visit.page.route("**/api/overview", answer)
    yard.enqueue("code", title="Fresh one")

    expect(visit.main.get_by_role("button", name="ready 1")).to_be_visible(timeout=30_000)
    assert shown[:3] == [True, True, False]


def test_a_task_is_followed_while_it_is_worked_on(visit: Visit, yard: SyncYard):
    scene = given_a_scene(yard)
    visit.open(f"/tasks/{scene.running}", "Running one")
    mark(visit)

    yard.attempts.message(scene.running, scene.lease, "Looking at the tests first")
    visit.sees("Looking at the tests first")
    yard.progress(scene.running, scene.lease, {"fraction": 0.8, "message": "nearly there"})
    visit.sees("nearly there")
    yard.complete(scene.running, scene.lease, {"answer": 42})
    visit.sees("completed")
    expect(visit.main.get_by_text("42").first).to_be_visible()

    assert is_the_same(visit)


def test_a_stream_that_was_refused_is_asked_for_again(visit: Visit, yard: SyncYard):
    scene = given_a_scene(yard)
    refused: list[Route] = []

    def answer(route: Route) -> None:
        if refused:
            route.continue_()
        else:
            refused.append(route)
            route.fulfill(status=503, body="{}", content_type="application/problem+json")

    visit.page.route("**/stream*", answer)
    visit.open(f"/tasks/{scene.running}", "Running one")
    yard.streams.append(scene.running, scene.lease, [{"text": "Written by the agent"}])

    visit.sees("Written by the agent")
    assert refused


def test_another_attempt_of_a_task_that_had_ended_is_followed(visit: Visit, yard: SyncYard):
    scene = given_a_scene(yard)
    visit.open(f"/tasks/{scene.dead}", "Dead one")
    mark(visit)

    yard.dead_letters.resolve(scene.dead, "retry", by="human:olga", note="once more")
    (held,) = yard.claim("coder", start=True)
    yard.streams.append(held.id, held.lease, [{"text": "Written by the agent"}])

    visit.sees("Written by the agent")
    assert (held.id, is_the_same(visit)) == (scene.dead, True)


def test_what_happened_before_the_stream_stood_is_seen_once_it_stands(visit: Visit, yard: SyncYard):
    scene = given_a_scene(yard)
    held: list[Route] = []
    visit.page.route("**/api/events*", lambda route: held.append(route))  # noqa: PLW0108 - a builtin is refused
    visit.page.goto(f"{visit.address}/tasks/{scene.running}")
    visit.sees_heading("Running one")
    yard.progress(scene.running, scene.lease, {"fraction": 0.8, "message": "nearly there"})

    for stream in held:
        stream.continue_()

    visit.sees("nearly there")


def test_a_graph_shows_the_states_of_its_tasks_as_they_change(visit: Visit, yard: SyncYard):
    scene = given_a_scene(yard)
    visit.open(f"/dags/{scene.dag}", "A graph")
    visit.sees("0 of 3")
    yard.agents.register("planner", capabilities=["judgement"])

    (plan,) = yard.claim("planner", start=True)
    yard.complete(plan.id, plan.lease, {})

    visit.sees("1 of 3")


def test_the_overview_tells_of_a_new_problem(visit: Visit, yard: SyncYard):
    visit.open("/", "Overview")
    expect(visit.main.get_by_role("link", name="Dead letters 0")).to_be_visible()

    given_a_scene(yard)

    expect(visit.main.get_by_role("link", name="Dead letters 1")).to_be_visible()
    expect(visit.main.get_by_role("link", name="Approvals 1")).to_be_visible()


def test_a_page_that_is_paused_stands_still_and_catches_up(enter: Enter, yard: SyncYard):
    paused, watching = enter(), enter()
    for visit in (paused, watching):
        visit.open("/tasks", "Tasks")
    live = paused.page.get_by_role("switch", name=re.compile("Live"))
    live.click()
    expect(live).not_to_be_checked()

    yard.enqueue("code", title="Unseen one")
    watching.sees("Unseen one")
    expect(paused.main.get_by_text("Unseen one")).to_have_count(0)
    live.click()

    paused.sees("Unseen one")


@pytest.mark.parametrize("store", STORES)
def test_a_page_goes_on_when_its_server_was_started_again(browser: Browser, store: str, tmp_path: Path):
    url, port = url_of(store, tmp_path), free_port()
    with (
        taskyard.connect_sync(url, sweeps=False) as yard,
        visiting(browser, f"http://127.0.0.1:{port}") as visit,
    ):
        with serving(url, port):
            visit.open("/tasks", "Tasks")
            mark(visit)
        yard.enqueue("code", title="Put in meanwhile")
        with serving(url, port):
            visit.sees("Put in meanwhile")
            yard.enqueue("code", title="Put in afterwards")
            visit.sees("Put in afterwards")

        assert is_the_same(visit)
