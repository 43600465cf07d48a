"""A worker with Claude's command line, to be killed: `python -m tests.integrations.claude_host YARD ENDPOINT DIR`."""

import asyncio
import sys
from pathlib import Path

import taskyard
from tests.integrations.anthropic_endpoint import Endpoint
from tests.integrations.test_claude_command_line import worker_of


async def main(yard_url: str, endpoint_url: str, folder: str) -> None:
    async with taskyard.connect(yard_url) as yard:
        await yard.drain(worker_of(Endpoint([], url=endpoint_url), Path(folder)))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
