"""What `import taskyard` loads, and that every public name is found."""

import subprocess
import sys

import pytest

import taskyard

LATER = ("asyncio", "jsonschema_rs", "opentelemetry", "re2", "taskyard.app", "taskyard.client.yard")
RARE = ("jsonschema_rs", "opentelemetry", "re2", "taskyard.client.yard", "ulid")


def loaded_by(program: str) -> set[str]:
    """By a process that has loaded nothing else."""
    shown = f"{program}; import sys; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", shown], capture_output=True, text=True, check=True)
    return set(ran.stdout.split())


def test_an_import_alone_loads_nothing_of_weight():
    assert loaded_by("import taskyard").isdisjoint(LATER)


def test_a_yard_in_memory_does_without_what_only_some_need():
    assert loaded_by("import taskyard; taskyard.connect('memory://')").isdisjoint(RARE)


@pytest.mark.parametrize("name", taskyard.__all__)
def test_a_public_name_is_found_and_listed(name: str):
    assert getattr(taskyard, name).__name__ == name
    assert name in dir(taskyard)


def test_a_name_that_is_not_public_is_not_found():
    with pytest.raises(AttributeError, match="no attribute 'conect'"):
        taskyard.conect  # pyright: ignore[reportAttributeAccessIssue]  # noqa: B018
