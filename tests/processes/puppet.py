"""An agent that does what it is told, one call on its yard after the other.

puppet.py URL [sweeps] [unprivileged] [PRESET] [ahead=SECONDS]: the last has a clock that is wrong by so much.
"""

import asyncio
import sys
from operator import attrgetter
from typing import Any, cast

import taskyard
from taskyard.core.policy import PRESETS
from taskyard.core.units import Micros, seconds
from taskyard.features.tasks.views import Held, Task
from taskyard.ledger.clock import SystemClock
from taskyard.stores.contract import Clock
from tests.processes.child import hear, say
from tests.processes.privileges import give_up_privileges


class WrongClock(SystemClock):
    """The machine's, set wrong."""

    def __init__(self, ahead_sec: float) -> None:
        self._ahead = seconds(ahead_sec)

    def now(self) -> Micros:
        return Micros(super().now() + self._ahead)


async def main(url: str, *, sweeps: bool, clock: Clock | None, preset: str | None) -> None:
    async with taskyard.connect(url, sweeps=sweeps, clock=clock, preset=preset) as yard:
        say(up=True)
        while (told := await hear()) is not None:
            try:
                answer = await attrgetter(told["verb"])(yard)(**told["arguments"])
            except taskyard.TaskyardError as refused:
                say(refused=refused.code)
            else:
                say(answer=_shown(answer))


def _shown(answer: Any) -> Any:
    match answer:
        case list():
            return [_shown(each) for each in cast(list[Any], answer)]
        case Held():
            return {"id": answer.id, "lease": answer.lease, "attempt": answer.attempt}
        case Task():
            return {"id": answer.id, "created": answer.created, "key": answer.idempotency_key}
        case tuple():
            return cast(Any, answer)._asdict()  # every answer that is a tuple has names
        case _:
            return answer


if __name__ == "__main__":
    if "unprivileged" in sys.argv[2:]:
        give_up_privileges()
    ahead = [word.removeprefix("ahead=") for word in sys.argv[2:] if word.startswith("ahead=")]
    clock = WrongClock(float(ahead[0])) if ahead else None
    named = next((word for word in sys.argv[2:] if word in PRESETS), None)
    asyncio.run(main(sys.argv[1], sweeps="sweeps" in sys.argv[2:], clock=clock, preset=named))
