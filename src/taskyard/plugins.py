"""What installed packages add: entry points, found by group and name.

Tables of what is built in are looked at first. The metadata of installed packages is read only for a name that is in no
table, so that a yard without plugins starts as fast as it would without this module.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

from taskyard.core.errors import InvalidInput

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

STORES = "taskyard.stores"  # by the scheme of a yard's URL
OBJECT_STORES = "taskyard.object_stores"  # by the scheme of the place for artifacts
CHANNELS = "taskyard.channels"  # by the scheme of a notification's target
SOURCES = "taskyard.sources"  # by the name that triggers give as their source
EMBEDDERS = "taskyard.embedders"  # by the scheme of the embedder's URL
PROVIDERS = "taskyard.providers"  # by the name that an agent gives as its `batch`
ADAPTERS = "taskyard.adapters"  # by the name that `taskyard work --adapter` takes


def load(group: str, name: str, field: str) -> object | None:
    """What an installed package offers under the name; None where no package does.

    `InvalidInput` blames `field` where the package cannot be loaded, or two packages offer the same name.
    """
    try:
        return _loaded(group, name, field)
    except LookupError:
        return None


def unfit(group: str, name: str, field: str, needed: str) -> InvalidInput:
    """What to raise where a package offers something that cannot be used in this group."""
    return InvalidInput(field, f"{name} is no {needed}: {_origin(_points(group, name))} offers it in {group}")


def one_of(built_in: Iterable[str], group: str) -> str:
    """Every name that can be used here, as a list for an error: first what is built in, then what is installed."""
    return ", ".join(dict.fromkeys([*built_in, *sorted(names(group))]))


def names(group: str) -> set[str]:
    """The names that installed packages offer in the group."""
    return {point.name for point in _points(group)}


# A miss raises, and is not kept: a package may be installed while the process runs.
@lru_cache(maxsize=64)
def _loaded(group: str, name: str, field: str) -> object:
    points = _points(group, name)
    if not points:
        raise LookupError(name)
    if len({point.value for point in points}) > 1:
        raise InvalidInput(field, f"{name} is offered in {group} by several packages: {_origin(points)}")
    try:
        return points[0].load()
    except Exception as error:  # whatever a module raises while it is imported
        why = f"{type(error).__name__}: {error}"
        raise InvalidInput(field, f"{name} of {_origin(points)} cannot be loaded: {why}") from error


def _points(group: str, name: str | None = None) -> list[EntryPoint]:
    from importlib.metadata import entry_points  # noqa: PLC0415 - slow to import, and most processes need no plugin

    found = entry_points(group=group)
    return [point for point in found if name is None or point.name == name]


def _origin(points: Iterable[EntryPoint]) -> str:
    packages = {point.dist.name if point.dist is not None else point.value for point in points}
    return " and ".join(sorted(packages))
