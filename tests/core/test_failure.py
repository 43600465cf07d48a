"""What a failed attempt leads to, in every preset: another one, a wait for the provider, or a person."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskyard.core.failure import Decision, FollowUp, decide
from taskyard.core.policy import PRESETS
from taskyard.core.rate_limit import LONGEST_WAIT
from taskyard.core.retry import PERMANENT
from taskyard.core.task import AgentId, Failure, Reason
from taskyard.core.units import DAY, MINUTE, SECOND, Micros
from tests.core.defining import NOW, defined
from tests.core.hostile import task
from tests.core.rows import ADA, BOB, a_row, later, running

RATE_LIMITED = "Error: 429 Too Many Requests"
PRESET_NAMES = ("standard", "factory", "loki", "multica", "ade", "automechanica")
YARDS_REASONS = [reason for reason in Reason if reason not in (Reason.RATE_LIMIT, Reason.CANCELLED)]


def verdict(
    reason: str = "crash",
    error: str = "it broke",
    *,
    preset: str = "standard",
    asked: dict[str, Any] | None = None,
    failed_by: Sequence[AgentId] = (),
    retry_after: Micros | None = None,
    dice: float = 0.5,
    circuit: int = 0,
    in_company: bool = False,
    reported: bool = True,
    **row: Any,
) -> Decision:
    """What is decided about an attempt of ada's, of a task that says no more than `asked`."""
    definition = defined(task(**(asked or {})), preset)
    hot = running(a_row(max_attempts=definition.max_attempts, **row), circuit=circuit)
    return decide(
        hot,
        definition,
        PRESETS[preset],
        Failure(reason=reason, error=error),
        failed_by=failed_by,
        dice=dice,
        now=NOW,
        retry_after=retry_after,
        in_company=in_company,
        reported=reported,
    )


def fates(preset: str, reason: str = "crash", **asked: Any) -> list[str]:
    """What follows each failure of a task that only one agent ever tries."""
    return [
        verdict(reason, preset=preset, asked=asked, failures=failures, failed_by=[ADA] * failures).follow_up.value
        for failures in range(4)
    ]


@pytest.mark.parametrize(
    ("preset", "after"),
    [
        ("standard", ["retry", "retry", "bury", "bury"]),
        ("factory", ["retry", "retry", "bury", "bury"]),
        ("loki", ["retry", "retry", "bury", "bury"]),
        ("ade", ["retry", "retry", "bury", "bury"]),
        ("automechanica", ["retry", "retry", "bury", "bury"]),
        ("multica", ["bury", "bury", "bury", "bury"]),  # it does not retry a crash
    ],
)
def test_a_crash_is_retried_until_the_attempts_are_used_up(preset: str, after: list[str]):
    assert fates(preset) == after


def test_multica_retries_a_timeout_once():
    assert fates("multica", "timeout") == ["retry", "bury", "bury", "bury"]


def test_a_task_may_have_its_own_number_of_attempts():
    assert fates("standard", max_attempts=1) == ["bury"] * 4
    assert fates("standard", max_attempts=4) == ["retry"] * 3 + ["bury"]


@pytest.mark.parametrize(
    ("preset", "seconds"),
    [
        ("standard", [10, 20, 40, 80, 160, 300]),
        ("factory", [10, 20, 40, 80, 160, 300]),
        ("loki", [60, 120, 240, 480]),
        ("multica", [0, 0, 0]),
        ("ade", [1, 2, 4, 8]),
        ("automechanica", [5, 20, 45, 80]),
    ],
)
def test_the_delay_is_the_presets_for_this_failure(preset: str, seconds: list[int]):
    wakes = [
        verdict("timeout", preset=preset, asked={"max_attempts": 100}, failures=n, failed_by=[ADA] * n).wake_at
        for n in range(len(seconds))
    ]
    assert wakes == [later(each) for each in seconds]


