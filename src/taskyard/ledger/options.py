"""How one process runs a yard."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from taskyard.core.task import TaskId
from taskyard.definition.definition import Sizes
from taskyard.ledger.ids import mint_task
from taskyard.stores.shared.timeouts import CALL_TIMEOUT

LOCAL = "human:local"  # who acts where nobody says otherwise


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How a yard is run by this process. What all processes must agree on is stored in it instead."""

    workspace: str = "default"
    preset: str | None = None  # what the process expects to be stored; None: whatever is
    sizes: Sizes = field(default_factory=Sizes)
    retention_days: float | None = None  # to be stored for all processes; None: whatever is stored
    sweeps: bool = True  # keep the yard swept while it is open
    artifacts: str | None = None  # where their contents are, by URL; None: nowhere
    max_artifact_bytes: int = 1 << 30
    allowed_targets: tuple[str, ...] = ()  # hosts and networks that notifications may go to though they are not public
    public_url: str | None = None  # by which people reach the server; None: no notification has a link
    transcripts: Path = Path("taskyard-transcripts")  # the directory of what background subagents wrote
    embedder: str | None = None  # what turns finished work into vectors, by URL; None: nothing is embedded
    mint: Callable[[], TaskId] = mint_task
    dice: Callable[[], float] = random.random
    call_timeout: float = CALL_TIMEOUT  # seconds
