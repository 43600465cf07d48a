"""Where the command line looks for the yard: a flag, then the environment, then taskyard.toml, then the default."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from taskyard.app import DEFAULT_URL, line_in, url_in
from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import is_list
from taskyard.features.tokens.sign_in_settings import SignInSettings, sign_in_settings
from taskyard.stores import store_url

FILE = "taskyard.toml"
KNOWN = ("url", "workspace", "preset", "artifacts", "embedder", "allowed_targets", "public_url", "call_timeout_sec")
NUMBERS = ("call_timeout_sec",)
# How people sign in at a server. `members` is a list; in the environment it has semicolons between, since names of
# groups may have commas in them.
SIGN_IN = (
    *("oidc_issuer", "oidc_client_id", "oidc_client_secret_file", "oidc_name_claim", "oidc_groups_claim"),
    *("oidc_scope", "oidc_label", "proxy_addresses", "proxy_user_header", "proxy_groups_header", "members"),
)
LISTS = ("members",)
CLIENT_SECRET = "TASKYARD_OIDC_CLIENT_SECRET"


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


def sign_in(workspace: str, flags: Mapping[str, Any]) -> SignInSettings:
    """How people sign in at a server: by the flags, then by the environment, then by the file."""
    filed = _filed()
    named: dict[str, Any] = {name: flags.get(name) or _of_environment(name) or filed.get(name) for name in SIGN_IN}
    file = named.pop("oidc_client_secret_file")
    secret = os.environ.get(CLIENT_SECRET) or (
        line_in(Path(file), "oidc_client_secret_file", "the client's secret") if file else None
    )
    members = tuple(named.pop("members") or ())
    return sign_in_settings(workspace=workspace, members=members, oidc_client_secret=secret, **named)


def _of_environment(name: str) -> str | list[str] | None:
    value = os.environ.get(f"TASKYARD_{name.upper()}") or None
    return value.split(";") if value is not None and name in LISTS else value


def _filed() -> dict[str, Any]:
    path = Path(FILE)
    if not path.is_file():
        return {}
    try:
        found = tomllib.loads(path.read_text())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(FILE, f"must be TOML: {error}") from None
    for name, value in found.items():
        if name not in (*KNOWN, *SIGN_IN):
            raise InvalidInput(f"{FILE}: {name}", f"must be one of {', '.join((*KNOWN, *SIGN_IN))}")
        if name in NUMBERS:
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise InvalidInput(f"{FILE}: {name}", "must be a number")
        elif name in LISTS:
            if not is_list(value) or not all(isinstance(each, str) for each in value):
                raise InvalidInput(f"{FILE}: {name}", "must be a list of texts")
        elif not isinstance(value, str):
            raise InvalidInput(f"{FILE}: {name}", "must be a text")
    return found
