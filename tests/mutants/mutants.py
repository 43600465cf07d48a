"""Planted mistakes, each a trap that has caught a real system, and what must catch it here.

A mutant is a few texts to be replaced in a copy of the package. A text that is not found exactly once fails its test:
the code has moved on, and the mutant must follow it.
"""

from __future__ import annotations

from tests.mutants.planting import Edit, Hunt, Mutant, Named

MEMORY_COMMITS, MEMORY_TABLES, MEMORY_STORE = (f"stores/memory/{name}.py" for name in ("commits", "tables", "store"))
SQLITE_SQL, SQLITE_CLAIMS, SQLITE_GUARDS = (
    f"stores/sqlite/{name}" for name in ("writing.sql", "claims.py", "guards.py")
)

SQLITE_RACES, SQLITE_LOG = (f"tests/stores/sqlite/test_{name}.py" for name in ("claim_races", "log_rows"))
POSTGRES_GUARDS = "stores/postgres/guards.py"
INTERLEAVINGS = "tests/stores/postgres/test_interleavings.py"
PLAIN = "tests/stores/postgres/test_single_statement.py"
BREAKERS = "tests/guarantees/test_breakers.py"
BY_PRESET = "tests/guarantees/test_breakers_by_preset.py"
_PROBE_OF_LOKI = "test_in_loki_a_probe_that_fails_opens_the_breaker_again_though_it_will_be_retried"
ZOMBIE = "a_zombie_comes_back_to_a_task_in_other_hands"

