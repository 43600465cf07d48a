"""Makes the pictures of the dashboard again: `python -m scripts.screenshots`.

With `gallery`, every page goes to docs/images/gallery: in both themes, on a wide screen and on a phone. The page of
the documentation that shows them is written too. `gallery approvals batches` makes the pictures of these pages alone.

With a folder, every page goes there instead: the same, with a crowd of workers, long names and hostile texts among the
rest.

A yard is filled for them and served; nothing of this machine is in a picture.
"""

import asyncio
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, NamedTuple

from playwright.async_api import Browser, Page, async_playwright, expect

import taskyard
from scripts.get_browser import found
from scripts.seed_yard import seed
from taskyard.app import Yard, served

IMAGES = Path(__file__).parent.parent / "docs/images"
GALLERY = IMAGES / "gallery"
GALLERY_PAGE = IMAGES.parent / "guides/dashboard-gallery.md"
GALLERY_HEIGHTS = {1280: 860, 390: 844}
QUALITY = 62  # of a JPEG: a hundred pictures are to stay below 6 MB
SIZE = {"width": 1440, "height": 900}
WIDTHS = (1280, 390)
TALL = 1800  # a page scrolls inside itself, so that a picture of it is as high as the window
CROWD = 200
Theme = Literal["light", "dark"]


HOSTILE = "<img src=x onerror=alert(1)> invoice\u202egnp.exe \x1b[2J zero\u200bwidth"
LONG = "a-name-that-somebody-has-chosen-without-a-thought-for-those-who-have-to-read-it"


class Shot(NamedTuple):
    name: str
    path: str
    theme: Theme
    width: int = SIZE["width"]


async def places(yard: Yard) -> dict[str, str]:
    """Every page, by a name for it."""
    (dag,) = await yard.dags.list(status=["running"], limit=1)
    (running, *_) = await yard.find(type="code", status="running")
    (letter, *_) = await yard.dead_letters.list()
    (streaming,) = await yard.find(type="repair", status="running")
    (worked,) = await yard.find(type="repair", status="completed")
    return {
        "overview": "/",
        "tasks": "/tasks",
        "task": f"/tasks/{worked.id}",
        "streaming": f"/tasks/{streaming.id}",
        "running-task": f"/tasks/{running.id}",
        "dead-task": f"/tasks/{letter.task.id}",
        "board": "/board",
        "dags": "/dags",
        "dag": f"/dags/{dag.id}",
        "gantt": f"/dags/{dag.id}?view=gantt",
        "dead-letters": "/dead-letters",
        "approvals": "/approvals",
        "agents": "/agents",
        "queues": "/queues",
        "schedules": "/schedules",
        "spend": "/spend",
        "scores": "/scores",
        "reports": "/reports?by=day&by=model&measure=cost&measure=duration_p95&measure=attempts",
        "batches": "/batches",
        "waits": "/waits",
        "events": "/events",
        "deliveries": "/deliveries",
        "audit": "/audit",
        "new-task": "/tasks/new",
        "new-dag": "/dags/new",
    }


PAPERS: dict[str, Theme] = {
    "overview": "light", "tasks": "dark", "task": "light", "dag": "dark", "dead-letters": "light", "spend": "dark",
    "streaming": "light", "scores": "light", "approvals": "light",
}  # fmt: skip


async def shoot(browser: Browser, address: str, shots: list[Shot], folder: Path) -> None:
    is_gallery = folder == GALLERY
    looks: set[tuple[Theme, int]] = {(shot.theme, shot.width) for shot in shots}
    for theme, width in sorted(looks):
        context = await browser.new_context(
            viewport={"width": width, "height": height_of(width, is_gallery)},
            color_scheme=theme,
            reduced_motion="reduce",
        )
        page = await context.new_page()
        for shot in (each for each in shots if (each.theme, each.width) == (theme, width)):
            await _open(page, address + shot.path)
            if is_gallery:
                await page.screenshot(path=folder / f"{shot.name}.jpg", type="jpeg", quality=QUALITY)
            else:
                await page.screenshot(path=folder / f"{shot.name}.png")
        await context.close()


