"""Processor time of this process for each 1,000 tasks, of several releases in turns.

`python -m bench.processor_time NAME=CHECKOUT ...`: each release is the code of one checkout. A round runs every release
once on every store, each in a process and on a yard of its own, so that what disturbs the machine disturbs all alike.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from argparse import ArgumentDefaultsHelpFormatter, ArgumentParser, Namespace
from collections import defaultdict
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from bench.peers.servers import postgres_server, redis_server
from bench.yards import Urls, in_files, in_schemas, under_prefixes

STORES = ("sqlite", "postgres", "redis")
PROGRAM = Path(__file__).with_name("processor_time_of_one.py")
Figures = dict[tuple[str, str], dict[str, list[float]]]  # by store and step, then by release


def arguments() -> Namespace:
    parser = ArgumentParser("bench.processor_time", description=__doc__, formatter_class=ArgumentDefaultsHelpFormatter)
    parser.add_argument("releases", nargs="+", metavar="NAME=CHECKOUT", help="what to compare, the first with all")
    parser.add_argument("--stores", nargs="+", choices=STORES, default=STORES, help="what to measure it on")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", nargs="+", default=[], help="steps to measure, by the first word of their names")
    return parser.parse_args()


def main() -> int:
    given = arguments()
    releases = dict(each.split("=", 1) for each in given.releases)
    figures: Figures = defaultdict(lambda: defaultdict(list))
    with ExitStack() as servers:
        urls = {store: _urls(store, servers) for store in given.stores}
        for number in range(given.rounds):
            for store in given.stores:
                for place, (release, checkout) in enumerate(releases.items()):
                    url = urls[store](f"yard_{number}_{place}")
                    for step, used in _measured(checkout, url, given.only).items():
                        figures[store, step][release].append(used)
    print(_table(figures, list(releases)))
    return 0


def _urls(store: str, servers: ExitStack) -> Urls:
    folder = Path(servers.enter_context(TemporaryDirectory(prefix="taskyard-processor-")))
    if store == "postgres":
        return in_schemas(servers.enter_context(postgres_server(folder)))
    return under_prefixes(servers.enter_context(redis_server(folder))) if store == "redis" else in_files(folder)


def _measured(checkout: str, url: str, only: list[str]) -> dict[str, float]:
    """Processor time of each step, in ms for 1,000 tasks."""
    code = {**os.environ, "PYTHONPATH": str(Path(checkout).resolve() / "src")}
    found = subprocess.run(
        [sys.executable, PROGRAM, url, *only], env=code, check=True, stdout=subprocess.PIPE, text=True
    )
    return json.loads(found.stdout)


def _table(figures: Figures, releases: list[str]) -> str:
    lines = [
        f"| ms per 1,000 tasks | {' | '.join(releases)} | last / first |",
        f"| --- |{' --- |' * (len(releases) + 1)}",
    ]
    for (store, step), by_release in figures.items():
        medians = [median(by_release[release]) for release in releases]
        cells = " | ".join(
            f"{middle:.1f} ({min(by_release[release]):.1f} to {max(by_release[release]):.1f})"
            for middle, release in zip(medians, releases, strict=True)
        )
        lines.append(f"| {store}: {step} | {cells} | {medians[-1] / medians[0]:.2f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
