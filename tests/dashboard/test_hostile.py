"""What agents and callers write is shown as text, wherever it is shown."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import expect

from taskyard.core.visible import visible
from taskyard.portal import SyncYard
from tests.dashboard.browsing import Visit
from tests.dashboard.hostile import HOSTILE

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


def given_a_hostile_task(yard: SyncYard, first: int) -> str:
    """One that has said these texts wherever it could, and died."""
    texts = HOSTILE[first : first + AT_ONCE]
    short = [text[:SHORT].strip() or "x" for text in texts]
    agent = f"agent {first} {short[0]}"
    whole = "\n".join(texts)
    document: dict[str, Any] = {text[:200]: text for text in texts}
    yard.register(agent, f"type {first}", capabilities=short[:5], models=short[:3], max_concurrent_tasks=5)
    yard.enqueue(
        f"type {first} {short[1]}", title=texts[0], prompt=whole, payload=document, tags=short[:5],
        agent=f"type {first}", subject=short[2], context_refs=short[:3], max_attempts=1, concurrency_key=short[4],
        queue=f"queue {first} {short[3]}", created_by=f"human:{short[0]}",
    )  # fmt: skip
    (held,) = yard.claim(agent, start=True)
    yard.progress(held.id, held.lease, {"fraction": 0.5, "message": texts[1]})
    for text in texts:
        yard.message(held.id, held.lease, text)
    yard.pin_session(held.id, held.lease, session_id=short[0], work_dir=short[1])
    yard.fail(held.id, held.lease, short[2][:40], whole, details=document, model=short[0], cost_usd="0.01")
    yard.enqueue(f"ask {first} {short[5]}", title=texts[2], prompt=whole, agent=f"type {first}")
    (asking,) = yard.claim(agent, start=True)
    yard.wait_for(asking.id, asking.lease, short[0], short[1], timeout_sec=600)
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
