"""Makes the pictures of the dashboard again: `python -m scripts.screenshots`; with a folder, every page in both themes.

A yard is filled for them and served; nothing of this machine is in a picture.
"""

import asyncio
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, NamedTuple

from playwright.async_api import Browser, Page, async_playwright, expect

import taskyard
from scripts.get_browser import found
from scripts.seed_yard import seed
from taskyard.app import Yard, served

IMAGES = Path(__file__).parent.parent / "docs/images"
SIZE = {"width": 1440, "height": 900}
Theme = Literal["light", "dark"]


class Shot(NamedTuple):
    name: str
    path: str
    theme: Theme


async def places(yard: Yard) -> dict[str, str]:
    """Every page, by a name for it."""
    (dag,) = await yard.dags(limit=1)
    (running, *_) = await yard.find(status="running")
    (letter, *_) = await yard.dead_letters()
    return {
        "overview": "/",
        "tasks": "/tasks",
        "task": f"/tasks/{running.id}",
        "dead-task": f"/tasks/{letter.task.id}",
        "dags": "/dags",
        "dag": f"/dags/{dag.id}",
        "gantt": f"/dags/{dag.id}?view=gantt",
        "dead-letters": "/dead-letters",
        "approvals": "/approvals",
        "agents": "/agents",
        "queues": "/queues",
        "schedules": "/schedules",
        "spend": "/spend",
    }


PAPERS: dict[str, Theme] = {
    "overview": "light", "tasks": "dark", "task": "light", "dag": "dark", "dead-letters": "light", "spend": "dark",
}  # fmt: skip


async def shoot(browser: Browser, address: str, shots: list[Shot], folder: Path) -> None:
    for theme in ("light", "dark"):
        context = await browser.new_context(
            viewport={"width": SIZE["width"], "height": SIZE["height"]}, color_scheme=theme, reduced_motion="reduce"
        )
        page = await context.new_page()
        for shot in (each for each in shots if each.theme == theme):
            await _open(page, address + shot.path)
            await page.screenshot(path=folder / f"{shot.name}.png")
        await context.close()


async def _open(page: Page, url: str) -> None:
    """Until it is drawn: live pages keep a connection open, so the network is never quiet."""
    await page.goto(url)
    await page.get_by_role("heading", level=1).wait_for()
    await expect(page.locator("[aria-busy=true]")).to_have_count(0)
    await page.wait_for_timeout(1500)  # charts and graphs are drawn after their data came


async def main(every: Path | None) -> None:
    chromium = found()
    if chromium is None:
        sys.exit("there is no chromium: python -m scripts.get_browser brings one")
    with TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder) / 'yard.db'}"
        await seed(url)
        async with taskyard.connect(url) as yard, served(yard) as address, async_playwright() as playwright:
            browser = await playwright.chromium.launch(
                executable_path=chromium[0], args=["--no-sandbox"], env={**os.environ, **chromium[1]}
            )
            paths = await places(yard)
            both: tuple[Theme, ...] = ("light", "dark")
            shots = [Shot(f"{name}-{theme}", path, theme) for name, path in paths.items() for theme in both]
            if every is None:
                shots = [Shot(name, paths[name], theme) for name, theme in PAPERS.items()]
            await shoot(browser, str(address), shots, every or IMAGES)
            await browser.close()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]) if len(sys.argv) > 1 else None))
