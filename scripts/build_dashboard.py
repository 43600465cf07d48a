"""Builds the dashboard into the package, where it is not there or not of these sources.

Used by `make dashboard` and by the hook that makes wheels, which have nothing but the standard library and Node.
"""

import shutil
import sys
from hashlib import sha256
from pathlib import Path

from scripts.node import NodeFailed, install, npm

ROOT = Path(__file__).parent.parent
SOURCES = ROOT / "dashboard"
BUILT = ROOT / "src/taskyard/server/static"
STAMP = ".sources"  # the digest of what was built
_INSTALLED = SOURCES / "node_modules/.taskyard-lock"  # the digest of what was installed
_NOT_SOURCES = frozenset({"node_modules", "dist", "made"})  # what is made are types, which a build leaves out


def is_fresh() -> bool:
    """Whether there is nothing to do: what is built is of these sources, or there are no sources to build from."""
    return not SOURCES.exists() or _stamped(BUILT / STAMP) == digest()


def digest() -> str:
    """Of all sources: their paths and what is in them."""
    whole = sha256()
    for path in sorted(_sources()):
        whole.update(f"{path.relative_to(SOURCES)}\0{sha256(path.read_bytes()).hexdigest()}\n".encode())
    return whole.hexdigest()


def build() -> None:
    sources, locked = digest(), sha256((SOURCES / "package-lock.json").read_bytes()).hexdigest()
    if _stamped(_INSTALLED) != locked:
        install(SOURCES)
        _INSTALLED.write_text(locked)
    # Into a folder of its own first: who is served from the old build sees no half of a new one.
    fresh = BUILT.with_name("static.new")
    out = {"TASKYARD_DASHBOARD_OUT": str(fresh)}
    npm("run", "--silent", "build", "--", "--logLevel", "warn", folder=SOURCES, env=out)
    (fresh / STAMP).write_text(sources)
    shutil.rmtree(BUILT, ignore_errors=True)
    fresh.rename(BUILT)


def _sources() -> list[Path]:
    tops = [path for path in SOURCES.iterdir() if path.name not in _NOT_SOURCES]
    inside = [path for top in tops if top.is_dir() for path in top.rglob("*")]
    return [path for path in (*tops, *inside) if path.is_file()]


def _stamped(stamp: Path) -> str:
    return stamp.read_text() if stamp.exists() else ""


def main() -> None:
    if is_fresh():
        return
    print("building the dashboard (dashboard/ -> src/taskyard/server/static)", flush=True)
    try:
        build()
    except NodeFailed as error:
        sys.exit(f"the dashboard cannot be built: {error}\nthe server does without it, and says so at /")


if __name__ == "__main__":
    main()