MUTANTS = (
    Mutant(
        name="version_guard_dropped_in_memory",
        trap="A zombie's write, decided on what was there before, lands on its successor's.",
        edits=(
            Edit(
                MEMORY_COMMITS,
                "if stored is None or stored.version != before.version or (",
                "if stored is None or (",
            ),
        ),
        caught_by=Hunt("memory", seeds=20),
    ),
    Mutant(
        name="version_guard_dropped_in_sqlite",
        trap="A zombie's write, decided on what was there before, lands on its successor's.",
        edits=(
            Edit(
                SQLITE_SQL, "where task.version is not expected.version\nor exists", "where task.id is null\nor exists"
            ),
            Edit(SQLITE_SQL, "where held.version is not expected.version\n", "where held.seq is null\n"),
        ),
        caught_by=Hunt("sqlite", seeds=20),
    ),
    Mutant(
        name="claims_overlooked_in_sqlite",
        trap="A change that was decided on a waiting task lands beside the claim that came in between.",
        edits=(
            Edit(
                SQLITE_SQL,
                "or exists (select 1 from held where held.seq = expected.seq)\n",
                "",
            ),
        ),
        caught_by=Named((f"{SQLITE_RACES}::test_a_claim_that_comes_first_is_what_the_other_meets[Together-cancel]",)),
    ),
    Mutant(
        name="events_of_removed_tasks_shown_in_sqlite",
        trap="A row of the log that others still need shows what became of a task that was pruned.",
        edits=(
            Edit(
                "stores/sqlite/log/log_reads.py",
                "    if not is_partly_gone:\n",
                "    if is_partly_gone is not None:\n",
            ),
        ),
        caught_by=Named(
            (f"{SQLITE_LOG}::test_events_of_who_is_gone_are_not_shown_and_go_with_three_quarters_of_the_owners",),
        ),
    ),
    Mutant(
        name="version_guard_dropped_in_postgres",
        trap="A zombie's write, decided on what was there before, lands on its successor's.",
        edits=(Edit(POSTGRES_GUARDS, "if version != before.version or is_renewed", "if version < 0 or is_renewed"),),
        caught_by=Hunt("postgres", seeds=4),
    ),
    Mutant(
        name="version_guard_dropped_in_plain_statements",
        trap="A zombie's write, decided on what was there before, lands on its successor's.",
        edits=(
            Edit(
                "stores/postgres/moving.sql",
                "using {moved} as moved\nwhere held.seq between moved.seq and moved.seq\n"
                "and held.version = moved.was_version\n",
                "using {moved} as moved\nwhere held.seq between moved.seq and moved.seq\n",
            ),
        ),
        caught_by=Named((f"{PLAIN}::test_one_that_has_moved_is_reported_and_the_others_are_committed_once",)),
    ),
    Mutant(
        name="claim_takes_what_has_changed_in_postgres",
        trap="A signal reaches a task while it is claimed, and two of its events have the same version.",
        edits=(
            Edit("stores/postgres/claiming.sql", "  and ready.version = seen.version\n", ""),
            Edit(
                "stores/postgres/moving.sql",
                "using ({found_ready}) as moved\nwhere ready.ctid = moved.place\nand ready.version = moved.was_version",
                "using ({found_ready}) as moved\nwhere ready.ctid = moved.place",
            ),
        ),
        caught_by=Named(
            (
                "tests/stores/postgres/test_claim_interleavings.py::test_a_change_that_is_committed_while_a_claim_has_looked",
            )
        ),
    ),
    Mutant(
        name="lease_check_dropped",
        trap="Zombie after lease expiry completes the task of its successor.",
        edits=(
            Edit(
                "features/attempts/endings/completions.py",
                "if hot.lease != handed_in.sealed:",
                "if hot.lease is None:",
            ),
        ),
        caught_by=Hunt("memory", ZOMBIE),
    ),
    Mutant(
        name="lease_check_dropped_for_steps",
        trap="Zombie after lease expiry writes the steps of its successor.",
        edits=(
            Edit(
                "ledger/ledger.py",
                "if hot.lease is None or hot.lease != seal(lease):",
                "if hot.lease is None:",
            ),
        ),
        caught_by=Hunt("memory", ZOMBIE),
    ),
    Mutant(
        name="heartbeat_of_anybody",
        trap="Zombie after lease expiry heartbeats its successor's lease.",
        edits=(
            Edit(
                "core/transitions.py",
                "hot.status in HELD and hot.lease == heartbeat.lease and",
                "hot.status in HELD and",
            ),
        ),
        caught_by=Hunt("memory", ZOMBIE),
    ),
    Mutant(
        name="child_released_twice",
        trap="A dependent is released by every parent that finishes, also when it has gone on already.",
        edits=(
            Edit(
                MEMORY_TABLES,
                "if hot is not None and hot.status is Status.PENDING and not self.waits_for(task_id):",
                "if hot is not None and not self.waits_for(task_id):",
            ),
            Edit("core/transitions.py", '    allow(hot, "ready")\n', ""),
        ),
        caught_by=Hunt("memory", seeds=60),
    ),
    Mutant(
        name="attempts_not_counted_on_a_crash",
        trap="A crash that is no attempt loops for ever.",
        edits=(
            Edit(
                "core/failure.py",
                "if reason in _LOST and not policy.counts_lost_leases and",
                "if reason in _LOST and",
            ),
        ),
        caught_by=Hunt("memory", seeds=30),
    ),
    Mutant(
        name="claim_time_without_end",
        trap="A claimed task whose heartbeat never comes is never reaped.",
        edits=(
            Edit(
                "core/transitions.py",
                "        earlier(expires, limit),\n",
                "        earlier(expires, limit) if started else None,\n",
            ),
        ),
        caught_by=Hunt("memory", seeds=60),
    ),
    Mutant(
        name="rank_order_reversed_between_lanes",
        trap="What is urgent waits behind what is not.",
        edits=(
            Edit(
                "core/claiming.py",
                "return effective(hot.rank, lane.boost, plan.now), hot.seq",
                "return -effective(hot.rank, lane.boost, plan.now), hot.seq",
            ),
        ),
        caught_by=Hunt("memory", seeds=60),
    ),
    Mutant(
        name="rank_order_reversed_in_sqlite",
        trap="What is urgent waits behind what is not.",
        edits=(
            Edit(
                SQLITE_SQL,
                "  order by ready.band, ready.share, ready.rank, ready.seq\n",
                "  order by ready.band, ready.share, ready.rank desc, ready.seq\n",
            ),
        ),
        caught_by=Hunt("sqlite", seeds=20),
    ),
    Mutant(
        name="breaker_probe_leaked",
        trap="Half-open breaker whose probe dies stays half-open.",
        edits=(
            Edit(
                "core/outcomes.py", "    if hot.circuit % 2:\n        spends", "    if hot.circuit < 0:\n        spends"
            ),
        ),
        caught_by=Hunt("memory", seeds=60),
    ),
    Mutant(
        name="failed_probe_leaves_its_breaker_half_open",
        trap="A failed probe that will be retried is followed by the next one at once.",
        edits=(Edit("core/failure.py", "        return fails_a_probe(reason)\n", "        return dies\n"),),
        caught_by=Named((f"{BY_PRESET}::{_PROBE_OF_LOKI}[memory]",)),
    ),
    Mutant(
        name="slot_given_back_twice",
        trap="A slot released twice lets 11 run where 1 may.",
        edits=(
            Edit(
                "core/outcomes.py",
                "own = Spend(workspace, slots_ceiling(agent), -1)",
                "own = Spend(workspace, slots_ceiling(agent), -2)",
            ),
        ),
        caught_by=Hunt("memory", seeds=20),
    ),
    Mutant(
        name="heartbeat_overwritten_in_memory",
        trap="A change writes the whole row, and a heartbeat that came meanwhile is lost with the lease it had kept.",
        edits=(
            Edit(
                MEMORY_TABLES,
                "after = self.hot[change.before.id]._replace(**gone | moved)",
                "after = change.after",
            ),
        ),
        caught_by=Hunt("memory", "a_heartbeat_comes_while_a_late_change_is_on_its_way"),
    ),
    Mutant(
        name="heartbeat_overwritten_in_sqlite",
        trap="A change writes the whole row, and a heartbeat that came meanwhile is lost with the lease it had kept.",
        edits=(
            Edit(
                "stores/sqlite/writes/moves.py",
                "changed = () if was == is_now else tuple(map(ne, was, is_now))",
                "changed = tuple(True for _ in is_now)",
            ),
        ),
        caught_by=Hunt("sqlite", "a_heartbeat_comes_while_a_late_change_is_on_its_way"),
    ),
    Mutant(
        name="expiry_without_a_second_look_in_memory",
        trap="Reaper reads, then writes without re-checking.",
        edits=(Edit(MEMORY_COMMITS, " or (expiring and not _expired(stored, before, now)):", ":"),),
        caught_by=Hunt("memory", "a_heartbeat_comes_while_its_lease_expires"),
    ),
    Mutant(
        name="expiry_without_a_second_look_in_sqlite",
        trap="Reaper reads, then writes without re-checking.",
        edits=(
            Edit(
                SQLITE_SQL,
                "or expected.expires is not null and held.lease_expires_at is not expected.expires\n",
                "",
            ),
        ),
        caught_by=Hunt("sqlite", "a_heartbeat_comes_while_its_lease_expires"),
    ),
    Mutant(
        name="expiry_without_a_second_look_in_postgres",
        trap="Reaper reads, then writes without re-checking.",
        edits=(Edit(POSTGRES_GUARDS, " or is_renewed or is_early:", ":"),),
        caught_by=Hunt("postgres", "a_heartbeat_comes_while_its_lease_expires"),
    ),
    Mutant(
        name="children_not_locked_in_postgres",
        trap="Two parents finish at once and neither frees the child.",
        edits=(
            Edit(
                "stores/postgres/migrations/0011_lock_tasks.sql",
                "    for no key update\n",
                "",
            ),
        ),
        caught_by=Named((f"{INTERLEAVINGS}::test_two_parents_that_end_at_once_free_their_child_once",)),
    ),
    Mutant(
        name="key_never_unparked",
        trap="What was put aside for a held key is forgotten when the key is free.",
        edits=(
            Edit(
                "core/claiming.py",
                "            chosen.append(hot.id)\n    return chosen",
                "            chosen.append(hot.id)\n    return []",
            ),
        ),
        caught_by=Hunt("memory", seeds=60),
    ),
    Mutant(
        name="room_left_behind",
        trap="The one that was let go for a free key is cancelled, and those behind it wait for ever.",
        edits=(Edit("core/claiming.py", " or not (spend.held or spend.spent)", ""),),
        caught_by=Hunt("memory", "who_was_up_for_a_key_goes_without_it"),
    ),
    Mutant(
        name="other_blockers_forgotten_in_memory",
        trap="The first parent that finishes frees the child, which others still block.",
        edits=(
            Edit(
                MEMORY_TABLES,
                "hot.status is Status.PENDING and not self.waits_for(task_id):",
                "hot.status is Status.PENDING:",
            ),
        ),
        caught_by=Hunt("memory", seeds=60),
    ),
    Mutant(
        name="other_blockers_forgotten_in_sqlite",
        trap="The first parent that finishes frees the child, which others still block.",
        edits=(
            Edit(
                SQLITE_SQL,
                "  where blocker.task_id = task.id\n  and blocker.wait = task.wait\n)\n\n-- name: parked",
                "  where blocker.task_id is null\n)\n\n-- name: parked",
            ),
        ),
        caught_by=Hunt("sqlite", seeds=60),
    ),
    Mutant(
        name="key_checked_and_then_inserted_in_memory",
        trap="Idempotency by check-then-insert races.",
        edits=(Edit(MEMORY_COMMITS, "if owner not in (None, hot.id):", "if owner in ():"),),
        caught_by=Hunt("memory", "two_producers_use_one_key_at_once"),
    ),
    Mutant(
        name="cascade_intent_not_stored",
        trap="A crash in the middle of a large cancel leaves half of it.",
        edits=(
            Edit(
                "features/tasks/cancellation.py",
                "        if not follows or not outcomes.may_be_waited_for(hot):\n            return step",
                "        if self:\n            return step",
            ),
        ),
        caught_by=Hunt("memory", "a_cascade_is_cut_short"),
    ),
    Mutant(
        name="claim_ignores_the_epoch_in_memory",
        trap="A worker claims on what it remembers, and takes from a queue that was paused meanwhile.",
        edits=(Edit(MEMORY_STORE, "if plan.epoch != tables.epochs[plan.workspace] or", "if plan.epoch < 0 or"),),
        caught_by=Hunt("memory", "a_queue_is_paused_by_another_process"),
    ),
    Mutant(
        name="claim_ignores_the_epoch_in_sqlite",
        trap="A worker claims on what it remembers, and takes from a queue that was paused meanwhile.",
        edits=(Edit(SQLITE_CLAIMS, "if plan.epoch != epoch or", "if plan.epoch < 0 or"),),
        caught_by=Hunt("sqlite", "a_queue_is_paused_by_another_process"),
    ),
    Mutant(
        name="claim_ignores_the_epoch_in_postgres",
        trap="A worker claims on what it remembers, and takes from a queue that was paused meanwhile.",
        edits=(Edit("stores/postgres/claims.py", "if epoch != plan.epoch or", "if epoch < 0 or"),),
        caught_by=Hunt("postgres", "a_queue_is_paused_by_another_process"),
    ),
    Mutant(
        name="events_skipped",
        trap="A task becomes ready, and no event tells of it.",
        edits=(
            Edit(
                MEMORY_COMMITS,
                "(*change_set.changes, *change_set.tasks, *unblocked))",
                "(*change_set.changes, *change_set.tasks))",
            ),
        ),
        caught_by=Hunt("memory", seeds=30),
    ),
    Mutant(
        name="workspace_check_dropped",
        trap="A task of another workspace is found by its id.",
        edits=(Edit("ledger/ledger.py", " if hot.workspace == self.workspace}", "}"),),
        caught_by=Hunt("memory", seeds=30),
    ),
    Mutant(
        name="wait_ended_by_a_time_that_was_not_its_own",
        trap="A sweep that dies on the way makes the next one free what still waits for its parents.",
        edits=(
            Edit(
                "features/tasks/wakeups.py",
                "elif any(map(ends_with_time, names)):",
                "elif names:",
            ),
        ),
        caught_by=Hunt("memory", "a_sweep_dies_between_a_time_and_the_next"),
    ),
    Mutant(
        name="two_probes_at_once",
        trap="A half-open breaker lets through as many as ask.",
        edits=(Edit("core/identifiers.py", ', f"{CeilingKind.PROBE.value}:")', ",)"),),
        caught_by=Hunt("memory", "a_breaker_is_half_open"),
    ),
    Mutant(
        name="an_old_success_closes_a_breaker",
        trap="A success of a task claimed before the breaker opened must not close it.",
        edits=(Edit("core/breaker.py", "return circuit % 2 == 1 and circuit == breaker.generation", "return True"),),
        caught_by=Named((f"{BREAKERS}::test_a_success_of_a_task_claimed_before_it_opened_does_not_close_it[memory]",)),
    ),
    Mutant(
        name="backoff_compounds",
        trap="Backoff multiplied into its stored base compounds (60, 120, 480, …).",
        edits=(Edit("core/retry.py", "failures - 1)", "failures * (failures - 1) // 2)"),),
        caught_by=Named(("tests/core/test_retry.py::test_each_delay_comes_from_the_base",)),
    ),
    Mutant(
        name="jitter_after_the_cap",
        trap="Jitter after the cap exceeds it.",
        edits=(
            Edit(
                "core/retry.py",
                "Micros(min(round(base * (1 + policy.jitter * (2 * dice - 1))), cap))",
                "Micros(round(base * (1 + policy.jitter * (2 * dice - 1))))",
            ),
        ),
        caught_by=Named(("tests/core/test_retry.py::test_jitter_does_not_lift_a_delay_over_the_cap",)),
    ),
    Mutant(
        name="power_unbounded",
        trap="`2 ** n` overflows: bound n.",
        edits=(Edit("core/retry.py", " if exponent * log2(multiplier) < 60 else 2.0**60", ""),),
        caught_by=Named(("tests/core/test_retry.py::test_any_number_of_failures_is_safe_without_a_cap",)),
    ),
    Mutant(
        name="outage_blamed_on_agents",
        trap="Retry after a long outage burns all attempts at once.",
        edits=(Edit("sweeper.py", "if last is not None and now - last > GAP:", "if last is None and now < 0:"),),
        caught_by=Named(
            ("tests/guarantees/test_leases.py::test_a_long_outage_burns_no_more_than_one_attempt[memory]",)
        ),
    ),
    Mutant(
        name="prose_taken_for_a_rate_limit",
        trap='Rate-limit recognition by substring waits minutes because an agent wrote "added a 429 handler".',
        edits=(
            Edit(
                "core/policy.py",
                "recognition: Recognition = Recognition.STRICT",
                "recognition: Recognition = Recognition.LITERAL",
            ),
        ),
        caught_by=Named(("tests/guarantees/test_throttles.py::test_an_agents_own_prose_about_rate_limits_is_none",)),
    ),
    Mutant(
        name="commits_not_on_the_disk",
        trap="`synchronous=NORMAL` loses acknowledged commits on power loss.",
        edits=(Edit("stores/sqlite/connection.py", '"synchronous", "full"', '"synchronous", "normal"'),),
        caught_by=Named(("tests/stores/sqlite/test_disk.py::test_every_commit_is_on_the_disk_when_it_is_answered",)),
    ),
)
