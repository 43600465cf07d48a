"""The dashboard is built when its sources changed, and only then."""

from pathlib import Path

import pytest

from scripts import build_dashboard
from scripts.build_dashboard import STAMP, digest, is_fresh


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Sources that were just built."""
    folder = tmp_path / "dashboard"
    for name in ("src", "node_modules", "dist"):
        (folder / name).mkdir(parents=True)
    (folder / "package-lock.json").write_text("{}")
    (folder / "src/main.tsx").write_text("first")
    monkeypatch.setattr(build_dashboard, "SOURCES", folder)
    monkeypatch.setattr(build_dashboard, "BUILT", tmp_path)
    (tmp_path / STAMP).write_text(digest())
    return folder


def test_what_was_built_of_these_sources_is_fresh(sources: Path):
    assert is_fresh()


@pytest.mark.parametrize("path", ["src/main.tsx", "src/new.tsx", "package-lock.json"])
def test_a_source_that_changed_makes_it_stale(sources: Path, path: str):
    (sources / path).write_text("second")

    assert not is_fresh()


@pytest.mark.parametrize("path", ["node_modules/react.js", "dist/index.html"])
def test_what_was_made_or_installed_is_no_source(sources: Path, path: str):
    (sources / path).write_text("anything")

    assert is_fresh()


def test_where_there_are_no_sources_there_is_nothing_to_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(build_dashboard, "SOURCES", tmp_path / "nowhere")

    assert is_fresh()
