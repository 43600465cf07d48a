"""A cutover from a shell, with the figures that each phase prints."""

from tests.cli.conftest import Command


def test_the_phases_are_commands_and_a_switch_is_refused_until_the_queues_agree(taskyard: Command) -> None:
    started = taskyard("cutover", "start", "inbox", "--days", "0", "--least", "0")
    shadowed = taskyard("cutover", "shadow", "inbox")
    skipped = taskyard("cutover", "finish", "inbox")
    switched = taskyard("cutover", "switch", "inbox", "--json")

    assert "inbox is in dual_write: both queues are written, the old one answers" in started.out
    assert "ready for cutover" in shadowed.out
    assert (skipped.status, "cutover comes first" in skipped.out) == (4, True)
    assert (switched.status, switched.json["phase"], switched.json["next"]) == (0, "cutover", "finished")
    assert taskyard("cutover", "compare", "inbox").status == 0
    assert taskyard("cutover", "back", "inbox", "--json").json["phase"] == "shadow"
    assert [each["name"] for each in taskyard("cutover", "ls", "--json").json] == ["inbox"]
    assert taskyard("cutover", "rm", "inbox").status == 0
    assert taskyard("cutover", "compare", "inbox").status == 3


def test_a_week_and_a_hundred_calls_are_asked_for_unless_it_is_forced(taskyard: Command) -> None:
    taskyard("cutover", "start", "inbox")
    refused = taskyard("cutover", "shadow", "inbox")
    forced = taskyard("cutover", "shadow", "inbox", "--force")

    assert refused.status == 4
    assert "0 calls were made in dual_write, and 100 are asked for" in refused.out
    assert "dual_write has lasted 0.0 days, and 7 are asked for" in refused.out
    assert forced.status == 0
