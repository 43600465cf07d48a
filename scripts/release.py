"""Builds a release from what is committed, twice, and tries it: python -m scripts.release FOLDER [--python PYTHON …]

Each build is made in a clone of its own, dashboard included, and the files of both must be the same to the byte. Beside
them, FOLDER gets SHA256SUMS and the bill of materials. The wheel is then installed without extras into an empty
environment of each Python: the version, the demo, and the words for what is missing are looked at.

Signing and uploading are for a person with the keys: the commands are printed, and not run.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

from scripts.supply_chain import ROOT, bill, locked

UV = ROOT / ".tools" / "bin" / "uv"
SUMS, BILL = "SHA256SUMS", "sbom.json"


class ReleaseFailed(Exception):
    """The release is not fit to be published; the sentence says why."""


def run(*words: str | Path, cwd: Path = ROOT, variables: Mapping[str, str] | None = None) -> str:
    environment = os.environ | dict(variables or {})
    done = subprocess.run(words, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ReleaseFailed(f"{' '.join(map(str, words))} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def build(place: Path) -> dict[str, bytes]:
    """The files of one build, made in a clone of what is committed."""
    clone = place / "clone"
    run("git", "clone", "--quiet", "--no-hardlinks", ROOT, clone)
    committed = run("git", "log", "-1", "--format=%ct", cwd=clone).strip()
    run(UV, "build", "--quiet", "--out-dir", place / "dist", clone, variables={"SOURCE_DATE_EPOCH": committed})
    return {file.name: file.read_bytes() for file in (place / "dist").iterdir() if file.suffix in (".whl", ".gz")}


def compare(one: Mapping[str, bytes], other: Mapping[str, bytes]) -> None:
    if one.keys() != other.keys():
        raise ReleaseFailed(f"one build made {sorted(one)}, the other {sorted(other)}")
    if differing := [name for name in one if one[name] != other[name]]:
        raise ReleaseFailed(f"two builds of the same commit differ: {', '.join(differing)}")


def sums(files: Mapping[str, bytes]) -> str:
    """As `sha256sum --check` reads it."""
    return "".join(f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in sorted(files.items()))


def pythons() -> list[str]:
    """Every Python on this machine that the package is for."""
    found = json.loads(
        run(UV, "python", "list", "--only-installed", "--output-format", "json", variables={"PATH": _search_path()})
    )
    newest = {each["version_parts"]["minor"]: each["path"] for each in reversed(found) if _is_meant(each)}
    return [path for _, path in sorted(newest.items())]


def _search_path() -> str:
    """Where programs are looked for, and every Python of pyenv: its shims start only those that a folder has chosen."""
    of_pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")).glob("versions/*/bin")
    return os.pathsep.join([*map(str, sorted(of_pyenv)), os.environ["PATH"]])


def _is_meant(python: Mapping[str, object]) -> bool:
    parts = python["version_parts"]
    assert isinstance(parts, dict)
    is_final = python["version"] == f"{parts['major']}.{parts['minor']}.{parts['patch']}"
    return python["implementation"] == "cpython" and is_final and (parts["major"], parts["minor"]) >= (3, 11)


def try_wheel(wheel: Path, python: str, version: str) -> str:
    """Install it alone into an empty environment, and use it. Answers what was seen."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run(UV, "venv", "--quiet", "--no-project", "--python", python, folder / "venv")
        interpreter, program = folder / "venv" / "bin" / "python", folder / "venv" / "bin" / "taskyard"
        run(UV, "pip", "install", "--quiet", "--python", interpreter, wheel)
        if run(program, "--version", cwd=folder).strip() != f"taskyard {version}":
            raise ReleaseFailed(f"the wheel does not say that it is {version}")
        demo = run(program, "demo", cwd=folder).strip().splitlines()[-1]
        if not demo.startswith("verify: ok"):
            raise ReleaseFailed(f"the demo ends with {demo!r}")
        served = subprocess.run([program, "serve"], cwd=folder, capture_output=True, text=True, check=False)
        if "pip install 'taskyard[server]'" not in served.stderr:
            raise ReleaseFailed(f"`taskyard serve` does not name the extra that it needs: {served.stderr}")
        found = run(interpreter, "-c", "import platform; print(platform.python_version(), platform.machine())").strip()
        return f"Python {found}: {demo}"


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m scripts.release")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--python", action="append", help="default: every one of this machine from 3.11 on")
    given = parser.parse_args(arguments)
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    try:
        release(given.folder.absolute(), given.python or pythons(), version)
    except ReleaseFailed as failed:
        print(failed, file=sys.stderr)
        return 1
    return 0


def release(folder: Path, interpreters: Sequence[str], version: str) -> None:
    if changed := run("git", "status", "--porcelain").strip():
        raise ReleaseFailed(f"a release is made of what is committed, and this is not:\n{changed}")
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        files = build(Path(one))
        compare(files, build(Path(other)))
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    files[BILL] = json.dumps(bill(locked(ROOT / "uv.lock")), indent=2).encode()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    (folder / SUMS).write_text(sums(files), encoding="utf-8")
    print(f"built twice, the same to the byte: {', '.join(sorted(files))}")
    (wheel,) = folder.glob("*.whl")
    for interpreter in interpreters:
        print(try_wheel(wheel, interpreter, version))
    print("Not run here, since they need a person's keys:")
    print(f"  gpg --detach-sign --armor {folder / SUMS}")
    print(f"  git tag --sign v{version} && git push origin v{version}")
    print(f"  {UV.name} publish {folder}/taskyard-{version}*")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
