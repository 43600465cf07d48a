-- What is said inside a write transaction. `yard` stands for the schema. {hot} stands for the columns of core.task.Hot.
-- Rows come as one array for each column; those of parts are sent in fewer bytes (see `arrays.py`). Statements named as
-- parts are put together into one, so that many tables are written in one round trip (see `statements.py`); a part sees
-- nothing that another part of its statement writes. Those that return 1 are waited for where it is all of a transaction.
--
-- Waits are always in one order, so there is no deadlock: advisory locks, tasks by id, records, ceilings by name,
-- counters by name. What must be locked out of that order is asked for without waiting.

-- name: begin
begin

-- name: commit
commit

-- name: rollback
rollback

-- name: let_no_claim_in
-- What claims are planned on is about to change: those under way finish first, those to come wait and see it.
select pg_advisory_xact_lock('yard.epoch'::regclass::oid::int, workspace)
from unnest($1::int[]) as workspace

-- name: epoch
select coalesce(max(epoch), 0)
from yard.epoch
where workspace = $1

-- name: bump_epochs
insert into yard.epoch (workspace, epoch)
select workspace, 1
from unnest($1::text[]) as workspace
order by workspace
on conflict (workspace) do update
set epoch = epoch.epoch + 1

-- Guards.

-- name: lock_tasks
-- Whoever had a row first is waited for, and then it is read as it is by now. The store's clock with it.
select task.id, task.version, task.lease_expires_at, (extract(epoch from clock_timestamp()) * 1000000)::bigint
from yard.task
where task.id = any($1::text[])
order by task.id
for no key update

-- name: lock_more_tasks
-- Out of order, so without waiting: those that come back are locked.
select task.id
from yard.task
where task.id = any($1::text[])
order by task.id
for no key update
skip locked

-- name: lock_hot
select {hot}
from yard.task
where task.id = any($1::text[])
order by task.id
for no key update

-- name: known_ids
select task.id
from yard.task
where task.id = any($1::text[])

-- name: key_owners
select task.workspace, task.idempotency_key, task.id
from unnest($1::text[], $2::text[]) as wanted (workspace, key)
join yard.task
on task.workspace = wanted.workspace
and task.idempotency_key = wanted.key
where task.idempotency_key is not null
and task.status not in ('cancelled', 'dead_lettered')

-- name: lock_records
-- By its id in the order of "C", here and below: the index that pages are read by would be taken for that of the key
-- otherwise, and all records of the kind be read.
select record.kind, record.workspace, record.id, record.version
from yard.record
where (record.kind, record.workspace, record.id collate "C") in (
  select *
  from unnest($1::text[], $2::text[], $3::text[])
)
order by record.kind, record.workspace, record.id
for no key update

-- name: known_checkpoints
select checkpoint.task_id, checkpoint.name
from unnest($1::text[], $2::text[]) as wanted (task_id, name)
join yard.checkpoint
on checkpoint.task_id = wanted.task_id
and checkpoint.name = wanted.name

-- Parts: tasks.

-- name: change_tasks
-- {columns} are those that moved, and no others: a heartbeat that came in between is not overwritten.
update yard.task
set {assignments}
from unnest($1::text[], {arrays}) as moved (id, {columns})
where task.id = moved.id
returning 1

-- name: change_unmoved_tasks
-- Where the statement is all of a transaction: locked in the order given, which is that of their ids, and looked at as
-- they are once they are locked. A step counts the version up by one; where it is said when the lease was to end, no
-- heartbeat may have come since.
update yard.task
set {assignments}
from unnest($1::text[], $2::bigint[], {arrays}) as moved (id, seen, {columns})
where task.id = moved.id
and task.version = moved.version - 1
and (moved.seen is null or task.lease_expires_at = moved.seen)
returning task.id

-- name: landed
-- Takes back the whole statement where one of the tasks has moved, or where their locks were waited for so long that its
-- times would lie in the past: nothing but an error can.
select 1 / (
    count(*) = $1::text::bigint
    and coalesce(extract(epoch from clock_timestamp()) * 1000000 <= $2::text::bigint, true)
)::int as is_whole
from ({changed}) as changed

-- name: new_tasks
-- In the order they are given. Everything of a new task is in this one list, so that it is numbered once.
select nextval('yard.task_seq') as seq, given.*
from unnest({new_arrays}) with ordinality as given ({new_names}, place)
order by given.place

-- name: insert_tasks
-- In the order of their keys and ids: two who insert the same ones wait for each other in one order.
insert into yard.task ({hot_names})
select {hot_names}
from new_tasks
order by workspace, idempotency_key, id

