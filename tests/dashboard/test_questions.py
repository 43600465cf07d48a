"""Questions to people: forms made from their schemas, on the page of approvals and behind a link."""

from __future__ import annotations

import asyncio
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal

import pytest
from playwright.sync_api import Route, expect
from pydantic import BaseModel

import taskyard
from taskyard.sync import SyncYard
from tests.dashboard.browsing import Visit
from tests.dashboard.conftest import Enter, Place
from tests.dashboard.survey import faults

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "approved": {"type": "boolean", "title": "Release it?"},
        "channel": {"enum": ["canary", "stable"], "title": "Channel"},
        "percent": {"type": "integer", "title": "Share", "minimum": 1, "default": 10},
        "notes": {"type": "string", "title": "Notes", "maxLength": 2000, "description": "Everybody reads them."},
        "window": {
            "type": "object",
            "title": "Window",
            "properties": {"start": {"type": "string", "title": "Start", "pattern": "^[0-9]{2}:[0-9]{2}$"}},
            "required": ["start"],
        },
        "hosts": {"type": "array", "title": "Hosts", "items": {"type": "string"}},
    },
    "required": ["approved", "channel"],
}


def given_a_question(yard: SyncYard, answer_schema: dict[str, Any] = SCHEMA, **more: Any) -> str:
    yard.agents.register("deployer", max_concurrent_tasks=9)
    yard.enqueue("deploy", title="Release 2.4")
    (held,) = yard.claim("deployer", start=True)
    yard.attempts.ask(
        held.id, held.lease, "release", "May I release it?", answer_schema=answer_schema, timeout_sec=7200, **more
    )
    return held.id


def fill_in(visit: Visit) -> None:
    visit.main.get_by_label("Yes").check()
    visit.main.get_by_label("Channel").select_option(label="stable")
    visit.button("Add").click()
    visit.main.get_by_role("textbox", name="Hosts 1").fill("web-7")


ANSWER = {"approved": True, "channel": "stable", "percent": 10, "hosts": ["web-7"], "window": {"start": "09:30"}}


def test_a_form_is_filled_in_corrected_and_sent(visit: Visit, yard: SyncYard):
    task = given_a_question(yard, context={"version": "2.4"}, default={"approved": False, "channel": "canary"})
    visit.open("/approvals", "Approvals")
    visit.sees("May I release it?")
    visit.sees("asked by deployer")
    visit.sees('{"approved":false,"channel":"canary"}')

    visit.main.get_by_label("Start").fill("soon")
    visit.button("Send the answer").click()
    expect(visit.main.get_by_role("alert")).to_contain_text("Correct what is marked")
    expect(visit.main.get_by_text("is needed")).to_have_count(2)  # and what else is wrong is said with it
    expect(visit.main.get_by_text("must match")).to_be_visible()
    expect(visit.main.get_by_label("Start")).to_have_attribute("aria-invalid", "true")
    expect(visit.main.get_by_label("Yes")).to_be_focused()  # the first field that is wrong
    fill_in(visit)
    visit.button("Send the answer").click()
    expect(visit.main.get_by_text("is needed")).to_have_count(0)
    expect(visit.main.get_by_label("Start")).to_be_focused()
    assert yard.get(task).status == "pending"
    visit.main.get_by_label("Start").fill("09:30")
    visit.page.keyboard.press("Enter")

    expect(visit.main.get_by_text("May I release it?")).to_have_count(0)
    question = yard.approvals.get(task, "release").question
    assert question is not None
    assert question.answered is not None
    assert question.answered.data == ANSWER


class Address(BaseModel):
    street: str
    floor: int | None = None


class Delivery(BaseModel):
    way: Literal["post", "bike"]
    home: Address
    work: Address | None = None
    note: str | None = None


