-- The statements that write tasks and what is theirs alone. The marks in braces mean what writing.sql says; {columns} are
-- chosen by `statements.update_of`.

-- name: change_tasks
-- {columns} are those that moved, and no others: a rank that was worked out in between is not overwritten.
with moved (seq, {columns}, log) as (
  values (?, {marks}, ?)
)
update task
set {assignments}, log = task.log || moved.log
from moved
where task.seq = moved.seq

-- name: change_known
-- Of a task that is held: what only `task` has. The event is noted in `held`.
with moved (seq, {columns}, log) as (
  values (?, {marks}, ?)
)
update task
set {assignments}
from moved
where task.seq = moved.seq

-- name: change_held
-- {columns} are those that moved, and no others: a heartbeat that came in between is not overwritten.
with moved (seq, {columns}, log) as (
  values (?, {marks}, ?)
)
update held
set {assignments}, log = held.log || moved.log
from moved
where held.seq = moved.seq

-- name: end_attempts
-- {columns} are those that `held` had too, and what else moved.
with moved (seq, {columns}, log) as (
  values (?, {marks}, ?)
)
update task
set {assignments}, log = task.log || held.log || moved.log
from moved
cross join held
on held.seq = moved.seq
where task.seq = moved.seq

-- name: insert_held
insert into held ({held_names}, log)
values ({held_marks})

-- name: remove_held
delete from held
where seq in (select value from json_each(?))

-- name: insert_ready
insert into ready (lane, band, share, rank, seq)
select lane, 0, 0, rank, seq
from task
where seq in (select value from json_each(?))

-- name: remove_ready
-- By the rank that is stored: a sweep may have moved the task since it was decided on.
delete from ready
where (lane, band, share, rank, seq) in (
  select lane, 0, 0, rank, seq
  from task
  where seq in (select value from json_each(?))
)

-- name: insert_names
insert into name (workspace, kind, name, task_seq)
values (?, ?, ?, ?)

-- name: remove_names
delete from name
where (workspace, kind, name, task_seq) in (
  values (?, ?, ?, ?)
)

-- name: insert_tasks
insert into task ({task_names}, log)
values ({task_marks})

-- name: insert_new_ready
insert into ready (lane, band, share, rank, seq)
values (?, ?, ?, ?, ?)

-- name: insert_definitions
insert into definition (seq, workspace, type, queue, agent, subject, parent_id, body)
values (?, ?, ?, ?, ?, ?, ?, ?)

-- name: redefine
update definition
set workspace = ?, type = ?, queue = ?, agent = ?, subject = ?, parent_id = ?, body = ?
where seq = ?

-- name: seqs
select id, seq
from task
where id in (select value from json_each(?))

-- name: insert_tags
insert into tag (workspace, tag, seq)
values (?, ?, ?)
on conflict do nothing

-- name: rescored
-- Those of them that wait.
select task.id, task.seq, task.status
from task
where task.id in (select value from json_each(?))
and task.status in ('pending', 'ready', 'retrying')
and not exists (select 1 from held where held.seq = task.seq)

-- name: rescore
with scored (seq, rank, height, rescore_at) as (
  values (?, ?, ?, ?)
)
update task
set rank = scored.rank, height = scored.height, rescore_at = scored.rescore_at
from scored
where task.seq = scored.seq

-- name: touch
with touched (id, seen, due_at, lease_expires_at) as (
  values (?, ?, ?, ?)
)
update task
set due_at = touched.due_at
from touched
where task.id = touched.id
and task.due_at = touched.seen
and not exists (select 1 from held where held.seq = task.seq)

-- name: touch_held
with touched (id, seen, due_at, lease_expires_at) as (
  values (?, ?, ?, ?)
)
update held
set due_at = touched.due_at, lease_expires_at = coalesce(touched.lease_expires_at, held.lease_expires_at)
from touched
cross join task
on task.id = touched.id
where held.seq = task.seq
and held.due_at = touched.seen

-- name: insert_attempts
-- The output of an attempt that is written again stays.
insert into attempt (seq, {attempt_names})
values ({attempt_marks})
on conflict (seq, number) do update
set {attempt_assignments}

-- name: insert_ended_attempts
-- An attempt with its output.
insert into attempt (seq, {attempt_names}, data, artifacts, decision_report)
values ({ended_marks})
on conflict (seq, number) do update
set {attempt_assignments},
  data = excluded.data,
  artifacts = excluded.artifacts,
  decision_report = excluded.decision_report

-- name: set_outputs
with written (seq, number, data, artifacts, decision_report) as (
  values (?, ?, ?, ?, ?)
)
update attempt
set data = written.data, artifacts = written.artifacts, decision_report = written.decision_report
from written
where attempt.seq = written.seq
and attempt.number = written.number
