"""The answer to a large batch is made and sent in turns, and is one document."""

import asyncio
import json
from itertools import groupby

from starlette.types import Message

from taskyard.server.routing import SENT_AT_ONCE, LongAnswer, created
from taskyard.stores.turns import TURN


async def nothing() -> Message:
    raise AssertionError("the request has no more")


async def test_a_long_answer_is_made_and_sent_in_turns():
    made: list[str] = []
    sent: list[Message] = []

    async def go_round() -> None:
        while True:
            made.append("others")
            await asyncio.sleep(0)

    def spell(number: int) -> str:
        made.append("item")
        return f'"ü {number}"'

    async def send(message: Message) -> None:
        made.append("send")
        sent.append(message)

    items = list(range(4 * SENT_AT_ONCE * TURN + 3))
    spelled = [f"ü {number}" for number in items]
    beside = asyncio.create_task(go_round())
    answer = await created('{"tasks":[', spell, items, "]}")
    await answer({"type": "http"}, nothing, send)
    beside.cancel()

    head, *pieces = sent
    body = b"".join(piece["body"] for piece in pieces)
    assert json.loads(body) == {"tasks": spelled}
    assert (head["status"], (b"content-length", str(len(body)).encode()) in head["headers"]) == (201, True)
    assert [piece["more_body"] for piece in pieces] == [True] * (len(pieces) - 1) + [False]
    in_a_row = {what: [len(list(run)) for who, run in groupby(made) if who == what] for what in ("item", "send")}
    assert max(in_a_row["item"]) == TURN
    assert in_a_row["send"] == [2] + [1] * 4  # the head goes out with the first piece
    assert items == []


async def test_a_short_answer_goes_out_in_one_piece():
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    answer = await created("[", str, [1, 2], "]")
    assert isinstance(answer, LongAnswer)
    await answer({"type": "http"}, nothing, send)
    assert [piece.get("body") for piece in sent] == [None, b"[1,2]"]
