-- Copies of a yard's rows, page by page, and rows that come from another yard. Texts are in the order of their code
-- points on every store, which is that of "C".

-- name: dump_secret
select secret
from yard.meta

-- name: dump_records
select kind, workspace, id, version, body
from yard.record
where (kind collate "C", workspace collate "C", id collate "C") > ($1, $2, $3)
order by kind collate "C", workspace collate "C", id collate "C"
limit $4

-- name: dump_limits
-- Without the idle rows that are kept for their next use.
select workspace, name, ceiling, held, spent
from yard.ceiling
where (workspace collate "C", name collate "C") > ($1, $2)
and (ceiling is not null or held <> 0 or spent <> 0)
order by workspace collate "C", name collate "C"
limit $3

-- name: dump_counters
select workspace, name, value
from yard.counter
where (workspace collate "C", name collate "C") > ($1, $2)
and value <> 0
order by workspace collate "C", name collate "C"
limit $3

-- name: dump_duties
select name, next_at
from yard.duty
where name collate "C" > $1
order by name collate "C"
limit $2

-- name: dump_pulses
select name, at
from yard.pulse
where name collate "C" > $1
order by name collate "C"
limit $2

-- name: dump_pruned
select workspace, through
from yard.pruned
where workspace collate "C" > $1
order by workspace collate "C"
limit $2

-- name: dump_outbox
select number, workspace, topic, task_id, data, at
from yard.outbox
where number > $1
order by number
limit $2

-- name: dump_tasks
select {hot}
from {tasks}
where task.seq > $1
order by task.seq
limit $2

-- name: dump_lanes
select id, lane
from yard.lane
where id = any($1::bigint[])

-- name: dump_checkpoints
select task_id, name, attempt, data
from yard.checkpoint
where task_id = any($1::text[])
order by number

-- name: dump_signals
select task_id, name, data, sent_by, at
from yard.signal
where task_id = any($1::text[])
order by number

-- name: reserve_numbers
-- Numbers that are drawn from now on are above this one, and above all that were drawn.
select setval('yard.log_seq', greatest($1::bigint, case when is_called then last_value else 0 end))
from yard.log_seq
where $1::bigint > 0

-- name: restore_log
insert into yard.log (number, workspace, at, owners, ends, loose, body)
select *
from unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[])

-- name: begin_logs
-- A task's row has the number of its first event: readers know by it that older events are of another task.
update yard.task
set log = array[given.number]
from unnest($1::text[], $2::bigint[]) as given (id, number)
where task.id = given.id
and task.log = '{}'

-- name: restore_task_events
insert into yard.task_event (seq, number)
select task.seq, given.number
from unnest($1::text[], $2::bigint[]) as given (id, number)
join yard.task
on task.id = given.id
on conflict do nothing

-- name: restore_dag_events
insert into yard.dag_event (workspace, dag_id, number)
select *
from unnest($1::text[], $2::text[], $3::bigint[])
on conflict do nothing

-- name: restore_limits
insert into yard.ceiling (workspace, name, ceiling, held, spent)
select *
from unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[])

-- name: restore_counters
insert into yard.counter (workspace, name, value)
select *
from unnest($1::text[], $2::text[], $3::bigint[])

-- name: restore_duties
insert into yard.duty (name, next_at)
select *
from unnest($1::text[], $2::bigint[])
on conflict (name) do update
set next_at = excluded.next_at

-- name: restore_pulses
insert into yard.pulse (name, at)
select *
from unnest($1::text[], $2::bigint[])
on conflict (name) do update
set at = excluded.at

-- name: set_secret
update yard.meta
set secret = $1
