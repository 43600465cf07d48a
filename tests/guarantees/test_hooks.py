"""Webhooks that come in: taken once, if they are signed and on time; what is refused says why to operators alone."""

import json

import pytest

from taskyard.core.errors import DeliveryRefused, InvalidInput
from taskyard.service.clock import ManualClock
from taskyard.service.yard import Yard
from tests.sources.words import BODY, DEPLOY, behind, from_github, given_a_hook, letter, receive, refuse
from tests.yards import OpenYard


async def test_a_good_delivery_makes_its_task(yard: Yard):
    secret = await given_a_hook(yard)
    await receive(yard, *letter(yard, secret))

    [task] = await yard.find()
    assert (task.prompt, task.to_dict()["created_by"]) == ("Check api", "event:deploys")
    assert json.loads((await yard.get(task.id)).definition.payload) == {"service": "api", "ok": False}
    [fire] = await yard.trigger_fires("deploys")
    assert (fire.outcome, fire.why, fire.task_id) == ("fired", "delivery msg_1 came", task.id)


async def test_a_replay_is_refused_by_whichever_process_it_comes_to(open_yard: OpenYard):
    yards = [await open_yard() for _ in range(2)]
    secret = await given_a_hook(yards[0])
    sent = letter(yards[0], secret)
    await receive(yards[0], *sent)

    assert "replay" in await refuse(yards[1], *sent)
    assert len(await yards[0].find()) == 1


async def test_a_sender_that_got_no_answer_signs_anew_and_is_told_that_it_arrived(yard: Yard, clock: ManualClock):
    secret = await given_a_hook(yard)
    await receive(yard, *letter(yard, secret))
    clock.advance(seconds=20)
    await receive(yard, *letter(yard, secret))

    assert len(await yard.find()) == len(await yard.trigger_fires("deploys")) == 1
    clock.advance(seconds=20)
    assert "under its id" in await refuse(yard, *letter(yard, secret, b"{}"))


async def test_what_github_signs_is_taken_once_whatever_it_is_called(yard: Yard, clock: ManualClock):
    secret = await given_a_hook(yard, settings={"scheme": "github"})
    headers, body = from_github(secret, {"service": "api"})
    await receive(yard, {**headers, "x-github-delivery": "1"}, body)
    clock.advance(seconds=9 * 86_400)
    await yard.sweep()

    assert "replay" in await refuse(yard, {**headers, "x-github-delivery": "2"}, body)
    assert "signature" in await refuse(yard, headers, b"{}")
    assert "no x-hub-signature-256" in await refuse(yard, letter(yard, secret)[0], BODY)


async def test_a_secret_that_was_replaced_is_good_for_as_long_as_was_said(yard: Yard, clock: ManualClock):
    first = await given_a_hook(yard)
    second = await yard.rotate_hook("deploys", grace_sec=60)
    await receive(yard, *letter(yard, first, id_="a"))
    await receive(yard, *letter(yard, second, id_="b"))
    clock.advance(seconds=61)

    assert "signature" in await refuse(yard, *letter(yard, first, id_="c"))
    third = await yard.rotate_hook("deploys")
    assert "signature" in await refuse(yard, *letter(yard, second, id_="d"))
    await receive(yard, *letter(yard, third, id_="e"))
    assert len({first, second, third}) == 3


async def test_a_secret_is_shown_once_and_stored_nowhere(yard: Yard):
    secrets = [await given_a_hook(yard), await yard.rotate_hook("deploys", grace_sec=60)]
    await receive(yard, *letter(yard, secrets[1]))
    again = await yard.add_trigger("deploys", "webhook", task=DEPLOY, replace=True)
    await receive(yard, *letter(yard, secrets[1], id_="after"))

    assert again.secret is None
    store = behind(yard).store
    kept = [await store.records(kind) for kind in ("trigger", "hook", "delivery", "fire", "listening")]
    kept += [await yard.events(), await yard.trigger("deploys"), await yard.triggers()]
    assert not any(secret.removeprefix("whsec_")[:20] in repr(kept) for secret in secrets)


async def test_a_hooks_name_is_one_for_the_whole_yard(open_yard: OpenYard):
    ours, theirs = await open_yard(), await open_yard(workspace="theirs")
    secret = await given_a_hook(ours)
    with pytest.raises(InvalidInput, match="is taken"):
        await given_a_hook(theirs)
    assert [await behind(theirs).hook_workspace(name) for name in ("deploys", "other")] == ["default", None]

    await ours.remove_trigger("deploys")
    with pytest.raises(DeliveryRefused):
        await receive(ours, *letter(ours, secret))
    other = await given_a_hook(theirs)
    await receive(theirs, *letter(theirs, other))
    assert (len(await ours.find()), len(await theirs.find())) == (0, 1)
