"""When breakers open, from the command line."""

from tests.cli.conftest import Command, given_an_empty_yard


def test_the_policy_is_set_as_a_whole_shown_and_taken_back(taskyard: Command):
    given_an_empty_yard(taskyard)

    said = taskyard(
        *("breakers", "policy", "--threshold", "2", "--half-open-after", "5", "--json"),
        *("--override", "code=4", "--override", 'ops-security={"failureThreshold": 3, "cooldownSeconds": 300}'),
    )

    assert said.json == {
        "failure_threshold": 2,
        "half_open_after_sec": 5.0,
        "overrides": {
            "code": {"failure_threshold": 4, "half_open_after_sec": None},
            "ops-security": {"failure_threshold": 3, "half_open_after_sec": 300.0},
        },
    }
    assert taskyard("breakers", "policy", "--json").json == said.json
    assert taskyard("breakers", "policy", "--reset", "--json").json["overrides"] == {}


def test_an_override_that_makes_no_sense_is_refused(taskyard: Command):
    given_an_empty_yard(taskyard)

    assert taskyard("breakers", "policy", "--override", "code").status == 2
    assert taskyard("breakers", "policy", "--override", "code=0").status == 2
