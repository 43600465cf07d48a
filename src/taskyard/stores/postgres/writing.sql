-- What is said inside a write transaction. `yard` stands for the schema. {hot} stands for the columns of core.task.Hot,
-- read from {tasks}: task, and held where there is such a row.
-- Rows come as one array for each column; those of parts are sent in fewer bytes (see `arrays.py`). Statements named as
-- parts are put together into one, so that many tables are written in one round trip (see `statements.py`); a part sees
-- nothing that another part of its statement writes. Those that return 1 are waited for where it is all of a transaction.
--
-- Waits are always in one order, so there is no deadlock: advisory locks, rows of held, of ready and of task, each by
-- seq, records, names, ceilings by name, counters by name. What must be locked out of that order is asked for without
-- waiting.

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
select *
from yard.lock_tasks($1::text[])

-- name: lock_more_tasks
-- Tasks that wait for something, which are guarded by their row in task. Out of order, so without waiting: those that
-- come back are locked, or are not pending, so that nothing is done to them.
with locked as materialized (
  select task.id, task.seq
  from yard.task
  where task.id = any($1::text[])
  and task.status = 'pending'
  order by task.seq
  for no key update
  skip locked
)
select id
from locked
union all
select task.id
from yard.task
where task.id = any($1::text[])
and task.status <> 'pending'

-- name: lock_held
-- In the order of their numbers. A lateral part with an offset is looked up row by row: joined as usual, all of a table
-- would be read that was empty when the server last counted its rows.
select {hot}
from (
  select found.*
  from unnest($1::text[]) as given (id)
  cross join lateral (
    select *
    from yard.task
    where task.id = given.id
    offset 0
  ) as found
  order by found.seq
  offset 0
) as task
cross join lateral (
  select *
  from yard.held
  where held.seq = task.seq
  for no key update
) as held

-- name: draw_numbers
-- The lock says below which number nothing will come of this transaction (see log_horizon), so it is taken before a
-- number is drawn; and after the rows are locked, so that the events of a task are in order.
with announced as materialized (
  select
    last_value,
    pg_advisory_xact_lock_shared(
      'yard.log_seq'::regclass::oid::int,
      (case when is_called then last_value else last_value - 1 end)::bit(32)::int
    )
  from yard.log_seq
)
select nextval('yard.log_seq') as number
from announced
cross join generate_series(1, $1::bigint)
where announced.last_value is not null

-- name: known_ids
select task.id
from yard.task
where task.id = any($1::text[])

-- name: key_owners
select name.workspace, name.name, task.id
from unnest($1::text[], $2::text[]) as wanted (workspace, key)
join yard.name
on name.workspace = wanted.workspace
and name.kind = 'key'
and name.name = wanted.key
join yard.task
on task.seq = name.seq

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

-- name: unchanged
-- Takes back the whole statement where one of the tasks has moved, or where their locks were waited for so long that its
-- times would lie in the past: nothing but an error can.
select 1 / (
    count(*) = $1::text::bigint
    and coalesce(extract(epoch from clock_timestamp()) * 1000000 <= $2::text::bigint, true)
)::int as is_whole
from ({changed}) as changed

-- Parts: new tasks.

-- name: new_tasks
-- In the order they are given. Everything of a new task is in this one list, so that it is numbered once.
select nextval('yard.task_seq') as seq, given.*
from unnest({new_arrays}) with ordinality as given ({new_names}, chunk, place)
order by given.place

-- name: insert_tasks
-- In the order of their ids: two who insert the same ones wait for each other in one order.
insert into yard.task ({task_names}, log)
select {task_names}, array_remove(array[drawn.number], null)
from new_tasks
left join drawn
on drawn.place = new_tasks.chunk
order by id

-- name: insert_ready
insert into yard.ready (lane, band, share, rank, seq, version)
select lane, 0, 0, rank, seq, version
from new_tasks
where status = 'ready'

-- name: insert_held
insert into yard.held (seq, {held_names}, log)
select new_tasks.seq, {new_held}, '{}'
from unnest($1::bigint[], {held_only_arrays}) as given (place, {held_only})
join new_tasks
on new_tasks.place = given.place