@pytest.mark.parametrize("preset", PRESET_NAMES)
@pytest.mark.parametrize("reason", YARDS_REASONS)
def test_which_reasons_each_preset_retries(preset: str, reason: Reason):
    retried = {
        "standard": reason not in ("auth_failure", "budget_exceeded"),
        "factory": reason not in ("auth_failure", "budget_exceeded"),
        "multica": reason in ("timeout", "runtime_offline", "runtime_recovery", "claim_expired", "heartbeat_timeout"),
    }
    follow_up = verdict(reason, preset=preset).follow_up

    assert follow_up is (FollowUp.RETRY if retried.get(preset, True) and reason not in PERMANENT else FollowUp.BURY)


@pytest.mark.parametrize("reason", sorted(PERMANENT))
def test_what_would_be_met_again_is_retried_only_where_a_task_asks_for_it(reason: str):
    assert verdict(reason).follow_up is FollowUp.BURY
    assert verdict(reason, asked={"retry": {"retry_on": [reason]}}).follow_up is FollowUp.RETRY


def test_an_agents_own_word_is_retried_like_any_other():
    assert verdict("ran out of coffee").follow_up is FollowUp.RETRY


@pytest.mark.parametrize("reason", ["auth_failure", "budget_exceeded", "cancelled"])
def test_what_may_not_be_retried_goes_straight_to_the_dead_letters(reason: str):
    decided = verdict(reason, asked={"max_attempts": 100})

    assert (decided.follow_up, decided.counted, decided.reason, decided.wake_at) == (FollowUp.BURY, True, reason, NOW)
    assert not decided.poison


@pytest.mark.parametrize(
    ("reason", "follow_up"), [("timeout", FollowUp.RETRY), ("crash", FollowUp.BURY), ("own", FollowUp.BURY)]
)
def test_retry_on_limits_what_is_retried(reason: str, follow_up: FollowUp):
    assert verdict(reason, asked={"retry": {"retry_on": ["timeout"]}}).follow_up is follow_up


@pytest.mark.parametrize("reason", ["heartbeat_timeout", "claim_expired", "runtime_offline", "runtime_recovery"])
def test_what_the_yard_takes_back_is_retried_whatever_retry_on_lists(reason: str):
    asked = {"retry": {"retry_on": ["crash"]}}

    assert verdict(reason, asked=asked, reported=False).follow_up is FollowUp.RETRY
    assert verdict(reason, asked=asked).follow_up is FollowUp.BURY  # where an agent says so, the list counts


@pytest.mark.parametrize("preset", PRESET_NAMES)
def test_no_retry_on_wins_over_everything(preset: str):
    for reason in ("timeout", "rate_limit", "heartbeat_timeout", "claim_expired"):
        asked = {"retry": {"retry_on": [reason], "no_retry_on": [reason, "agent_error"]}}
        assert verdict(reason, preset=preset, asked=asked).follow_up is FollowUp.BURY


def test_a_reason_that_may_not_be_retried_is_not_taken_for_a_rate_limit():
    decided = verdict("budget_exceeded", "You exceeded your current quota, please check your plan")

    assert (decided.follow_up, decided.reason) == (FollowUp.BURY, "budget_exceeded")


@pytest.mark.parametrize(
    ("failed_by", "poison"),
    [
        ([], False),
        ([BOB], False),  # two agents, and only two attempts
        ([ADA, ADA], False),  # three attempts by one agent
        ([BOB, ADA], True),
        ([BOB, BOB], True),
        ([ADA, BOB], True),
    ],
)
def test_a_poison_pill_failed_under_two_agents_in_three_attempts(failed_by: list[AgentId], poison: bool):
    decided = verdict(asked={"max_attempts": 10}, failed_by=failed_by, failures=len(failed_by))

    assert decided.poison is poison
    assert decided.follow_up is (FollowUp.BURY if poison else FollowUp.RETRY)


def test_the_last_attempt_of_a_poison_pill_says_that_it_is_one():
    assert verdict(asked={"max_attempts": 3}, failed_by=[ADA, BOB], failures=2).poison


