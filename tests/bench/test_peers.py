"""The comparison with the peers: that it counts only what was done once and stored, and what it makes of that."""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bench.peers import comparing, rounds
from bench.peers.comparing import Outcome, compare
from bench.peers.hosting import Void
from bench.peers.lineup import LINEUP, Store, System, earlier_release
from bench.peers.places import Places, places
from bench.peers.report import Run, as_json, as_markdown
from bench.peers.rounds import Measure, Sample, Samples, Sizes, take_round
from bench.peers.targets import TARGETS, Target, judge

FEW = Sizes(jobs=dict.fromkeys(Measure, 16), pickups=2)
ROOT = Path(__file__).parents[2]
CARELESS = "tests.bench.careless"
OURS = next(system for system in LINEUP if system.is_ours and system.store is Store.SQLITE)
HUEY = next(system for system in LINEUP if system.name == "huey")


def a_system(name: str) -> System:
    return System(name=name, store=Store.SQLITE, module=f"{CARELESS}:{name}")


def some_samples(figure: float) -> Samples:
    return {measure: Sample(value=figure, cpu=figure) for measure in Measure}


def a_run(ours: float, huey: float) -> Run:
    outcomes = {OURS: Outcome(rounds=[some_samples(ours)]), HUEY: Outcome(rounds=[some_samples(huey)])}
    return a_run_of(outcomes)


def a_run_of(outcomes: dict[System, Outcome]) -> Run:
    versions = dict.fromkeys(outcomes, "1.0")
    return Run(outcomes=outcomes, versions=versions, durability={Store.SQLITE: "full"}, rounds=1, seconds=1)


@pytest.fixture
def where() -> Iterator[Places]:
    with places([Store.SQLITE]) as made:
        yield made


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "STALL", 1.0)


@pytest.mark.parametrize("system", [a_system("Honest"), OURS], ids=lambda system: system.name)
async def test_a_round_takes_every_measure(where: Places, system: System):
    samples = await take_round(system, where, FEW)

    assert set(samples) == set(Measure)
    assert all(sample.value > 0 for sample in samples.values())


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("Losing", r"1 of 16 jobs were lost"),
        ("Doubling", r"1 jobs were done more than once, the first is 7"),
        ("Forgetting", r"1 jobs were run and never stored as done|are there"),
        ("Dropping", r"16 jobs were put in, and 15 are there"),
        ("Crashing", r"16 of 16 jobs were lost"),
    ],
)
@pytest.mark.usefixtures("impatient")
async def test_a_round_is_void_in_which_a_job_is_not_accounted_for(where: Places, name: str, why: str):
    with pytest.raises(Void, match=why):
        await take_round(a_system(name), where, FEW)


@pytest.mark.usefixtures("impatient")
async def test_a_void_round_does_not_count_and_is_reported(where: Places):
    told: list[str] = []
    losing = a_system("Losing")

    outcomes = await compare([losing], where, rounds=1, seconds=0.1, minutes=1, tell=told.append)

    assert outcomes[losing].rounds == []
    assert any(line.startswith("VOID: Losing on SQLite: 1 of") for line in told)
    run = a_run_of(outcomes)
    assert not run.is_met
    assert "- Losing on SQLite, round 1: 1 of" in as_markdown(run)


async def test_systems_take_turns_and_the_first_round_only_finds_the_sizes(
    where: Places, monkeypatch: pytest.MonkeyPatch
):
    taken: list[tuple[str, int]] = []

    async def instead(system: System, _: Places, sizes: Sizes) -> Samples:
        taken.append((system.name, sizes.jobs[Measure.BULK]))
        return some_samples(2_000)

    monkeypatch.setattr(comparing, "take_round", instead)

    outcomes = await compare([OURS, HUEY], where, rounds=2, seconds=0.5, minutes=1, tell=lambda _: None)

    first, lasting = rounds.FIRST[Measure.BULK], 1_000
    assert taken == [(name, size) for size in (first, lasting, lasting) for name in ("taskyard", "huey")]
    assert [len(outcome.rounds) for outcome in outcomes.values()] == [2, 2]


async def test_where_the_first_round_is_void_the_next_finds_the_sizes(where: Places, monkeypatch: pytest.MonkeyPatch):
    taken: list[int] = []

    async def instead(_: System, __: Places, sizes: Sizes) -> Samples:
        taken.append(sizes.jobs[Measure.BULK])
        if len(taken) == 1:
            raise Void("a job was lost")
        return some_samples(2_000)

    monkeypatch.setattr(comparing, "take_round", instead)

    outcomes = await compare([OURS], where, rounds=2, seconds=0.25, minutes=1, tell=lambda _: None)

    assert taken == [rounds.FIRST[Measure.BULK], rounds.FIRST[Measure.BULK], 500]
    assert (len(outcomes[OURS].rounds), outcomes[OURS].voids) == (1, ["round 0: a job was lost"])


async def test_no_round_is_begun_when_the_time_is_up_but_the_first_that_counts(
    where: Places, monkeypatch: pytest.MonkeyPatch
):
    async def instead(*_: object) -> Samples:
        return some_samples(1)

    monkeypatch.setattr(comparing, "take_round", instead)
    told: list[str] = []

    outcomes = await compare([OURS], where, rounds=5, seconds=1, minutes=0, tell=told.append)

    assert len(outcomes[OURS].rounds) == 1
    assert told[-1].startswith("only 1 of 5 rounds")


