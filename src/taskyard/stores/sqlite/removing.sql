-- What the writer says to forget tasks and everything that is only theirs.

-- name: doomed_dags
select distinct workspace, dag_id
from task
where id in (select value from json_each(?))
and dag_id is not null

-- name: last_doomed_events
select workspace, max(seq)
from event
where task_id in (select value from json_each(?))
group by workspace

-- name: last_dag_event
select workspace, max(seq)
from event
where workspace = ?
and dag_id = ?
and task_id is null
group by workspace

-- name: write_pruned
insert into pruned (workspace, through)
values (?, ?)
on conflict do update set through = max(through, excluded.through)

-- name: remove_dag_events
delete from event
where workspace = ?
and dag_id = ?
and task_id is null

-- name: remove_definitions
delete from definition
where seq in (
  select seq
  from task
  where id in (select value from json_each(?))
)

-- name: remove_tags_of
delete from tag
where seq in (
  select seq
  from task
  where id in (select value from json_each(?))
)

-- name: remove_events
delete from event
where task_id in (select value from json_each(?))

-- name: remove_outputs
delete from output
where task_id in (select value from json_each(?))

-- name: remove_attempts
delete from attempt
where task_id in (select value from json_each(?))

-- name: remove_checkpoints
delete from checkpoint
where task_id in (select value from json_each(?))

-- name: remove_signals
delete from signal
where task_id in (select value from json_each(?))

-- name: remove_blockers_of
delete from blocker
where task_id in (select value from json_each(?))

-- name: remove_edges_from
delete from edge
where parent in (select value from json_each(?))

-- name: remove_edges_to
delete from edge
where child in (select value from json_each(?))

-- name: remove_outbox
delete from outbox
where task_id in (select value from json_each(?))

-- name: remove_dead
delete from record
where kind = 'dead'
and body ->> '$.task_id' in (select value from json_each(?))

-- name: remove_tasks
delete from task
where id in (select value from json_each(?))

-- name: remove_dag_counters
-- The semicolon follows the colon: all names that begin with dag:ID: and no others.
delete from counter
where workspace = ?
and name >= 'dag:' || ? || ':'
and name < 'dag:' || ? || ';'

-- name: remove_dag_limit
delete from ceiling
where workspace = ?
and name = 'dag:' || ?

-- name: prunable_events
-- Events of no task and no DAG, oldest first.
select seq, workspace
from event
where task_id is null
and dag_id is null
and seq > ?
and at < ?
order by seq
limit ?

-- name: remove_events_by_number
delete from event
where seq in (select value from json_each(?))
