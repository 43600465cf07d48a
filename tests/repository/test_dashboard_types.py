"""The dashboard is checked against the calls that the server has, so the types of these must be of today."""

from pathlib import Path

import pytest

from scripts import generate_dashboard_types
from scripts.generate_dashboard_types import TYPES, heading, is_fresh


def test_the_types_of_the_dashboard_are_those_of_the_openapi_document():
    assert is_fresh(), "run python -m scripts.generate_dashboard_types"


def test_types_of_another_document_are_stale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    copy = tmp_path / TYPES.name
    copy.write_text(heading().replace("//", "// of another"))
    monkeypatch.setattr(generate_dashboard_types, "TYPES", copy)

    assert not is_fresh()
