-- The statements about the rows of the log: writing, reading and removing them.

-- name: numbers
-- Those of the last commit without events, and those of the last row of the log.
select meta.number, meta.clock, meta.task_seq, log.first >> 10, log.clock, log.task_seq
from meta
left join log
on log.first = (select max(first) from log)

-- name: set_numbers
update meta
set number = ?, clock = ?, task_seq = ?

-- name: insert_log
insert into log (first, workspace, at, clock, task_seq, owners, ends, loose, body)
values (?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: insert_task_events
insert into task_event (seq, number)
values (?, ?)
on conflict do nothing

-- name: insert_task_events_by_id
with written (id, number) as (
  values (?, ?)
)
insert into task_event (seq, number)
select task.seq, written.number
from written
cross join task
on task.id = written.id
where true
on conflict do nothing

-- name: insert_dag_events
insert into dag_event (workspace, dag_id, number)
values (?, ?, ?)
on conflict do nothing

-- name: ends
-- The rows of the log that say that a task is final, from a time on.
select first, at, body
from log
where ends > 0
and at >= :after
and at < :before
order by at, first

-- name: events
-- What is not wanted is not read: a large body is apart from the rest of its row.
select log.first, log.workspace, log_live.live is not null, log.body
from log
left join log_live
on log_live.first = log.first
where log.first >= :place
and (:workspace is null or log.workspace = :workspace)
order by log.first

-- name: newest_events
select log.first, log.workspace, log_live.live is not null, log.body
from log
left join log_live
on log_live.first = log.first
where log.first < :place
and (:workspace is null or log.workspace = :workspace)
order by log.first desc

-- name: log_of_task
-- The numbers of the log that have events of the task.
select task.workspace, task.log || coalesce(held.log, '')
from {task}
where task.id = ?

-- name: numbers_of_task
select task_event.number
from task
cross join task_event
on task_event.seq = task.seq
where task.id = ?
order by task_event.number

-- name: log_rows
-- For the events of a task that is there: those of others may be of tasks that are gone.
select log.first, log.workspace, false, log.body
from json_each(:numbers) as named
cross join log
on log.first between named.value << 10 and named.value << 10 | 1023
where log.workspace = :workspace
order by log.first

-- name: doomed_log
select log.first, log.owners, coalesce(log_live.live, log.owners), log.loose
from json_each(:numbers) as named
cross join log
on log.first between named.value << 10 and named.value << 10 | 1023
left join log_live
on log_live.first = log.first
where log.workspace = :workspace
order by log.first

-- name: log_body
select body
from log
where first = ?

-- name: live_owners
-- Those of these tasks and DAGs whose events in a row are to be shown. A task whose id was used again is another one: it
-- began later.
select id
from task
where id in (select value from json_each(:ids))
and cast(substr(log, 2) as integer) <= :number
union all
select dag_id
from dag_event
where workspace = :workspace
and dag_id in (select value from json_each(:ids))
and number = :number

-- name: write_log_live
insert or replace into log_live (first, live)
values (?, ?)

-- name: remove_log_live
delete from log_live
where first in (select value from json_each(?))

-- name: loose_log
-- The rows of the log with events of no task and no DAG, oldest first.
select first, workspace, body
from log
where first > ?
and loose > 0
and at < ?
order by first
limit ?

-- name: rewrite_log
-- Its time stays: retention goes by it from row to row.
update log
set owners = ?, ends = ?, loose = ?, body = ?
where first = ?

-- name: remove_log
delete from log
where first in (select value from json_each(?))

-- name: write_pruned
insert into pruned (workspace, through)
values (?, ?)
on conflict do update set through = max(through, excluded.through)
