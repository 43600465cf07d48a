"""What is installed with Taskyard: `sbom` writes it down as CycloneDX, `audit` compares it with known advisories.

Both read uv.lock alone and reach no network. Advisories come from a file in OSV's format (one document, or a list of
them), as https://osv.dev exports for PyPI.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tomllib
from pathlib import Path
from typing import Any, NamedTuple, cast

from packaging.version import InvalidVersion, Version

ROOT = Path(__file__).parents[1]
NOTHING_CHECKED = 2


class Package(NamedTuple):
    name: str
    version: str
    hashes: tuple[str, ...]

    @property
    def purl(self) -> str:
        return f"pkg:pypi/{self.name}@{self.version}"


def locked(lock: Path) -> list[Package]:
    """Every package of a registry in the lock file."""
    data: dict[str, Any] = tomllib.loads(lock.read_text(encoding="utf-8"))
    return [
        Package(normal(each["name"]), each["version"], tuple(_hashes(each)))
        for each in data["package"]
        if "registry" in each.get("source", {})
    ]


def _hashes(package: dict[str, Any]) -> list[str]:
    files = [*package.get("wheels", ()), *([package["sdist"]] if "sdist" in package else ())]
    return sorted(each["hash"].removeprefix("sha256:") for each in files if "hash" in each)


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def bill(packages: list[Package]) -> dict[str, Any]:
    """A software bill of materials, the same for the same lock file."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    own = {"type": "application", "name": project["name"], "version": project["version"]}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {**own, "bom-ref": project["name"]}},
        "components": [
            {
                "type": "library",
                "bom-ref": each.purl,
                "name": each.name,
                "version": each.version,
                "purl": each.purl,
                "hashes": [{"alg": "SHA-256", "content": content} for content in each.hashes],
            }
            for each in packages
        ],
    }


def findings(packages: list[Package], advisories: list[dict[str, Any]]) -> list[str]:
    """A line for each package that an advisory is about."""
    return sorted(
        f"{package.name} {package.version}: {advisory['id']} {advisory.get('summary', '')}".rstrip()
        for advisory in advisories
        if not advisory.get("withdrawn")
        for affected in advisory.get("affected", ())
        for package in packages
        if _is_about(affected, package)
    )


def _is_about(affected: dict[str, Any], package: Package) -> bool:
    named = affected.get("package", {})
    if named.get("ecosystem") != "PyPI" or normal(named.get("name", "")) != package.name:
        return False
    ranges = [each for each in affected.get("ranges", ()) if each.get("type") == "ECOSYSTEM"]
    return package.version in affected.get("versions", ()) or any(_is_within(each, package.version) for each in ranges)


def _is_within(given: dict[str, Any], version: str) -> bool:
    """Whether the last event at or before this version began the trouble."""
    is_bad = False
    try:
        for event in given.get("events", ()):
            for word, begins in (("introduced", True), ("fixed", False)):
                if word in event and Version(event[word]) <= Version(version):
                    is_bad = begins
            if "last_affected" in event and Version(event["last_affected"]) < Version(version):
                is_bad = False
    except InvalidVersion:
        return True  # what cannot be compared is for a person to look at
    return is_bad


def read_advisories(file: Path) -> list[dict[str, Any]]:
    found: Any = json.loads(file.read_text(encoding="utf-8"))
    return cast(list[dict[str, Any]], found) if isinstance(found, list) else [found]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("act", choices=("sbom", "audit"))
    parser.add_argument("--lock", type=Path, default=ROOT / "uv.lock")
    parser.add_argument("--advisories", type=Path, default=ROOT / "advisories.json")
    given = parser.parse_args()
    packages = locked(given.lock)
    if given.act == "sbom":
        print(json.dumps(bill(packages), indent=2))
        return 0
    if not given.advisories.is_file():
        print(f"nothing was checked: there is no advisory file {given.advisories.name} (OSV, JSON)", file=sys.stderr)
        return NOTHING_CHECKED
    advisories = read_advisories(given.advisories)
    found = findings(packages, advisories)
    print("\n".join([*found, f"{len(packages)} packages, {len(advisories)} advisories, {len(found)} findings"]))
    return 1 if found else 0


def run() -> int:
    """The same for a reader who may go before the end, as `head` does: there is nobody left to tell anything."""
    try:
        status = main()
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python would complain once more as it ends
        return 0
    return status


if __name__ == "__main__":
    sys.exit(run())
