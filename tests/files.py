"""Words for tests about artifacts."""

from pathlib import Path

from taskyard.features.tasks.views import Held
from taskyard.yard import Yard


async def content_of(yard: Yard, artifact_id: str, *, task_id: str | None = None, lease: str | None = None) -> bytes:
    return b"".join([piece async for piece in yard.artifacts.read(artifact_id, task_id=task_id, lease=lease)])


async def put_by(yard: Yard, held: Held, name: str = "report.md", data: str = "# Done") -> str:
    """The id of what this attempt stored."""
    return (await yard.artifacts.put(name, data, task_id=held.id, lease=held.lease)).id


def objects_in(folder: Path) -> list[str]:
    """What is stored there, whoever knows of it."""
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def path_of(folder: Path, artifact_id: str) -> Path:
    (path,) = folder.rglob(artifact_id)
    return path
