"""The dashboard's files: who gets which, how long they last, and what a browser may do with them."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.routing import Route

from taskyard.api.calls import AT, PAGE
from taskyard.server import application
from taskyard.server.pages import dashboard_files
from taskyard.yard import Yard
from tests.server.calling import calling

PAGE_WANTED = {"accept": "text/html,*/*;q=0.8"}


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A dashboard as small as can be."""
    folder = tmp_path / "static"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html><script src=/assets/index-abc.js></script>")
    (folder / "theme.js").write_text("document.documentElement.dataset.theme = 'dark'")
    (folder / "assets/index-abc.js").write_text("console.log('" + "yard " * 500 + "')")
    (folder / "assets/index-abc.js.map").write_text("{}")
    monkeypatch.setattr(application, "BUILT", folder)
    return folder


@pytest.mark.parametrize("path", ["/", "/tasks", "/tasks/task_1", "/dags/x%2Fy", "/nowhere", "/apix"])
async def test_every_page_is_the_one_page(yard: Yard, built: Path, path: str):
    async with calling(yard) as client:
        answer = await client.get(path, headers=PAGE_WANTED)

    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert answer.text == (built / "index.html").read_text()
    assert answer.headers["cache-control"] == "no-cache"


@pytest.mark.parametrize("path", ["/api", "/api/nowhere", "/docs/x", "/metrics/x", "/healthz/", "/openapi.json/x"])
async def test_no_page_stands_where_a_call_could(yard: Yard, built: Path, path: str):
    async with calling(yard) as client:
        answer = await client.get(path, headers=PAGE_WANTED)

    assert answer.status_code == 404
    assert answer.json()["code"] == "no_such_route"


async def test_what_has_a_digest_in_its_name_is_kept_for_ever(yard: Yard, built: Path):
    async with calling(yard) as client:
        asset = await client.get("/assets/index-abc.js")
        theme = await client.get("/theme.js")
        known = await client.get("/theme.js", headers={"if-none-match": theme.headers["etag"]})

    assert asset.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert asset.headers["content-encoding"] == "gzip"
    assert asset.text == (built / "assets/index-abc.js").read_text()
    assert theme.headers["cache-control"] == "no-cache"
    assert (known.status_code, known.content) == (304, b"")


@pytest.mark.parametrize(
    "path", ["/assets/gone.js", "/assets/index-abc.js.map", "/../guarding.py", "/..%2fguarding.py", "/assets/"]
)
async def test_a_file_that_was_not_built_is_not_there(yard: Yard, built: Path, path: str):
    async with calling(yard) as client:
        answer = await client.get(path)

    assert answer.status_code == 404


@pytest.mark.parametrize("path", ["/", "/assets/index-abc.js", "/theme.js"])
async def test_a_browser_runs_only_what_was_built(yard: Yard, built: Path, path: str):
    async with calling(yard) as client:
        headers = (await client.get(path, headers=PAGE_WANTED)).headers

    policy = dict(rule.split(" ", 1) for rule in headers["content-security-policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["x-frame-options"] == "DENY"


async def test_the_pages_are_there_before_anybody_has_logged_in(yard: Yard, built: Path):
    await yard.tokens.create("olga", "viewer")
    async with calling(yard) as client:
        page, data = await client.get("/", headers=PAGE_WANTED), await client.get("/api/stats")

    assert (page.status_code, data.status_code) == (200, 401)


async def test_a_name_that_was_made_to_point_here_gets_no_page(yard: Yard, built: Path):
    async with calling(yard) as client:
        answer = await client.get("/", headers={**PAGE_WANTED, "host": "rebound.example"})

    assert answer.status_code == 403


async def test_a_checkout_without_a_build_says_how_to_make_one(
    yard: Yard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(application, "BUILT", tmp_path)
    async with calling(yard) as client:
        page, stats = await client.get("/", headers=PAGE_WANTED), await client.get("/api/stats")

    assert (page.status_code, stats.status_code) == (503, 200)
    assert "make dashboard" in page.text
    assert "script" not in page.text


async def test_who_accepts_no_html_learns_where_to_look(yard: Yard, built: Path):
    async with calling(yard) as client:
        answer = await client.get("/", headers={"accept": "*/*"})

    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/plain; charset=utf-8")
    assert "/docs" in answer.text


async def test_a_page_is_only_read(yard: Yard, built: Path):
    async with calling(yard) as client:
        head, post = await client.head("/", headers=PAGE_WANTED), await client.post("/", json={})

    assert (head.status_code, head.content) == (200, b"")
    assert post.status_code == 405


def test_the_route_of_pages_is_the_last():
    route = dashboard_files.PageRoute(dashboard_files.Pages(Path()))

    assert isinstance(route, Route)
    assert (PAGE.method, route.path) in AT
