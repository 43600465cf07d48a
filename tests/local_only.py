"""What is not tried beyond a server, and why."""

import pytest

HTTP = "http"
_BY = "who did it is said by the token, and not by the caller"
_WORDS = "the server's models refuse a wrong shape before the yard does, in their own words and with their own path"
_INSIDE = "it takes a process apart, which is the server's here"
_FIGURES = "the figures cross HTTP as /metrics and in no other way"

# Verbs of a yard and of its nouns that need the store itself: a yard beyond a server refuses them.
NEED_THE_STORE = {
    "a2a.forget_pruned",
    "agents.forget",
    "approvals.sent",
    "approvals.waited_for",
    "artifacts.give",
    "artifacts.fitting",
    "audit.forget_old",
    "handles.created",
    "handles.forget_pruned",
    "health",
    "inbox.forget_old",
    "memory.catch_up",
    "presets.agree",
    "provider_batches.forget_pruned",
    "queues.waiting_by_tier",
    "runtimes.forget_process",
    "scores.forget_pruned",
    "streams.add",
    "streams.pages",
    "streams.prune",
    "tasks.details",
    "tasks.total",
    "tokens.exist",
    "tokens.known_by",
    "tokens.sign_in",
}

# What is not tried through HTTP, and why. tests/client holds it to its length.
LOCAL_ONLY = {
    "test_an_agent_that_makes_no_sense_is_refused_and_not_stored": _WORDS,
    "test_a_graph_that_cannot_be_worked_off_is_refused_and_nothing_is_stored": _WORDS,
    "test_a_change_that_makes_no_sense_is_refused_and_the_letter_stays": _WORDS,
    "test_every_hostile_task_is_refused_alone": _WORDS,
    "test_every_hostile_task_is_refused_with_the_whole_graph_it_is_in": _WORDS,
    "test_every_hostile_task_is_refused_when_it_is_added_or_spawned": _WORDS,
    "test_a_hostile_graph_is_refused": _WORDS,
    "test_what_no_store_could_keep_is_refused_wherever_it_is_stated_of_a_task": _WORDS,
    "test_and_wherever_else_it_is_stated": _WORDS,
    "test_a_dead_letter_that_is_escalated_waits_for_another_person": _BY,
    "test_a_task_that_dies_twice_keeps_both_decisions": _BY,
    "test_an_orchestrator_may_revive_one_too": _BY,
    "test_of_two_people_who_decide_at_once_one_has_to_look_again": _BY,
    "test_who_decided_when_and_why_is_on_record": _BY,
    "test_an_agent_makes_no_work_but_from_a_task_that_it_holds": _BY,
    "test_what_an_agent_makes_is_looked_at_by_itself": _BY,
    "test_a_rerun_is_a_new_task_that_asks_for_the_same_in_a_fresh_session": _BY,
    "test_a_rerun_of_a_subject_cancels_what_waits_with_all_that_depends_on_it": _BY,
    "test_a_yard_of_the_release_before_gets_its_preset_by_a_migration": _INSIDE,
    "test_a_graph_that_was_cancelled_half_when_its_process_died_is_cancelled_whole_by_the_sweep": _INSIDE,
    "test_many_who_sweep_at_once_do_each_thing_once": _INSIDE,
    "test_every_nominal_time_of_a_year_fires_exactly_once": _INSIDE,
    "test_a_yard_that_is_swept_is_in_good_health": _INSIDE,
    "test_a_lease_that_nobody_takes_back_tells_that_nobody_sweeps": _INSIDE,
    "test_a_day_tells_what_came_in_and_how_it_went": _FIGURES,
    "test_the_sum_goes_on_where_days_end": _FIGURES,
    "test_what_is_counted_by_agent_goes_by_its_type": _FIGURES,
    "test_a_workspace_sees_its_own_figures_and_one_sweep_counts_for_all": _FIGURES,
    "test_sweeps_of_many_processes_count_each_event_once": _FIGURES,
    "test_who_dies_between_counting_and_storing_leaves_no_trace": _FIGURES,
    "test_whenever_the_counting_process_dies_each_event_is_counted_once": _FIGURES,
    "test_a_long_backlog_is_counted_page_by_page": _FIGURES,
    "test_nothing_is_pruned_before_it_is_counted": _FIGURES,
    "test_counting_begins_with_what_is_kept_where_some_is_gone_already": _FIGURES,
    "test_figures_are_kept_for_a_year_and_then_some": _FIGURES,
    "test_every_end_of_an_attempt_lets_its_row_go": _INSIDE,
    "test_a_row_is_let_go_when_another_process_has_ended_its_attempt": _INSIDE,
    "test_the_rows_in_hand_have_an_end_and_those_beyond_it_are_read_again": _INSIDE,
    "test_of_the_rows_in_hand_those_without_a_heartbeat_go_first": _INSIDE,
    "test_what_was_decided_before_a_standstill_has_the_time_of_its_write": _INSIDE,
    "test_a_store_that_is_always_slow_takes_a_change_in_the_end": _INSIDE,
}


def mark_local_only(items: list[pytest.Item]) -> None:
    """Leave out, by name and with the reason, what makes no sense beyond a server."""
    for item in items:
        reason = LOCAL_ONLY.get(item.originalname) if isinstance(item, pytest.Function) else None
        if reason is not None and item.name.partition("[")[2].startswith(HTTP):
            item.add_marker(pytest.mark.skip(reason=reason))
