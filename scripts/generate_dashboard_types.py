"""Makes the types of the dashboard's calls from the OpenAPI document: what the server does not have does not compile.

It takes the dashboard's own packages (`make dashboard`). The types are kept nowhere, so they cannot be stale.
"""

import json
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from taskyard.server.application import document

DASHBOARD = Path(__file__).parent.parent / "dashboard"
TYPES = DASHBOARD / "made/schema.d.ts"
MAKER = DASHBOARD / "node_modules/.bin/openapi-typescript"


def main() -> None:
    TYPES.parent.mkdir(exist_ok=True)
    with TemporaryDirectory() as directory:
        source = Path(directory, "openapi.json")
        source.write_text(json.dumps(document()))
        # A field with a default may be left out of a request.
        options = ["-o", TYPES, "--default-non-nullable=false"]
        subprocess.run([MAKER, source, *options], check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