-- name: insert_definitions
insert into yard.definition (seq, workspace, type, queue, agent, subject, parent_id, body)
select seq, workspace, defined_type, defined_queue, defined_agent, defined_subject, defined_parent, defined_body
from new_tasks

-- name: insert_new_tags
insert into yard.tag (workspace, tag, seq)
select new_tasks.workspace, given.tag, new_tasks.seq
from unnest($1::bigint[], $2::text[]) as given (place, tag)
join new_tasks
on new_tasks.place = given.place
on conflict do nothing

-- name: rescore
update yard.task
set rank = scored.rank, height = scored.height, rescore_at = scored.rescore_at
from unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[]) as scored (id, rank, height, rescore_at)
where task.id = scored.id
and task.status in ('pending', 'ready', 'retrying')

-- name: redefine
with given as (
  select task.seq, given.*
  from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[])
  as given (id, workspace, type, queue, agent, subject, parent_id, body)
  join yard.task
  on task.id = given.id
), untagged as (
  delete from yard.tag
  using given
  where tag.seq = given.seq
)
update yard.definition
set workspace = given.workspace, type = given.type, queue = given.queue, agent = given.agent,
  subject = given.subject, parent_id = given.parent_id, body = given.body
from given
where definition.seq = given.seq

-- name: insert_tags
insert into yard.tag (workspace, tag, seq)
select given.workspace, given.tag, task.seq
from unnest($1::text[], $2::text[], $3::text[]) as given (id, workspace, tag)
join yard.task
on task.id = given.id
on conflict do nothing

-- Parts: papers.

-- name: insert_events
-- The lock says below which number nothing will come of this transaction (see event_horizon), so it is taken before a
-- number is drawn; numbers are drawn in the order given, after the rows were locked.
with announced as materialized (
  select
    last_value,
    pg_advisory_xact_lock_shared(
      'yard.event_seq'::regclass::oid::int,
      (case when is_called then last_value else 0 end)::bit(32)::int
    )
  from yard.event_seq
)
insert into yard.event (seq, event, workspace, task_id, dag_id, at, version, status, attempt, data)
select
  nextval('yard.event_seq'), told.event, told.workspace, told.task_id, told.dag_id, told.at, told.version, told.status,
  told.attempt, told.data
from announced
cross join unnest(
  $1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::text[], $8::bigint[], $9::text[]
) with ordinality as told (event, workspace, task_id, dag_id, at, version, status, attempt, data, place)
where announced.last_value is not null
order by told.place
returning 1

-- name: insert_attempts
insert into yard.attempt ({attempt_names})
select *
from unnest({attempt_arrays}) as ended ({attempt_names})
on conflict (task_id, number) do update
set {attempt_excluded}
returning 1

-- name: insert_outputs
insert into yard.output (task_id, attempt, data, artifacts, decision_report)
select *
from unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::text[])
as given (task_id, attempt, data, artifacts, decision_report)
on conflict (task_id) do update
set attempt = excluded.attempt, data = excluded.data, artifacts = excluded.artifacts,
  decision_report = excluded.decision_report
returning 1

-- name: insert_edges
insert into yard.edge (parent, child, kind)
select *
from unnest($1::text[], $2::text[], $3::text[]) as given (parent, child, kind)
on conflict do nothing

-- name: insert_blockers
insert into yard.blocker (task_id, wait, name)
select *
from unnest($1::text[], $2::bigint[], $3::text[]) as given (task_id, wait, name)
on conflict do nothing

-- name: insert_checkpoints
insert into yard.checkpoint (task_id, name, attempt, data)
select given.task_id, given.name, given.attempt, given.data
from unnest($1::text[], $2::text[], $3::bigint[], $4::text[]) with ordinality
as given (task_id, name, attempt, data, place)
order by given.place

-- name: insert_signals
insert into yard.signal (task_id, name, data, sent_by, at)
select given.task_id, given.name, given.data, given.sent_by, given.at
from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[]) with ordinality
as given (task_id, name, data, sent_by, at, place)
order by given.place

-- name: insert_outbox
insert into yard.outbox (workspace, topic, task_id, data, at)
select given.workspace, given.topic, given.task_id, given.data, given.at
from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[]) with ordinality
as given (workspace, topic, task_id, data, at, place)
order by given.place

-- name: insert_records
-- One that another transaction has made meanwhile is a violation of its key, and the set is decided on again.
insert into yard.record (kind, workspace, id, version, body)
select *
from unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::text[]) as given (kind, workspace, id, version, body)
order by given.kind, given.workspace, given.id

