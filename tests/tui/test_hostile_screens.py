"""What agents and callers write is text on every screen: no markup is read, and no terminal is given a command."""

import re
from typing import Any

from textual.strip import Strip

from taskyard.visible_text import OBEYED
from taskyard.yard import Yard
from tests.tui.conftest import Opened, Seen, given_a_question
from tests.yards import given_a_dead_letter, given_a_running_task

HOSTILE = "[/bold][red]x[@click=app.quit]y[/]\x1b]52;c;aGVsbG8=\x07\x9b2J\u202egnp [link=http://x]z[/link]"
NAME = "[b]n[/b]"
# As `visible_text` has it; a terminal gets none of these but in the colours that textual writes itself.
CONTROL = re.compile("[" + "".join(f"{chr(first)}-{chr(last)}" for first, last in OBEYED) + "]")


def drawn(seen: Seen) -> str:
    """The characters that the terminal gets, line by line, without the colours around them."""
    screen = seen.app.screen
    strips: list[Strip] = screen._compositor.render_strips(screen.size)  # pyright: ignore[reportPrivateUsage]
    for strip in strips:
        for segment in strip:
            assert segment.style is None or segment.style.link is None
            assert segment.style is None or "app.quit" not in str(segment.style.meta)
    return "\n".join(strip.text for strip in strips)


async def given_a_hostile_yard(yard: Yard) -> None:
    await given_a_dead_letter(yard, NAME, title=HOSTILE, prompt=HOSTILE, payload={"x": HOSTILE})
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {
            HOSTILE: {"type": "string", "title": HOSTILE, "description": HOSTILE, "default": HOSTILE},
            "choice": {"enum": [HOSTILE, "b"], "default": HOSTILE},
            "rest": {"type": "array", "default": [HOSTILE]},
        },
    }
    await given_a_question(yard, schema, context=HOSTILE)
    await yard.submit({"title": HOSTILE, "tasks": [{"type": NAME, "title": HOSTILE, "name": "a", "agent": "nobody"}]})
    held = await given_a_running_task(yard, NAME, title=HOSTILE, prompt=HOSTILE)
    await yard.progress(held.id, held.lease, {"fraction": 0.5, "note": HOSTILE})
    chunks: list[Any] = [
        {"kind": "text", "text": HOSTILE},
        {"kind": "stderr", "text": HOSTILE},
        {"kind": "json", "data": {"x": HOSTILE}},
    ]
    await yard.streams.append(held.id, held.lease, chunks)
    await yard.queues.pause(NAME, by=f"human:{NAME}")


async def test_nothing_that_somebody_wrote_is_obeyed(yard: Yard, opened: Opened):
    await given_a_hostile_yard(yard)
    walks = (
        *(("1",), ("2",), ("3",), ("3", "enter"), ("4",), ("4", "w"), ("5",), ("5", "x")),
        *(("1", "enter"), ("1", "enter", "a"), ("5", "enter", "a"), ("5", "enter", "e"), ("1", "enter", "o"), ("6",)),
    )
    async with opened() as seen:
        for walk in walks:
            while type(seen.app.screen).__name__ == "FormDialog":
                await seen.press("escape")
            await seen.press(*walk)
            shown = drawn(seen)
            found = CONTROL.search(shown.replace("\n", ""))
            assert found is None, f"{walk}: {found} in {shown}"
            assert any(mark in shown for mark in ("[/bold]", "[b]n", "[/link]")) or walk == ("6",), f"{walk}: {shown}"
            assert not seen.app._exit  # pyright: ignore[reportPrivateUsage]


async def test_a_refusal_shows_what_it_names_as_text(yard: Yard, opened: Opened):
    schema: dict[str, Any] = {"type": "object", "properties": {HOSTILE: {"type": "string"}}, "required": [HOSTILE]}
    await given_a_question(yard, schema)
    async with opened() as seen:
        shown = await seen.press("4", "w", "ctrl+s")
        on_the_terminal = drawn(seen)

    assert CONTROL.search(on_the_terminal.replace("\n", "")) is None
    assert "Correct [/bold][red]x[@click=app.quit]y[/]\\u001b]52" in shown
    assert "is required" in shown


async def test_a_default_is_answered_as_it_is_and_not_as_it_is_shown(yard: Yard, opened: Opened):
    asked = await given_a_question(yard, {"type": "string", "default": HOSTILE})
    async with opened() as seen:
        await seen.press("4", "w", "ctrl+s")

    answered = (await yard.approvals.get(asked, "approve")).question
    assert answered is not None
    assert answered.answered is not None
    assert answered.answered.data == HOSTILE
