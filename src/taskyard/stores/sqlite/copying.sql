-- The statements that read copies of a yard's rows page by page, and write rows that come from another yard.

-- name: dump_secret
select secret
from meta

-- name: dump_records
select kind, workspace, id, version, body
from record
where (kind, workspace, id) > (?, ?, ?)
order by kind, workspace, id
limit ?

-- name: dump_limits
select workspace, name, ceiling, held, spent
from ceiling
where (workspace, name) > (?, ?)
order by workspace, name
limit ?

-- name: dump_counters
select workspace, name, value
from counter
where (workspace, name) > (?, ?)
order by workspace, name
limit ?

-- name: dump_duties
select name, next_at
from duty
where name > ?
order by name
limit ?

-- name: dump_pulses
select name, at
from pulse
where name > ?
order by name
limit ?

-- name: dump_pruned
select workspace, through
from pruned
where workspace > ?
order by workspace
limit ?

-- name: dump_outbox
select number, workspace, topic, task_id, data, at
from outbox
where number > ?
order by number
limit ?

-- name: dump_tasks
select {hot}
from {task}
where task.seq > ?
order by task.seq
limit ?

-- name: dump_lanes
select id, lane
from lane
where id in (select value from json_each(?))

-- name: dump_checkpoints
select task_id, name, attempt, data
from checkpoint
where task_id in (select value from json_each(?))
order by number

-- name: dump_signals
select task_id, name, data, sent_by, at
from signal
where task_id in (select value from json_each(?))
order by number

-- name: begin_logs
-- A task's row has the number of its first event: readers know by it that older events are of another task.
with begun (id, number) as (
  values (?, ?)
)
update task
set log = ',' || begun.number
from begun
where task.id = begun.id
and task.log = ''

-- name: set_secret
update meta
set secret = ?

-- name: restore_pruned
insert or replace into pruned (workspace, through)
values (?, ?)