def test_a_class_of_pydantic_is_asked_for_by_fields_and_not_as_json(visit: Visit, yard: SyncYard):
    task = given_a_question(yard, Delivery.model_json_schema())
    visit.open("/approvals", "Approvals")
    home = visit.main.get_by_role("group", name="Home")
    expect(visit.main.get_by_role("group", name="Work")).to_be_visible()
    expect(visit.main.get_by_text("in JSON")).to_have_count(0)

    visit.main.get_by_label("Way").select_option(label="bike")
    home.get_by_label("Street").fill("Elm 7")
    home.get_by_label("Floor").fill("3")
    visit.button("Send the answer").click()

    expect(visit.main.get_by_text("May I release it?")).to_have_count(0)
    question = yard.approvals.get(task, "release").question
    assert question is not None
    assert question.answered is not None
    assert question.answered.data == {"way": "bike", "home": {"street": "Elm 7", "floor": 3}}


PAYMENT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "pay": {
            "description": "How it is\npaid.",
            "oneOf": [{"type": "object", "properties": {"card": {"type": "string"}}, "required": ["card"]}],
        },
        "at": {"type": "string", "format": "date-time"},
        "share": {"anyOf": [{"type": "number"}, {"type": "null"}]},
    },
}


def test_what_is_asked_for_in_json_says_what_fits(visit: Visit, yard: SyncYard):
    given_a_question(yard, PAYMENT)
    visit.open("/approvals", "Approvals")

    pay = visit.main.get_by_role("textbox", name="Pay")
    expect(pay).to_have_accessible_description(re.compile("How it is\\s+paid.\\s+A text, or any value in JSON."))
    visit.main.get_by_text("What fits here").first.click()
    expect(visit.main.get_by_role("region", name="the schema").first).to_contain_text('"card"')
    at = visit.main.get_by_role("textbox", name="At (optional)")
    expect(at).to_have_accessible_description("With its zone, such as 2026-03-01T09:30:00Z")


def test_a_text_of_several_lines_is_shown_as_it_is_beside_a_question(visit: Visit, yard: SyncYard):
    given_a_question(yard, context={"tool": "Bash", "arguments": {"command": "cd build\nrm -r old"}})
    visit.open("/approvals", "Approvals")

    command = visit.main.get_by_role("region", name="arguments/command")
    expect(command).to_have_text("cd build\nrm -r old")


EVERY_KIND: dict[str, Any] = {
    "type": "object",
    "properties": {
        "share": {"type": "integer", "maximum": 100},
        "price": {"type": "number"},
        "mail": {"type": "string", "format": "email"},
        "day": {"type": "string", "format": "date"},
        "region": {"oneOf": [{"const": "eu", "title": "Europe"}, {"const": "us", "title": "America"}]},
        "hosts": {"type": "array", "items": {"type": "string", "minLength": 2}, "uniqueItems": True},
        "steps": {"type": "array", "items": {"type": "object", "properties": {"what": {"type": "string"}}}},
        "plan": {"type": "string", "format": "binary"},
        "extra": {"type": "object"},
    },
    "required": ["region", "plan"],
}
WRONG = {
    "Share": ("500", "must be at most 100"),
    "Price": ("cheap", "must be a number"),
    "Mail": ("nobody", "must be a mail address"),
    "Hosts 1": ("w", "must have at least 2 characters"),
    "Extra": ("{", "must be an object"),
}


def test_a_yard_without_a_place_for_files_says_so_at_the_field(visit: Visit, yard: SyncYard):
    given_a_question(yard, answer_schema={"type": "string", "format": "binary", "title": "Plan"})
    visit.page.route("**/api/session", without_a_place)
    visit.open("/approvals", "Approvals")

    expect(visit.main.get_by_label("Plan")).to_be_disabled()
    visit.sees("This yard has no place for files: an operator sets TASKYARD_ARTIFACTS.")


def without_a_place(route: Route) -> None:
    answer = route.fetch()
    route.fulfill(response=answer, json={**answer.json(), "stores_files": False})


