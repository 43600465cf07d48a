"""Writes the types of the dashboard's calls from the OpenAPI document; with --check, fails where they are stale.

Making them takes the dashboard's own packages (`npm ci` in dashboard/). Checking them takes nothing: the file begins
with the digest of the document it was made from.
"""

import argparse
import json
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from taskyard.server.application import document

DASHBOARD = Path(__file__).parent.parent / "dashboard"
TYPES = DASHBOARD / "src/api/schema.d.ts"
MAKER = DASHBOARD / "node_modules/.bin/openapi-typescript"


def heading() -> str:
    digest = sha256(json.dumps(document(), sort_keys=True).encode()).hexdigest()
    return f"// Made by scripts/generate_dashboard_types.py from an OpenAPI document with SHA-256\n// {digest}\n"


def is_fresh() -> bool:
    return TYPES.exists() and TYPES.read_text().startswith(heading())


def write() -> None:
    with TemporaryDirectory() as directory:
        source, made = Path(directory, "openapi.json"), Path(directory, "schema.d.ts")
        source.write_text(json.dumps(document()))
        # A field with a default may be left out of a request.
        subprocess.run(
            [MAKER, source, "-o", made, "--default-non-nullable=false"], check=True, stdout=subprocess.DEVNULL
        )
        TYPES.write_text(heading() + made.read_text())


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--check", action="store_true", help="write nothing; fail where the types are stale")
    if not arguments.parse_args().check:
        write()
        return 0
    if not is_fresh():
        print("dashboard/src/api/schema.d.ts is stale: run `python -m scripts.generate_dashboard_types`")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