-- name: insert_names
insert into yard.name (workspace, kind, name, seq)
select workspace, 'key', idempotency_key, seq
from new_tasks
where idempotency_key is not null
and status not in ('cancelled', 'dead_lettered')
order by workspace, idempotency_key

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
-- Of tasks that wait. One that is ready is moved only where its row in ready is.
with scored as materialized (
  select task.seq, task.status, task.lane, task.rank as was_rank, given.rank, given.height, given.rescore_at
  from unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[]) as given (id, rank, height, rescore_at)
  join yard.task
  on task.id = given.id
  where task.status in ('pending', 'ready', 'retrying')
  and not exists (select 1 from yard.held where held.seq = task.seq)
), placed as (
  -- Each is looked up by itself: see found_ready.
  update yard.ready
  set rank = found.new_rank
  from (
    select here.place, scored.was_rank, scored.rank as new_rank
    from scored
    cross join lateral (
      select ready.ctid as place
      from yard.ready
      where ready.lane = scored.lane
      and ready.band = 0
      and ready.share = 0
      and ready.rank = scored.was_rank
      and ready.seq = scored.seq
      offset 0
    ) as here
    where scored.status = 'ready'
    and scored.seq between 1 and 9223372036854775807
  ) as found
  where ready.ctid = found.place
  and ready.rank = found.was_rank
  returning ready.seq
)
update yard.task
set rank = scored.rank, height = scored.height, rescore_at = scored.rescore_at
from scored
where task.seq = scored.seq
and (scored.status <> 'ready' or scored.seq in (select placed.seq from placed))

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
set type = given.type, queue = given.queue, agent = given.agent, subject = given.subject,
  parent_id = given.parent_id, body = given.body
from given
where definition.workspace = given.workspace
and definition.seq = given.seq

-- name: insert_tags
insert into yard.tag (workspace, tag, seq)
select given.workspace, given.tag, task.seq
from unnest($1::text[], $2::text[], $3::text[]) as given (id, workspace, tag)
join yard.task
on task.id = given.id
on conflict do nothing

-- Parts: history.

-- name: insert_log
insert into yard.log (number, workspace, at, owners, ends, loose, body)
select drawn.number, given.workspace, given.at, given.owners, given.ends, given.loose, given.body
from unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[])
as given (place, workspace, at, owners, ends, loose, body)
join drawn
on drawn.place = given.place
returning 1

-- name: insert_task_events
insert into yard.task_event (seq, number)
select task.seq, drawn.number
from unnest($1::text[], $2::bigint[]) as given (id, place)
join drawn
on drawn.place = given.place
join yard.task
on task.id between given.id and given.id
on conflict do nothing

-- name: insert_dag_events
insert into yard.dag_event (workspace, dag_id, number)
select given.workspace, given.dag_id, drawn.number
from unnest($1::text[], $2::text[], $3::bigint[]) as given (workspace, dag_id, place)
join drawn
on drawn.place = given.place
order by given.workspace, given.dag_id
on conflict do nothing

-- name: renumber
-- The steps of these tasks are in a later row of the log than was thought when they were written.
with renumbered as (
  select task.seq, given.was, given.number
  from unnest($1::text[], $2::bigint[], $3::bigint[]) as given (id, was, number)
  join yard.task
  on task.id = given.id
), of_held as (
  update yard.held
  set log = array_replace(held.log, renumbered.was, renumbered.number)
  from renumbered
  where held.seq = renumbered.seq
), of_others as (
  update yard.task_event
  set number = renumbered.number
  from renumbered
  where task_event.seq = renumbered.seq
  and task_event.number = renumbered.was
)
update yard.task
set log = array_replace(task.log, renumbered.was, renumbered.number)
from renumbered
where task.seq = renumbered.seq

-- name: insert_attempts
insert into yard.attempt (seq, {attempt_names}, data, artifacts, decision_report)
select task.seq, {attempt_given}, given.data, given.artifacts, given.decision_report
from unnest({attempt_arrays}) as given (task_id, {attempt_names}, data, artifacts, decision_report)
join yard.task
on task.id between given.task_id and given.task_id
on conflict (seq, number) do update
set {attempt_excluded}, data = coalesce(excluded.data, attempt.data),
  artifacts = coalesce(excluded.artifacts, attempt.artifacts),
  decision_report = case when excluded.data is null then attempt.decision_report else excluded.decision_report end
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
