"""How costs grow: tables on standard output, and a plot of each in the folder of results."""

from __future__ import annotations

import asyncio
import sys
from argparse import ArgumentDefaultsHelpFormatter, ArgumentParser, Namespace
from collections.abc import Generator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.growing.dags import dags
from bench.growing.growth import Growth
from bench.growing.history import history
from bench.growing.leases import leases
from bench.growing.plot import save
from bench.growing.readers import readers
from bench.peers.servers import postgres_server, redis_server
from bench.runner import markdown, report
from bench.yards import Urls, in_files, in_schemas, under_prefixes

WHAT = ("dags", "history", "leases", "readers")
STORES = ("sqlite", "postgres", "redis")


def arguments() -> Namespace:
    parser = ArgumentParser("bench.growing", description=__doc__, formatter_class=ArgumentDefaultsHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=WHAT, default=WHAT, help="what to measure")
    parser.add_argument("--stores", nargs="+", choices=STORES, default=STORES, help="what to measure it on")
    parser.add_argument("--dags", type=int, nargs="+", default=[100, 1_000, 10_000], help="tasks of a graph")
    parser.add_argument("--finished", type=int, nargs="+", default=[1, 1_000_000, 5_000_000], help="finished tasks")
    parser.add_argument("--held", type=int, nargs="+", default=[100, 1_000, 10_000], help="leases")
    parser.add_argument("--readers", type=int, nargs="+", default=[0, 1, 10, 50], help="readers of the events")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--results", type=Path, default=Path(__file__).parents[1] / "results", help="a folder")
    return parser.parse_args()


async def on_store(given: Namespace, store: str, urls: Urls) -> list[Growth]:
    grown: list[Growth] = []
    if "dags" in given.only:
        grown += await dags(store, urls, sizes=given.dags, rounds=given.rounds)
    if "history" in given.only:
        grown.append(await history(store, urls, sizes=given.finished, rounds=given.rounds))
    if "leases" in given.only:
        grown.append(await leases(store, urls, sizes=given.held, rounds=given.rounds))
    if "readers" in given.only:
        grown.append(await readers(store, urls, sizes=given.readers, rounds=given.rounds))
    return grown


@contextmanager
def yards_of(store: str, folder: Path) -> Generator[Urls]:
    if store == "postgres":
        with postgres_server(folder) as server:
            yield in_schemas(server)
    elif store == "redis":
        with redis_server(folder) as server:
            yield under_prefixes(server)
    else:
        yield in_files(folder)


def main() -> int:
    given = arguments()
    grown: list[Growth] = []
    for store in given.stores:
        with TemporaryDirectory(ignore_cleanup_errors=True) as folder, yards_of(store, Path(folder)) as urls:
            grown += asyncio.run(on_store(given, store, urls))
    tables = [growth.table for growth in grown]
    given.results.mkdir(parents=True, exist_ok=True)
    (given.results / "growth.json").write_text(report(tables, {"taskyard": version("taskyard")}) + "\n")
    for growth in grown:
        save(growth, given.results)
    print(markdown(tables))
    return 0 if all(row.kept for table in tables for row in table.rows) else 1


if __name__ == "__main__":
    sys.exit(main())
