"""Records `taskyard demo` as a moving picture, docs/images/demo.svg: text that scrolls as it did, without a script.

python -m scripts.record_demo
"""

import os
import subprocess
import sys
from html import escape
from pathlib import Path
from time import monotonic

PICTURE = Path(__file__).parent.parent / "docs" / "images" / "demo.svg"
COLUMNS, ROWS = 104, 26
WIDTH, HEIGHT = 8.4, 18  # of a character, in pixels
REST = 8.0  # seconds for which the end is shown
FASTER = 2.0  # than it was: half a minute is long for a picture
COLOURS = {"killed": "#e3b341", "failed": "#ff7b72", "why": "#79c0ff", "completed": "#7ee787"}  # the first that fits
Line = tuple[float, str]


def recorded() -> list[Line]:
    """The lines that it prints, with the seconds at which they came."""
    environment = {**os.environ, "COLUMNS": str(COLUMNS), "PYTHONUNBUFFERED": "1"}
    came: list[Line] = []
    demo = [sys.executable, "-m", "taskyard", "demo"]
    with subprocess.Popen(
        demo, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
    ) as running:
        assert running.stdout is not None
        came += ((monotonic() / FASTER, line.rstrip()) for line in running.stdout)
    if running.returncode != 0:
        raise SystemExit(f"the demo ended with {running.returncode}")
    return [(at - came[0][0], line) for at, line in came]


def drawn(lines: list[Line]) -> str:
    end = lines[-1][0] + REST
    scrolled = [HEIGHT * max(0, row + 1 - ROWS) for row in range(len(lines))]
    frames = [
        f"{100 * at / end:.2f}%{{transform:translateY({-up}px)}}" for (at, _), up in zip(lines, scrolled, strict=True)
    ]
    shown = [
        f"@keyframes l{row}{{0%{{opacity:0}}{100 * at / end:.2f}%{{opacity:1}}}}" for row, (at, _) in enumerate(lines)
    ]
    texts = [
        f'<text y="{HEIGHT * (row + 1)}" style="animation-name:l{row}" fill="{_colour(line)}">{escape(line)}</text>'
        for row, (_, line) in enumerate(lines)
    ]
    style = " ".join([
        "text{font:14px ui-monospace,Menlo,Consolas,monospace;white-space:pre}",
        f"text,#all{{animation:scroll {end:.1f}s step-end infinite}}",
        f"@keyframes scroll{{{''.join(frames)}}}",
        *shown,
        "@media (prefers-reduced-motion:reduce){text,#all{animation:none}",
        f"#all{{transform:translateY({-scrolled[-1]}px)}}}}",
    ])  # fmt: skip
    width, height = int(COLUMNS * WIDTH) + 24, ROWS * HEIGHT + 24
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-label="taskyard demo">'
        f'<style>{style}</style><rect width="{width}" height="{height}" rx="8" fill="#0d1117"/>'
        f'<svg x="12" y="8" width="{width - 24}" height="{height - 16}"><g id="all">{"".join(texts)}</g></svg></svg>\n'
    )


def _colour(line: str) -> str:
    return next((colour for word, colour in COLOURS.items() if word in line), "#c9d1d9")


if __name__ == "__main__":
    PICTURE.write_text(drawn(recorded()))
