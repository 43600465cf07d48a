"""Whatever a yard writes to this machine's disk is its owner's alone, whatever the umask says."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

import taskyard
from taskyard.worker.process.runtime_files import enter


@pytest.fixture(autouse=True)
def open_umask() -> Iterator[None]:
    before = os.umask(0o000)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def files_in(folder: Path) -> list[Path]:
    return [each for each in folder.rglob("*") if each.is_file()]


async def test_the_database_and_what_sqlite_puts_beside_it_are_private(tmp_path: Path):
    file = tmp_path / "yard.db"
    async with taskyard.connect(f"sqlite:///{file}", sweeps=False) as yard:
        await yard.enqueue("code", prompt="secret")
        modes = {each.name: mode(each) for each in files_in(tmp_path)}

    assert modes.keys() >= {"yard.db", "yard.db-wal", "yard.db-shm"}
    assert {name: oct(each) for name, each in modes.items() if each & 0o077} == {}


async def test_artifacts_are_out_of_reach_of_others(tmp_path: Path):
    folder = tmp_path / "files"
    url = f"sqlite:///{tmp_path / 'yard.db'}"
    async with taskyard.connect(url, sweeps=False, artifacts=f"file://{folder}") as yard:
        await yard.artifacts.put("brief.txt", b"secret")

    assert mode(folder) == 0o700
    files = files_in(folder)
    assert files
    assert {str(each): oct(mode(each)) for each in files if mode(each) & 0o077} == {}


async def test_what_subagents_wrote_is_out_of_reach_of_others(tmp_path: Path):
    folder = tmp_path / "transcripts"
    async with taskyard.connect(f"sqlite:///{tmp_path / 'yard.db'}", sweeps=False, transcripts=folder) as yard:
        await yard.subagents.start("explore", "secret", parent="lead", conversation="c1", description="Look around")

    assert [oct(mode(each)) for each in (folder, *files_in(folder))] == ["0o700", "0o600"]


def test_the_files_of_a_runtime_are_its_owners_alone(tmp_path: Path):
    folder = tmp_path / "runtime"
    process = enter(None, folder)
    made = {each.name: oct(mode(each)) for each in files_in(folder) if each.name != ".gitignore"}
    process.leave()

    assert mode(folder) == 0o700
    assert set(made.values()) == {"0o600"}


async def test_a_file_that_is_there_keeps_the_mode_its_owner_gave_it(tmp_path: Path):
    file = tmp_path / "yard.db"
    file.touch(0o640)
    file.chmod(0o640)
    async with taskyard.connect(f"sqlite:///{file}", sweeps=False) as yard:
        await yard.enqueue("code")

    assert mode(file) == 0o640
