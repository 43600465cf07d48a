"""The dashboard is tried with the browser of the machine and with the one that `make test` brings."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts import get_browser

ROOT = Path(__file__).parents[2]


def test_the_brought_browser_is_taken_where_it_is_asked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    brought = tmp_path / "chromium"
    brought.touch()
    monkeypatch.setattr(get_browser, "CHROMIUM", brought)
    monkeypatch.setattr(get_browser.shutil, "which", _in_usr_bin)

    monkeypatch.delenv("TASKYARD_CHROMIUM", raising=False)
    assert get_browser.found() == ("/usr/bin/chromium", {})
    monkeypatch.setenv("TASKYARD_CHROMIUM", "/opt/chromium")
    assert get_browser.found() == ("/opt/chromium", {})
    monkeypatch.setenv("TASKYARD_CHROMIUM", "own")
    found = get_browser.found()
    assert found is not None
    assert found[0] == str(brought)
    assert "LD_LIBRARY_PATH" in found[1]


def _in_usr_bin(name: str) -> str:
    return f"/usr/bin/{name}"


def test_every_test_runs_with_the_brought_browser_in_ci():
    run = (ROOT / ".ci/run").read_text()

    whole = "TASKYARD_CHROMIUM=own make test ARGS=--hypothesis-profile=ci "
    assert [line for line in run.splitlines() if line.startswith(whole)] == [
        f'{whole}2>&1 | tee "$printed" || status=$?'
    ]
