"""What a workspace may say of its breakers, and what becomes of the preset's word."""

from dataclasses import replace

import pytest

from taskyard.core.changes import Record
from taskyard.core.errors import InvalidInput
from taskyard.core.planning import BreakerSettings, Planning, Settings, settings_of
from taskyard.core.policy import PRESETS, BreakerCounts
from taskyard.core.units import MINUTE, SECOND, Micros
from taskyard.features.breakers.rules import breaker_settings


def planning(preset: str, settings: Settings) -> Planning:
    return Planning(workspace="default", epoch=1, settings=replace(settings, preset=preset))


def test_a_workspace_that_says_nothing_has_the_breakers_of_its_preset():
    assert planning("loki", Settings()).breaker_policy == PRESETS["loki"].breaker


def test_what_a_workspace_says_goes_over_the_preset_and_the_rest_stays():
    own = breaker_settings(7, None, {"biz-marketing": 20, "code": 1})

    policy = planning("loki", Settings(breakers=own)).breaker_policy

    assert policy.half_open_after == MINUTE
    assert policy.counts is BreakerCounts.DEAD_LETTER
    thresholds = [policy.threshold(type_) for type_ in ("anything", "code", "biz-marketing", "ops-security")]
    assert thresholds == [7, 1, 20, 3]


def test_the_time_to_the_probe_is_kept_to_the_microsecond():
    own = breaker_settings(None, 1.5, None)

    assert planning("standard", Settings(breakers=own)).breaker_policy.half_open_after == 1.5 * SECOND


def test_it_comes_back_from_its_record_as_it_went_in():
    own = breaker_settings(2, 30, {"code": {"failure_threshold": 4, "cooldownSeconds": 300, "halfOpenAfter": 7}})
    record = Record("workspace", "default", "default", 1, {"breakers": own.to_body()})

    assert settings_of(record) == Settings(breakers=own)
    assert settings_of(record._replace(body={})) == Settings()
    assert own == BreakerSettings(
        failure_threshold=2,
        half_open_after=Micros(30 * SECOND),
        thresholds={"code": 4},
        waits={"code": Micros(7 * SECOND)},
    )


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ((0, None, None), "failure_threshold"),
        ((2.5, None, None), "failure_threshold"),
        ((True, None, None), "failure_threshold"),
        (("5", None, None), "failure_threshold"),
        ((None, 0, None), "half_open_after_sec"),
        ((None, -1, None), "half_open_after_sec"),
        ((None, float("nan"), None), "half_open_after_sec"),
        ((None, float("inf"), None), "half_open_after_sec"),
        ((None, None, ["code"]), "overrides"),
        ((None, None, {"code": 0}), "overrides.code"),
        ((None, None, {"code": None}), "overrides.code"),
        ((None, None, {"code": {"failureThreshold": 0}}), "overrides.code.failureThreshold"),
        ((None, None, {"code": {"half_open_after_sec": 0}}), "overrides.code.half_open_after_sec"),
        ((None, None, {"code": {"threshold": 3}}), "overrides.code.threshold"),
        ((None, None, {"": 3}), "overrides"),
        ((None, None, {"a\0b": 3}), "overrides"),
        ((None, None, {7: 3}), "overrides"),
        ((None, None, {str(number): 3 for number in range(1001)}), "overrides"),
    ],
)
def test_what_makes_no_sense_is_refused_by_field(given: tuple[object, object, object], field: str):
    with pytest.raises(InvalidInput) as refused:
        breaker_settings(*given)

    assert refused.value.facts["field"] == field