def height_of(width: int, is_gallery: bool) -> int:
    if is_gallery:
        return GALLERY_HEIGHTS[width]
    return SIZE["height"] if width == SIZE["width"] else TALL


async def crowd(yard: Yard) -> None:
    """What a page must stand: many workers of a type, and names and texts that nobody would choose for it."""
    for number in range(CROWD):
        await yard.agents.register(
            f"swarm-{number:08x}", "swarm", types=["sort"], capabilities=["sorting"], budget_usd=20
        )
    await yard.agents.set_budget("swarm", 15, budget_per="day")
    await yard.agents.register(
        f"{LONG}-1", LONG[:60], capabilities=[LONG, HOSTILE[:60]], models=[LONG], max_concurrent_tasks=9
    )
    await yard.enqueue(LONG[:60], title=HOSTILE, prompt=HOSTILE, tags=[LONG, "x"], agent=LONG[:60], max_attempts=1)
    for held in await yard.claim(f"{LONG}-1", start=True):
        await yard.fail(held.id, held.lease, "crash", f"{HOSTILE}\n" * 3, details={HOSTILE: [HOSTILE]}, cost_usd="0.5")
    await yard.enqueue(LONG[:60], title=f"{LONG} {LONG}", prompt=HOSTILE, agent=LONG[:60], subject=LONG)
    for held in await yard.claim(f"{LONG}-1", start=True):
        await yard.progress(held.id, held.lease, {"fraction": 0.5, "message": f"{HOSTILE} {LONG}"})
    await yard.breakers.open(LONG[:60], why=HOSTILE)
    await yard.queues.pause(LONG[:60])
    await yard.schedules.add("nightly", "every day at 09:00", task={"type": LONG[:60], "title": HOSTILE})


def gallery_page(names: Iterable[str]) -> str:
    """The pictures of every page, below its name."""
    lines = [
        "# Every page of the dashboard",
        "",
        "In light and dark, on a wide screen and on a phone; `python -m scripts.screenshots gallery` makes them again.",
        "[The guide](dashboard.md) says what each is for, [the check list](dashboard-checklist.md) names the tests.",
    ]
    for name in names:
        title = name.replace("-", " ").capitalize()
        heads = " | ".join(f"{theme}, {width} px" for width in WIDTHS for theme in ("light", "dark"))
        cells = " | ".join(
            f"![{title}, {theme}, {width} pixels wide](../images/gallery/{name}-{theme}-{width}.jpg)"
            for width in WIDTHS
            for theme in ("light", "dark")
        )
        lines += ["", f"## {title}", "", f"| {heads} |", "| --- | --- | --- | --- |", f"| {cells} |"]
    return "\n".join(lines) + "\n"


async def _open(page: Page, url: str) -> None:
    """Until it is drawn: live pages keep a connection open, so the network is never quiet."""
    await page.goto(url)
    await page.get_by_role("heading", level=1).wait_for()
    await expect(page.locator("[aria-busy=true]")).to_have_count(0)
    await page.wait_for_timeout(1500)  # charts and graphs are drawn after their data came


async def main(every: Path | None, only: Iterable[str] = ()) -> None:
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
            if every not in (None, GALLERY):
                await crowd(yard)
            paths = await places(yard)
            both: tuple[Theme, ...] = ("light", "dark")
            shots = [
                Shot(f"{name}-{theme}-{width}", path, theme, width)
                for name, path in paths.items()
                if not only or name in only
                for theme in both
                for width in WIDTHS
            ]
            if every is None:
                shots = [Shot(name, paths[name], theme) for name, theme in PAPERS.items() if not only or name in only]
            await shoot(browser, str(address), shots, every or IMAGES)
            if every == GALLERY:
                GALLERY_PAGE.write_text(gallery_page(paths), encoding="utf-8")
            await browser.close()


if __name__ == "__main__":
    asked = sys.argv[1] if len(sys.argv) > 1 else None
    GALLERY.mkdir(parents=True, exist_ok=True)
    asyncio.run(main(GALLERY if asked == "gallery" else Path(asked) if asked is not None else None, sys.argv[2:]))
