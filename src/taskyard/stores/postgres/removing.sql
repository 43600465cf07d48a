-- To forget tasks and everything that is only theirs.

-- name: doomed_dags
select distinct workspace, dag_id
from yard.task
where id = any($1::text[])
and dag_id is not null

-- name: note_doomed_events
-- So that a reader who was away is told. $1 tasks; $2 $3 DAGs, whose own events go too.
insert into yard.pruned as stored (workspace, through)
select workspace, max(seq)
from (
  select event.workspace, event.seq
  from yard.event
  where event.task_id = any($1::text[])
  union all
  select event.workspace, event.seq
  from unnest($2::text[], $3::text[]) as doomed (workspace, dag_id)
  join yard.event
  on event.workspace = doomed.workspace
  and event.dag_id = doomed.dag_id
  where event.task_id is null
) as doomed
group by workspace
order by workspace
on conflict (workspace) do update
set through = greatest(stored.through, excluded.through)

-- name: remove_dag_events
delete from yard.event
using unnest($1::text[], $2::text[]) as doomed (workspace, dag_id)
where event.workspace = doomed.workspace
and event.dag_id = doomed.dag_id
and event.task_id is null

-- name: remove_definitions
delete from yard.definition
where seq in (select seq from yard.task where id = any($1::text[]))

-- name: remove_tags_of
delete from yard.tag
where seq in (select seq from yard.task where id = any($1::text[]))

-- name: remove_events
delete from yard.event
where task_id = any($1::text[])

-- name: remove_outputs
delete from yard.output
where task_id = any($1::text[])

-- name: remove_attempts
delete from yard.attempt
where task_id = any($1::text[])

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

-- name: remove_tasks
delete from yard.task
where id = any($1::text[])

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

-- name: prune_events
-- Events of no task and no DAG, oldest first. Materialized, for the planner might look for them through the whole log.
with old as materialized (
  select seq
  from yard.event
  where task_id is null
  and dag_id is null
  and at < $1
  and seq > $2
), gone as (
  delete from yard.event
  using (select seq from old order by seq limit $3) as chosen
  where event.seq = chosen.seq
  returning event.workspace, event.seq
), noted as (
  insert into yard.pruned as stored (workspace, through)
  select workspace, max(seq)
  from gone
  group by workspace
  order by workspace
  on conflict (workspace) do update
  set through = greatest(stored.through, excluded.through)
)
select count(*), max(seq)
from gone
