"""Where the command line looks for the yard: a flag, then the environment, then taskyard.toml, then the default."""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from taskyard.app import DEFAULT_URL, url_in
from taskyard.core.errors import InvalidInput
from taskyard.stores import store_url

FILE = "taskyard.toml"
KNOWN = ("url", "workspace", "preset", "artifacts", "embedder", "allowed_targets", "public_url", "call_timeout_sec")
NUMBERS = ("call_timeout_sec",)


@dataclass(frozen=True, slots=True, kw_only=True)
class CliSettings:
    url: str = DEFAULT_URL
    workspace: str | None = None
    preset: str | None = None
    artifacts: str | None = None
    embedder: str | None = None
    allowed_targets: str | None = None  # with commas between
    public_url: str | None = None
    call_timeout_sec: float | str | None = None

    @property
    def options(self) -> dict[str, Any]:
        """What a yard is connected to with."""
        targets = None if self.allowed_targets is None else self.allowed_targets.split(",")
        return {
            "workspace": self.workspace,
            "preset": self.preset,
            "artifacts": self.artifacts,
            "embedder": self.embedder,
            "allowed_targets": targets,
            "public_url": self.public_url,
            "call_timeout_sec": self.call_timeout_sec,
        }

    @property
    def shown_url(self) -> str:
        """The URL as it may be printed: without what may be a password."""
        return store_url.redact_url(self.url)


def settings(
    *, url: str | None, url_file: Path | None = None, workspace: str | None, preset: str | None
) -> CliSettings:
    """What this call is about."""
    flags = {"url": url or (None if url_file is None else url_in(url_file)), "workspace": workspace, "preset": preset}
    filed = _filed()
    chosen = {name: flags.get(name) or os.environ.get(f"TASKYARD_{name.upper()}") or filed.get(name) for name in KNOWN}
    return CliSettings(**{name: value for name, value in chosen.items() if value not in (None, "")})


def _filed() -> dict[str, Any]:
    path = Path(FILE)
    if not path.is_file():
        return {}
    try:
        found = tomllib.loads(path.read_text())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(FILE, f"must be TOML: {error}") from None
    for name, value in found.items():
        if name not in KNOWN:
            raise InvalidInput(f"{FILE}: {name}", f"must be one of {', '.join(KNOWN)}")
        if name in NUMBERS:
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise InvalidInput(f"{FILE}: {name}", "must be a number")
        elif not isinstance(value, str):
            raise InvalidInput(f"{FILE}: {name}", "must be a text")
    return found