@pytest.mark.parametrize("preset", ["standard", "factory", "loki", "ade", "automechanica"])
@pytest.mark.parametrize(("reason", "error"), [("rate_limit", ""), ("agent_error", RATE_LIMITED)])
def test_a_rate_limit_parks_the_task_without_using_up_an_attempt(preset: str, reason: str, error: str):
    decided = verdict(reason, error, preset=preset, failures=2, failed_by=[ADA, BOB], dice=0.0)

    assert (decided.follow_up, decided.reason) == (FollowUp.PARK, "rate_limit")
    assert (decided.counted, decided.breaks, decided.poison) == (False, False, False)
    assert (decided.wait, decided.wake_at) == (MINUTE, later(60))


@pytest.mark.parametrize(("reason", "error"), [("rate_limit", ""), ("timeout", RATE_LIMITED)])
def test_multica_takes_a_rate_limit_for_an_agents_error_and_does_not_retry_it(reason: str, error: str):
    decided = verdict(reason, error, preset="multica")

    assert (decided.follow_up, decided.reason, decided.counted) == (FollowUp.BURY, "agent_error", True)


def test_multica_does_not_retry_an_agents_error():
    assert verdict("agent_error", preset="multica").follow_up is FollowUp.BURY


def test_a_rate_limit_is_parked_ten_times_and_then_counts():
    parked = [verdict("rate_limit", parks=parks).follow_up for parks in range(12)]
    counts = verdict("rate_limit", parks=10)

    assert parked == [FollowUp.PARK] * 10 + [FollowUp.RETRY] * 2
    assert (counts.reason, counts.counted, counts.breaks, counts.wait) == ("rate_limit", True, False, 0)
    assert verdict("rate_limit", parks=10, failures=2, failed_by=[ADA, ADA]).follow_up is FollowUp.BURY


@pytest.mark.parametrize(
    ("error", "retry_after", "parks", "seconds"),
    [
        ("", 90, 0, 90),  # what the agent was told
        ("Error: 429. Try again in 20 seconds", 90, 0, 90),
        ("Error: 429. Try again in 20 seconds", None, 5, 20),  # what the message says
        ("Error: 429", None, 0, 60),  # nobody says: a minute, doubling
        ("Error: 429", None, 3, 480),
        ("Error: 429", None, 9, 3600),
    ],
)
def test_a_parked_task_wakes_at_the_providers_time(error: str, retry_after: int | None, parks: int, seconds: int):
    asked = None if retry_after is None else Micros(retry_after * SECOND)

    decided = verdict("rate_limit", error, retry_after=asked, parks=parks, dice=0.0)

    assert (decided.wait, decided.wake_at) == (seconds * SECOND, later(seconds))


@pytest.mark.parametrize("seconds", [0, 1, 90])
def test_a_failed_task_is_tried_again_after_the_time_that_its_agent_chose(seconds: int):
    assert verdict("agent_error", retry_after=Micros(seconds * SECOND)).wake_at == later(seconds)
    assert verdict("agent_error").wake_at > later(1)  # nobody chose


def test_no_provider_is_left_alone_for_longer_than_a_week():
    assert verdict("rate_limit", retry_after=Micros(3650 * DAY)).wait == LONGEST_WAIT == 7 * DAY


def test_loki_knows_a_rate_limit_by_its_words_alone_and_the_others_do_not():
    prose = "added a 429 handler"

    assert verdict("agent_error", prose, preset="loki").follow_up is FollowUp.PARK
    assert verdict("agent_error", prose).follow_up is FollowUp.RETRY


@pytest.mark.parametrize("preset", PRESET_NAMES)
def test_an_output_that_is_about_rate_limits_is_not_one(preset: str):
    decided = verdict("invalid_output", RATE_LIMITED, preset=preset)

    assert (decided.reason, decided.counted) == ("invalid_output", True)


@pytest.mark.parametrize("reason", ["heartbeat_timeout", "claim_expired"])
def test_loki_does_not_count_a_lost_lease_ten_times(reason: str):
    excused = [verdict(reason, preset="loki", losses=losses) for losses in range(12)]

    assert [each.counted for each in excused] == [False] * 10 + [True] * 2
    assert {each.follow_up for each in excused} == {FollowUp.RETRY}
    assert excused[0].wake_at == NOW  # the work did not fail: there is nothing to wait for
    assert not excused[0].breaks


