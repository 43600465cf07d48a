-- The statements that look for tables which do not agree with each other.

-- name: integrity
pragma integrity_check

-- name: without_definition
select task.id || ' has no definition'
from task
where not exists (select 1 from definition where definition.seq = task.seq)

-- name: definition_without_task
select 'definition ' || definition.seq || ' has no task'
from definition
where not exists (select 1 from task where task.seq = definition.seq)

-- name: numbers_behind
select 'the numbers of tasks or of the log are behind what is stored'
from (
  select max(number) as number, max(task_seq) as task_seq
  from (
    select number, task_seq
    from meta
    union all
    select first >> 10, task_seq
    from log
    where first = (select max(first) from log)
  )
)
where task_seq < (select coalesce(max(seq), 0) from task)
or number < (select coalesce(max(first), 0) >> 10 from log)

-- name: ready_without_task
select 'ready row of task ' || ready.seq || ' is not where the task is'
from ready
left join task
on task.seq = ready.seq
where task.status is not 'ready'
or (task.lane, task.rank) is not (ready.lane, ready.rank)
or exists (select 1 from held where held.seq = ready.seq)

-- name: task_without_ready
select task.id || ' is ready, and cannot be claimed'
from task
where task.status = 'ready'
and not exists (select 1 from held where held.seq = task.seq)
and not exists (
  select 1
  from ready
  where ready.lane = task.lane
  and ready.band = 0
  and ready.share = 0
  and ready.rank = task.rank
  and ready.seq = task.seq
)

-- name: held_without_task
select 'held row ' || held.seq || ' is not that of its task'
from held
left join task
on task.seq = held.seq
where held.status not in ('claimed', 'running', 'validating')
or held.version >= task.version is not true

-- name: name_without_task
select 'the key ' || name.name || ' is kept for a task that does not have it'
from name
left join task
on task.seq = name.task_seq
where name.kind = 'key'
and ((task.workspace, task.idempotency_key) is not (name.workspace, name.name)
or task.status in ('cancelled', 'dead_lettered'))

-- name: task_without_name
select task.id || ' does not have its idempotency key'
from task
where task.idempotency_key is not null
and task.status not in ('cancelled', 'dead_lettered')
and not exists (
  select 1
  from name
  where name.workspace = task.workspace
  and name.kind = 'key'
  and name.name = task.idempotency_key
  and name.task_seq = task.seq
)

-- name: every_log_row
select log.first, log.workspace, log_live.live, log.owners, log.ends, log.loose, log.body
from log
left join log_live
on log_live.first = log.first
order by log.first

-- name: log_live_without_log
select 'the owners of log row ' || first || ' are counted, and there is no such row'
from log_live
where not exists (select 1 from log where log.first = log_live.first)

-- name: every_log_of_task
select task.id, task.log || coalesce(held.log, '')
from {task}

-- name: log_of_tasks
-- Where these tasks look for events, and whether a number of the log is among those that they have elsewhere.
select
  task.id,
  task.log || coalesce(held.log, ''),
  exists (select 1 from task_event where task_event.seq = task.seq and task_event.number = ?)
from {task}
where task.id in (select value from json_each(?))

-- name: numbers_without_log
select value
from json_each(?)
where not exists (select 1 from log where log.first between value << 10 and value << 10 | 1023)

-- name: task_event_without_log
select 'task ' || task_event.seq || ' looks for events in ' || task_event.number || ' of the log, and there are none'
from task_event
where not exists (select 1 from task where task.seq = task_event.seq)
or not exists (
  select 1
  from log
  where log.first between task_event.number << 10 and task_event.number << 10 | 1023
)

-- name: dag_event_without_log
select dag_event.dag_id || ' looks for events in ' || dag_event.number || ' of the log, and there are none'
from dag_event
where not exists (
  select 1
  from log
  where log.first between dag_event.number << 10 and dag_event.number << 10 | 1023
  and log.workspace = dag_event.workspace
)

-- name: attempt_without_task
select 'attempt ' || attempt.number || ' of task ' || attempt.seq || ' has no task'
from attempt
where not exists (select 1 from task where task.seq = attempt.seq)
