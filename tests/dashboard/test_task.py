"""A task's page: what was done and said, when, at what cost, and how it differs from before."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, expect

from taskyard.features.attempts.views import StepFacts
from taskyard.sync import SyncYard
from tests.dashboard.browsing import Visit
from tests.dashboard.hostile import HOSTILE

CALL: StepFacts = {"took_sec": 6.5, "cost_usd": "0.02", "tokens_input": 900, "tokens_output": 80, "model": "small"}


def given_a_worked_task(yard: SyncYard, **fields: Any) -> Any:
    yard.agents.register("coder", max_concurrent_tasks=5)
    yard.enqueue("code", title="Worked one", prompt="Fix it", **fields)
    (held,) = yard.claim("coder", start=True)
    return held


def card(visit: Visit, title: str) -> Locator:
    heading = visit.page.get_by_role("heading", name=title, exact=True)
    return visit.main.locator("section.card").filter(has=heading)


def test_steps_stand_in_a_waterfall_with_what_they_took_and_cost(visit: Visit, yard: SyncYard):
    held = given_a_worked_task(yard)
    yard.attempts.checkpoint(held.id, held.lease, "think:1", {"plan": "in two steps"}, step=CALL, cost_usd="0.05")
    yard.attempts.checkpoint(held.id, held.lease, "old", 1)
    visit.open(f"/tasks/{held.id}", "Worked one")
    waterfall = card(visit, "Waterfall")

    expect(waterfall.get_by_text("Attempt 1")).to_be_visible()
    call = waterfall.get_by_role("button", name="think:1")
    expect(call).to_contain_text("6.5 s")
    expect(call).to_contain_text("900 + 80")
    expect(call).to_contain_text("$0.02")
    expect(call).to_contain_text("small")
    expect(waterfall.get_by_role("button", name="old")).to_contain_text("–")
    call.click()
    expect(waterfall.get_by_role("region", name="the result of think:1")).to_contain_text("in two steps")

    yard.attempts.checkpoint(held.id, held.lease, "tool:search:7", 1, step={"took_sec": 1})
    expect(waterfall.get_by_role("button", name="tool:search:7")).to_be_visible()
    yard.complete(held.id, held.lease, {}, cost_usd="0.05")
    expect(waterfall.get_by_text("$0.03 was paid outside of steps.")).to_be_visible()


def test_a_transcript_is_searched_and_folded(visit: Visit, yard: SyncYard):
    held = given_a_worked_task(yard)
    visit.open(f"/tasks/{held.id}", "Worked one")
    yard.attempts.message(held.id, held.lease, "I look at the tests first")
    yard.streams.append(held.id, held.lease, [{"text": "Streamed "}, {"text": "words"}])
    yard.streams.append(held.id, held.lease, [{"kind": "json", "data": {"tool": "grep", "hits": 3}}])
    lines = "".join(f"line {number}\n" for number in range(40))
    yard.streams.append(
        held.id, held.lease, [{"kind": "stdout", "text": lines}, {"kind": "stderr", "text": "it broke"}]
    )
    yard.attempts.checkpoint(held.id, held.lease, "plan", {"answer": "a needle"})
    transcript = visit.main.get_by_role("log", name="Transcript")

    for words in ("I look at the tests first", "Streamed words", "grep", "it broke", "a needle"):
        expect(transcript).to_contain_text(words)
    expect(transcript).not_to_contain_text("line 39")
    transcript.get_by_role("button", name="All 41 lines").click()
    expect(transcript).to_contain_text("line 39")

    visit.main.get_by_role("tab", name="Logs").click()
    expect(transcript).not_to_contain_text("Streamed words")
    visit.main.get_by_role("searchbox", name="Search the transcript").fill("BROKE")
    expect(transcript.locator("mark")).to_have_text("broke")
    expect(transcript).not_to_contain_text("line 0")
    visit.main.get_by_role("tab", name="Said").click()
    expect(transcript).to_contain_text("Nothing of this kind has these words.")


def test_an_attempt_is_compared_with_the_one_before(visit: Visit, yard: SyncYard):
    held = given_a_worked_task(yard, retry={"strategy": "immediate"})
    yard.fail(held.id, held.lease, "crash", "the disk is full")
    (again,) = yard.claim("coder", start=True)
    yard.complete(again.id, again.lease, {"answer": 42})
    visit.open(f"/tasks/{held.id}", "Worked one")

    compared = card(visit, "Compare").get_by_role("region", name="What came out: Attempt 1 and Attempt 2")
    expect(compared).to_contain_text("the disk is full")
    expect(compared).to_contain_text('"answer": 42')


def test_a_task_and_its_rerun_know_and_are_compared_with_each_other(visit: Visit, yard: SyncYard):
    held = given_a_worked_task(yard, payload={"files": ["a", "b"]})
    yard.complete(held.id, held.lease, {"same": 1, "words": "first"})
    rerun = yard.rerun(held.id)
    (again,) = yard.claim("coder", start=True)
    yard.complete(again.id, again.lease, {"words": "second", "same": 1})
    visit.open(f"/tasks/{held.id}", "Worked one")

    expect(card(visit, "Relations")).to_contain_text("Done again as")
    visit.open(f"/tasks/{rerun.id}", "Worked one")
    expect(card(visit, "Relations")).to_contain_text("Rerun of")
    compare = card(visit, "Compare")
    expect(compare).to_contain_text("What was asked: the same in both")
    expect(compare.locator("tr.diff-changed")).to_have_count(1)
    expect(compare.locator("tr.diff-changed")).to_contain_text("second")


def test_a_task_is_exported_with_attempts_events_and_steps(visit: Visit, yard: SyncYard):
    held = given_a_worked_task(yard)
    yard.attempts.checkpoint(held.id, held.lease, "plan", {"a": 1}, step=CALL)
    yard.complete(held.id, held.lease, {"done": True})
    visit.open(f"/tasks/{held.id}", "Worked one")
    visit.sees("completed")

    with visit.page.expect_download() as download:
        visit.button("Export").click()
    whole = json.loads(Path(download.value.path()).read_text())

    assert (whole["id"], whole["history"][0]["outcome"], whole["checkpoints"]) == (
        held.id,
        "completed",
        {"plan": {"a": 1}},
    )
    assert whole["steps"][0]["cost_usd"] == "0.02"
    assert {"task.created", "task.step", "task.completed"} <= {event["event"] for event in whole["events"]}


def test_hostile_steps_streams_and_differences_are_text(visit: Visit, yard: SyncYard):
    held = given_a_worked_task(yard, retry={"strategy": "immediate"}, max_attempts=5)
    yard.fail(held.id, held.lease, "crash", "\n".join(HOSTILE[:40]))
    (again,) = yard.claim("coder", start=True)
    for number, text in enumerate(HOSTILE[:20]):
        name = f"{number} {text[:80]}".replace("\n", " ").replace("\t", " ")
        yard.attempts.checkpoint(again.id, again.lease, name, text, step={**CALL, "model": text[:40].strip() or "x"})
    yard.streams.append(again.id, again.lease, [{"text": text} for text in HOSTILE[:100] if text])
    yard.complete(again.id, again.lease, {text: text for text in HOSTILE[:40]})
    visit.open(f"/tasks/{held.id}", "Worked one")

    expect(visit.main.get_by_role("log", name="Transcript")).to_contain_text(HOSTILE[0])
    expect(card(visit, "Compare")).to_contain_text(HOSTILE[1])
    wanted = "iframe, object, embed, portal, marquee, xss, base, math, [onerror], [onload], [href^=javascript]"
    assert visit.page.locator(wanted).count() == 0
