"""What is answered about dead letters."""

from __future__ import annotations

from typing import NamedTuple

from taskyard.core.changes import Record
from taskyard.features.tasks.views import Details


class DeadLetter(NamedTuple):
    task: Details
    record: Record
