"""Webhooks reach only what they may: however an address is spelled, and wherever a name leads in the meantime."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from taskyard.core.errors import InvalidInput
from taskyard.core.units import Micros
from taskyard.ledger.signing import hook_secret, signed
from taskyard.outbound.addresses import allowed
from taskyard.outbound.channel_posts import checked_target
from taskyard.outbound.safe_connect import Lookup, Undelivered
from taskyard.outbound.webhooks import send_webhook
from tests.core.test_addresses import FORBIDDEN
from tests.receivers import Receiver, receiving

NOBODY = allowed(())
HERE = allowed(("127.0.0.1",))
SECRET = hook_secret(b"yard", "default", "notifier:ops", "nonce")
NOW = Micros(1_800_000_000_000_000)
# 127.0.0.1, 10.0.0.1, 169.254.169.254 and others, as resolvers read them and people do not.
ODD = (
    *("2130706433", "0x7f000001", "0x7f.0.0.1", "0177.0.0.1", "017700000001", "127.1", "127.0.1", "0x7f.1", "0", "0x0"),
    *(
        "167772161",
        "0xa000001",
        "012.0.0.1",
        "10.1",
        "2852039166",
        "0xa9fea9fe",
        "0251.0376.0251.0376",
        "0xA9.254.43518",
    ),
    *("3232235521", "0xc0a80001", "192.168.1", "0300.0250.0.1", "00000177.1", "0x7F.0x0.0x0.0x1", "127.000.000.001"),
)


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as receiver:
        yield receiver


def leading_to(*answers: list[str]) -> Lookup:
    """A resolver that says something else each time it is asked."""
    left = list(answers)

    async def lookup(host: str, port: int) -> list[str]:
        await asyncio.sleep(0)
        return left.pop(0)

    return lookup


async def send(url: str, lookup: Lookup, permitted: tuple[str, ...] = ()) -> None:
    await send_webhook(url, SECRET, "1.ops", b"{}", now=NOW, permitted=allowed(permitted), lookup=lookup)


@pytest.mark.parametrize("host", [*(each for each in FORBIDDEN if "%" not in each), *ODD])
def test_a_target_at_a_forbidden_address_is_refused_however_it_is_spelled(host: str):
    place = f"[{host}]" if ":" in host else host
    with pytest.raises(InvalidInput) as refused:
        checked_target(f"http://{place}/hook", NOBODY)

    assert refused.value.facts["field"] == "target"


@pytest.mark.parametrize("address", FORBIDDEN)
async def test_a_name_that_leads_to_a_forbidden_address_is_not_connected_to(address: str):
    with pytest.raises(Undelivered) as refused:
        await send("http://innocent.example/hook", leading_to([address]))

    assert "not public" in refused.value.why
    assert address not in refused.value.why


async def test_a_name_that_leads_to_two_places_is_trusted_with_neither(receiver: Receiver):
    with pytest.raises(Undelivered):
        await send(f"http://two.example:{receiver.port}/", leading_to(["127.0.0.1", "10.0.0.1"]), ("127.0.0.1",))

    assert receiver.received == []


async def test_a_name_is_looked_up_once_so_that_it_cannot_lead_elsewhere_afterwards(receiver: Receiver):
    rebinding = leading_to(["127.0.0.1"], ["169.254.169.254"])

    await send(f"http://rebinding.example:{receiver.port}/hook", rebinding, ("127.0.0.1",))

    (received,) = receiver.received
    assert received.headers["host"] == f"rebinding.example:{receiver.port}"


async def test_the_other_way_round_it_is_refused_before_anything_is_sent(receiver: Receiver):
    rebinding = leading_to(["169.254.169.254"], ["127.0.0.1"])

    with pytest.raises(Undelivered):
        await send(f"http://rebinding.example:{receiver.port}/hook", rebinding, ("127.0.0.1",))

    assert receiver.received == []


async def test_a_name_that_nobody_knows_is_not_delivered_to():
    async def unknown(host: str, port: int) -> list[str]:
        raise OSError("no such host")

    with pytest.raises(Undelivered, match="not known"):
        await send("http://nowhere.example/", unknown)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_to_a_forbidden_address_is_not_followed(receiver: Receiver, status: int):
    receiver.answers = [f"{status} Elsewhere\r\nLocation: http://169.254.169.254/latest/meta-data/"]

    with pytest.raises(Undelivered, match="not followed"):
        await send(receiver.url, leading_to(["127.0.0.1"]), ("127.0.0.1",))


async def test_a_proxy_of_the_environment_is_not_used(receiver: Receiver, monkeypatch: pytest.MonkeyPatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://169.254.169.254:3128")

    await send(receiver.url, leading_to(["127.0.0.1"]), ("127.0.0.1",))

    assert len(receiver.received) == 1


@pytest.mark.parametrize("kind", ["json", "jsons", "xml", "xmls", "form", "forms"])
@pytest.mark.parametrize("host", ["127.0.0.1", "example.org"])
def test_what_goes_to_any_web_server_goes_as_a_webhook_or_not_at_all(kind: str, host: str):
    with pytest.raises(InvalidInput, match="http"):
        checked_target(f"{kind}://{host}/hook", HERE)


@pytest.mark.parametrize(
    "target",
    [
        "gotify://10.0.0.1/tokenabcdefgh",
        "ntfy://169.254.169.254/topic",
        "mmost://192.168.1.1/abcdefghijklmnopqrstuvwxyz",
        "ntfy://[::1]/topic",
        "gotify://2130706433/tokenabcdefgh",
    ],
)
def test_services_of_somebodys_own_are_held_to_the_same_addresses(target: str):
    with pytest.raises(InvalidInput):
        checked_target(target, NOBODY)


async def test_what_is_signed_has_one_reading_whatever_the_id_is(receiver: Receiver):
    await send_webhook(receiver.url, SECRET, "task_1.2.dead", b"{}", now=NOW, permitted=HERE)

    (got,) = receiver.received
    assert got.headers["webhook-id"] == "task_1-2-dead"  # id, time and body are joined by dots
    assert got.headers["webhook-signature"] == signed(SECRET, "task_1-2-dead", NOW // 1_000_000, b"{}")
