-- To forget tasks and everything that is only theirs.

-- name: doomed
-- What is known of the tasks that go, and the numbers of the log with their events.
select task.seq, task.workspace, task.id, task.dag_id,
  array(
    select unnest(task.log || coalesce(held.log, '{}'))
    union
    select task_event.number
    from yard.task_event
    where task_event.seq = task.seq
  )
from {tasks}
where task.id = any($1::text[])

-- name: doomed_dag_events
select dag_event.workspace, dag_event.dag_id, dag_event.number
from unnest($1::text[], $2::text[]) as doomed (workspace, dag_id)
join yard.dag_event
on dag_event.workspace = doomed.workspace
and dag_event.dag_id = doomed.dag_id

-- name: lock_log_rows
-- In one order. Two that remove events of one row wait for each other.
select log.number, log.workspace, log.body
from yard.log
join unnest($1::bigint[], $2::text[]) as shared (number, workspace)
on log.number = shared.number
and log.workspace = shared.workspace
order by log.number, log.workspace
for no key update of log

-- name: rewrite_log_rows
update yard.log
set owners = kept.owners, ends = kept.ends, loose = kept.loose, body = kept.body
from unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[])
as kept (number, workspace, owners, ends, loose, body)
where log.number = kept.number
and log.workspace = kept.workspace

-- name: remove_log_rows
delete from yard.log
using unnest($1::bigint[], $2::text[]) as doomed (number, workspace)
where log.number = doomed.number
and log.workspace = doomed.workspace

-- name: note_pruned
-- So that a reader who was away is told.
insert into yard.pruned as stored (workspace, through)
select workspace, through
from unnest($1::text[], $2::bigint[]) as gone (workspace, through)
order by workspace
on conflict (workspace) do update
set through = greatest(stored.through, excluded.through)

-- name: remove_dag_events
delete from yard.dag_event
using unnest($1::text[], $2::text[]) as doomed (workspace, dag_id)
where dag_event.workspace = doomed.workspace
and dag_event.dag_id = doomed.dag_id

-- By number: $1.

-- name: remove_definitions
delete from yard.definition
using unnest($1::bigint[], $2::text[]) as doomed (seq, workspace)
where definition.workspace = doomed.workspace
and definition.seq = doomed.seq

-- name: remove_tags_of
delete from yard.tag
where seq = any($1::bigint[])

-- name: remove_attempts
delete from yard.attempt
where seq = any($1::bigint[])

-- name: remove_task_events
delete from yard.task_event
where seq = any($1::bigint[])

-- name: remove_held
delete from yard.held
where seq = any($1::bigint[])

-- name: remove_ready
delete from yard.ready
using yard.task
where task.seq = any($1::bigint[])
and ready.lane = task.lane
and ready.band = 0
and ready.share = 0
and ready.rank = task.rank
and ready.seq = task.seq

-- name: remove_names
delete from yard.name
using yard.task
where task.seq = any($1::bigint[])
and name.workspace = task.workspace
and name.kind = 'key'
and name.name = task.idempotency_key
and name.seq = task.seq

-- name: remove_tasks
delete from yard.task
where seq = any($1::bigint[])

-- By id: $1.

-- name: remove_checkpoints
delete from yard.checkpoint
where task_id = any($1::text[])

-- name: remove_signals
delete from yard.signal
where task_id = any($1::text[])

-- name: remove_blockers_of
delete from yard.blocker
where task_id = any($1::text[])

-- name: remove_edges_from
delete from yard.edge
where parent = any($1::text[])

-- name: remove_edges_to
delete from yard.edge
where child = any($1::text[])

-- name: remove_outbox
delete from yard.outbox
where task_id = any($1::text[])

-- name: remove_dead
delete from yard.record
where kind = 'dead'
and body::json ->> 'task_id' = any($1::text[])

-- name: remove_dag_records
delete from yard.record
using unnest($1::text[], $2::text[]) as given (workspace, dag_id)
where record.kind = 'dag'
and record.workspace = given.workspace
and record.id = given.dag_id

-- name: remove_dag_limits
delete from yard.ceiling
using unnest($1::text[], $2::text[]) as given (workspace, dag_id)
where ceiling.workspace = given.workspace
and ceiling.name = 'dag:' || given.dag_id

-- name: remove_dag_counters
delete from yard.counter
using unnest($1::text[], $2::text[]) as given (workspace, dag_id)
where counter.workspace = given.workspace
and starts_with(counter.name, 'dag:' || given.dag_id || ':')

-- name: lock_loose_rows
-- The rows behind a place with events of no task and no DAG, oldest first.
select log.number, log.workspace, log.body
from yard.log
where log.loose > 0
and log.number >= $1
and log.at < $2
order by log.number, log.workspace
limit $3
for no key update
