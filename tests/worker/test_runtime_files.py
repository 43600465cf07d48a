"""The name of a runtime is kept on its machine, and the dead among its processes are told from the living."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from taskyard.core.errors import InvalidInput
from taskyard.worker.process import runtime_files
from taskyard.worker.process.runtime_files import Process, dead_processes, enter

ENTER = "from taskyard.worker.process.runtime_files import enter"
DIES = f"from pathlib import Path; {ENTER}; print(enter({{!r}}, Path({{!r}}))[1])"


def died(folder: Path, runtime: str | None = None) -> str:
    """The incarnation of a process that has ended without a word."""
    words = [sys.executable, "-c", DIES.format(runtime, str(folder))]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()


def names_of_the_dead(folder: Path) -> list[tuple[str, str]]:
    with dead_processes(folder) as found:
        return [(process.runtime, process.incarnation) for process in found]


def test_processes_in_one_folder_are_of_one_runtime_and_each_is_another(tmp_path: Path) -> None:
    first, second = enter(None, tmp_path), enter(None, tmp_path)

    assert first.runtime == second.runtime
    assert first.incarnation != second.incarnation
    first.leave()
    second.leave()
    assert sorted(path.name for path in tmp_path.iterdir()) == [".gitignore", "runtime.json"]


def test_only_a_process_that_has_died_is_dead(tmp_path: Path) -> None:
    alive = enter(None, tmp_path)
    dead, named = died(tmp_path), died(tmp_path, "laptop")

    assert sorted(names_of_the_dead(tmp_path)) == sorted([(alive.runtime, dead), ("laptop", named)])
    with dead_processes(tmp_path) as found:
        assert names_of_the_dead(tmp_path) == []  # whoever looks at the same time leaves them to the first
        for process in found:
            process.leave()
    assert names_of_the_dead(tmp_path) == []
    alive.leave()


@pytest.mark.parametrize("kept", [b"", b"{", b"[]", b'{"id": "copied", "bound_to": "another machine"}'])
def test_what_was_copied_or_cut_short_is_no_name_of_this_runtime(tmp_path: Path, kept: bytes) -> None:
    (tmp_path / "runtime.json").write_bytes(kept)

    first = enter(None, tmp_path)

    assert first.runtime not in ("", "copied")
    assert json.loads((tmp_path / "runtime.json").read_bytes())["id"] == first.runtime
    first.leave()


def test_another_machine_is_another_runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = enter(None, tmp_path)
    (tmp_path / "machine-id").write_text("another\n")
    monkeypatch.setattr(runtime_files, "_MACHINE_IDS", (str(tmp_path / "machine-id"),))

    there = enter(None, tmp_path)

    assert there.runtime != here.runtime
    here.leave()
    there.leave()


def test_where_nothing_can_be_written_a_worker_works_without(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("")

    process = enter(None, tmp_path / "file")

    assert isinstance(process, Process)
    assert process.path is None
    assert "cannot write" in caplog.text
    process.leave()


def test_a_runtime_that_is_named_like_a_process_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="runtime_id"):
        enter("laptop/0123456789abcdef", tmp_path)
