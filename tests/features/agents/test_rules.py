"""Who may register as what, when an agent counts as gone, and whom an agent may make work for."""

from dataclasses import replace

import pytest

from taskyard.core.agent import NO_BUDGET, AgentStatus, AgentType, Budget, Grant, RegisteredAgent
from taskyard.core.task import AgentId
from taskyard.core.units import SECOND, Micros, MicroUsd
from taskyard.features.agents import rules

NOW = Micros(1_000_000 * SECOND)
WORKER = RegisteredAgent(id=AgentId("coder-1"), type="coder")


def test_a_grant_to_the_type_is_for_every_id_of_it():
    type_ = rules.granted(AgentType(name="coder"), None, Grant(capabilities=frozenset({"git"})))

    assert type_.has("coder-1", "git")
    assert not type_.has("coder-1", "gpu")


def test_a_grant_to_one_id_is_for_no_other():
    type_ = rules.granted(AgentType(name="coder"), "coder-1", Grant(capabilities=frozenset({"git"})))

    assert set(type_.id_grants) == {"coder-1"}


def test_a_second_token_without_a_grant_leaves_the_first_grant():
    first = rules.granted(AgentType(name="coder"), None, Grant(capabilities=frozenset({"git"})))

    assert rules.granted(first, None, None) == first


def test_who_registers_again_keeps_the_budget_that_an_operator_set():
    known = replace(WORKER, budget=MicroUsd(5))

    assert rules.registered(known, replace(WORKER, budget=MicroUsd(9)), keep=False).budget == 5


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (AgentStatus.DRAINING, AgentStatus.DRAINING),
        (AgentStatus.OFFLINE, AgentStatus.ACTIVE),
        (AgentStatus.ACTIVE, AgentStatus.ACTIVE),
    ],
)
def test_who_only_adds_capabilities_goes_on_draining_and_is_back_if_it_was_gone(
    before: AgentStatus, after: AgentStatus
):
    known = replace(WORKER, status=before, capabilities=frozenset({"git"}))
    stored = rules.registered(known, replace(WORKER, capabilities=frozenset({"gpu"})), keep=True)

    assert (stored.status, stored.capabilities) == (after, {"git", "gpu"})


@pytest.mark.parametrize(("silent_for", "is_silent"), [(75, False), (76, True)])
def test_an_agent_is_silent_after_75_seconds(silent_for: int, is_silent: bool):
    assert rules.is_silent(WORKER, Micros(NOW - silent_for * SECOND), NOW) is is_silent


@pytest.mark.parametrize(("silent_for", "is_silent"), [(180, False), (181, True)])
def test_an_agent_that_asks_seldom_has_three_of_its_intervals(silent_for: int, is_silent: bool):
    seldom = replace(WORKER, poll_interval_sec=60.0)

    assert rules.is_silent(seldom, Micros(NOW - silent_for * SECOND), NOW) is is_silent


def test_an_agent_that_signed_off_is_not_silent_but_gone():
    gone = replace(WORKER, status=AgentStatus.OFFLINE)

    assert not rules.is_silent(gone, None, NOW)
    assert rules.longest_gone([gone, WORKER], {"coder-1": NOW}, NOW) == [gone]


def test_the_longest_gone_comes_first():
    first, second = (replace(WORKER, id=name, status=AgentStatus.OFFLINE) for name in ("b", "a"))

    assert rules.longest_gone([second, first], {"a": Micros(2), "b": Micros(1)}, NOW) == [first, second]


def test_what_was_not_granted_is_named():
    type_ = AgentType(name="coder", grant=Grant(capabilities=frozenset({"git"}), types=frozenset({"code"})))

    assert rules.beyond_grant(replace(WORKER, capabilities=frozenset({"git"})), type_) is None
    assert rules.beyond_grant(replace(WORKER, capabilities=frozenset({"gpu"})), type_) == "the capability gpu"
    assert rules.beyond_grant(replace(WORKER, types=frozenset({"deploy"})), type_) == "tasks of the type deploy"


@pytest.mark.parametrize(
    ("agent_id", "type_", "why"),
    [
        ("coder-1", "coder", None),
        ("coder", "coder", None),
        ("coder-1", "tester", "coder-1 is an agent of the type coder"),
        ("tester", "coder", "tester is the name of a type"),
        ("new", "coder-1", "coder-1 is an agent of the type coder, and no type of its own"),
    ],
)
def test_a_name_means_one_agent(agent_id: str, type_: str, why: str | None):
    assert rules.name_conflict(agent_id, type_, {"coder", "tester"}, {"coder-1": "coder"}) == why


def test_a_changed_budget_is_reported_with_both_amounts():
    after = Budget(MicroUsd(2_500_000))

    assert rules.budget_moved("coder", NO_BUDGET, after) == {
        "type": "coder",
        "from": None,
        "to": {"usd": "2.5", "per": after.per.value},
    }


@pytest.mark.parametrize(
    ("addressed", "spawns", "word"),
    [
        ([], True, None),
        (["coder-1", "coder"], True, None),
        (["tester"], True, "may address work to tester"),
        ([], False, "makes work only by spawning it"),
    ],
)
def test_who_is_no_orchestrator_makes_work_for_itself_alone(addressed: list[str], spawns: bool, word: str | None):
    refused = rules.refusal(WORKER, addressed, spawns=spawns)

    assert refused is None if word is None else word in str(refused)


def test_an_orchestrator_may_address_anybody():
    assert rules.refusal(replace(WORKER, orchestrator=True), ["tester"], spawns=False) is None
