"""Which lanes an agent may take from now: those meant for it that no pause, throttle or breaker keeps it from."""

from dataclasses import replace
from typing import Any

import pytest

from taskyard.core.agent import AgentStatus, RegisteredAgent
from taskyard.core.breaker import Breaker
from taskyard.core.changes import Record
from taskyard.core.claiming import PlannedLane
from taskyard.core.json_value import Json
from taskyard.core.planning import Planning, Settings, planned_lanes, planning_of, suits
from taskyard.core.policy import PRESETS
from taskyard.core.task import AgentId, Lane, LaneId
from taskyard.core.units import Micros, MicroUsd
from taskyard.definition.definition import lane_of
from tests.core.defining import NOW, defined
from tests.core.rows import later

STANDARD = PRESETS["standard"]
CODER = RegisteredAgent(id=AgentId("ada"), type="coder", capabilities=frozenset({"git", "python"}))
PLAIN = Lane("here", "default", "code", None, (), 10, 0, None)
HERE = Planning(workspace="here", epoch=1)


def lane(**fields: Any) -> Lane:
    return PLAIN._replace(**fields)


def throttle(scope: str, until: Micros) -> dict[str, Record]:
    return {scope: Record("throttle", "here", scope, 1, {"until": until, "wait": 0})}


def breaker(generation: int, *, opened_at: Micros | None = None) -> dict[str, Breaker]:
    return {"code": Breaker("here", "code", generation, opened_at, 1)}


def planned(
    planning: Planning = HERE,
    *lanes: Lane,
    agent: RegisteredAgent = CODER,
    queues: set[str] | None = None,
    types: set[str] | None = None,
    now: Micros = NOW,
) -> list[PlannedLane]:
    """What the coder may take from, of these lanes; they are numbered from 1."""
    known = {LaneId(number): each for number, each in enumerate(lanes or (PLAIN,), 1)}
    asked = [None if words is None else frozenset(words) for words in (queues, types)]
    return list(planned_lanes(planning, known, agent, queues=asked[0], types=asked[1], now=now))


def numbers(found: list[PlannedLane]) -> list[int]:
    return [each.id for each in found]


@pytest.mark.parametrize(
    ("which", "agent", "suitable"),
    [
        ({}, {}, True),
        ({"agent": "ada"}, {}, True),
        ({"agent": "coder"}, {}, True),  # addressed to all of its type
        ({"agent": "bob"}, {}, False),
        ({"capabilities": ("git",)}, {}, True),
        ({"capabilities": ("git", "python")}, {}, True),
        ({"capabilities": ("git", "gpu")}, {}, False),
        ({"capabilities": ("git",)}, {"capabilities": frozenset[str]()}, False),
        ({}, {"types": frozenset({"code", "review"})}, True),
        ({}, {"types": frozenset({"review"})}, False),
        ({}, {"types": frozenset[str]()}, False),
        ({"agent": "ada"}, {"types": frozenset({"review"})}, False),
    ],
)
def test_for_whom_a_task_is_meant(which: dict[str, Any], agent: dict[str, Any], suitable: bool):
    assert suits(lane(**which), replace(CODER, **agent)) is suitable


@pytest.mark.parametrize(
    ("capabilities", "required", "suitable"),
    [({"code"}, (), True), ({"review"}, (), False), ({"code"}, ("git",), False), ({"code", "git"}, ("git",), True)],
)
def test_with_loki_the_types_that_an_agent_takes_are_among_its_capabilities(
    capabilities: set[str], required: tuple[str, ...], suitable: bool
):
    agent = replace(CODER, capabilities=frozenset(capabilities))
    asked = defined({"type": "code", "spec": {"constraints": {"required_capabilities": list(required)}}}, "loki")

    assert suits(lane_of(asked, failures=0), agent) is suitable


def test_a_lane_is_planned_with_its_boost_and_the_generation_of_its_breaker():
    assert planned() == [PlannedLane(LaneId(1), 10, MicroUsd(0), 0, None)]
    assert planned(replace(HERE, breakers=breaker(4)))[0].circuit == 4


@pytest.mark.parametrize("status", AgentStatus)
def test_only_an_active_agent_gets_anything(status: AgentStatus):
    assert bool(planned(agent=replace(CODER, status=status))) is (status is AgentStatus.ACTIVE)


@pytest.mark.parametrize(
    ("queues", "types", "found"),
    [
        (None, None, [1, 2, 3]),
        ({"fast"}, None, [2]),
        ({"default"}, None, [1, 3]),
        (None, {"review"}, [3]),
        ({"default"}, {"code"}, [1]),
        (set[str](), None, []),
        (None, {"unheard of"}, []),
    ],
)
def test_a_claim_may_ask_for_certain_queues_and_types(
    queues: set[str] | None, types: set[str] | None, found: list[int]
):
    lanes = (PLAIN, lane(queue="fast"), lane(type="review"))

    assert numbers(planned(HERE, *lanes, queues=queues, types=types)) == found


