"""Draw docs/images/trace.svg: the waterfall of a trace whose spans were really exported.

Run it as `.venv/bin/python -m scripts.trace_picture`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import taskyard
from taskyard.features.budgets.prices import price
from taskyard.features.budgets.token_counts import TokenCounts

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "trace.svg"
COLOURS = {"PRODUCER": "#b45309", "CONSUMER": "#1d4ed8", "CLIENT": "#7c3aed", "INTERNAL": "#0f766e"}
LEFT, WIDE, ROW, TOP = 330, 560, 26, 56
agent = taskyard.Agent("researcher")


async def answer(seconds: float, text: str) -> str:
    """Stands in for a model: it takes its time."""
    await asyncio.sleep(seconds)
    return text


@agent.handles("research")
async def research(task: taskyard.Context) -> str:
    used = {"model": "claude-haiku-4-5", "input_tokens": 1200, "output_tokens": 80}
    plan = await task.step("plan", lambda: answer(0.3, "two sources"), spend=used)
    if task.attempt == 1:
        raise taskyard.Fail("crash", "the first attempt fails")
    await task.step("read", lambda: answer(0.5, "notes"), spend={**used, "input_tokens": 9000, "output_tokens": 400})
    await task.spawn("summarise", name="summary")
    return plan


@agent.handles("summarise")
async def summarise(task: taskyard.Context) -> str:
    used = {"model": "claude-haiku-4-5", "input_tokens": 700, "output_tokens": 150}
    return await task.step("write", lambda: answer(0.4, "a summary"), spend=used)


async def traced() -> Sequence[ReadableSpan]:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    price(
        "claude-haiku-4-5", TokenCounts(1, 1)
    )  # the first lookup loads the list of prices, which is no part of the story
    async with taskyard.connect("memory://", clock=taskyard.ManualClock(), sweeps=False) as yard:
        with trace.get_tracer("shop").start_as_current_span("POST /questions"):
            await yard.enqueue("research")
        await yard.drain(agent)
    return sorted(exporter.get_finished_spans(), key=lambda span: span.start_time or 0)


def drawn(spans: Sequence[ReadableSpan]) -> str:
    first = min(span.start_time or 0 for span in spans)
    whole = max(span.end_time or 0 for span in spans) - first
    depths: dict[int, int] = {}
    rows: list[str] = []
    for place, span in enumerate(spans):
        context = span.get_span_context()
        assert context is not None
        depths[context.span_id] = depth = 0 if span.parent is None else depths[span.parent.span_id] + 1
        began, ended = ((at or 0) - first for at in (span.start_time, span.end_time))
        rows.append(_row(span, TOP + place * ROW, depth, (began / whole, ended / whole), (ended - began) / 1e6))
    high = TOP + len(spans) * ROW + 16
    title = f"One trace of a task: {len(spans)} spans, {whole / 1e6:.0f} ms"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1120 {high}"',
            ' font-size="13" font-family="sans-serif">',
            f'<rect width="1120" height="{high}" fill="#ffffff"/>',
            f'<text x="16" y="30" font-size="16" font-weight="bold" fill="#111827">{title}</text>',
            *rows,
            "</svg>\n",
        ]
    )


def _row(span: ReadableSpan, y: int, depth: int, place: tuple[float, float], took: float) -> str:
    began, ended = place
    facts: dict[str, Any] = dict(span.attributes or {})
    colour = "#b91c1c" if not span.status.is_ok and span.status.description else COLOURS[span.kind.name]
    x, wide = LEFT + began * WIDE, max((ended - began) * WIDE, 3)
    said = f"{took:.0f} ms" if took >= 1 else ""
    if "gen_ai.usage.input_tokens" in facts:
        tokens = f"{facts['gen_ai.usage.input_tokens']} + {facts['gen_ai.usage.output_tokens']} tokens"
        said = f"{tokens}, ${facts['taskyard.cost_usd']:.4f}"
    if span.status.description:
        said = f"{said} {span.status.description}"
    name = f'<text x="{16 + depth * 16}" y="{y + 16}" fill="#111827">{escape(span.name)}</text>'
    bar = f'<rect x="{x:.1f}" y="{y + 4}" width="{wide:.1f}" height="16" rx="2" fill="{colour}"/>'
    return f'{name}{bar}<text x="{x + wide + 6:.1f}" y="{y + 16}" fill="#4b5563">{escape(said)}</text>'


if __name__ == "__main__":
    PICTURE.write_text(drawn(asyncio.run(traced())))
