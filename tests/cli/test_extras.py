"""A user learns from `taskyard doctor` which extras there are, and how to get one."""

import sys
from importlib.metadata import metadata
from pathlib import Path

import pytest

from taskyard.cli.extras import Extras, find_extras


def test_every_extra_of_the_package_is_named_once():
    found = find_extras()

    assert sorted([*found.installed, *found.missing]) == sorted(metadata("taskyard").get_all("Provides-Extra") or ())
    assert {"postgres", "redis", "server"} <= set(found.installed)  # the tests need them


def test_an_extra_counts_as_installed_only_with_all_that_it_asks_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    lines = (
        *("Metadata-Version: 2.1", "Name: shed", "Version: 1", "Provides-Extra: whole", "Provides-Extra: half"),
        "Requires-Dist: typer>=0.1; extra == 'whole'",
        "Requires-Dist: typer>=0.1; sys_platform != 'win32' and extra == 'half'",
        "Requires-Dist: nowhere-to-be-found>=1; extra == 'half'",
        "Requires-Dist: rich",
    )
    folder = tmp_path / "shed-1.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("\n".join(lines), encoding="utf-8")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])

    assert find_extras("shed") == Extras(["whole"], ["half"])


def test_what_is_missing_comes_with_the_command_that_brings_it():
    assert str(Extras(["server"], ["redis"])) == "server; not installed: redis (pip install 'taskyard[NAME]')"
    assert str(Extras([], [])) == "none"
