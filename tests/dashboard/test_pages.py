"""Each page shows what there is, and an empty one says what to do."""

from __future__ import annotations

import re

from playwright.sync_api import expect

import taskyard
from taskyard.sync import SyncYard
from tests.dashboard.browsing import Visit
from tests.dashboard.conftest import Enter, Place
from tests.dashboard.scenes import given_a_scene

PHONE = 390  # pixels
MORE = ("/audit", "/events", "/deliveries", "/waits", "/batches")
PAGES = {
    "Overview": ("Overview", ["Dead letters", "Running one"]),
    "Tasks": ("Tasks", ["Waiting one", "Done one"]),
    "DAGs": ("DAGs", ["A graph"]),
    "Dead letters": ("Dead letters", ["Dead one", "it fell over"]),
    "Approvals": ("Approvals", ["Asking one"]),
    "Agents": ("Agents and runtimes", ["coder", "python", "Running one"]),
    "Queues & breakers": ("Queues, breakers, throttles", ["default", "flowing"]),
    "Schedules & triggers": ("Schedules and triggers", ["No schedule yet"]),
    "Spend": ("Spend", ["Spent today"]),
    "Waits": ("Waits", ["Nothing is slowed down"]),
    "Events": ("Events", ["task.created"]),
    "Deliveries": ("Deliveries", ["Nothing was given up"]),
    "Audit": ("Audit", ["human:local"]),
}


def test_every_page_is_a_link_away_and_shows_what_there_is(visit: Visit, yard: SyncYard):
    given_a_scene(yard)
    visit.open("/", "Overview")

    for link, (heading, texts) in PAGES.items():
        visit.page.get_by_role("navigation", name="Pages").get_by_role("link", name=link).click()
        visit.sees_heading(heading)
        for text in texts:
            visit.sees(text)


def test_an_empty_yard_teaches_the_next_command(visit: Visit):
    for path in ("/tasks", "/dags", "/dead-letters", "/approvals", "/agents", "/schedules"):
        visit.open(path)
        expect(visit.main.get_by_text("taskyard").or_(visit.main.get_by_text("curl")).first).to_be_visible()


def test_the_overview_has_problems_first(visit: Visit, yard: SyncYard):
    given_a_scene(yard)
    visit.open("/", "Overview")

    wanted = visit.main.get_by_role("region", name="What wants attention")
    expect(wanted.get_by_role("link", name="Dead letters 1")).to_be_visible()
    expect(wanted.get_by_role("link", name="Approvals 1")).to_be_visible()
    expect(wanted.get_by_role("link", name="Oldest ready task")).to_be_visible()
    assert wanted.evaluate("each => each.parentElement.querySelector('section, nav') === each")
    wanted.get_by_role("link", name="Dead letters 1").click()
    visit.sees_heading("Dead letters")


def test_filters_of_the_list_live_in_the_address(visit: Visit, yard: SyncYard):
    given_a_scene(yard)
    visit.open("/tasks", "Tasks")

    visit.sees("Waiting one")
    visit.main.get_by_role("button", name="dead letter 1").click()
    expect(visit.page).to_have_url(re.compile("status=dead_lettered"))
    expect(visit.main.get_by_role("link", name="Waiting one")).to_have_count(0)
    visit.sees("Dead one")
    visit.page.reload()
    visit.sees("Dead one")
    expect(visit.main.get_by_role("link", name="Waiting one")).to_have_count(0)
    visit.page.go_back()
    visit.sees("Waiting one")


def test_a_payload_is_searched(visit: Visit, yard: SyncYard):
    given_a_scene(yard)
    visit.open("/tasks", "Tasks")

    visit.sees("Done one")
    visit.main.get_by_role("searchbox", name="Search titles, prompts and payloads").fill("hay")

    expect(visit.page).to_have_url(re.compile("q=hay"))
    expect(visit.main.get_by_role("link", name="Done one")).to_have_count(0)
    visit.sees("Waiting one")


def test_an_id_in_the_search_box_leads_straight_to_its_task(visit: Visit, yard: SyncYard):
    scene = given_a_scene(yard)
    visit.open("/", "Overview")

    box = visit.page.get_by_role("banner").get_by_role("searchbox")
    box.fill(scene.done)
    box.press("Enter")

    visit.sees_heading("Done one")


def test_a_task_tells_its_whole_story(visit: Visit, yard: SyncYard):
    scene = given_a_scene(yard)

    visit.open(f"/tasks/{scene.done}", "Done one")
    for text in ("completed", "coder", "opus", "$0.50", "Write it", "it was the shortest way", "Put in by human:local"):
        visit.sees(text)
    visit.open(f"/tasks/{scene.dead}", "Dead one")
    for text in ("dead letter", "it fell over", "Nobody has decided about it yet"):
        visit.sees(text)
    visit.open(f"/tasks/{scene.waiting}", "Waiting one")
    visit.sees("no agent takes code with rust")


