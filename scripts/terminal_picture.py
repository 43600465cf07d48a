"""Makes the picture of `taskyard tui` again, docs/images/terminal.svg: `python -m scripts.terminal_picture`.

With a folder, every screen goes there instead, in both themes.
"""

import asyncio
import re
import sys
from pathlib import Path

import taskyard
from taskyard.app import Yard
from taskyard.features.tokens.rules import Role
from taskyard.tui.terminal_app import TerminalApp
from taskyard.tui.terminal_session import TerminalSession

PICTURE = Path(__file__).parent.parent / "docs/images/terminal.svg"
WALKS = {
    "overview": "1",
    "tasks": "2",
    "dags": "3",
    "dag": "3 enter",
    "approvals": "4",
    "answer": "4 w",
    "dead": "5",
    "decide": "5 x",
    "task": "5 enter",
    "agents": "6",
    "keys": "question_mark",
}
FOREIGN_FONTS = re.compile(r"@font-face \{.*?\}|<!--.*?-->", re.DOTALL)  # a browser would load them from elsewhere


async def fill(yard: Yard) -> None:
    """A few tasks in the states that ask for somebody."""
    await yard.agents.register("coder", max_concurrent_tasks=9, capabilities=["git"])
    await yard.enqueue("code", title="Draw the logo", max_attempts=1)
    (held,) = await yard.claim("coder", start=True)
    await yard.fail(held.id, held.lease, "crash", "the pen is empty")
    await yard.enqueue("release", title="Release 1.4")
    (held,) = await yard.claim("coder", start=True)
    choices = ["ship", "wait"]
    await yard.attempts.ask(held.id, held.lease, "ship", "Ship 1.4?", choices=choices, context={"tests": "green"})
    names: dict[str, list[str]] = {
        "research": [],
        "design": ["research"],
        "code": ["research"],
        "review": ["design", "code"],
    }
    tasks = [{"type": name, "name": name, "title": name.title(), "depends_on": after} for name, after in names.items()]
    await yard.submit({"title": "Landing page", "tasks": tasks})
    (held,) = await yard.claim("coder", start=True)
    await yard.complete(held.id, held.lease, output={})
    (held,) = await yard.claim("coder", start=True)
    await yard.progress(held.id, held.lease, {"fraction": 0.4, "note": "two of five pages"})


async def picture(yard: Yard, keys: str, *, is_light: bool) -> str:
    app = TerminalApp(TerminalSession(yard, Role.OPERATOR, "human:ada"), is_light=is_light)
    async with app.run_test(size=(80, 24)) as pilot:
        for key in keys.split():
            await pilot.press(key)
            await pilot.pause(0.5)
        drawn = app.export_screenshot(title="taskyard tui")
    return FOREIGN_FONTS.sub("", drawn)


async def main(folder: Path | None) -> None:
    async with taskyard.connect("memory://", sweeps=False) as yard:
        await fill(yard)
        if folder is None:
            PICTURE.write_text(await picture(yard, "1", is_light=False), encoding="utf-8")
            return
        for theme in ("dark", "light"):
            for name, keys in WALKS.items():
                drawn = await picture(yard, keys, is_light=theme == "light")
                (folder / f"{name}-{theme}.svg").write_text(drawn, encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]) if len(sys.argv) > 1 else None))
