"""What a request says beside its body: ids in its path, and the lease that it shows."""

from __future__ import annotations

import re
from urllib.parse import quote

from taskyard.core.errors import NotFound
from taskyard.core.json_value import mended
from taskyard.features.artifacts import views as files

_ID = re.compile(r"\w[!-~]{0,254}", re.ASCII)
LONGEST_WAIT = 10.0  # seconds that a server is asked to wait at once: a line that goes silent is noticed after that


def shown(lease: str | None, task_id: str | None = None) -> dict[str, str]:
    """The headers that show a lease, where there is one: with its task, where the path does not say it."""
    headers = {} if task_id is None else {files.TASK: checked_id(task_id)}
    # Whatever a header cannot carry is in no lease, and is none of anything as it is spelled here.
    return headers if lease is None else {**headers, files.LEASE: quote(mended(lease), safe="")}


def checked_id(task_id: str) -> str:
    if not _ID.fullmatch(task_id):
        raise NotFound("task", task_id)  # what cannot be asked for is not there
    return task_id
