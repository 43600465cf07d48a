"""Programs that scripts and checks need: this machine's; else Debian's, unpacked into a folder, which needs no root."""

import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from tests import servers

PACKAGES = {
    "bwrap": ("bubblewrap", "libcap2"),
    "curl": (
        *("curl", "libcurl4", "libnghttp2-14", "librtmp1", "libssh2-1", "libpsl5", "libbrotli1"),
        *("libldap-2.5-0", "libsasl2-2"),
    ),
    "jq": ("jq", "libjq1", "libonig5"),
    "promtool": ("prometheus",),
    "systemd-analyze": ("systemd", "libsystemd-shared"),
}


@cache
def environment(*programs: str) -> dict[str, str]:
    """The variables with which a script finds these programs. One that is not to be had fails whoever asks for it."""
    missing = [program for program in programs if shutil.which(program) is None]
    if not missing:
        return dict(os.environ)
    folder = Path(tempfile.mkdtemp(prefix="taskyard-programs-"))
    servers.at_the_end.callback(shutil.rmtree, folder)
    packages = [package for program in missing for package in PACKAGES[program]]
    subprocess.run(["apt-get", "download", *packages], cwd=folder, check=True)
    for package in folder.glob("*.deb"):
        subprocess.run(["dpkg", "-x", package, folder], check=True)
    # A package may have its libraries in either folder, or none at all.
    libraries = [*folder.glob("lib/*-linux-gnu"), *folder.glob("usr/lib/*-linux-gnu")]
    found = f"{folder / 'usr' / 'bin'}:{os.environ['PATH']}"
    return {**os.environ, "PATH": found, "LD_LIBRARY_PATH": ":".join(map(str, libraries))}
