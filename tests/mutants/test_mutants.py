"""Every planted mistake is caught, and nothing is caught where none was planted."""

import asyncio
import os
import signal
from functools import cache
from pathlib import Path
from shutil import copytree, ignore_patterns

import pytest

from tests import servers
from tests.mutants.hunting import CAUGHT, hunt
from tests.mutants.mutants import MUTANTS
from tests.mutants.planting import Edit, Hunt, Mutant, Named
from tests.processes.nursery import Nursery
from tests.storage import asked_for

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src/taskyard"
PATIENCE_SEC = 110
LIBRARIES = (
    *("asyncio", "concurrent.futures.thread", "email.message", "importlib.metadata", "ssl", "zoneinfo"),
    *("apsw", "asyncpg", "cronsim", "hiredis", "jsonschema_rs", "psycopg", "re2", "yaml"),
    *("hypothesis", "hypothesis.internal.conjecture.engine", "pytest", "xdist.scheduler"),
)


def planted(mutant: Mutant, folder: Path) -> Path:
    """The package with the mistake in it: links to its files, compiled ones too, and copies of the changed ones."""
    copytree(PACKAGE, folder / "taskyard", copy_function=os.symlink, ignore=ignore_patterns("static"))
    for edit in mutant.edits:
        _apply(edit, folder / "taskyard" / edit.file)
    return folder


def _apply(edit: Edit, file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    found = text.count(edit.old)
    assert found == 1, f"{edit.file} has this {found} times, so the mutant must follow the code: {edit.old}"
    file.unlink()  # a link: the package itself stays as it is
    file.write_text(text.replace(edit.old, edit.new), encoding="utf-8")


@cache
def nursery() -> Nursery:
    """That of mutants: it has loaded what the package and the tests need, and neither of the two."""
    new = Nursery(LIBRARIES)
    servers.at_the_end.callback(new.close)
    return new


async def run(catch: Hunt | Named, package: Path, *, needs_postgres: bool) -> tuple[int, str]:
    """Hunt in the package, in a process of its own: this one has the true package already.

    The answer is the status of the process, and what it wrote.
    """
    if isinstance(catch, Named):
        # Whether an assertion fails is all that is asked: nothing is written of what it compares.
        command = ["pytest", "-q", "-x", "-p", "no:cacheprovider", "--assert=plain", *catch.tests]
    else:
        command = ["tests.mutants.hunting", catch.store, catch.quarry]
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("TASKYARD_", "PYTEST_"))}
    if needs_postgres:  # to make a server takes longer than to catch a mistake
        ours[f"{servers.GIVEN_POSTGRES}16"] = servers.postgres(16)
    hunting = await nursery().fork(*command, environment=ours, first=package, hears_errors=True)
    try:
        async with asyncio.timeout(PATIENCE_SEC):
            wrote = await hunting.stdout.read()
    except TimeoutError:
        hunting.send_signal(signal.SIGKILL)
        raise
    finally:
        status = await hunting.wait()
    return status, wrote.decode()


# One that is planted in a store which is not tested has nobody to catch it.
WANTED = [mutant for mutant in MUTANTS if mutant.stores <= set(asked_for())]


@pytest.mark.parametrize("mutant", WANTED, ids=lambda mutant: mutant.name)
async def test_a_planted_mistake_is_caught(mutant: Mutant, tmp_path: Path):
    status, wrote = await run(mutant.caught_by, planted(mutant, tmp_path), needs_postgres="postgres" in mutant.stores)

    caught = pytest.ExitCode.TESTS_FAILED if isinstance(mutant.caught_by, Named) else CAUGHT
    assert status == caught, f"{mutant.name} got away: {wrote}"


def unplanted() -> list[Hunt]:
    """The stories that mutants are caught by, each once. Seeds and named tests are of the suite, which runs them."""
    hunts = {mutant.caught_by for mutant in WANTED if isinstance(mutant.caught_by, Hunt)}
    return sorted((hunt for hunt in hunts if not hunt.seeds), key=str)


@pytest.mark.parametrize("catch", unplanted(), ids=str)
async def test_nothing_is_caught_where_nothing_was_planted(catch: Hunt, tmp_path: Path):
    assert await hunt(catch.store, catch.quarry, tmp_path) is None