def test_every_kind_of_field_says_what_is_wrong_with_it(visit: Visit, yard: SyncYard):
    task = given_a_question(yard, answer_schema=EVERY_KIND)
    visit.open("/approvals", "Approvals")
    visit.button("Add").first.click()
    for label, (typed, _) in WRONG.items():
        visit.main.get_by_label(label, exact=label == "Hosts 1").fill(typed)
    visit.button("Send the answer").click()

    for label, (_, words) in WRONG.items():
        field = visit.main.get_by_label(label, exact=label == "Hosts 1")
        expect(field).to_have_accessible_description(re.compile(words))
    for label in ("Region", "Plan"):
        expect(visit.main.get_by_label(label)).to_have_accessible_description(re.compile("is needed"))
    for label, typed in (("Share", "5"), ("Price", "2.5"), ("Mail", "ada@example.org"), ("Extra", "{}")):
        visit.main.get_by_label(label).fill(typed)
    visit.main.get_by_label("Hosts 1", exact=True).fill("web")
    visit.main.get_by_label("Day").fill("2026-03-01")
    visit.main.get_by_label("Region").select_option(label="Europe")
    visit.main.get_by_label("Plan").set_input_files({"name": "plan.txt", "mimeType": "text/plain", "buffer": b"go"})
    visit.button("Send the answer").click()  # once the file is stored: until then nothing can be sent

    expect(visit.main.get_by_text("May I release it?")).to_have_count(0)
    question = yard.approvals.get(task, "release").question
    assert question is not None
    assert question.answered is not None
    given: Any = question.answered.data
    assert given.pop("plan").startswith("artifact:")
    assert given == {
        "share": 5, "price": 2.5, "mail": "ada@example.org", "hosts": ["web"], "day": "2026-03-01", "region": "eu",
        "extra": {},
    }  # fmt: skip


def answer_of(yard: SyncYard, task: str) -> Any:
    question = yard.approvals.get(task, "release").question
    assert question is not None
    assert question.answered is not None
    return question.answered.data


def test_a_number_is_sent_as_it_was_typed(visit: Visit, yard: SyncYard):
    fields = {name: {"type": "number"} for name in ("price", "change", "account")}
    task = given_a_question(yard, answer_schema={"type": "object", "properties": fields})
    visit.open("/approvals", "Approvals")
    for label, keys in (("Price", "2.50"), ("Change", "-0.05"), ("Account", "12345678901234567")):
        visit.main.get_by_label(label).press_sequentially(keys)
        expect(visit.main.get_by_label(label)).to_have_value(keys)

    visit.button("Send the answer").click()
    account = visit.main.get_by_label("Account")
    expect(account).to_have_accessible_description(re.compile("must be a number"))  # a browser would send another one
    account.fill("1234")
    visit.button("Send the answer").click()

    expect(visit.main.get_by_text("May I release it?")).to_have_count(0)
    assert answer_of(yard, task) == {"price": 2.5, "change": -0.05, "account": 1234}


def a_file(name: str) -> Any:
    return {"name": name, "mimeType": "text/plain", "buffer": name.encode()}


def test_fields_that_are_filled_in_while_files_are_stored_keep_what_they_have(visit: Visit, yard: SyncYard):
    fields = {"plan": {"type": "string", "format": "binary"}, "log": {"type": "string", "format": "binary"}}
    schema = {"type": "object", "properties": {**fields, "notes": {"type": "string"}}}
    task = given_a_question(yard, answer_schema=schema)
    held: list[Route] = []
    visit.page.route("**/api/artifacts/**", lambda route: held.append(route))  # noqa: PLW0108 - a builtin is refused
    visit.open("/approvals", "Approvals")
    visit.main.get_by_label("Plan").set_input_files(a_file("plan.txt"))
    visit.main.get_by_label("Log").set_input_files(a_file("log.txt"))
    visit.main.get_by_label("Notes").fill("typed meanwhile")

    for upload in held:
        upload.continue_()
    visit.sees("plan.txt is stored.")
    visit.sees("log.txt is stored.")
    visit.button("Send the answer").click()

    expect(visit.main.get_by_text("May I release it?")).to_have_count(0)
    answer = answer_of(yard, task)
    assert (answer["notes"], sorted(answer)) == ("typed meanwhile", ["log", "notes", "plan"])


