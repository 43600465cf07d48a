"""What is made of samples, and that the bench as a whole still runs."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from bench.runner import Case, Count, Counts, Table, markdown, measure

ROOT = Path(__file__).parents[2]


def a_case(name: str, samples: Sequence[float], calls: list[str], *, against: str | None = None, rows: int = 1) -> Case:
    left = iter(samples)

    async def once() -> float:
        calls.append(name)
        return next(left)

    async def count() -> Counts:
        return {"rows": Count(rows, 5)}

    return Case(name=name, once=once, count=count, against=against)


async def test_cases_take_turns_and_the_first_rounds_do_not_count():
    calls: list[str] = []
    small, large = a_case("small", [99, 1, 2, 9], calls), a_case("large", [99, 3, 4, 5], calls, against="small")

    rows = await measure([small, large], unit="ms", rounds=3, at_most=1.5)

    assert calls == ["small", "large"] * 4
    assert [(row.median, row.least, row.most) for row in rows] == [(2, 1, 9), (4, 3, 5)]
    assert [row.ratio for row in rows] == [None, Count(2.0, 1.5)]


@pytest.mark.parametrize(("large", "rows", "kept"), [(15, 5, True), (16, 5, False), (15, 6, False)])
async def test_a_promise_is_kept_or_broken_by_the_ratio_and_by_what_was_counted(large: int, rows: int, kept: bool):
    cases = [a_case("small", [10], []), a_case("large", [large], [], against="small", rows=rows)]

    measured = await measure(cases, unit="ms", rounds=1, warm_up=0, at_most=1.5)

    assert [row.kept for row in measured] == [True, kept]
    shown = markdown([Table(title="Claims", settings={"lanes": 2}, rows=measured)])
    assert ("BROKEN" in shown) is not kept


async def test_the_bench_runs_and_keeps_its_results(tmp_path: Path):
    sizes = ("--waiting", "100", "300", "--lanes", "20", "--claims", "20", "--tasks", "320", "--rounds", "1")
    results = tmp_path / "results.json"
    command = [sys.executable, "-m", "bench", *sizes, "--stores", "sqlite", "--only", "claims", "rates"]
    command += ["--json", str(results)]

    ran = await asyncio.to_thread(subprocess.run, command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert ran.stdout.startswith("### Claims by what is waiting, sqlite"), ran.stderr
    claims, rates = json.loads(results.read_bytes())["tables"]
    read = [row["counts"]["task rows read"][0] for row in claims["rows"]]
    assert read[:4] == [10, 10, 29, 29]
    assert all(row["median"] > 0 for row in rates["rows"])
