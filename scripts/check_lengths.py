"""Fails when a source file has grown past 500 lines, and names it.

Looks at what git tracks or would track; ignored files are nobody's business.
"""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

LIMIT = 500
FOLDERS = ("src", "tests", "bench", "chaos", "scripts", "examples")
SUFFIXES = (".py", ".sql", ".lua")


def source_files() -> Iterator[Path]:
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *FOLDERS]
    listed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    for name in sorted(set(listed.split("\0"))):
        path = Path(name)
        # A file that git tracks may be gone from the working tree.
        if path.suffix in SUFFIXES and path.is_file():
            yield path


def main() -> int:
    lengths = {path: len(path.read_bytes().splitlines()) for path in source_files()}
    too_long = {path: length for path, length in lengths.items() if length > LIMIT}
    for path, length in too_long.items():
        print(f"{path}: {length} lines, {LIMIT} are allowed: split it", file=sys.stderr)
    print(f"{len(lengths)} files measured, {len(too_long)} too long")
    return 1 if too_long else 0


if __name__ == "__main__":
    sys.exit(main())
