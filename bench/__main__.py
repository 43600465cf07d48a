"""The command line: what to measure, how large, and where the results go."""

from __future__ import annotations

import asyncio
import sys
from argparse import ArgumentDefaultsHelpFormatter, ArgumentParser, Namespace
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

import apsw

from bench.counting import Counting, postgres_pages, redis_commands, sqlite_steps
from bench.growing.plot import save
from bench.growth import claims
from bench.overhead import overhead
from bench.peers.servers import postgres_server, redis_server
from bench.rates import rates
from bench.runner import Table, markdown, report
from bench.strangers import strangers
from bench.yards import Urls, in_files, in_schemas, under_prefixes

STORES = ("sqlite", "postgres", "redis")
WHAT = ("claims", "rates", "overhead", "strangers")


def arguments() -> Namespace:
    parser = ArgumentParser("bench", description=__doc__, formatter_class=ArgumentDefaultsHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=WHAT, default=WHAT, help="what to measure")
    parser.add_argument("--stores", nargs="+", choices=STORES, default=STORES, help="what to measure it on")
    parser.add_argument(
        "--waiting", type=int, nargs="+", default=[1_000, 1_000_000], help="how many wait, fewest first"
    )
    parser.add_argument("--lanes", type=int, default=200, help="lanes that they are spread over")
    parser.add_argument("--claims", type=int, default=200, help="claims that are timed for each number waiting")
    parser.add_argument("--tasks", type=int, default=10_000, help="tasks that a rate is measured on")
    parser.add_argument("--rounds", type=int, default=5, help="rounds that a rate is measured in")
    parser.add_argument("--json", type=Path, default=Path("build/bench.json"), help="where the results go")
    parser.add_argument("--folder", type=Path, help="where the yards are made; a temporary one where none is given")
    return parser.parse_args()


async def run(given: Namespace, folder: Path) -> list[Table]:
    tables: list[Table] = []
    if "sqlite" in given.stores:
        tables += await on_store(given, "sqlite", in_files(folder), sqlite_steps)
    if "postgres" in given.stores:
        with postgres_server(folder) as server:
            tables += await on_store(given, "postgres", in_schemas(server), postgres_pages)
        if "strangers" in given.only:
            tables.append(await strangers(folder, tasks=given.tasks * 5, rounds=given.rounds * 5))
    if "redis" in given.stores:
        with redis_server(folder) as server:
            tables += await on_store(given, "redis", under_prefixes(server), redis_commands(server))
    return tables


async def on_store(given: Namespace, store: str, urls: Urls, counting: Counting) -> list[Table]:
    tables: list[Table] = []
    if "claims" in given.only:
        sizes = given.waiting
        grown = await claims(store, urls, counting, sizes=sizes, lanes=given.lanes, rounds=given.claims)
        save(grown, given.json.parent)
        tables.append(grown.table)
    if "rates" in given.only:
        tables.append(await rates(store, urls, tasks=given.tasks, rounds=given.rounds))
    if "overhead" in given.only:
        tables.append(await overhead(store, urls, rounds=given.claims))
    return tables


def main() -> int:
    given = arguments()
    given.json.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=given.folder) as folder:
        tables = asyncio.run(run(given, Path(folder)))
    versions = {"taskyard": version("taskyard"), "sqlite": apsw.sqlite_lib_version()}
    given.json.write_text(report(tables, versions) + "\n", encoding="utf-8")
    print(markdown(tables))
    return 0 if all(row.kept for table in tables for row in table.rows) else 1


if __name__ == "__main__":
    sys.exit(main())
