"""Taskyard beside its peers. `make bench` is a short run, `make bench-full` one whose figures can be relied on."""

from __future__ import annotations

import asyncio
import sys
from argparse import ArgumentDefaultsHelpFormatter, ArgumentParser, Namespace
from pathlib import Path
from time import strftime

from bench.peers.comparing import compare
from bench.peers.lineup import LINEUP, Store, System, earlier_release
from bench.peers.places import places
from bench.peers.report import Run, as_json, as_markdown, version_of

RESULTS = Path(__file__).parents[1] / "results"
NAMES = sorted({system.name for system in LINEUP})


def arguments() -> Namespace:
    parser = ArgumentParser("bench.peers", description=__doc__, formatter_class=ArgumentDefaultsHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, help="rounds that count")
    parser.add_argument("--seconds", type=float, default=0.6, help="how long a sample lasts, about")
    parser.add_argument("--minutes", type=float, default=60, help="after which no further round is begun")
    parser.add_argument("--stores", nargs="+", type=Store, choices=list(Store), default=list(Store))
    parser.add_argument("--systems", nargs="+", choices=NAMES, default=NAMES)
    parser.add_argument("--earlier", metavar="NAME=CHECKOUT", help="a release of ours, measured in turns with this")
    parser.add_argument("--results", type=Path, default=RESULTS, help="the folder that the results go to")
    return parser.parse_args()


async def run(given: Namespace, systems: list[System]) -> Run:
    with places({system.store for system in systems}) as where:
        durability = await where.durability()
        outcomes = await compare(
            systems, where, rounds=given.rounds, seconds=given.seconds, minutes=given.minutes, tell=_tell
        )
    versions = {system: version_of(system) for system in systems}
    counted = max(len(outcome.rounds) for outcome in outcomes.values())
    return Run(outcomes=outcomes, versions=versions, durability=durability, rounds=counted, seconds=given.seconds)


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main() -> int:
    given = arguments()
    systems = [system for system in LINEUP if system.store in given.stores and system.name in given.systems]
    if given.earlier:
        name, _, checkout = given.earlier.partition("=")
        systems += [system for system in earlier_release(name, Path(checkout)) if system.store in given.stores]
    ran = asyncio.run(run(given, systems))
    given.results.mkdir(parents=True, exist_ok=True)
    name = given.results / f"peers-{strftime('%Y%m%d-%H%M%S')}"
    name.with_suffix(".json").write_text(as_json(ran) + "\n", encoding="utf-8")
    name.with_suffix(".md").write_text(as_markdown(ran) + "\n", encoding="utf-8")
    print(as_markdown(ran))
    return 0 if ran.is_met else 1


if __name__ == "__main__":
    sys.exit(main())
