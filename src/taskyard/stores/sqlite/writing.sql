-- The statements of the writer. `statements.MultiRowStatement` repeats the one group of question marks of a statement for
-- as many rows as there are. {hot} stands for the columns of core.task.Hot, of {task}: a task with what it has while it is
-- held. {waiting} stands for the same columns of a task that is not held, of `task` alone.

-- name: begin
-- At once, not when first written: a deferred transaction that becomes a writer late is refused without waiting.
begin immediate

-- name: begin_read
begin

-- name: commit
commit

-- name: rollback
rollback

-- name: data_version
-- Changes when another connection, of whatever process, has committed.
pragma data_version

-- name: schema_table
create table if not exists schema (
  only integer primary key check (only = 1),
  version integer not null,
  min_reader integer not null,
  min_writer integer not null
) strict

-- name: has_schema
select count(*)
from sqlite_schema
where name = 'schema'

-- name: tables
-- What a schema is made of, in the order in which it was made.
select sql
from sqlite_schema
where name not glob 'sqlite_*'
order by rowid

-- name: schema
select version, min_reader, min_writer
from schema

-- name: set_schema
insert into schema (only, version, min_reader, min_writer)
values (1, ?, ?, ?)
on conflict (only) do update
set version = excluded.version, min_reader = excluded.min_reader, min_writer = excluded.min_writer

-- name: found_yard
insert into meta (only, secret)
values (1, ?)
on conflict do nothing

-- name: secret
select secret
from meta

-- name: epoch
select coalesce(max(epoch), 0)
from epoch
where workspace = ?

-- name: bump_epoch
insert into epoch (workspace, epoch)
values (?, 1)
on conflict (workspace) do update
set epoch = epoch + 1

-- Guards.

-- name: moved
-- Of the tasks that are not held and were decided on, those that are no longer as they were. Nothing comes back when all
-- is well.
with expected (seq, version) as (
  values (?, ?)
)
select expected.seq
from expected
left join task
on task.seq = expected.seq
where task.version is not expected.version
or exists (select 1 from held where held.seq = expected.seq)

-- name: moved_held
with expected (seq, version, expires) as (
  values (?, ?, ?)
)
select expected.seq
from expected
left join held
on held.seq = expected.seq
where held.version is not expected.version
or expected.expires is not null and held.lease_expires_at is not expected.expires

-- name: moved_expected
with expected (id, version) as (
  values (?, ?)
)
select expected.id
from expected
left join task
on task.id = expected.id
left join held
on held.seq = task.seq
where coalesce(held.version, task.version) is not expected.version

-- name: known_ids
select id
from task
where id in (select value from json_each(?))

-- name: known_id
-- The same for one: to take a list apart costs a lone enqueue more than the look itself.
select id
from task
where id = ?

-- name: key_owners
with wanted (workspace, key) as (
  values (?, ?)
)
select name.workspace, name.name, task.id
from wanted
cross join name
on name.workspace = wanted.workspace
and name.kind = 'key'
and name.name = wanted.key
cross join task
on task.seq = name.task_seq

-- name: record_versions
with wanted (kind, workspace, id) as (
  values (?, ?, ?)
)
select record.kind, record.workspace, record.id, record.version
from wanted
cross join record
on record.kind = wanted.kind
and record.workspace = wanted.workspace
and record.id = wanted.id

-- name: known_checkpoints
with wanted (task_id, name) as (
  values (?, ?)
)
select checkpoint.task_id, checkpoint.name
from wanted
cross join checkpoint
on checkpoint.task_id = wanted.task_id
and checkpoint.name = wanted.name

-- What else a change set writes.

-- name: insert_edges
insert into edge (parent, child, kind)
values (?, ?, ?)
on conflict do nothing

-- name: insert_checkpoints
insert into checkpoint (task_id, name, attempt, data)
values (?, ?, ?, ?)
on conflict do nothing

-- name: insert_signals
insert into signal (task_id, name, data, sent_by, at)
values (?, ?, ?, ?, ?)

-- name: insert_outbox
insert into outbox (workspace, topic, task_id, data, at)
values (?, ?, ?, ?, ?)

-- name: settle
delete from outbox
where number in (select value from json_each(?))

-- name: write_records
insert or replace into record (kind, workspace, id, version, body)
values (?, ?, ?, ?, ?)

-- name: remove_record
delete from record
where kind = ?
and workspace = ?
and id = ?

-- Blockers.

-- name: insert_blockers
insert into blocker (task_id, wait, name)
values (?, ?, ?)
on conflict do nothing

-- name: blocked_by
select name, task_id, wait
from blocker
where name in (select value from json_each(?))

-- name: names_that_block
-- Only whether there is one: thousands may be parked on a name.
select value
from json_each(?)
where exists (select 1 from blocker where blocker.name = value)

