"""What tests of several files look for on every page, noted in one walk in each language."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import expect

from scripts.build_dashboard import SOURCES
from tests.dashboard.browsing import Visit
from tests.dashboard.scenes import Scene

AXE = Path(SOURCES / "node_modules/axe-core/axe.min.js")
# The rules of axe's usual ones that look at colours: all that the other theme of the same page could break.
COLOURS: dict[str, Any] = {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}
SWITCHES = {"dark": "Use the dark theme", "light": "Use the light theme"}  # the buttons
RUN = """async (rules) => {
  let moving;  // colours change step by step, and those of an element inside another begin after it
  while ((moving = document.getAnimations()).length) await Promise.allSettled(moving.map(each => each.finished));
  const found = await axe.run(document, { resultTypes: ["violations"], ...rules });
  return found.violations.map(({ id, help, nodes }) => ({ id, help, where: nodes.slice(0, 3).map(each => each.html) }));
}"""
# A panel is a card. Its twin is its own or, where it has no title of its own, the page's.
BARE = """() => [...document.querySelectorAll("main section.card:not([data-type]) > header")]
  .filter(header => header.querySelector(".twin") === null).map(header => header.innerText)"""
WITHOUT = """() => document.querySelector(".page-head .twin") === null
  && [...document.querySelectorAll("main .card")].some(card => card.querySelector(".twin") === null)"""
# What the yard holds, what is typed, and what the server says is nobody's to translate.
OURS = """() => {
  const theirs = "code, pre, kbd, .command, .prose, script, style, noscript, [lang]:not(html)";
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = [];
  while (texts.nextNode()) {
    const { parentElement, textContent } = texts.currentNode;
    if (parentElement.closest(theirs) === null) found.push(textContent.trim());
  }
  for (const each of document.querySelectorAll("body *"))
    for (const name of ["aria-label", "title", "placeholder"])
      if (each.closest(theirs) === null) found.push(each.getAttribute(name) ?? "");
  return found.filter(each => each !== "");
}"""


AS_A_COMMAND = re.compile("as a command$")
# Presses each button where a hand would, and reads what is shown then: clicks of Playwright take most of the walk.
SHOWN = """async (buttons) => {
  const all = [];
  for (const button of buttons) {
    button.scrollIntoView({ block: "nearest" });
    const { x, y, width, height } = button.getBoundingClientRect();
    const hit = document.elementFromPoint(x + width / 2, y + height / 2);
    if (button.disabled || hit?.closest("button") !== button) {
      all.push(["a button that cannot be pressed"]);
      continue;
    }
    button.click();
    const panel = document.getElementById(button.getAttribute("aria-controls"));
    for (let frame = 0; panel.querySelector("code") === null && frame < 100; frame++)
      await new Promise(requestAnimationFrame);
    all.push(panel.checkVisibility() ? [...panel.querySelectorAll("code")].map((code) => code.innerText) : ["nothing"]);
    button.click();
    for (let frame = 0; !panel.hidden && frame < 100; frame++) await new Promise(requestAnimationFrame);
  }
  return all;
}"""


@dataclass
class Found:
    """What one page has. A language leaves some of it empty."""

    language: str
    faults: dict[str, list[dict[str, Any]]] = field(default_factory=dict[str, list[dict[str, Any]]])  # by theme
    without_twin: list[str] = field(default_factory=list[str])  # panels
    twins: list[list[str]] = field(default_factory=list[list[str]])  # what each shows: commands, and a call
    texts: list[str] = field(default_factory=list[str])  # words of ours


def paths(scene: Scene) -> list[str]:
    """Every page. No two that follow each other have the same heading."""
    return [
        *("/", "/tasks", "/dags", "/dead-letters", "/approvals", "/agents", "/queues", "/schedules", "/spend"),
        *("/tasks/new", "/dags/new"),
        *("/audit", "/events", "/deliveries", "/waits", "/scores", "/batches"),
        *("/board", "/reports", "/board?lanes=agent", "/reports?by=day&by=type"),
        *(f"/tasks/{scene.dead}", f"/tasks/{scene.running}", f"/dags/{scene.dag}"),
    ]


def faults(visit: Visit, **rules: object) -> list[dict[str, Any]]:
    if not visit.page.evaluate("'axe' in window"):
        # By the browser's own hand, which no policy of the page holds back.
        visit.page.evaluate(AXE.read_text() + "; undefined")
    return visit.page.evaluate(RUN, rules)


def walked(visit: Visit, scene: Scene) -> Iterator[str]:
    """Every page, one after the other, as links lead there: to load each by its address is most of the work."""
    heading, before = visit.main.get_by_role("heading", level=1), ""
    for path in paths(scene):
        if before:
            visit.follow(path)
            expect(heading).not_to_have_text(before)
        else:
            visit.open(path)
        visit.sees_heading("")
        expect(visit.page.locator("[aria-busy=true], .skeleton")).to_have_count(0)
        before = heading.inner_text()
        yield path


def in_english(visit: Visit, scene: Scene) -> dict[str, Found]:
    """Each page in both themes, beginning with the dark one, and with all that its panels show as commands."""
    pages: dict[str, Found] = {}
    theme, other = "dark", "light"
    for path in walked(visit, scene):
        page = pages[path] = Found(_language(visit))
        expect(visit.page.locator("html")).to_have_attribute("data-theme", theme)
        page.faults[theme] = faults(visit)
        switch = visit.page.get_by_role("button", name=SWITCHES[other])
        if len(pages) == 1:
            switch.click()
        else:  # it is the same on every page, and a hand's click is half of the work
            switch.dispatch_event("click")
        expect(visit.page.locator("html")).to_have_attribute("data-theme", other)
        page.faults[other] = faults(visit, runOnly=COLOURS)
        theme, other = other, theme
        page.without_twin = [*visit.page.evaluate(BARE), *(["the page"] if visit.page.evaluate(WITHOUT) else [])]
        page.twins = visit.main.get_by_role("button", name=AS_A_COMMAND).evaluate_all(SHOWN)
    return pages


def in_german(visit: Visit, scene: Scene) -> dict[str, Found]:
    """Each page in one theme: no language changes colours."""
    others = {rule: {"enabled": False} for rule in COLOURS["values"]}
    pages: dict[str, Found] = {}
    for path in walked(visit, scene):
        found = {"light": faults(visit, rules=others)}
        pages[path] = Found(_language(visit), faults=found, texts=visit.page.evaluate(OURS))
    return pages


def _language(visit: Visit) -> str:
    return visit.page.locator("html").get_attribute("lang") or ""
