"""A release is the same whoever builds it, and its sums are those that others check."""

import subprocess
import sys
from pathlib import Path

import pytest

from scripts.release import ReleaseFailed, compare, pythons, sums

FILES = {"taskyard-1.whl": b"wheel", "taskyard-1.tar.gz": b"sources"}


def test_two_builds_that_are_alike_are_taken():
    compare(FILES, dict(FILES))


@pytest.mark.parametrize("other", [{**FILES, "taskyard-1.whl": b"wheeL"}, {"taskyard-1.whl": b"wheel"}])
def test_two_builds_that_differ_are_refused(other: dict[str, bytes]):
    with pytest.raises(ReleaseFailed):
        compare(FILES, other)


def test_the_sums_are_what_sha256sum_checks(tmp_path: Path):
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "SHA256SUMS").write_text(sums(FILES), encoding="utf-8")
    command = ["sha256sum", "--check", "--strict", "SHA256SUMS"]

    assert subprocess.run(command, cwd=tmp_path, capture_output=True, check=False).returncode == 0
    (tmp_path / "taskyard-1.whl").write_bytes(b"other")
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, check=False).returncode == 1


def test_the_python_that_runs_the_tests_is_one_that_a_release_is_tried_on():
    versions = [subprocess.check_output([python, "--version"], text=True).split()[1] for python in pythons()]

    assert versions
    assert all(tuple(map(int, version.split("."))) >= (3, 11) for version in versions)


def test_a_python_of_pyenv_is_found_beside_those_that_can_be_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = tmp_path / "versions" / "this" / "bin"
    folder.mkdir(parents=True)
    major, minor, *_ = sys.version_info
    (folder / f"python{major}.{minor}").symlink_to(Path(sys.executable).resolve())
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    monkeypatch.setenv("PATH", "/nowhere")

    assert [Path(python).is_relative_to(tmp_path) for python in pythons()] == [True]
