"""Which extras of the package are installed: `pip install taskyard` alone has the embedded queue and the worker."""

from __future__ import annotations

import re
from collections import defaultdict
from importlib.metadata import PackageNotFoundError, distribution, requires
from typing import NamedTuple

_REQUIREMENT = re.compile(r"(?P<name>[A-Za-z0-9._-]+).*;.*extra == ['\"](?P<extra>[^'\"]+)['\"]")


class Extras(NamedTuple):
    installed: list[str]
    missing: list[str]

    def __str__(self) -> str:
        missing = f"not installed: {', '.join(self.missing)} (pip install 'taskyard[NAME]')" if self.missing else ""
        return "; ".join(filter(None, (", ".join(self.installed) or "none", missing)))


def find_extras(package: str = "taskyard") -> Extras:
    """An extra is installed if all packages are that it asks for."""
    needs: dict[str, list[str]] = defaultdict(list)
    for requirement in requires(package) or ():
        if match := _REQUIREMENT.match(requirement):
            needs[match["extra"]].append(match["name"])
    installed = [extra for extra, names in needs.items() if all(map(_is_installed, names))]
    return Extras(sorted(installed), sorted(needs.keys() - set(installed)))


def _is_installed(package: str) -> bool:
    try:
        distribution(package)
    except PackageNotFoundError:
        return False
    return True
