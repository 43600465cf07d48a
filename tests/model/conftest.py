"""Where the stores of a run live: in memory, where the machine has a place for that. What is tested is no disk."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.storage import IN_MEMORY


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    with TemporaryDirectory(dir=IN_MEMORY if IN_MEMORY.is_dir() else tmp_path) as name:
        yield Path(name)
