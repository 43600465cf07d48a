"""Sources of installed packages: they hear of something outside of the yard and fire the triggers that wait for it.

A package adds a source by an entry point of the group `taskyard.sources`, named as triggers name it. The process that
adds a trigger has the source check its settings; the one that runs `taskyard triggers listen` lets the source listen.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from taskyard import plugins
from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import Json, encode
from taskyard.features.triggers import rules
from taskyard.features.triggers.rules import SourceName, Trigger

MOST_SETTINGS = 1 << 16  # bytes as JSON
_BUILT_IN = {name.value: name for name in SourceName}


class Listening(Protocol):
    """What a source is given while it listens. It waits where the yard cannot be reached, and tries again."""

    @property
    def stop(self) -> asyncio.Event:
        """Set when the process is asked to stop: the source then returns."""
        ...

    async def triggers(self) -> list[Trigger]:
        """The triggers of this source that are not paused, as they are stored now."""
        ...

    async def fire(self, trigger: Trigger, data: Mapping[str, object], *, key: str) -> None:
        """Fire a trigger with what its template names. The same key fires once, whoever reports it and how often."""
        ...


@runtime_checkable
class Source(Protocol):
    def settings(self, given: Mapping[str, object]) -> Mapping[str, Json]:
        """What a trigger listens to, complete; `InvalidInput` for `settings.NAME` says what is wrong with it."""
        ...

    async def listen(self, listening: Listening, places: Sequence[str]) -> None:
        """Listen until `listening.stop` is set. `places` are what the operator allows this process to listen to."""
        ...


def installed(name: str) -> Source:
    """The source of an installed package; `InvalidInput` lists what there is."""
    found = plugins.load(plugins.SOURCES, name, "source")
    if found is None:
        raise InvalidInput("source", f"must be one of {plugins.one_of(SourceName, plugins.SOURCES)}")
    if not isinstance(found, Source):
        raise plugins.unfit(plugins.SOURCES, name, "source", "source")
    return found


def settings(source: str, given: Mapping[str, object]) -> dict[str, Json]:
    """What a trigger listens to, complete; `InvalidInput` names the field and the rule."""
    if (ours := _BUILT_IN.get(source)) is not None:
        return rules.settings(ours, given)
    read = dict(installed(source).settings(given))
    encode(read, field="settings", max_bytes=MOST_SETTINGS)
    return read