@pytest.mark.parametrize(("ours", "is_met"), [(39.0, False), (40.0, True)])
def test_a_rate_must_be_at_least_so_many_times_that_of_the_peer(ours: float, is_met: bool):
    target = _target(Measure.DRAIN, "4 × huey")

    verdict = judge(target.must, target, {OURS: {Measure.DRAIN: ours}, HUEY: {Measure.DRAIN: 10}})

    assert (verdict.ratio, verdict.is_met) == (ours / 10, is_met)


@pytest.mark.parametrize(("ours", "is_met"), [(2.4, True), (2.5, False)])
def test_a_wait_must_be_at_most_so_many_times_that_of_the_quickest_peer(ours: float, is_met: bool):
    target = next(each for each in TARGETS if (each.store, each.measure) == (Store.POSTGRES, Measure.PICKUP))
    on_postgres = {system.name: system for system in LINEUP if system.store is Store.POSTGRES}
    waits = {"taskyard": ours, "pgqueuer": 9.0, "pg-boss": 2.0, "floor": 0.1}

    verdict = judge(target.must, target, {on_postgres[name]: {Measure.PICKUP: wait} for name, wait in waits.items()})

    assert verdict.is_met is is_met


def test_what_was_not_measured_is_not_met():
    target = _target(Measure.DRAIN, "4 × huey")

    verdict = judge(target.must, target, {OURS: {Measure.DRAIN: 100}})

    assert (verdict.ratio, verdict.is_met) == (None, False)


def test_the_report_has_must_and_goal_beside_our_ratio():
    shown = as_markdown(a_run(ours=60, huey=10))

    assert "| SQLite | drain, 1 process | 4 × huey | 6.00 × | met | 8 × huey | 6.00 × | **not met** |" in shown
    assert "| SQLite | enqueue in bulk | 0.6 × litequeue |  | not measured |" in shown
    assert json.loads(as_json(a_run(ours=60, huey=10)))["targets"][0]["ratio"] == 6


def test_the_report_says_what_each_system_keeps_of_a_finished_job():
    assert all(system.keeps or system.is_floor for system in LINEUP)
    shown = as_markdown(a_run(ours=60, huey=10)).splitlines()

    rows = {line.split()[1]: line for line in shown if line.startswith(("| taskyard", "| huey"))}
    assert rows["taskyard"].endswith("| the job, every attempt, its output, every event |")
    assert rows["huey"].endswith("| nothing: a finished job is deleted |")


def test_the_versions_on_node_are_pinned_and_name_no_registry():
    folder = ROOT / "bench" / "peers" / "node"
    wanted = json.loads((folder / "package.json").read_bytes())["dependencies"]
    locked = json.loads((folder / "package-lock.json").read_bytes())["packages"]

    assert {name: locked[f"node_modules/{name}"]["version"] for name in wanted} == wanted
    assert not any("resolved" in package for package in locked.values())


def test_the_comparison_runs_and_keeps_its_results(tmp_path: Path):
    which = ("--stores", "SQLite", "--systems", "taskyard", "floor", "--rounds", "1", "--seconds", "0.05")
    command = [sys.executable, "-m", "bench.peers", *which, "--results", str(tmp_path)]

    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    (kept,) = tmp_path.glob("peers-*.json")
    assert [system["voids"] for system in json.loads(kept.read_bytes())["systems"]] == [[], []], ran.stderr
    assert kept.with_suffix(".md").read_text() == ran.stdout


def _target(measure: Measure, must: str) -> Target:
    return next(each for each in TARGETS if each.measure is measure and each.must.words == must)


async def test_an_earlier_release_runs_the_code_of_its_checkout(where: Places, tmp_path: Path):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "of_the_checkout.py").write_text("from tests.bench.careless import Honest as Peer\n")
    for shared in ("bench", "tests"):
        (tmp_path / shared).symlink_to(ROOT / shared)
    system = replace(a_system("earlier"), module="of_the_checkout", checkout=tmp_path)

    samples = await take_round(system, where, FEW)

    assert set(samples) == set(Measure)


def test_an_earlier_release_is_no_peer_and_does_not_stand_for_the_present_one():
    earlier = next(system for system in earlier_release("0.1.0", ROOT) if system.store is Store.SQLITE)
    lone = next(target for target in TARGETS if target.store is Store.POSTGRES and target.measure is Measure.ONE)
    figures = {OURS: {Measure.ONE: 9.0}, HUEY: {Measure.ONE: 10.0}, earlier: {Measure.ONE: 20.0}}

    verdict = judge(lone.must, replace(lone, store=Store.SQLITE), figures)

    assert earlier.name == "taskyard-0.1.0"
    assert verdict.ratio == pytest.approx(0.9)


def test_calls_over_http_are_compared_with_calls_without_a_server():
    over_http = next(system for system in LINEUP if system.store is Store.HTTP)
    pickup = next(target for target in TARGETS if target.store is Store.HTTP and target.measure is Measure.PICKUP)
    figures = {OURS: {Measure.PICKUP: 2.0}, HUEY: {Measure.PICKUP: 1.0}, over_http: {Measure.PICKUP: 5.0}}

    verdict = judge(pickup.must, pickup, figures)

    assert verdict.ratio == pytest.approx(2.5)
    assert not verdict.is_met