@pytest.mark.parametrize("preset", ["standard", "factory", "multica", "ade", "automechanica"])
def test_elsewhere_a_lost_lease_counts(preset: str):
    assert verdict("heartbeat_timeout", preset=preset).counted


def test_loki_counts_what_is_more_than_a_lost_lease():
    assert verdict("runtime_offline", preset="loki").counted


@pytest.mark.parametrize("reason", ["timeout", "runtime_offline", "heartbeat_timeout"])
def test_multica_never_retries_what_autopilot_began(reason: str):
    assert verdict(reason, preset="multica", asked={"trigger": {"type": "autopilot"}}).follow_up is FollowUp.BURY
    assert verdict(reason, preset="multica", asked={"trigger": {"type": "mention"}}).follow_up is FollowUp.RETRY
    assert verdict(reason, preset="standard", asked={"trigger": {"type": "autopilot"}}).follow_up is FollowUp.RETRY


@pytest.mark.parametrize(
    ("reason", "breaks"),
    [("crash", True), ("timeout", True), ("heartbeat_timeout", True), ("auth_failure", True), ("own", True),
     ("rate_limit", False), ("cancelled", False), ("budget_exceeded", False)],
)  # fmt: skip
def test_which_failures_the_breaker_counts(reason: str, breaks: bool):
    assert verdict(reason, parks=10).breaks is breaks


@pytest.mark.parametrize(
    ("reason", "breaks"), [("crash", True), ("timeout", True), ("heartbeat_timeout", False), ("claim_expired", False)]
)
def test_a_probe_that_is_lost_proves_nothing(reason: str, breaks: bool):
    assert verdict(reason, circuit=3).breaks is breaks
    assert verdict(reason, circuit=2).breaks


@pytest.mark.parametrize(
    ("reason", "breaks"),
    [
        ("heartbeat_timeout", False),
        ("claim_expired", False),
        ("runtime_offline", False),
        ("runtime_recovery", False),
        ("crash", True),
        ("timeout", True),
    ],
)
def test_what_is_lost_with_its_worker_is_not_counted_while_the_worker_holds_more(reason: str, breaks: bool):
    assert verdict(reason, in_company=True).breaks is breaks
    assert verdict(reason).breaks
    assert verdict(reason, in_company=True)._replace(breaks=True) == verdict(reason)


@pytest.mark.parametrize(("failures", "breaks"), [(0, False), (1, False), (2, True)])
def test_lokis_breaker_counts_only_a_tasks_last_failure(failures: int, breaks: bool):
    assert verdict(preset="loki", failures=failures, failed_by=[ADA] * failures).breaks is breaks


@given(
    st.sampled_from(PRESET_NAMES),
    st.sampled_from([*Reason, "own"]),
    st.sampled_from(["", "it broke", RATE_LIMITED]),
    st.integers(0, 5),
    st.integers(0, 12),
    st.lists(st.sampled_from([ADA, BOB]), max_size=5),
)
def test_every_verdict_makes_sense(  # noqa: PLR0917 - hypothesis gives them in order
    preset: str, reason: str, error: str, failures: int, uncounted: int, failed_by: list[AgentId]
):
    decided = verdict(
        reason, error, preset=preset, failures=failures, failed_by=failed_by, losses=uncounted, parks=uncounted
    )

    match decided.follow_up:
        case FollowUp.BURY:
            assert decided.counted
            assert decided.wake_at == NOW
        case FollowUp.PARK:
            assert not decided.counted
            assert decided.wait > 0
            assert decided.wake_at == NOW + decided.wait
        case FollowUp.RETRY:
            assert decided.wake_at >= NOW
            assert failures + decided.counted < PRESETS[preset].max_attempts or not decided.counted
    assert not decided.poison or decided.follow_up is FollowUp.BURY
    assert not decided.breaks or decided.counted
    assert uncounted < 10 or decided.counted
