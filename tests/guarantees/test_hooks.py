"""Webhooks that come in: taken once, if they are signed and on time; what is refused says why to operators alone."""

import hmac
from typing import Any

import pytest

from taskyard.core.changes import ChangeSet, RecordChange
from taskyard.core.errors import DeliveryRefused
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.sources.words import BODY, DEPLOY, behind, from_github, given_a_hook, letter, path_of, receive, refuse
from tests.yards import OpenYard


async def test_a_good_delivery_makes_its_task(yard: Yard):
    secret = await given_a_hook(yard)
    await receive(yard, *letter(yard, secret))

    [task] = await yard.find()
    assert (task.prompt, task.to_dict()["created_by"]) == ("Check api", "event:deploys")
    assert (await yard.get(task.id)).payload == {"service": "api", "ok": False}
    [fire] = await yard.triggers.fires("deploys")
    assert (fire.outcome, fire.why, fire.task_id) == ("fired", "delivery msg_1 came", task.id)


async def test_a_replay_is_refused_by_whichever_process_it_comes_to(open_yard: OpenYard):
    yards = [await open_yard() for _ in range(2)]
    secret = await given_a_hook(yards[0])
    sent = letter(yards[0], secret)
    await receive(yards[0], *sent)

    assert "replay" in await refuse(yards[1], *sent)
    assert len(await yards[0].find()) == 1


async def test_a_sender_that_got_no_answer_signs_anew_and_learns_that_it_arrived(yard: Yard, clock: ManualClock):
    secret = await given_a_hook(yard)
    await receive(yard, *letter(yard, secret))
    clock.advance(seconds=20)
    await receive(yard, *letter(yard, secret))

    assert len(await yard.find()) == len(await yard.triggers.fires("deploys")) == 1
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


async def test_a_secret_that_was_replaced_is_good_for_as_long_as_was_stated(yard: Yard, clock: ManualClock):
    first = await given_a_hook(yard)
    second = await yard.triggers.rotate("deploys", grace_sec=60)
    await receive(yard, *letter(yard, first, id_="a"))
    await receive(yard, *letter(yard, second, id_="b"))
    clock.advance(seconds=61)

    assert "signature" in await refuse(yard, *letter(yard, first, id_="c"))
    third = await yard.triggers.rotate("deploys")
    assert "signature" in await refuse(yard, *letter(yard, second, id_="d"))
    await receive(yard, *letter(yard, third, id_="e"))
    assert len({first, second, third}) == 3


async def test_a_secret_is_shown_once_and_stored_nowhere(yard: Yard):
    secrets = [await given_a_hook(yard), await yard.triggers.rotate("deploys", grace_sec=60)]
    await receive(yard, *letter(yard, secrets[1]))
    again = await yard.triggers.add("deploys", "webhook", task=DEPLOY, replace=True)
    await receive(yard, *letter(yard, secrets[1], id_="after"))

    assert again.secret is None
    store = behind(yard).store
    kept = [await store.records(kind) for kind in ("trigger", "hook", "delivery", "fire", "listening")]
    kept += [await yard.events(), await yard.triggers.get("deploys"), await yard.triggers.list()]
    assert not any(secret.removeprefix("whsec_")[:20] in repr(kept) for secret in secrets)


async def test_two_workspaces_may_have_hooks_of_one_name_and_each_has_a_path_of_its_own(open_yard: OpenYard):
    ours, theirs = await open_yard(), await open_yard(workspace="theirs")
    secret, other = await given_a_hook(ours), await given_a_hook(theirs)
    paths = [await path_of(yard) for yard in (ours, theirs)]

    assert len(set(paths)) == 2
    assert all(len(path) == 32 and "deploys" not in path for path in paths)
    assert [await behind(theirs).local.incoming_webhooks.hook_at(path) for path in (*paths, "deploys")] == [
        ("default", "deploys"),
        ("theirs", "deploys"),
        None,
    ]
    assert "signature" in await refuse(theirs, *letter(theirs, secret))
    for not_its_path in (paths[0], "deploys"):
        assert "nobody" in await refuse(theirs, *letter(theirs, other), not_its_path)
    await receive(theirs, *letter(theirs, other))
    assert (len(await ours.find()), len(await theirs.find())) == (0, 1)


async def test_a_hook_that_is_replaced_keeps_its_path_and_one_that_is_made_again_does_not(yard: Yard):
    secret = await given_a_hook(yard)
    path = await path_of(yard)
    await yard.triggers.add("deploys", "webhook", task=DEPLOY, replace=True)
    assert await path_of(yard) == path

    await yard.triggers.remove("deploys")
    assert "nobody" in await refuse(yard, *letter(yard, secret), path)
    assert await behind(yard).local.incoming_webhooks.hook_at(path) is None
    await given_a_hook(yard)
    assert await path_of(yard) != path


async def test_a_hook_from_before_paths_is_delivered_to_by_its_name(yard: Yard):
    secret = await given_a_hook(yard)
    store = behind(yard).store
    hook = await store.record("hook", "*", await path_of(yard))
    trigger = await store.record("trigger", "default", "deploys")
    assert hook is not None
    assert trigger is not None
    before = {name: value for name, value in trigger.body.items() if name != "path"}
    rows = (
        RecordChange(hook.kind, hook.workspace, hook.id, hook.version, None),
        RecordChange("hook", "*", "deploys", 0, {"workspace": "default"}),
        RecordChange(trigger.kind, trigger.workspace, trigger.id, trigger.version, before),
    )
    await store.commit([ChangeSet(records=rows, at=behind(yard).now())])

    await receive(yard, *letter(yard, secret), "deploys")
    assert len(await yard.find()) == 1


@pytest.mark.parametrize("id_", ["msg.1", ".", "a b", "a\n", "é", "x" * 256])
async def test_an_id_that_could_be_read_in_two_ways_is_refused_however_it_is_signed(yard: Yard, id_: str):
    secret = await given_a_hook(yard)

    assert "garbled" in await refuse(yard, *letter(yard, secret, id_=id_))


@pytest.mark.parametrize(
    "shown", [{}, {"webhook-id": "a"}, {"x-hub-signature-256": "sha256=00"}, {"webhook-timestamp": "x"}]
)
@pytest.mark.parametrize("scheme", ["standard", "github"])
async def test_a_delivery_to_nobody_takes_the_same_reads_and_signatures_as_one_that_is_signed_wrongly(
    yard: Yard, shown: dict[str, str], scheme: str, monkeypatch: pytest.MonkeyPatch
):
    await given_a_hook(yard, settings={"scheme": scheme})
    store, path = behind(yard).store, await path_of(yard)
    work: list[str] = []

    def noted(name: str, call: Any) -> Any:
        def counting(*args: Any, **more: Any) -> Any:
            work.append(name)
            return call(*args, **more)

        return counting

    monkeypatch.setattr("hmac.digest", noted("signature", hmac.digest))
    for name in ("record", "commit", "records"):
        monkeypatch.setattr(store, name, noted(name, getattr(store, name)))
    done: list[list[str]] = []
    for where in (path, "0" * 32):
        work.clear()
        with pytest.raises(DeliveryRefused):
            await receive(yard, shown, BODY, where)
        done.append(list(work))

    assert done[0] == done[1]
    assert "signature" in done[0]
    assert "commit" not in done[0]