def test_nothing_is_taken_from_a_queue_that_is_paused():
    paused = replace(HERE, paused=frozenset({"fast"}))

    assert numbers(planned(paused, PLAIN, lane(queue="fast"))) == [1]


@pytest.mark.parametrize(
    ("scope", "found"), [("code", [3]), ("code|large", [1, 3]), ("code|small", [1, 2, 3]), ("review", [1, 2])]
)
def test_a_throttle_holds_for_its_type_and_its_model_where_that_is_known(scope: str, found: list[int]):
    lanes = (PLAIN, lane(model="large"), lane(type="review"))

    assert numbers(planned(replace(HERE, throttles=throttle(scope, later(30))), *lanes)) == found


@pytest.mark.parametrize(("seconds", "throttled"), [(-1, False), (0, False), (0.000001, True), (30, True)])
def test_a_throttle_ends_at_its_time(seconds: float, throttled: bool):
    planning = replace(HERE, throttles=throttle("code", later(seconds)))

    assert (planned(planning) == []) is throttled


def test_of_two_throttles_the_longer_one_counts():
    both = throttle("code", later(10)) | throttle("code|large", later(20))

    assert replace(HERE, throttles=both).throttled_until(lane(model="large")) == later(20)
    assert replace(HERE, throttles=both).throttled_until(PLAIN) == later(10)
    assert HERE.throttled_until(PLAIN) == 0


@pytest.mark.parametrize(("seconds", "expected"), [(0, []), (59, []), (60, ["probe:code:3"]), (3600, ["probe:code:3"])])
def test_an_open_breaker_lets_nothing_through_until_it_lets_a_probe(seconds: int, expected: list[str]):
    planning = replace(HERE, breakers=breaker(3, opened_at=NOW))

    found = planned(planning, now=later(seconds))

    assert [each.probe for each in found] == expected
    assert all(each.circuit == 3 for each in found)


def test_a_breaker_is_about_its_own_type_only():
    planning = replace(HERE, breakers=breaker(3, opened_at=NOW))

    assert numbers(planned(planning, PLAIN, lane(type="review"), lane(model="large"))) == [2]


@pytest.mark.parametrize(("cost_class", "floor"), [(0, 5), (1, 0), (2, 2), (3, 4), (19, 2**18)])
def test_the_least_that_a_task_of_a_lane_reserves_is_known_from_its_class(cost_class: int, floor: int):
    planning = replace(HERE, settings=Settings(default_reserve=MicroUsd(5)))

    assert planned(planning, lane(cost_class=cost_class))[0].floor == floor


@pytest.mark.parametrize(
    ("queue", "workspace", "expected"),
    [(None, None, "standard"), (None, "loki", "loki"), ("multica", "loki", "multica"), ("ade", None, "ade")],
)
def test_a_queues_preset_goes_before_its_workspaces_and_that_is_standard_where_none_is_stored(
    queue: str | None, workspace: str | None, expected: str
):
    planning = replace(
        HERE, settings=Settings(preset=workspace), queue_presets={} if queue is None else {"fast": queue}
    )

    assert planning.policy_of("fast").name == expected
    assert planning.policy_of("default").name == (workspace or "standard")


def record(kind: str, record_id: str, body: dict[str, Json], version: int = 1) -> Record:
    return Record(kind, "here", record_id, version, body)


def test_configuration_is_read_from_its_records():
    agent = replace(CODER, budget=MicroUsd(7), types=frozenset({"code"}), status=AgentStatus.DRAINING)

    planning = planning_of(
        "here",
        8,
        [
            record("agent", "ada", agent.body(), version=5),
            record("queue", "slow", {"paused": True, "preset": None}),
            record("queue", "fast", {"paused": False, "preset": "loki"}),
            record("breaker", "code", {"generation": 3, "opened_at": NOW, "why": ""}, version=4),
            record("throttle", "code|large", {"until": NOW, "wait": 0}),
            record("workspace", "here", {"preset": "ade", "daily_budget": 100, "default_reserve": 5}),
            record("dag", "dag_1", {}),
        ],
    )

    assert (planning.workspace, planning.epoch, planning.preset) == ("here", 8, "ade")
    assert (planning.agents, planning.versions) == ({"ada": agent}, {"ada": 5})
    assert (planning.paused, planning.queue_presets) == ({"slow"}, {"fast": "loki"})
    assert planning.breaker("code") == Breaker("here", "code", 3, NOW, 4)
    assert planning.breaker("review") == Breaker("here", "review", 0, None, 0)
    assert planning.throttled_until(lane(model="large")) == NOW
    settings = planning.settings
    assert (settings.preset, settings.daily_budget, settings.default_reserve) == ("ade", 100, 5)


def test_a_workspace_of_which_nothing_is_stored_follows_the_preset_standard():
    planning = planning_of("here", 0, [])

    assert planning.settings == Settings()
    assert planning.policy_of("default") is STANDARD
    assert planned(planning) == planned()
