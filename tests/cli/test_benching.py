"""Measuring one's own yard."""

import sqlite3
from pathlib import Path

import pytest

import taskyard as library
from taskyard.cli.programs.bench import WORKSPACE, BenchFigures, clear, verdict
from tests.cli.conftest import Command

QUICK = ("bench", "--seconds", "0.05")


def some_figures(*, drain: float = 5_000, pickup_ms: float = 2, waiting_share: float = 0.9) -> BenchFigures:
    return BenchFigures(
        enqueue_one=500,
        enqueue_bulk=20_000,
        round_trip=300,
        drain=drain,
        pickup_ms=pickup_ms,
        waiting_share=waiting_share,
    )


def test_every_figure_is_measured(taskyard: Command) -> None:
    figures = taskyard(*QUICK, "--json").json

    assert set(figures) == set(BenchFigures.__dataclass_fields__)
    assert all(figure > 0 for name, figure in figures.items() if name != "waiting_share")


def test_people_get_a_table_and_a_verdict(taskyard: Command) -> None:
    said = taskyard(*QUICK)

    assert said.status == 0
    assert "claim, start and complete, one at a time" in said.out
    assert "One worker process gets through" in said.out


def test_a_bench_leaves_no_task_behind_and_touches_nobody_elses(taskyard: Command) -> None:
    taskyard("enqueue", "code", "--prompt", "mine")

    taskyard(*QUICK, "--json")

    with sqlite3.connect(Path("yard.db")) as stored:
        assert stored.execute("select workspace, count(*) from task group by workspace").fetchall() == [("default", 1)]
        assert stored.execute("select count(*) from attempt").fetchone() == (0,)
    stored.close()
    assert taskyard("--workspace", WORKSPACE, "verify").status == 0


async def given_a_bench_that_was_killed(url: str) -> None:
    async with library.connect(url, workspace=WORKSPACE, sweeps=False) as yard:
        await yard.enqueue_many([{"type": "noop"}] * 3)
        await yard.agents.register("bench")
        await yard.claim("bench", start=True)


async def test_what_a_killed_bench_left_is_removed_by_the_next(url: str) -> None:
    await given_a_bench_that_was_killed(url)

    async with library.connect(url, workspace=WORKSPACE, sweeps=False) as yard:
        await clear(yard)

        assert await yard.find() == []
        assert await yard.agents.list() == []
        assert (await yard.verify()).ok


def test_a_server_is_refused_for_its_store_cannot_be_emptied(taskyard: Command) -> None:
    assert "could not be emptied again" in taskyard("bench", "http://127.0.0.1:9").out


@pytest.mark.parametrize("seconds", ["0", "61"])
def test_a_bench_is_bounded(taskyard: Command, seconds: str) -> None:
    assert "at most 60" in taskyard("bench", "--seconds", seconds).out


@pytest.mark.parametrize(
    ("figures", "words"),
    [
        (some_figures(drain=5_123), "5,123 tasks a second: enough to keep 310,000 agents busy"),
        (some_figures(pickup_ms=2), "An idle worker begins at once."),
        (some_figures(pickup_ms=250), "An idle worker begins late."),
        (some_figures(waiting_share=0.9), "The store sets the pace: each call waits for it most of its 2.0 ms."),
        (some_figures(waiting_share=0.1), "This processor sets the pace"),
    ],
)
def test_the_verdict_says_in_words_what_the_figures_mean(figures: BenchFigures, words: str) -> None:
    assert words in verdict(figures)