def test_what_a_list_shows_when_an_entry_was_removed_is_what_it_sends(visit: Visit, yard: SyncYard):
    listed: dict[str, Any] = {
        "files": {"type": "array", "items": {"type": "string", "format": "binary"}},
        "edits": {"type": "array", "items": {"type": "object"}},
        "hosts": {"type": "array", "items": {"type": "string"}, "minItems": 1},
    }
    task = given_a_question(yard, answer_schema={"type": "object", "properties": listed})
    visit.open("/approvals", "Approvals")
    for number in (1, 2):
        for place in range(3):
            visit.button("Add").nth(place).click()
        visit.main.get_by_label(f"Edits {number}", exact=True).fill(f'{{"n": {number}}}')
        visit.main.get_by_label(f"Files {number}", exact=True).set_input_files(a_file(f"{number}.txt"))
        visit.sees(f"{number}.txt is stored.")

    for gone in ("Files 1", "Edits 1", "Hosts 1", "Hosts 1"):
        visit.main.get_by_role("button", name=f"Remove {gone}").click()
    expect(visit.main.get_by_label("Files 1", exact=True)).to_have_value(re.compile("2.txt"))
    expect(visit.main.get_by_label("Edits 1", exact=True)).to_have_value('{"n": 2}')
    visit.button("Send the answer").click()

    expect(visit.main.get_by_text("May I release it?")).to_have_count(0)
    answer = answer_of(yard, task)
    (file,) = answer.pop("files")
    assert answer == {"edits": [{"n": 2}]}
    assert yard.artifacts.get(file.removeprefix("artifact:")).name == "2.txt"


def test_a_list_is_filled_in_by_keyboard(visit: Visit, yard: SyncYard):
    hosts = {"type": "array", "items": {"type": "string"}}
    task = given_a_question(yard, answer_schema={"type": "object", "properties": {"hosts": hosts}})
    visit.open("/approvals", "Approvals")
    visit.button("Add").focus()
    keys = visit.page.keyboard

    for host in ("web-1", "web-2"):
        keys.press("Enter")
        expect(visit.main.get_by_role("textbox").last).to_be_focused()
        keys.type(host)
        for _ in range(2):  # over the button that removes the entry, to the one that adds the next
            keys.press("Tab")
    visit.main.get_by_role("button", name="Remove Hosts 1").focus()
    keys.press("Enter")
    expect(visit.button("Add")).to_be_focused()
    keys.press("Tab")
    keys.press("Enter")

    expect(visit.main.get_by_text("May I release it?")).to_have_count(0)
    assert answer_of(yard, task) == {"hosts": ["web-2"]}


def test_what_is_wrong_is_marked_also_where_no_field_is_just_for_that(visit: Visit, yard: SyncYard):
    window = {"type": "object", "minProperties": 2, "properties": {"start": {"type": "string"}, "end": {}}}
    extra = {"type": "object", "additionalProperties": {"type": "integer"}}
    given_a_question(yard, answer_schema={"type": "object", "properties": {"window": window, "extra": extra}})
    visit.open("/approvals", "Approvals")
    visit.main.get_by_label("Start").fill("soon")
    visit.main.get_by_label("Extra").fill('{"width": "wide"}')
    visit.button("Send the answer").click()

    expect(visit.main.get_by_label("Extra")).to_have_accessible_description(re.compile("width: must be a whole number"))
    whole = visit.main.get_by_role("group", name="Window")
    expect(whole).to_have_accessible_description(re.compile("2 properties"))
    expect(whole).to_be_focused()


