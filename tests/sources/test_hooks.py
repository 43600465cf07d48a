"""What becomes of deliveries that are paused, skipped, or signed in other ways."""

import pytest

from taskyard.core.errors import DeliveryRefused, InvalidInput
from taskyard.yard import Yard
from tests.sources.words import BODY, PULL_REQUEST, from_github, given_a_hook, letter, receive, refuse


async def test_a_delivery_that_is_not_good_is_refused_and_operators_see_why(yard: Yard):
    secret = await given_a_hook(yard)
    headers, body = letter(yard, secret)
    other = letter(yard, secret, b"[]")[0]

    assert "not all of" in await refuse(yard, {}, body)
    assert "garbled" in await refuse(yard, {**headers, "webhook-timestamp": "soon"}, body)
    assert "signature" in await refuse(yard, {**headers, "webhook-signature": "v1,AAAA"}, body)
    assert "signature" in await refuse(yard, {**headers, "webhook-signature": "\udcff"}, body)
    assert "signature" in await refuse(yard, {**headers, "webhook-id": "msg_2"}, body)
    assert "signature" in await refuse(yard, other, body)
    assert "signature" in await refuse(yard, *letter(yard, f"whsec_{'A' * 44}"))
    assert "301 s behind" in await refuse(yard, *letter(yard, secret, late_sec=301))
    assert "301 s ahead" in await refuse(yard, *letter(yard, secret, late_sec=-301))
    assert "must be JSON" in await refuse(yard, *letter(yard, secret, b"{"))
    assert "key twice" in await refuse(yard, *letter(yard, secret, b'{"a":1,"a":2}'))
    assert await yard.find() == []


async def test_a_delivery_is_good_up_to_five_minutes_either_way(yard: Yard):
    secret = await given_a_hook(yard)
    await receive(yard, *letter(yard, secret, id_="a", late_sec=300))
    await receive(yard, *letter(yard, secret, id_="b", late_sec=-300))

    assert len(await yard.find()) == 2


async def test_a_delivery_that_does_not_fit_is_taken_and_the_failure_shown(yard: Yard):
    secret = await given_a_hook(yard, only={"body.ok": False})
    await receive(yard, *letter(yard, secret, b'{"ok": true}', id_="a"))
    await receive(yard, *letter(yard, secret, b'{"ok": false}', id_="b"))

    told = [(fire.outcome, fire.why) for fire in await yard.triggers.fires("deploys")]
    assert ("skipped", "body.ok is true") in told
    assert any(outcome == "failed" and "body.service" in why for outcome, why in told)
    assert await yard.find() == []


async def test_a_pull_request_that_is_opened_makes_a_review(yard: Yard):
    secret = await given_a_hook(yard, settings={"scheme": "github"}, task=None, ready_made="pull-request-opened")
    await receive(yard, *from_github(secret, PULL_REQUEST))
    await receive(yard, *from_github(secret, {**PULL_REQUEST, "action": "closed"}))

    [task] = await yard.find()
    assert (task.type, task.to_dict()["subject"]) == ("review", "pr:acme/shop#9")
    assert (await yard.get(task.id)).payload["author"] == "ann"


async def test_a_paused_hook_takes_deliveries_and_makes_nothing(yard: Yard):
    secret = await given_a_hook(yard, paused=True)
    await receive(yard, *letter(yard, secret))

    assert [(fire.outcome, fire.why) for fire in await yard.triggers.fires("deploys")] == [("skipped", "it is paused")]
    assert await yard.find() == []


async def test_what_has_no_secret_cannot_be_given_another(yard: Yard):
    await yard.triggers.add("deploys", "dag", task={"type": "x"})
    with pytest.raises(InvalidInput, match="webhook"):
        await yard.triggers.rotate("deploys")
    with pytest.raises(DeliveryRefused):
        await receive(yard, {}, BODY, "deploys")
