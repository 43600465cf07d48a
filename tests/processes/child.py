"""The child's end of the line to a test: one JSON object a line, both ways.

A child that hears no more, because the test has gone, ends by itself.
"""

import asyncio
import json
import sys
from typing import Any


def say(**facts: Any) -> None:
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


async def hear() -> dict[str, Any] | None:
    """What the test says next; None when it will say nothing more."""
    line = await asyncio.to_thread(sys.stdin.readline)
    return json.loads(line) if line else None


async def wait_for_the_end() -> None:
    """Stay as one is, until the test or its silence ends this process."""
    while await hear() is not None:
        pass