def link_to(place: Place, yard: SyncYard, task: str) -> str:
    """What a notification would have, made beside the browser's event loop."""

    async def made() -> str | None:
        async with taskyard.connect(place.url, workspace=yard.workspace, public_url=place.address) as mine:
            await mine.notifications.set("ops", "ntfy://a-topic", events=["approval_wanted"])
            (wanted,) = await mine.approvals.list()
            return await mine.local.answer_links.url(wanted.task.id, wanted.wait, "ops")

    with ThreadPoolExecutor(1) as aside:
        link = aside.submit(lambda: asyncio.run(made())).result()
    assert link is not None
    return link


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_link_shows_one_form_and_then_how_it_was_answered(enter: Enter, place: Place, yard: SyncYard, theme: Any):
    task = given_a_question(yard)
    link = link_to(place, yard, task)
    visit = enter(color_scheme=theme, viewport={"width": 390, "height": 900})
    visit.page.context.clear_cookies()
    visit.page.goto(link)
    visit.sees_heading("Release 2.4")
    fill_in(visit)
    visit.main.get_by_label("Start").fill("09:30")

    open_ = faults(visit)
    is_narrow = visit.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    visit.button("Send the answer").click()
    visit.sees("Answered by link:ops")

    assert (open_, faults(visit), is_narrow) == ([], [], True)
    question = yard.approvals.get(task, "release").question
    assert question is not None
    assert question.answered is not None
    assert (question.answered.by, question.answered.data) == ("link:ops", ANSWER)
    visit.page.reload()
    visit.sees("Answered by link:ops")
    expect(visit.button("Send the answer")).to_have_count(0)


def test_who_fills_in_a_form_that_another_answers_hears_of_it(visit: Visit, yard: SyncYard):
    task = given_a_question(yard)
    visit.open("/approvals", "Approvals")
    visit.main.get_by_label("Notes").fill("half of it")

    yard.approvals.answer(task, "release", {"approved": False, "channel": "canary"}, by="human:bob")

    words = visit.page.get_by_text("Release 2.4 waits no longer: what you had begun to fill in was not sent.")
    expect(words).to_be_visible()
    expect(visit.main.get_by_text("May I release it?")).to_have_count(0)


def test_who_answers_second_reads_by_whom_the_first_answer_was_also_when_the_form_is_gone(visit: Visit, yard: SyncYard):
    task = given_a_question(yard)
    held: list[Route] = []
    visit.page.route("**/answer", lambda route: held.append(route))  # noqa: PLW0108 - a builtin is refused
    visit.open("/approvals", "Approvals")
    fill_in(visit)
    with visit.page.expect_request("**/answer"):
        visit.button("Send the answer").click()
    yard.approvals.answer(task, "release", {"approved": False, "channel": "canary"}, by="human:bob")
    expect(visit.main.get_by_text("May I release it?")).to_have_count(0)

    for sent in held:
        sent.continue_()

    expect(visit.page.get_by_role("status").get_by_text("was answered by human:bob")).to_be_visible()


def test_a_link_whose_time_runs_out_while_it_is_open_says_so(enter: Enter, place: Place, yard: SyncYard):
    task = given_a_question(yard)
    link = link_to(place, yard, task)
    visit = enter()
    visit.page.goto(link)
    visit.sees_heading("Release 2.4")
    fill_in(visit)
    visit.page.route("**/api/links/*", lambda route: route.fulfill(status=404, json={"code": "not_found"}))

    visit.button("Send the answer").click()

    visit.sees_heading("This link leads nowhere")
    visit.sees("its time is over")
    expect(visit.button("Send the answer")).to_have_count(0)


def test_a_link_looks_again_when_the_wait_is_over(enter: Enter, place: Place, yard: SyncYard):
    task = given_a_question(yard)
    link = link_to(place, yard, task)
    visit = enter()
    visit.page.clock.install()
    visit.page.goto(link)
    visit.sees_heading("Release 2.4")
    visit.page.route("**/api/links/*", lambda route: route.fulfill(status=404, json={"code": "not_found"}))

    visit.page.clock.fast_forward("02:00:05")

    visit.sees_heading("This link leads nowhere")


def test_the_page_of_approvals_with_forms_has_no_faults(enter: Enter, yard: SyncYard):
    given_a_question(yard)
    visit = enter()
    visit.open("/approvals", "Approvals")
    visit.sees("May I release it?")

    assert faults(visit) == []
