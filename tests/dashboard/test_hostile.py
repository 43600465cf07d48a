"""What agents and callers write is shown as text, wherever it is shown."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from taskyard.sync import SyncYard
from taskyard.visible_text import OBEYED, visible
from tests.dashboard.browsing import Visit
from tests.dashboard.conftest import Enter, Place
from tests.dashboard.hostile import HOSTILE
from tests.dashboard.scenes import count_events

AT_ONCE = 25  # texts in the long fields of one task
SHORT = 60  # characters that fit where names are short


def test_there_are_three_hundred_of_them():
    assert len(set(HOSTILE)) >= 300


def test_no_text_is_ever_more_than_text(visit: Visit, yard: SyncYard):
    """Every text is a title, and part of every other field that anybody can write."""
    tasks = {first: given_a_hostile_task(yard, first) for first in range(0, len(HOSTILE), AT_ONCE)}
    yard.enqueue_many([{"type": "code", "title": text} for text in HOSTILE])
    dag = yard.submit({"title": HOSTILE[0], "tasks": [{"type": "code", "title": text} for text in HOSTILE[:100]]})

    for path in (
        "/tasks",
        "/",
        "/dead-letters",
        "/approvals",
        "/agents",
        "/queues",
        "/spend",
        "/dags",
        f"/dags/{dag.id}",
    ):
        visit.open(path)
    for first, task in tasks.items():
        visit.open(f"/tasks/{task}")
        expect(visit.main).to_contain_text(visible(HOSTILE[first]))
        expect(visit.main.get_by_role("heading", name="Attempts")).to_be_visible()
    visit.open("/tasks", "Tasks")
    scroll_through(visit)

    assert foreign_elements(visit) == []


def test_what_hides_or_turns_around_a_title_is_shown_as_an_escape(visit: Visit, yard: SyncYard):
    task = yard.enqueue("code", title="invoice\u202egnp.exe \x1b[2J zero\u200bwidth")
    dag = yard.submit({"title": "graph\u2066x", "tasks": [{"type": "code"}]})
    shown = "invoice\\u202egnp.exe \\u001b[2J zero\\u200bwidth"

    visit.open("/tasks", "Tasks")
    visit.sees(shown)
    visit.open(f"/tasks/{task.id}", shown)
    assert visit.page.title().startswith(shown)
    visit.open("/dags", "DAGs")
    visit.sees("graph\\u2066x")
    visit.open(f"/dags/{dag.id}", "graph\\u2066x")


MARK = "x\u202ey\u2066z\x1b\u200b"
# Every text of the page, and every attribute that says something; what is filled into a field stays as it is.
OBEYED_ON_THE_PAGE = """([wanted]) => {
  const obeyed = new RegExp(wanted, "u"), found = [];
  const walk = document.createTreeWalker(document.documentElement, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT);
  for (let node = walk.nextNode(); node !== null; node = walk.nextNode()) {
    const said = node.nodeType === Node.TEXT_NODE ? [node.data]
      : ["title", "alt", "placeholder", "aria-label", "aria-description"].map((name) => node.getAttribute(name) ?? "");
    found.push(...said.filter((text) => obeyed.test(text)));
  }
  return found;
}"""


@pytest.mark.parametrize("width", [1280, 390])
def test_no_text_of_any_field_is_obeyed_on_any_page(enter: Enter, place: Place, yard: SyncYard, width: int):
    visit = enter(viewport={"width": width, "height": 800})
    paths = given_marks_everywhere(yard, place.url)
    wanted = "[" + "".join(rf"\u{{{first:x}}}-\u{{{last:x}}}" for first, last in OBEYED) + "]"

    for path, words in paths.items():
        visit.open(path)
        visit.sees(words)
        expect(visit.page.locator("[aria-busy=true]")).to_have_count(0)
        assert visit.page.evaluate(OBEYED_ON_THE_PAGE, [wanted]) == [], path


def given_marks_everywhere(yard: SyncYard, url: str) -> dict[str, str]:
    """Every page that has texts of others, with something that is seen there once they are shown."""
    document: dict[str, Any] = {MARK: [MARK, {MARK: MARK}]}
    yard.runtimes.register(MARK, hostname=MARK, version=MARK, pid=7)
    yard.agents.register(
        MARK, "t", capabilities=[MARK], models=[MARK], max_concurrent_tasks=9, budget_usd=5, runtime_id=MARK
    )
    fields: dict[str, Any] = {
        "title": MARK, "prompt": MARK, "payload": document, "tags": [MARK], "agent": "t", "subject": MARK,
        "queue": MARK, "created_by": f"human:{MARK}", "max_attempts": 1,
    }  # fmt: skip
    yard.enqueue(MARK, **fields, concurrency_key=MARK)
    (dead,) = yard.claim(MARK, start=True)
    yard.attempts.message(dead.id, dead.lease, MARK)
    yard.attempts.pin_session(dead.id, dead.lease, session_id=MARK, work_dir=MARK)
    yard.fail(dead.id, dead.lease, "crash", MARK, details=document, model=MARK, cost_usd="0.01")
    yard.enqueue(MARK, **fields)
    (done,) = yard.claim(MARK, start=True)
    yard.complete(done.id, done.lease, document, cost_usd="0.02", model=MARK, decision_report={MARK: MARK})
    yard.enqueue(MARK, **fields)
    (asking,) = yard.claim(MARK, start=True)
    yard.attempts.wait_for(asking.id, asking.lease, MARK, MARK, timeout_sec=600)
    yard.enqueue(MARK, **fields)
    (running,) = yard.claim(MARK, start=True)
    yard.progress(running.id, running.lease, {"fraction": 0.5, "message": MARK})
    dag = yard.submit({"title": MARK, "tasks": [{"type": MARK, "title": MARK}, {"type": MARK, "title": MARK}]})
    yard.breakers.open(MARK, why=MARK, by=f"human:{MARK}")
    yard.queues.pause(MARK, by=f"human:{MARK}")
    yard.schedules.add("nightly", "every day at 09:00", task={"type": MARK, "title": MARK}, by=f"human:{MARK}")
    count_events(url, lambda: yard.budgets.report(days=1).by_type)
    seen = visible(MARK)
    pages = ("/", "/tasks", "/dags", "/dead-letters", "/approvals", "/agents", "/queues", "/schedules", "/spend")
    ids = (f"/tasks/{each.id}" for each in (dead, done, asking, running))
    return {**dict.fromkeys(pages, seen), **dict.fromkeys(ids, seen), f"/dags/{dag.id}": seen}


def given_a_hostile_task(yard: SyncYard, first: int) -> str:
    """One that has said these texts wherever it could, and died."""
    texts = HOSTILE[first : first + AT_ONCE]
    short = [text[:SHORT].strip() or "x" for text in texts]
    agent = f"agent {first} {short[0]}"
    whole = "\n".join(texts)
    document: dict[str, Any] = {text[:200]: text for text in texts}
    yard.agents.register(agent, f"type {first}", capabilities=short[:5], models=short[:3], max_concurrent_tasks=5)
    yard.enqueue(
        f"type {first} {short[1]}", title=texts[0], prompt=whole, payload=document, tags=short[:5],
        agent=f"type {first}", subject=short[2], context_refs=short[:3], max_attempts=1, concurrency_key=short[4],
        queue=f"queue {first} {short[3]}", created_by=f"human:{short[0]}",
    )  # fmt: skip
    (held,) = yard.claim(agent, start=True)
    yard.progress(held.id, held.lease, {"fraction": 0.5, "message": texts[1]})
    for text in texts:
        yard.attempts.message(held.id, held.lease, text)
    yard.attempts.pin_session(held.id, held.lease, session_id=short[0], work_dir=short[1])
    yard.fail(held.id, held.lease, short[2][:40], whole, details=document, model=short[0], cost_usd="0.01")
    yard.enqueue(f"ask {first} {short[5]}", title=texts[2], prompt=whole, agent=f"type {first}")
    (asking,) = yard.claim(agent, start=True)
    yard.attempts.wait_for(asking.id, asking.lease, short[0], short[1], timeout_sec=600)
    return held.id


def scroll_through(visit: Visit) -> None:
    """Past every row: those that are out of sight are not drawn."""
    box = visit.main.get_by_role("grid", name="Tasks, newest first")
    expect(box.get_by_role("row").nth(5)).to_be_visible()
    box.hover()
    for _ in range(20):
        visit.page.mouse.wheel(0, 1000)
    expect(box.get_by_role("row").nth(5)).to_be_visible()


def foreign_elements(visit: Visit) -> list[str]:
    """Elements that no page of ours has."""
    wanted = (
        "iframe, object, embed, portal, marquee, xss, base, math, template, [onerror], [onload], [href^=javascript]"
    )
    return visit.page.eval_on_selector_all(wanted, "found => found.map(each => each.outerHTML.slice(0, 100))")
