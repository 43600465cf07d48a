"""Who may listen to what: every message of the table for every role, tokens however they are shown, and their end."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import pytest
from websockets.exceptions import InvalidStatus

from taskyard.api.messages import MESSAGES, Closing, Message
from taskyard.core.errors import StoreUnavailable
from taskyard.features.tokens.rules import ADMINISTER, Role
from taskyard.ledger.clock import ManualClock
from taskyard.server.live import connections
from taskyard.server.live import socket as sockets
from taskyard.server.server import Server, served
from taskyard.yard import Yard
from tests.server.listeners import STREAM, Listener, calling, listening
from tests.yards import OpenYard, given_a_running_task


class Guarded(NamedTuple):
    """A server whose yard has given out tokens, and two tasks that agents hold."""

    server: Server
    tokens: dict[str, str]  # by role, and that of an admin of the workspace next door
    own: str  # held by the agent that the token is for
    foreign: str  # held by another


@pytest.fixture
async def guarded(yard: Yard, open_yard: OpenYard) -> AsyncIterator[Guarded]:
    own = await given_a_running_task(yard, by="mine")
    foreign = await given_a_running_task(yard, by="other")
    neighbour = await open_yard(workspace="next door")
    tokens = {
        role.value: (await yard.tokens.create(role, role, agent="mine" if role is Role.AGENT else None)).text
        for role in Role
    }
    tokens["next door"] = (await neighbour.tokens.create("admin", "admin")).text
    async with served(yard) as server:
        yield Guarded(server, tokens, own.id, foreign.id)


# Something to say for every message of the table: one that is added has to say something here too.
SAID: dict[str, dict[str, Any]] = {
    "token": {"token": "not a token"},
    "subscribe": {"action": "subscribe", "id": "all"},
    "unsubscribe": {"action": "unsubscribe", "id": "all"},
    "ping": {"action": "ping"},
}
WHO = (None, *Role)


@pytest.mark.parametrize("message", MESSAGES.values(), ids=list(MESSAGES))
@pytest.mark.parametrize("role", WHO, ids=str)
async def test_a_message_is_answered_to_those_whom_its_policy_names(
    guarded: Guarded, message: Message, role: Role | None
):
    async with listening(guarded.server, token=guarded.tokens.get(role or "")) as listener:
        answer = await listener.ask(**SAID[message.action])

    code = answer.get("error", {}).get("code")
    if message.roles is None or role is None:
        assert code == "unauthorized"
    elif role not in message.roles:
        assert code == "forbidden"
    else:
        assert code in (None, "not_found")


async def test_a_policy_is_asked_before_a_message_is_answered(guarded: Guarded, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(MESSAGES, "ping", MESSAGES["ping"]._replace(roles=ADMINISTER))
    async with listening(guarded.server, token=guarded.tokens["viewer"]) as listener:
        assert (await listener.ask(action="ping"))["error"]["code"] == "forbidden"


def test_every_message_of_the_table_has_an_answer_and_none_is_answered_beside_it():
    assert sockets.HANDLERS.keys() == MESSAGES.keys() == SAID.keys()
    assert all(message.roles for message in MESSAGES.values() if message.action != "token")


async def test_an_agent_hears_of_the_task_that_it_holds_and_of_no_other(guarded: Guarded):
    async with listening(guarded.server, token=guarded.tokens["agent"]) as listener:
        own = await listener.ask(action="subscribe", id="own", task_id=guarded.own)
        foreign = await listener.ask(action="subscribe", id="foreign", task_id=guarded.foreign)
        everything = await listener.ask(action="subscribe", id="everything", event="task.*")

    assert own["subscribed"] == "own"
    assert [refused["error"]["code"] for refused in (foreign, everything)] == ["not_found", "forbidden"]


@pytest.mark.parametrize("headers", [STREAM, {}], ids=["stream", "page"])
async def test_an_agent_reads_of_the_task_that_it_holds_and_of_no_other(guarded: Guarded, headers: dict[str, str]):
    async with calling(guarded.server, guarded.tokens["agent"]) as client:
        async with client.stream("GET", f"/api/events?task_id={guarded.own}&after=0", headers=headers) as own:
            assert own.status_code == 200
        assert (await client.get(f"/api/events?task_id={guarded.foreign}", headers=headers)).status_code == 404
        assert (await client.get("/api/events", headers=headers)).status_code == 403


async def test_workspaces_never_hear_of_each_other(yard: Yard, guarded: Guarded):
    async with listening(guarded.server, token=guarded.tokens["next door"]) as listener:
        refused = await listener.ask(action="subscribe", id="theirs", task_id=guarded.own)
        await listener.subscribe(after=0)
        await yard.enqueue("secret")
        heard = await listener.events(1)
        still = await listener.ask(action="ping")

    assert refused["error"]["code"] == "not_found"
    assert [event["workspace"] for event in heard] == ["next door"]
    assert "pong" in still


# How a token is shown


async def test_a_browser_shows_its_token_among_the_protocols_and_it_is_not_repeated(guarded: Guarded):
    protocols = ["taskyard", f"token.{guarded.tokens['viewer']}"]
    async with listening(guarded.server, protocols=protocols) as listener:
        assert listener.connection.subprotocol == "taskyard"
        await listener.subscribe()


async def test_a_token_may_be_the_first_message(guarded: Guarded):
    async with listening(guarded.server) as listener:
        assert await listener.ask(token=guarded.tokens["viewer"]) == {"welcome": "human:viewer"}
        await listener.subscribe()


async def test_a_token_in_the_url_counts_for_nothing(guarded: Guarded):
    async with listening(guarded.server, query=f"?token={guarded.tokens['viewer']}") as listener:
        assert (await listener.ask(action="ping"))["error"]["code"] == "unauthorized"
        assert (await listener.farewell()).code == Closing.NO_TOKEN


async def test_who_shows_nothing_is_sent_away_after_a_while(guarded: Guarded, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sockets, "INTRODUCING", 0.05)
    async with listening(guarded.server) as listener:
        assert (await listener.farewell()).code == Closing.NO_TOKEN


BAD: dict[str, dict[str, Any]] = {
    "another site's page": {"headers": {"Origin": "https://evil.example"}},
    "another site, by its own word": {"headers": {"Sec-Fetch-Site": "cross-site"}},
    "a token that is none": {"token": "ty_nonsense"},
    "a protocol that is no token": {"protocols": ["taskyard", "token.nonsense"]},
}


@pytest.mark.parametrize("options", BAD.values(), ids=list(BAD))
async def test_who_may_not_come_in_is_refused_before_the_connection_is_accepted(
    guarded: Guarded, options: dict[str, Any]
):
    with pytest.raises(InvalidStatus) as refused:
        async with listening(guarded.server, **options):
            pass

    assert refused.value.response.status_code in (401, 403)
    assert b'"code":' in (refused.value.response.body or b"")


async def test_a_name_that_is_not_the_servers_is_refused(guarded: Guarded):
    with pytest.raises(InvalidStatus) as refused:
        async with listening(guarded.server, token=guarded.tokens["admin"], called="evil.example"):
            pass

    assert refused.value.response.status_code == 403


# How a token ends


@pytest.fixture
def quick_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "EVERY", 0.05)


async def closings(listeners: Sequence[Listener]) -> list[int]:
    return [(await listener.farewell()).code for listener in listeners]


async def test_a_token_that_is_revoked_ends_what_it_let_in(yard: Yard, guarded: Guarded, quick_looks: None):
    (viewer,) = [token for token in await yard.tokens.list() if token.role is Role.VIEWER]
    text = guarded.tokens["viewer"]
    async with (
        listening(guarded.server, token=text) as gone,
        listening(guarded.server, token=guarded.tokens["admin"]) as staying,
        calling(guarded.server, text) as client,
        client.stream("GET", "/api/events", headers=STREAM) as stream,
    ):
        await gone.subscribe()
        await staying.subscribe()
        await yard.tokens.revoke(viewer.id)

        assert await closings([gone]) == [Closing.NO_TOKEN]
        # It has an end, and is not broken off; whether it still told of the revocation is chance.
        assert (await stream.aread())[-2:] in (b"", b"\n\n")
        assert (await staying.events(1))[0]["event"] == "token.revoked"


async def test_a_token_whose_time_is_over_ends_what_it_let_in(
    yard: Yard, guarded: Guarded, clock: ManualClock, quick_looks: None
):
    short = await yard.tokens.create("short", "viewer", expires_in_sec=60)
    async with listening(guarded.server, token=short.text) as listener:
        await listener.subscribe()
        clock.advance(seconds=61)

        assert await closings([listener]) == [Closing.NO_TOKEN]


async def test_the_first_token_ends_what_needed_none(yard: Yard, quick_looks: None):
    async with served(yard) as server, listening(server) as listener:
        await listener.subscribe()
        await yard.tokens.create("first", "admin")

        assert await closings([listener]) == [Closing.NO_TOKEN]


# How many listen


async def test_a_token_has_an_end_to_the_connections_that_listen_with_it(yard: Yard):
    tokens = [(await yard.tokens.create(name, "viewer")).text for name in ("ada", "bob")]
    async with served(yard, most_listeners=2) as server, calling(server, tokens[0]) as client:
        async with (
            listening(server, token=tokens[0]),
            client.stream("GET", "/api/events", headers=STREAM) as stream,
        ):
            assert stream.status_code == 200
            socket = await refused(server, tokens[0])
            async with client.stream("GET", "/api/events", headers=STREAM) as again:
                assert again.status_code == 429  # and not read on where it is not: that would have no end
                await again.aread()
            async with listening(server) as stranger:
                late = await stranger.ask(token=tokens[0])
                assert (await stranger.farewell()).code == Closing.NO_TOKEN
            async with listening(server, token=tokens[1]) as other:
                await other.subscribe()
        assert {socket, late["error"]["status"]} == {429}
        assert late["error"]["code"] == again.json()["code"] == "too_many_listeners"
        async with listening(server, token=tokens[0]) as after:
            await after.subscribe()


async def test_who_follows_a_task_is_counted_among_those_who_listen(yard: Yard):
    held = await given_a_running_task(yard)
    token = (await yard.tokens.create("ada", "viewer")).text
    async with (
        served(yard, most_listeners=1) as server,
        calling(server, token) as client,
        listening(server, token=token),
        client.stream("GET", f"/api/tasks/{held.id}/stream", headers=STREAM) as stream,
    ):
        assert stream.status_code == 429


async def test_an_address_has_an_end_to_the_connections_that_have_yet_to_show_a_token(yard: Yard):
    token = (await yard.tokens.create("ada", "viewer")).text
    async with served(yard, most_strangers=1) as server, listening(server) as stranger:
        assert await refused(server, None) == 429
        assert "welcome" in await stranger.ask(token=token)
        async with listening(server) as next_one:  # the first is a stranger no more
            assert "welcome" in await next_one.ask(token=token)


async def refused(server: Server, token: str | None) -> int:
    with pytest.raises(InvalidStatus) as refusal:
        async with listening(server, token=token):
            pass
    return refusal.value.response.status_code


def test_tokens_are_looked_at_often_enough_for_what_the_guide_promises():
    assert connections.EVERY <= 0.25
    assert "within half a second" in (Path(__file__).parents[2] / "docs/guides/security.md").read_text()


async def test_who_has_yet_to_show_a_token_is_not_taken_for_one_whose_token_has_ended(yard: Yard, quick_looks: None):
    issued = [await yard.tokens.create(name, "viewer") for name in ("ada", "bob")]
    async with (
        served(yard) as server,
        listening(server, token=issued[0].text) as first,
        listening(server) as stranger,
    ):
        await first.subscribe()
        await yard.tokens.revoke(issued[0].token.id)
        assert await closings([first]) == [Closing.NO_TOKEN]

        assert "welcome" in await stranger.ask(token=issued[1].text)


async def test_a_store_that_is_away_is_named_once_though_it_is_asked_about_tokens_again_and_again(
    guarded: Guarded, quick_looks: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    looks, looked_often = list[str](), asyncio.Event()

    async def away(token: str, _: object) -> NoReturn:
        looks.append(token)
        if len(looks) == 3:
            looked_often.set()
        raise StoreUnavailable("it is away")

    async with listening(guarded.server, token=guarded.tokens["viewer"]) as listener:
        await listener.subscribe()
        monkeypatch.setattr(connections, "caller_with", away)
        async with asyncio.timeout(30):
            await looked_often.wait()
        monkeypatch.undo()

    assert caplog.text.count("cannot be checked") == 1
