"""Opens each yard that it is told the URL of, puts a task in, and closes it again."""

import asyncio
import hashlib

import taskyard
from tests.processes.child import hear, say


async def main() -> None:
    say(up=True)
    while (told := await hear()) is not None:
        async with taskyard.connect(told["url"], sweeps=False) as yard:
            task = await yard.enqueue("code")
            say(id=task.id, secret=hashlib.sha256(yard.store.secret).hexdigest())


if __name__ == "__main__":
    asyncio.run(main())
