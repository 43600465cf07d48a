"""The dashboard is tried with the browser that `make test` brings, and with the machine's where it is asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts import get_browser
from scripts.node import NodeFailed

ROOT = Path(__file__).parents[2]


@pytest.fixture
def brought(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Where the brought browser would be, on a machine that has another."""
    monkeypatch.setattr(get_browser, "CHROMIUM", tmp_path / "chromium")
    monkeypatch.setattr(get_browser.shutil, "which", _in_usr_bin)
    monkeypatch.delenv("TASKYARD_CHROMIUM", raising=False)
    return get_browser.CHROMIUM


def _in_usr_bin(name: str) -> str:
    return f"/usr/bin/{name}"


def test_the_brought_browser_is_taken_before_that_of_the_machine(brought: Path):
    assert get_browser.found() == ("/usr/bin/chromium", {})
    brought.touch()
    found = get_browser.found()
    assert found is not None
    assert found[0] == str(brought)
    assert "LD_LIBRARY_PATH" in found[1]


def test_a_browser_that_is_named_is_taken_before_all_others(brought: Path, monkeypatch: pytest.MonkeyPatch):
    brought.touch()
    monkeypatch.setenv("TASKYARD_CHROMIUM", "/opt/chromium")
    assert get_browser.found() == ("/opt/chromium", {})


def test_no_other_than_the_brought_browser_is_taken_where_it_is_asked_for(
    brought: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("TASKYARD_CHROMIUM", "own")
    assert get_browser.found() is None
    brought.touch()
    assert (get_browser.found() or ("",))[0] == str(brought)


def test_the_machines_browser_is_taken_where_none_can_be_brought(
    brought: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(get_browser, "bring", _fail)
    get_browser.main()
    assert "the tests take /usr/bin/chromium" in capsys.readouterr().out

    monkeypatch.setenv("TASKYARD_CHROMIUM", "own")
    with pytest.raises(SystemExit, match="none can be brought"):
        get_browser.main()
    assert not brought.exists()


def _fail() -> None:
    raise NodeFailed("there is no registry")


def test_every_test_runs_with_the_brought_browser_in_ci():
    run = (ROOT / ".ci/run").read_text()

    whole = "TASKYARD_CHROMIUM=own make test ARGS=--hypothesis-profile=ci "
    assert [line for line in run.splitlines() if line.startswith(whole)] == [
        f'{whole}2>&1 | tee "$printed" || status=$?'
    ]