def test_a_graph_is_drawn_timed_and_listed(visit: Visit, yard: SyncYard):
    scene = given_a_scene(yard)
    visit.open(f"/dags/{scene.dag}", "A graph")

    for name in ("Plan it", "Build it", "Sell it"):
        visit.sees(name)
    for view in ("Gantt", "List", "Graph"):
        visit.main.get_by_role("tab", name=view).click()
        visit.sees("Sell it")


def test_what_is_not_there_is_reported_as_not_there(visit: Visit):
    visit.open("/", "Overview")
    for path in ("/tasks/task_00000000000000000000000000", "/dags/dag_00000000000000000000000000", "/nowhere"):
        visit.page.goto(visit.address + path)
        expect(visit.main.get_by_text("There is no").first).to_be_visible()


# The page scrolls inside of `main`, so that the window itself is never too wide.
_WIDEST = "Math.max(...[...document.querySelectorAll('html, main, main .page')].map((each) => each.scrollWidth))"


def test_a_phone_shows_every_page_without_scrolling_sideways(enter: Enter, yard: SyncYard):
    scene = given_a_scene(yard)
    visit = enter(viewport={"width": PHONE, "height": 800})
    first = ("/", "/tasks", "/dags", "/dead-letters", "/approvals", "/agents", "/queues", "/schedules", "/spend")
    more = ("/tasks/new", "/dags/new", "/scores", "/reports", f"/tasks/{scene.dead}", f"/dags/{scene.dag}")
    for path in (*first, *MORE, *more):
        visit.open(path)
        visit.sees_heading("")
        expect(visit.page.locator("[aria-busy=true], .skeleton")).to_have_count(0)
        assert visit.page.evaluate(_WIDEST) <= PHONE, path


def test_a_phone_shows_dags_and_attempts_without_scrolling_their_tables(enter: Enter, yard: SyncYard):
    scene = given_a_scene(yard)
    visit = enter(viewport={"width": PHONE, "height": 800})
    for path, table in (("/dags", "A graph"), (f"/tasks/{scene.dead}", "it fell over")):
        visit.open(path)
        frame = visit.main.locator(".table-frame").filter(has_text=table)
        expect(frame).to_be_visible()
        assert frame.evaluate("each => each.scrollWidth <= each.clientWidth"), path


_BEYOND = """() => {
  const shown = [...document.querySelectorAll("main *")].filter((each) => !each.closest(".sr-only"));
  const last = Math.max(...shown.map((each) => each.getBoundingClientRect().bottom + window.scrollY));
  return document.scrollingElement.scrollHeight - Math.max(last, window.innerHeight);
}"""


def test_the_overview_does_not_scroll_beyond_what_it_shows(enter: Enter, yard: SyncYard):
    given_a_scene(yard)
    visit = enter(viewport={"width": 1280, "height": 500})
    visit.open("/", "Overview")
    expect(visit.main.locator("figure.chart canvas").first).to_be_visible()

    assert visit.page.evaluate(_BEYOND) < 100


def test_what_can_be_done_to_a_queue_is_in_sight_on_a_phone(enter: Enter, yard: SyncYard):
    given_a_scene(yard)
    visit = enter(viewport={"width": PHONE, "height": 800})
    visit.open("/queues", "Queues")

    box = visit.button("Pause").first.bounding_box()

    assert box is not None
    assert box["x"] + box["width"] <= PHONE


def test_agents_that_are_gone_are_folded_away(visit: Visit, yard: SyncYard):
    for number in range(3):
        yard.agents.register(f"worker-{number}", type="worker")
        yard.agents.sign_off(f"worker-{number}")
    visit.open("/agents", "Agents")

    visit.sees("3 workers offline")
    expect(visit.main.get_by_role("heading", name="worker-1")).to_be_hidden()
    visit.main.get_by_text("3 workers offline").click()
    expect(visit.main.get_by_role("heading", name="worker-1")).to_be_visible()


def test_a_moment_of_another_day_is_reported_with_its_date(visit: Visit, place: Place, yard: SyncYard):
    clock = taskyard.ManualClock()  # at New Year
    with taskyard.connect_sync(place.url, workspace=yard.workspace, sweeps=False, clock=clock) as past:
        task = past.enqueue("code", title="Old one")
    visit.open(f"/tasks/{task.id}", "Old one")

    said = visit.main.get_by_role("time").filter(has_text=re.compile(r"\d\d:\d\d")).first

    expect(said).to_contain_text(re.compile(r"\b(Jan|Dec)\b"))


def test_nothing_of_a_row_covers_another_on_a_phone(enter: Enter, yard: SyncYard):
    yard.enqueue("a-type-that-is-longer-than-any-phone-is-wide-and-then-some", title="Seen on a phone")
    visit = enter(viewport={"width": PHONE, "height": 800})
    visit.open("/tasks", "Tasks")
    row = visit.main.get_by_role("row").filter(has_text="Seen on a phone")

    parts = (".tasks-name a", ".tasks-status", ".tasks-type")
    title, status, type_ = (row.locator(part).bounding_box() for part in parts)

    assert title is not None
    assert status is not None
    assert type_ is not None
    assert title["width"] > 80
    assert status["x"] + status["width"] <= type_["x"]