-- name: change_records
update yard.record
set version = given.version, body = given.body
from unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::text[]) as given (kind, workspace, id, version, body)
where record.kind = given.kind
and record.workspace = given.workspace
and record.id collate "C" = given.id

-- name: remove_records
delete from yard.record
using unnest($1::text[], $2::text[], $3::text[]) as given (kind, workspace, id)
where record.kind = given.kind
and record.workspace = given.workspace
and record.id collate "C" = given.id

-- Ceilings and counters: in the order of their names, each locked and moved in one step.

-- name: move_limits
insert into yard.ceiling as stored (workspace, name, held, spent)
select moved.workspace, moved.name, moved.held, moved.spent
from unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[]) as moved (workspace, name, held, spent)
order by moved.workspace collate "C", moved.name collate "C"
on conflict (workspace, name) do update
set held = stored.held + excluded.held, spent = stored.spent + excluded.spent
returning stored.workspace, stored.name, stored.ceiling, stored.held, stored.spent

-- name: set_ceilings
update yard.ceiling
set ceiling = given.ceiling
from unnest($1::text[], $2::text[], $3::bigint[]) as given (workspace, name, ceiling)
where ceiling.workspace = given.workspace
and ceiling.name = given.name

-- name: remove_idle_limits
delete from yard.ceiling
using unnest($1::text[], $2::text[]) as given (workspace, name)
where ceiling.workspace = given.workspace
and ceiling.name = given.name
and ceiling.ceiling is null
and ceiling.held = 0
and ceiling.spent = 0

-- name: limits
select ceiling.workspace, ceiling.name, ceiling.ceiling, ceiling.held, ceiling.spent
from yard.ceiling
where ceiling.workspace = $1
and ceiling.name = any($2::text[])

-- name: clear_counters
-- Those that begin again at nothing.
delete from yard.counter
using unnest($1::text[], $2::text[]) as given (workspace, name)
where counter.workspace = given.workspace
and counter.name = given.name

-- name: move_counters
insert into yard.counter as stored (workspace, name, value)
select moved.workspace, moved.name, moved.value
from unnest($1::text[], $2::text[], $3::bigint[]) as moved (workspace, name, value)
order by moved.workspace collate "C", moved.name collate "C"
on conflict (workspace, name) do update
set value = stored.value + excluded.value
returning stored.workspace, stored.name, stored.value

-- Blockers.

-- name: take_off_named
delete from yard.blocker
where name = any($1::text[])
returning name, task_id, wait

-- name: take_off_aimed
-- Of each task's present wait the blocker of that name, or all. Two that aim at one row: the first has taken it.
-- Materialized: a server that takes the tables for empty would find the doomed again for every row that it compares.
with doomed as materialized (
  select min(aimed.number) as number, blocker.task_id, blocker.wait, blocker.name
  from unnest($1::bigint[], $2::text[], $3::text[], $4::boolean[]) as aimed (number, task_id, name, ends_wait)
  join yard.task
  on task.id = aimed.task_id
  join yard.blocker
  on blocker.task_id = task.id
  and blocker.wait = task.wait
  where aimed.ends_wait
  or blocker.name = aimed.name
  group by blocker.task_id, blocker.wait, blocker.name
)
delete from yard.blocker
using doomed
where blocker.task_id = doomed.task_id
and blocker.wait = doomed.wait
and blocker.name = doomed.name
returning doomed.number, blocker.task_id, blocker.wait, blocker.name

-- name: remove_blockers
delete from yard.blocker
using unnest($1::text[], $2::bigint[], $3::text[]) as given (task_id, wait, name)
where blocker.task_id = given.task_id
and blocker.wait = given.wait
and blocker.name = given.name

-- name: freed
-- In a statement of its own, after the rows are locked and the blockers gone. Two parents that end at once each delete
-- their own; if one looked in the statement that deletes, it would see the other's still there, and so would the other.
select {hot}
from yard.task
where task.id = any($1::text[])
and task.status = 'pending'
and not exists (
  select 1
  from yard.blocker
  where blocker.task_id = task.id
  and blocker.wait = task.wait
)

-- name: parked
-- The name of a key or a budget does not say its workspace: others may have one that is called the same.
select {hot}
from yard.blocker
join yard.task
on task.id = blocker.task_id
and task.wait = blocker.wait
where blocker.name = $1
and task.workspace = $2
and task.status = 'pending'

-- name: blocked_by
select blocker.name, blocker.task_id
from yard.blocker
where blocker.name = any($1::text[])

-- name: names_that_block
-- Only whether there is one: thousands may be parked on a name.
select name
from unnest($1::text[]) as name
where exists (
  select 1
  from yard.blocker
  where blocker.name = name.name
)
