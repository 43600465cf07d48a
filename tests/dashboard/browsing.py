"""Words for tests that look at the dashboard as a person does: with a browser, at a server in a process of its own."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit
from urllib.request import urlopen

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    BrowserType,
    ConsoleMessage,
    Dialog,
    Locator,
    Page,
    Request,
    expect,
)

from scripts.get_browser import found

PATIENCE = 30_000  # milliseconds that anything may take on a busy machine
STARTING = 90.0  # seconds: less than a test may take, and enough for a machine on which much else runs
expect.set_options(timeout=PATIENCE)


_FOLLOW = "path => { history.pushState(null, '', path); dispatchEvent(new PopStateEvent('popstate')); }"
_REMEMBERS_NOTHING = "localStorage.length + sessionStorage.length === 0"
USUAL: dict[str, Any] = {"reduced_motion": "reduce", "viewport": {"width": 1280, "height": 720}}


@contextmanager
def serving(url: str, port: int, *more: str, secrets: Mapping[str, str] | None = None) -> Generator[str]:
    """`taskyard serve`, as it is run in earnest; its address."""
    command = [sys.executable, "-m", "taskyard", "--url", url, "serve", "--port", str(port), *more]
    variables = {**os.environ, **(secrets or {})}
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=variables)
    try:
        _wait_for(f"http://127.0.0.1:{port}/readyz", process)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(20)


def _wait_for(address: str, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + STARTING
    while True:
        try:
            with urlopen(address, timeout=5):
                return
        except OSError:
            assert process.poll() is None, f"the server ended with status {process.returncode} while it started"
            assert time.monotonic() < until, f"the server did not start within {STARTING:g} s"
            time.sleep(0.05)  # a server that is starting tells nobody


@dataclass
class Visit:
    """One person's look at a yard. What a page must never do is noted, and looked at when the test is over."""

    page: Page
    address: str
    token: str = ""  # which the form is given before the first page is opened; nothing where somebody is signed in
    troubles: list[str] = field(default_factory=list[str])
    _listeners: list[tuple[Any, Callable[[Any], None]]] = field(default_factory=list[tuple[Any, Any]])

    def __post_init__(self) -> None:
        self.page.set_default_timeout(PATIENCE)
        self.listen("console", self._on_console)
        self.listen("pageerror", lambda error: self.troubles.append(f"a script failed: {error}"))
        self.listen("dialog", self._on_dialog)
        self.listen("request", self._on_request)

    def listen(self, event: Any, listener: Callable[[Any], None]) -> None:
        """To what the page does, until the visit is over."""
        self.page.on(event, listener)
        self._listeners.append((event, listener))

    def open(self, path: str, heading: str = "") -> None:
        """Go there: by loading the page or, where it is loaded already, as its own links do."""
        if self.token:
            self._sign_in_for(path)
        else:
            self._go(path)
        self.sees_heading(heading)

    def _go(self, path: str) -> None:
        if self.page.url.startswith(self.address):
            self.follow(path)
        else:
            self.page.goto(self.address + path)

    def _sign_in_for(self, path: str) -> None:
        self._go(f"/login?next={quote(path, safe='')}")
        field = self.page.get_by_label("Token")
        field.fill(self.token)
        field.press("Enter")
        expect(self.page.locator("main.login")).to_have_count(0)
        self.token = ""

    def leave(self) -> bool:
        """Make room for somebody else; whether the browser remembers nothing of this visit."""
        for event, listener in self._listeners:
            self.page.remove_listener(event, listener)
        self.page.unroute_all()
        if not self.page.url.startswith(self.address):
            return False
        self.page.context.clear_cookies()
        self.follow("/login")
        return self.page.evaluate(_REMEMBERS_NOTHING)

    def follow(self, path: str) -> None:
        """Go there as a link of the page does."""
        self.page.evaluate(_FOLLOW, path)

    def sees_heading(self, name: str) -> None:
        expect(self.main.get_by_role("heading", level=1)).to_contain_text(name)

    @property
    def main(self) -> Locator:
        return self.page.get_by_role("main")

    @property
    def dialog(self) -> Locator:
        return self.page.get_by_role("dialog")

    def button(self, name: str) -> Locator:
        return self.main.get_by_role("button", name=name, exact=True)

    def sees(self, text: str) -> None:
        expect(self.main.get_by_text(text).first).to_be_visible()

    def act(self, name: str, *, confirm: str | None = None, **said: str) -> None:
        """Press an action's button, fill in what it asks for, and confirm."""
        self.button(name).first.click()
        self.confirm(confirm or name, **said)

    def confirm(self, name: str, **said: str) -> None:
        for label, text in said.items():
            self.dialog.get_by_label(label.replace("_", " ")).fill(text)
        self._confirm_as_shown(self.dialog.get_by_role("button", name=name, exact=True))
        expect(self.dialog).to_have_count(0)

    def _confirm_as_shown(self, button: Locator) -> None:
        """Do it, and see that the call which the dialog shows is made."""
        expect(button).to_be_enabled()
        shown = call_in(self.dialog.locator(".deed-call[aria-busy=false] code").inner_text())
        with self.page.expect_request(lambda request: call_of(request) == shown):
            button.click()

    def _on_console(self, message: ConsoleMessage) -> None:
        # The network is told of by those who miss an answer; everything else that a page complains of is a fault.
        if message.type == "error" and "Failed to load resource" not in message.text:
            self.troubles.append(f"the console has: {message.text}")

    def _on_dialog(self, dialog: Dialog) -> None:
        self.troubles.append(f"a dialog came up: {dialog.message}")
        dialog.dismiss()

    def _on_request(self, request: Request) -> None:
        if urlsplit(request.url).netloc != urlsplit(self.address).netloc and not request.url.startswith("data:"):
            self.troubles.append(f"another site was asked: {request.url}")


class HttpCall(NamedTuple):
    method: str
    path: str
    body: object


def call_of(request: Request) -> HttpCall:
    url = urlsplit(request.url)
    return HttpCall(request.method, url.path, json.loads(request.post_data) if request.post_data else None)


def call_in(line: str) -> HttpCall:
    """The call that a line for the shell makes with curl."""
    program, *words = shlex.split(line)
    assert program == "curl", line
    options = dict(zip(words[:-1:2], words[1::2], strict=True))
    body = json.loads(options["-d"]) if "-d" in options else None
    return HttpCall(options.get("-X", "GET"), urlsplit(words[-1]).path, body)


def started(chromium: BrowserType, **environment: str) -> Browser:
    """The browser that `make test` brings, or that of the machine."""
    if (own := found()) is None:
        pytest.fail("there is no chromium: `python -m scripts.get_browser` brings one", pytrace=False)
    path, needs = own
    # Its sandbox wants rights that containers do not give; what it is shown here is ours.
    return chromium.launch(
        executable_path=path,
        args=["--no-sandbox", "--disable-gpu"],
        env={**os.environ, **needs, **environment},
    )


@contextmanager
def visiting(browser: Browser, address: str, **options: Any) -> Generator[Visit]:
    """A browser of somebody who has never been here."""
    context: BrowserContext = browser.new_context(**{**USUAL, **options})
    try:
        visit = Visit(context.new_page(), address)
        yield visit
        assert visit.troubles == []
    finally:
        context.close()


def log_in(visit: Visit, token: str) -> None:
    """As the form does it."""
    answer = visit.page.context.request.post(
        f"{visit.address}/api/session", data={"token": token}, headers={"origin": visit.address}
    )
    assert answer.ok, answer.text()