-- name: blocked_now
-- What a lift aimed at one task takes: of its present wait the blocker of that name, or all.
with aimed (number, task_id, name, ends_wait) as (
  values (?, ?, ?, ?)
)
select aimed.number, blocker.task_id, blocker.wait, blocker.name
from aimed
cross join task
on task.id = aimed.task_id
cross join blocker
on blocker.task_id = task.id
and blocker.wait = task.wait
where aimed.ends_wait
or blocker.name = aimed.name

-- name: remove_blockers
delete from blocker
where (task_id, wait, name) in (
  values (?, ?, ?)
)

-- name: remove_blockers_named
delete from blocker
where name in (select value from json_each(?))

-- name: freed
-- In a statement of its own, after the blockers are gone: a task with two of them is looked at once, when both are. A
-- pending task is not held.
select {waiting}
from task
where id in (select value from json_each(?))
and status = 'pending'
and not exists (
  select 1
  from blocker
  where blocker.task_id = task.id
  and blocker.wait = task.wait
)

-- name: parked
-- The name of a key or a budget does not say its workspace: others may have one that is called the same.
select {waiting}
from blocker
cross join task
on task.id = blocker.task_id
and task.wait = blocker.wait
where blocker.name = ?
and task.workspace = ?
and task.status = 'pending'

-- Ceilings and counters.

-- name: limit
select workspace, name, ceiling, held, spent
from ceiling
where workspace = ?
and name = ?

-- name: limits
with wanted (workspace, name) as (
  values (?, ?)
)
select ceiling.workspace, ceiling.name, ceiling.ceiling, ceiling.held, ceiling.spent
from wanted
cross join ceiling
on ceiling.workspace = wanted.workspace
and ceiling.name = wanted.name

-- name: write_limits
insert or replace into ceiling (workspace, name, ceiling, held, spent)
values (?, ?, ?, ?, ?)

-- name: remove_limits
delete from ceiling
where (workspace, name) in (
  values (?, ?)
)

-- name: counters
with wanted (workspace, name) as (
  values (?, ?)
)
select counter.workspace, counter.name, counter.value
from wanted
cross join counter
on counter.workspace = wanted.workspace
and counter.name = wanted.name

-- name: write_counters
insert or replace into counter (workspace, name, value)
values (?, ?, ?)

-- name: remove_counters
delete from counter
where (workspace, name) in (
  values (?, ?)
)

-- Claims.

-- name: heads
-- The best ready task of each lane. What the claim would only pass over is not read: what is dearer than the agent can
-- pay, and what has expired and was not swept yet.
select {waiting}
from json_each(:lanes) as planned
cross join task
on task.seq = (
  select ready.seq
  from ready
  cross join task as head
  on head.seq = ready.seq
  where ready.lane = planned.value
  and coalesce(head.reserve, :reserve) <= :affordable
  and (head.expires_at is null or head.expires_at > :now)
  order by ready.band, ready.share, ready.rank, ready.seq
  limit 1
)

-- name: behind
-- The ready tasks of a lane that come after one, read one by one as far as they are wanted.
select {waiting}
from ready
cross join task
on task.seq = ready.seq
where ready.lane = :lane
and (ready.band, ready.share, ready.rank, ready.seq) > (0, 0, :rank, :seq)
and coalesce(task.reserve, :reserve) <= :affordable
and (task.expires_at is null or task.expires_at > :now)
order by ready.band, ready.share, ready.rank, ready.seq

-- name: insert_lane
insert into lane (workspace, lane)
values (?, ?)
on conflict do nothing

-- name: lane_ids
select lane, id
from lane
where lane in (select value from json_each(?))

-- name: write_pulses
insert or replace into pulse (name, at)
values (?, ?)

-- name: duty
select next_at
from duty
where name = ?

-- name: write_duty
insert or replace into duty (name, next_at)
values (?, ?)

-- name: too_far_ahead
-- What the sweep would look at only later: under a lease, or waiting since a time that has not come.
select {hot}, definition.body
from held
cross join task
on task.seq = held.seq
cross join definition
on definition.seq = task.seq
where held.due_at > ?1
and held.status in ('claimed', 'running')
union all
select {waiting}, definition.body
from task
cross join definition
on definition.seq = task.seq
where task.due_at > ?1
and task.updated_at > ?1
and not exists (select 1 from held where held.seq = task.seq)

-- name: windows
select kind, workspace, id, version, body
from record
where kind in (select value from json_each(?))

-- name: cut_pulses
update pulse
set at = ?1
where at > ?1

-- name: note_jump
update meta
set jumped_at = ?, jumped_by = ?

-- name: keep_embedding
insert into embedding (workspace, embedder, task_id, type, vector)
select ?1, ?2, ?3, ?4, ?5
where exists (
  select 1
  from task
  where task.id = ?3
)
on conflict (workspace, embedder, task_id) do update
set type = excluded.type, vector = excluded.vector
