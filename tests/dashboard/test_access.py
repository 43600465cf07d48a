"""Who sees what: signing in and out, and a person who may only look."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Browser, Route, expect

import taskyard
from taskyard.sync import SyncYard
from tests.dashboard.browsing import serving, visiting
from tests.dashboard.conftest import Enter, Place
from tests.dashboard.scenes import given_a_scene
from tests.identity_provider import CLIENT, SECRET, providing_beside
from tests.servers import free_port


def test_who_has_no_session_signs_in_with_a_token_and_lands_where_they_wanted_to(
    browser: Browser, place: Place, yard: SyncYard
):
    scene = given_a_scene(yard)
    token = yard.tokens.create("olga", "operator")
    with visiting(browser, place.address) as visit:
        visit.page.goto(f"{place.address}/tasks/{scene.done}")
        visit.sees_heading("Sign in")
        visit.page.get_by_label("Token").fill("ty_nonsense")
        visit.page.get_by_role("button", name="Sign in").click()
        expect(visit.page.get_by_role("alert")).to_contain_text("oken")
        visit.page.get_by_label("Token").fill(token.text)
        visit.page.get_by_role("button", name="Sign in").click()

        visit.sees_heading("Done one")
        assert visit.page.evaluate("document.cookie") == ""
        stored = visit.page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])")
        assert token.text not in stored


def test_who_signs_in_with_the_provider_lands_where_they_wanted_to(browser: Browser, tmp_path: Path):
    url = f"sqlite:///{tmp_path / 'yard.db'}"
    with providing_beside() as provider, taskyard.connect_sync(url) as yard:
        scene = given_a_scene(yard)
        ways = (
            *("--oidc-issuer", provider.issuer, "--oidc-client-id", CLIENT, "--oidc-label", "Example"),
            *("--member", "ops=operator"),
        )
        with (
            serving(url, free_port(), *ways, secrets={"TASKYARD_OIDC_CLIENT_SECRET": SECRET}) as address,
            visiting(browser, address) as visit,
        ):
            visit.page.goto(f"{address}/tasks/{scene.done}")
            visit.sees_heading("Sign in")
            visit.page.get_by_role("link", name="Sign in with Example").click()

            visit.sees_heading("Done one")
            expect(visit.page.get_by_text("anna · operator")).to_be_visible()
            assert visit.page.evaluate("document.cookie") == ""

            visit.page.get_by_role("button", name="Sign out").click()
            visit.sees_heading("Sign in")
            assert "/end" in provider.asked

            provider.person["groups"] = []
            visit.page.get_by_role("link", name="Sign in with Example").click()
            expect(visit.page.get_by_role("alert")).to_contain_text("none of your groups")

            # The provider is the one other site that a page may lead to, and only by a navigation.
            elsewhere = [each for each in visit.troubles if provider.issuer in each]
            assert [each.partition("?")[0].rpartition("/")[2] for each in elsewhere] == [
                "authorize",
                "end",
                "authorize",
            ]
            visit.troubles[:] = [each for each in visit.troubles if each not in elsewhere]


def test_who_signs_out_sees_nothing_any_more(enter: Enter, yard: SyncYard):
    given_a_scene(yard)
    visit = enter()
    visit.open("/tasks", "Tasks")
    visit.sees("Done one")

    visit.page.get_by_role("button", name="Sign out").click()

    visit.sees_heading("Sign in")
    visit.page.goto(visit.address + "/tasks")
    visit.sees_heading("Sign in")


def test_a_token_that_is_revoked_ends_the_visit(enter: Enter, yard: SyncYard):
    visit = enter()
    visit.open("/tasks", "Tasks")
    (token,) = yard.tokens.list()

    yard.tokens.revoke(token.id)

    visit.sees_heading("Sign in")


def test_who_signs_in_after_another_sees_nothing_that_was_theirs(enter_anew: Enter, place: Place, yard: SyncYard):
    given_a_scene(yard)
    visit = enter_anew()
    visit.open("/tasks", "Tasks")
    visit.sees("Done one")
    (token,) = yard.tokens.list()
    yard.tokens.revoke(token.id)
    visit.sees_heading("Sign in")
    held: list[Route] = []
    visit.page.route("**/api/tasks?*", lambda route: held.append(route))  # noqa: PLW0108 - a builtin is refused

    with taskyard.connect_sync(place.url, workspace=f"{yard.workspace}-other", sweeps=False) as other:
        visit.page.get_by_label("Token").fill(other.tokens.create("otto", "admin").text)
        visit.page.get_by_role("button", name="Sign in").click()
        visit.sees_heading("Tasks")

        expect(visit.main.get_by_role("link", name="Done one")).to_have_count(0)
        for answer in held:
            answer.continue_()
        visit.sees("The yard is empty")


def test_a_viewer_sees_everything_and_can_do_nothing(enter: Enter, yard: SyncYard):
    scene = given_a_scene(yard)
    visit = enter("viewer")
    visit.open("/")
    before = yard.events()[-1].seq  # the sign-in is written too
    pages = {
        f"/tasks/{scene.dead}": ["Retry", "Edit and retry", "Cancel", "Escalate"],
        f"/tasks/{scene.done}": ["Rerun"],
        f"/tasks/{scene.asking}": ["Approve", "Decline", "Answer"],
        f"/dags/{scene.dag}": ["Cancel", "Budget"],
        "/dead-letters": ["Retry", "Edit and retry", "Cancel", "Escalate"],
        "/approvals": ["Approve", "Decline", "Answer"],
        "/agents": ["Drain", "Budget", "Remove"],
        "/queues": ["Pause", "Open one"],
        "/spend": ["Daily budget"],
        "/schedules": ["Add"],
    }
    for path, names in pages.items():
        visit.open(path)
        for name in names:
            button = visit.button(name).first
            expect(button).to_be_visible()
            expect(button).to_be_disabled()

    written = [stored.event.event for stored in yard.events(after=before)]
    assert [event for event in written if not event.startswith("token.")] == []
