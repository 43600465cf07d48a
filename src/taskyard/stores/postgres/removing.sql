-- To forget tasks and everything that is only theirs.
--
-- What is looked up by a key is written so that only the key's index can answer: a number as a range, a workspace as an
-- array of one. An equation between two tables may be answered by comparing all rows of both: the server did so by the
-- workspace, which all tasks may share, and removing 500 of 50,000 tasks took it more than ten seconds.

-- name: doomed
-- What is known of the tasks that go, and the numbers of the log with their events, some of them twice.
select task.workspace, task.id, task.dag_id,
  task.log
  || coalesce((select held.log from yard.held where held.seq = task.seq), '{}')
  || array(select task_event.number from yard.task_event where task_event.seq = task.seq)
from yard.task
where task.id = any($1::text[])

-- name: doomed_dag_events
select dag_event.workspace, dag_event.dag_id, dag_event.number
from unnest($1::text[], $2::text[]) as doomed (workspace, dag_id)
join yard.dag_event
on dag_event.workspace = doomed.workspace
and dag_event.dag_id = doomed.dag_id

-- name: lock_log_rows
-- In one order. Two that remove events of one row wait for each other. $3 has how many owners of each row go: answered is
-- how many are left.
select log.number, log.workspace, log.owners, coalesce(log.live, log.owners) - shared.gone, log.loose
from yard.log
join unnest($1::bigint[], $2::text[], $3::bigint[]) as shared (number, workspace, gone)
on log.number between shared.number and shared.number
and log.workspace = any(array[shared.workspace])
order by log.number, log.workspace
for no key update of log

-- name: log_bodies
select log.number, log.workspace, log.body
from yard.log
join unnest($1::bigint[], $2::text[]) as named (number, workspace)
on log.number between named.number and named.number
and log.workspace = any(array[named.workspace])

-- name: count_live
-- A body beyond 2 kB is apart from its row, and is not written again.
update yard.log
set live = counted.live
from unnest($1::bigint[], $2::text[], $3::bigint[]) as counted (number, workspace, live)
where log.number between counted.number and counted.number
and log.workspace = any(array[counted.workspace])

-- name: rewrite_log_rows
update yard.log
set owners = kept.owners, ends = kept.ends, loose = kept.loose, body = kept.body
from unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[])
as kept (number, workspace, owners, ends, loose, body)
where log.number between kept.number and kept.number
and log.workspace = any(array[kept.workspace])

-- name: rewrite_living
-- The same for rows that have no events any more of owners that are gone.
update yard.log
set owners = kept.owners, ends = kept.ends, loose = kept.loose, body = kept.body, live = null
from unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[])
as kept (number, workspace, owners, ends, loose, body)
where log.number between kept.number and kept.number
and log.workspace = any(array[kept.workspace])

-- name: remove_log_rows
delete from yard.log
using unnest($1::bigint[], $2::text[]) as doomed (number, workspace)
where log.number between doomed.number and doomed.number
and log.workspace = any(array[doomed.workspace])

-- name: note_pruned
-- So that a reader that was away learns of it.
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

-- name: remove_tasks
-- The tasks $1, whose rows are locked, and everything that is only theirs: one round trip for all tables. Most tasks have
-- nothing in most of them: where a table is empty, or a task's own row says that it has nothing there, none is looked up.
with doomed as materialized (
  select seq, id, workspace, lane, rank, idempotency_key,
    status in ('completed', 'cancelled', 'dead_lettered') as is_final
  from yard.task
  where id = any($1::text[])
),
definitions as (
  delete from yard.definition
  using doomed
  where definition.workspace = any(array[doomed.workspace])
  and definition.seq between doomed.seq and doomed.seq
),
tags as (
  delete from yard.tag
  using doomed
  where tag.seq between doomed.seq and doomed.seq
  and exists (select 1 from yard.tag)
),
attempts as (
  delete from yard.attempt
  using doomed
  where attempt.seq between doomed.seq and doomed.seq
),
task_events as (
  delete from yard.task_event
  using doomed
  where task_event.seq between doomed.seq and doomed.seq
  and exists (select 1 from yard.task_event)
),
held_rows as (
  delete from yard.held
  using doomed
  where held.seq between doomed.seq and doomed.seq
  and not doomed.is_final
),
ready_rows as (
  -- Each is looked up by itself: see found_ready.
  delete from yard.ready
  using (
    select here.place, doomed.rank
    from doomed
    cross join lateral (
      select ready.ctid as place
      from yard.ready
      where ready.lane = doomed.lane
      and ready.band = 0
      and ready.share = 0
      and ready.rank = doomed.rank
      and ready.seq = doomed.seq
      offset 0
    ) as here
    where doomed.seq between 1 and 9223372036854775807
    and not doomed.is_final
  ) as found
  where ready.ctid = found.place
  and ready.rank = found.rank
),
names as (
  delete from yard.name
  using doomed
  where name.workspace = any(array[doomed.workspace])
  and name.kind = 'key'
  and name.name between doomed.idempotency_key and doomed.idempotency_key
  and name.seq between doomed.seq and doomed.seq
),
embeddings as (
  delete from yard.embedding
  where task_id = any($1::text[])
  and exists (select 1 from yard.embedding)
),
checkpoints as (
  delete from yard.checkpoint
  where task_id = any($1::text[])
  and exists (select 1 from yard.checkpoint)
),
signals as (
  delete from yard.signal
  where task_id = any($1::text[])
  and exists (select 1 from yard.signal)
),
blockers as (
  delete from yard.blocker
  where task_id = any($1::text[])
  and exists (select 1 from yard.blocker)
),
edges as (
  delete from yard.edge
  where (parent = any($1::text[]) or child = any($1::text[]))
  and exists (select 1 from yard.edge)
),
outbox_rows as (
  delete from yard.outbox
  where task_id = any($1::text[])
  and exists (select 1 from yard.outbox)
),
dead_letters as (
  delete from yard.record
  where kind = 'dead'
  and body::json ->> 'task_id' = any($1::text[])
  and exists (select 1 from yard.record where kind = 'dead')
)
delete from yard.task
using doomed
where task.seq between doomed.seq and doomed.seq

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
