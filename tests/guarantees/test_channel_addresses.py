"""Chat services and mail servers are reached as webhooks are: only at addresses that were checked, looked up once."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from taskyard.core.errors import InvalidInput
from taskyard.core.notice import Notice
from taskyard.core.units import Micros
from taskyard.features.notifications.rules import Notification
from taskyard.outbound.addresses import allowed
from taskyard.outbound.channel_posts import checked_target, post
from taskyard.outbound.safe_connect import Lookup, Undelivered
from tests.guarantees.test_webhook_addresses import NOBODY, leading_to
from tests.receivers import Receiver, receiving

NOW = Micros(1_800_000_000_000_000)
SELF_HOSTED = (
    "ntfy://NAME:PORT/alerts",
    "gotify://NAME:PORT/tokenabcdefgh",
    "mmost://NAME:PORT/abcdefghijklmnopqrstuvwxyz",
    "rocket://NAME:PORT/a/b",
    "matrix://token@NAME:PORT/!room:example",
)
MAIL = "mailto://NAME:PORT/?from=a@b.example&to=c@d.example"
NOTHING = Notification(
    id="1.ops",
    notifier="ops",
    notice=Notice.TEST,
    title="Straße",
    text="It works",
    task_id=None,
    dag_id=None,
    facts={},
    at=NOW,
)


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as receiver:
        yield receiver


async def send(target: str, port: int, lookup: Lookup, permitted: tuple[str, ...] = ()) -> None:
    url = target.replace("NAME", "rebinding.example").replace("PORT", str(port))
    await post(NOTHING, url, "", workspace="default", permitted=allowed(permitted), now=NOW, lookup=lookup)


@pytest.mark.parametrize("target", SELF_HOSTED)
async def test_a_name_is_looked_up_once_so_that_it_cannot_lead_elsewhere_afterwards(receiver: Receiver, target: str):
    await send(target, receiver.port, leading_to(["127.0.0.1"], ["169.254.169.254"]), ("127.0.0.1",))

    (received,) = receiver.received
    assert received.headers["host"] == f"rebinding.example:{receiver.port}"
    assert b"It works" in received.body


@pytest.mark.parametrize("target", [*SELF_HOSTED, MAIL])
async def test_a_name_that_leads_to_a_private_address_is_not_connected_to(receiver: Receiver, target: str):
    with pytest.raises(Undelivered, match="not public"):
        await send(target, receiver.port, leading_to(["127.0.0.1"], ["93.184.216.34"]))

    assert receiver.received == []


@pytest.mark.parametrize("target", SELF_HOSTED)
async def test_a_redirect_is_not_followed(receiver: Receiver, target: str):
    receiver.answers = [f"307 Elsewhere\r\nLocation: http://127.0.0.1:{receiver.port}/inside"]

    with pytest.raises(Undelivered, match="not followed"):
        await send(target, receiver.port, leading_to(["127.0.0.1"]), ("127.0.0.1",))

    assert len(receiver.received) == 1


@pytest.mark.parametrize("target", [*SELF_HOSTED, MAIL])
@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "2130706433", "169.254.169.254"])
def test_a_private_address_is_refused_when_the_notifier_is_set(target: str, host: str):
    with pytest.raises(InvalidInput, match="not public"):
        checked_target(target.replace("NAME", host).replace("PORT", "80"), NOBODY)


@pytest.mark.parametrize(
    "target",
    [
        "slack://T1/B1/xyz/?template=http%3A%2F%2F127.0.0.1%3A9911%2F",
        "slack://T1/B1/xyz/?template=%2Fetc%2Fpasswd",
        "syslog://localhost",
        "json://example.org/",
    ],
)
async def test_a_stored_target_that_is_not_allowed_is_refused_when_it_is_sent_to(target: str):
    async def nobody_asks(host: str, port: int) -> list[str]:
        raise AssertionError(f"{host} was looked up")

    with pytest.raises(InvalidInput):
        await send(target, 80, nobody_asks)


# E-mail


@asynccontextmanager
async def mail_server(said: list[str], greeting: bytes = b"220 hello\r\n") -> AsyncGenerator[int]:
    """A server that takes one mail over a plain connection, and writes down what it was told."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(greeting)
        is_data = False
        while line := (await reader.readline()).decode().rstrip("\r\n"):
            said.append(line)
            if line.startswith("DATA"):
                writer.write(b"354 go on\r\n")
                is_data = True
                break
            writer.write(b"221 bye\r\n" if line == "QUIT" else b"250-here\r\n250 SIZE\r\n")
        if is_data:
            body = (await reader.readuntil(b"\r\n.\r\n")).decode()
            said.append(body)
            writer.write(b"250 taken\r\n")
            said.append((await reader.readline()).decode().rstrip())
            writer.write(b"221 bye\r\n")
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def test_a_mail_goes_to_the_address_that_was_checked():
    said: list[str] = []
    async with mail_server(said) as port:
        await send(MAIL, port, leading_to(["127.0.0.1"], ["169.254.169.254"]), ("127.0.0.1",))

    assert said[1:4] == ["MAIL FROM:<a@b.example>", "RCPT TO:<c@d.example>", "DATA"]
    assert "Subject: =?utf-8?q?Stra=C3=9Fe?=" in said[4]
    assert said[5] == "QUIT"


async def test_a_password_is_not_sent_without_tls():
    said: list[str] = []
    async with mail_server(said) as port:
        with pytest.raises(Undelivered, match="no TLS"):
            await send(MAIL.replace("//", "//user:s3cr3t@"), port, leading_to(["127.0.0.1"]), ("127.0.0.1",))

    assert said == ["EHLO taskyard"]


async def test_a_mail_server_that_refuses_is_named_by_its_status_alone():
    async with mail_server([], b"554 s3cr3t account closed\r\n") as port:
        with pytest.raises(Undelivered) as refused:
            await send(MAIL, port, leading_to(["127.0.0.1"]), ("127.0.0.1",))

    assert refused.value.why == "its mail server answered with 554"
