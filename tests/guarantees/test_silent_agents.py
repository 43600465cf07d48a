"""Agents that are not heard of any more: shown as offline, named by `why`, and forgotten in the end."""

from collections.abc import Sequence
from typing import Any

import pytest

from taskyard.core.agent import AgentStatus
from taskyard.core.units import to_iso
from taskyard.features.tasks.answers import CauseView
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.yards import OpenYard, given_a_running_task, given_an_agent

A_WEEK = 7 * 24 * 3600


async def standing(yard: Yard, agent_id: str) -> tuple[AgentStatus, bool]:
    view = await yard.agents.get(agent_id)
    return view.status, view.silent


async def cause_of(yard: Yard, task_id: str) -> CauseView:
    (cause,) = (await yard.why(task_id)).causes
    return cause


async def test_who_falls_silent_is_offline_until_it_is_heard_of_again(yard: Yard, clock: ManualClock):
    await given_an_agent(yard, "ada")
    clock.advance(seconds=70)
    assert await standing(yard, "ada") == (AgentStatus.ACTIVE, False)

    clock.advance(seconds=10)
    assert await standing(yard, "ada") == (AgentStatus.OFFLINE, True)

    assert await yard.agents.heartbeat("ada") is AgentStatus.ACTIVE
    assert await standing(yard, "ada") == (AgentStatus.ACTIVE, False)


async def test_who_asks_for_work_and_gets_none_is_heard_of(yard: Yard, clock: ManualClock):
    await given_an_agent(yard, "ada")
    for _ in range(10):
        clock.advance(seconds=21)
        assert await yard.claim("ada") == []

    assert await standing(yard, "ada") == (AgentStatus.ACTIVE, False)


async def test_who_asks_seldom_is_not_taken_for_silent(yard: Yard, clock: ManualClock):
    await given_an_agent(yard, "ada", poll_interval_sec=60)

    clock.advance(seconds=170)
    assert await standing(yard, "ada") == (AgentStatus.ACTIVE, False)
    clock.advance(seconds=20)
    assert await standing(yard, "ada") == (AgentStatus.OFFLINE, True)


async def test_who_signed_off_is_offline_and_not_silent(yard: Yard, clock: ManualClock):
    await given_an_agent(yard, "ada")
    await yard.agents.sign_off("ada")
    clock.advance(seconds=600)

    assert await standing(yard, "ada") == (AgentStatus.OFFLINE, False)


async def test_why_says_that_nobody_who_can_take_it_is_heard_of(yard: Yard, clock: ManualClock):
    for name in ("ada", "bob", "cyd", "dan"):
        await given_an_agent(yard, name)
        clock.advance(seconds=1)
    since = to_iso((await yard.agents.get("dan")).last_heartbeat or yard.now())
    waiting = await yard.enqueue("code")
    clock.advance(seconds=100)

    cause = await cause_of(yard, waiting.id)

    assert cause.kind == "agents_silent"
    assert cause.words.startswith(f"nobody who can take it is heard of: dan silent since {since}, cyd silent since ")
    assert cause.words.endswith(", and 1 more")
    assert await yard.agents.heartbeat("ada") is AgentStatus.ACTIVE
    assert (await cause_of(yard, waiting.id)).kind == "next_in_line"


async def test_the_closest_are_one_of_each_type_and_those_that_are_there_first(yard: Yard, clock: ManualClock):
    for number in range(3):
        await given_an_agent(yard, f"coder-{number}", type="coder", capabilities=["python"])
    await given_an_agent(yard, "cook", type="chef", capabilities=["python"])
    clock.advance(seconds=100)
    await yard.agents.heartbeat("coder-2")
    waiting = await yard.enqueue("code", required_capabilities=["python", "gpu"])

    assert (await cause_of(yard, waiting.id)).facts["closest"] == ["coder-2 (lacks gpu)", "cook (lacks gpu)"]


async def test_who_is_silent_for_a_week_and_has_nothing_to_do_is_forgotten(yard: Yard, clock: ManualClock):
    for name in ("gone", "wanted", "limited", "there"):
        await given_an_agent(yard, name, type="coder")
    await yard.agents.set_budget("limited", 5)
    await yard.enqueue("code", agent="wanted")
    held = await given_a_running_task(yard, "paid", by="gone")
    await yard.complete(held.id, held.lease, {}, cost_usd="0.25")
    spent = await spent_by(yard, "agent:gone", "type:coder")

    clock.advance(seconds=A_WEEK - 10)
    await yard.sweep()
    assert len(await yard.agents.list()) == 4
    await yard.agents.heartbeat("there")
    clock.advance(seconds=3700)
    await yard.sweep()

    assert [view.id for view in await yard.agents.list()] == ["limited", "there", "wanted"]
    assert await spent_by(yard, "agent:gone", "type:coder") == spent == [250_000, 250_000]


async def spent_by(yard: Yard, *names: str) -> list[int]:
    limits = await yard.store.limits(yard.workspace, names)
    return [limits[name].spent for name in names]


@pytest.mark.parametrize("call", ["records", "pulses"])
async def test_who_registers_while_the_silent_are_forgotten_is_not(
    yard: Yard, open_yard: OpenYard, monkeypatch: pytest.MonkeyPatch, call: str
):
    """The sweep reads who is known and who was heard of, one after the other."""
    elsewhere = await open_yard()
    read = getattr(yard.store, call)

    async def register_and_read(*given: Any) -> Any:
        if given == ({"records": "agent", "pulses": "agent:"}[call],):
            monkeypatch.undo()  # once: in memory, both yards have one store
            await given_an_agent(elsewhere, "newcomer")
        return await read(*given)

    monkeypatch.setattr(yard.store, call, register_and_read)
    await yard.sweep()

    assert [str(view.id) for view in await elsewhere.agents.list()] == ["newcomer"]


async def test_a_sweep_in_the_middle_of_a_registration_does_not_forget_it(
    yard: Yard, open_yard: OpenYard, monkeypatch: pytest.MonkeyPatch
):
    elsewhere = await open_yard()
    pulse = elsewhere.store.pulse

    async def sweep_and_pulse(names: Sequence[str]) -> None:
        monkeypatch.undo()
        await yard.sweep()
        await pulse(names)

    monkeypatch.setattr(elsewhere.store, "pulse", sweep_and_pulse)
    await given_an_agent(elsewhere, "newcomer")

    assert [str(view.id) for view in await yard.agents.list()] == ["newcomer"]


async def test_heartbeats_note_their_agent_once_in_a_while_and_not_each_time(
    yard: Yard, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
):
    await yard.agents.register("coder")
    await yard.enqueue("code")
    (held,) = await yard.claim("coder", start=True)
    noted: list[str] = []
    pulse = yard.store.pulse

    async def note(names: Sequence[str]) -> None:
        noted.extend(names)
        await pulse(names)

    monkeypatch.setattr(yard.store, "pulse", note)
    for _ in range(12):
        clock.advance(seconds=1)
        await yard.heartbeat(held.id, held.lease)

    assert len(noted) == 2
