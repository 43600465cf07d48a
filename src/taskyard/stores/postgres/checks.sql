-- What is wrong with the stored data: one line for each problem. Tables that say the same thing must agree.

-- name: without_definition
select task.id || ' has no definition'
from yard.task
where not exists (
  select 1
  from yard.definition
  where definition.workspace = task.workspace
  and definition.seq = task.seq
)

-- name: definition_without_task
select 'definition ' || definition.seq || ' has no task'
from yard.definition
where not exists (select 1 from yard.task where task.seq = definition.seq)

-- name: held_without_task
select 'held row ' || held.seq || ' has no task'
from yard.held
where not exists (select 1 from yard.task where task.seq = held.seq)

-- name: not_in_ready
select task.id || ' is ready and is not found by claims'
from {tasks}
where task.status = 'ready'
and held.seq is null
and not exists (
  select 1
  from yard.ready
  where ready.lane = task.lane
  and ready.band = 0
  and ready.share = 0
  and ready.rank = task.rank
  and ready.seq = task.seq
  and ready.version = task.version
)

-- name: wrongly_ready
select 'ready row ' || ready.seq || ' is of no task that is ready, at its place and version'
from yard.ready
where not exists (
  select 1
  from {tasks}
  where task.seq = ready.seq
  and task.lane = ready.lane
  and task.rank = ready.rank
  and task.version = ready.version
  and task.status = 'ready'
  and held.seq is null
)

-- name: without_name
select task.id || ' does not own its idempotency key'
from {tasks}
where task.idempotency_key is not null
and coalesce(held.status, task.status) not in ('cancelled', 'dead_lettered')
and not exists (
  select 1
  from yard.name
  where name.workspace = task.workspace
  and name.kind = 'key'
  and name.name = task.idempotency_key
  and name.seq = task.seq
)

-- name: wrongly_named
select 'the key ' || name.name || ' is owned by no live task that has it'
from yard.name
where name.kind = 'key'
and not exists (
  select 1
  from {tasks}
  where task.seq = name.seq
  and task.workspace = name.workspace
  and task.idempotency_key = name.name
  and coalesce(held.status, task.status) not in ('cancelled', 'dead_lettered')
)

-- name: without_log_row
select task.id || ' has events in row ' || numbers.number || ' of the log, which is not there'
from {tasks}
cross join lateral (
  select unnest(task.log || coalesce(held.log, '{}')) as number
  union
  select task_event.number
  from yard.task_event
  where task_event.seq = task.seq
) as numbers
where not exists (
  select 1
  from yard.log
  where log.number = numbers.number
  and log.workspace = task.workspace
)

-- name: numbers_behind
select 'the numbers of tasks or events are behind what is stored'
where (select last_value from yard.task_seq) < (select coalesce(max(seq), 0) from yard.task)
or (
  select case when is_called then last_value else last_value - 1 end
  from yard.log_seq
) < (select coalesce(max(number), 0) from yard.log)

-- name: log_counts
select number, workspace, body, live, owners, ends, loose
from yard.log
where (number, workspace) > ($1, $2)
order by number, workspace
limit $3
