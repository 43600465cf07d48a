-- The steps of tasks, as parts of a statement: see `moves.py`.

-- Parts: numbers of the log, by the place of the chunk of events. Parts that write a task's events join them.

-- name: drawn
select given.number, given.place
from unnest($1::bigint[]) with ordinality as given (number, place)

-- name: drawing
-- Where the statement is all of a transaction. Every change is guarded by a version that was committed before it was
-- decided on, so the events of a task are in order though the number is drawn before its row is locked.
with announced as materialized (
  select
    last_value,
    pg_advisory_xact_lock_shared(
      'yard.log_seq'::regclass::oid::int,
      (case when is_called then last_value else last_value - 1 end)::bit(32)::int
    )
  from yard.log_seq
)
select nextval('yard.log_seq') as number, 1::bigint as place
from announced
where announced.last_value is not null

-- name: drawing_many
-- Apart from the case of one, which is nearly always: a plan for a thousand rows costs more to make than to run for one.
with announced as materialized (
  select
    last_value,
    pg_advisory_xact_lock_shared(
      'yard.log_seq'::regclass::oid::int,
      (case when is_called then last_value else last_value - 1 end)::bit(32)::int
    )
  from yard.log_seq
)
select nextval('yard.log_seq') as number, chunk.place
from announced
cross join generate_series(1, $1::text::bigint) as chunk (place)
where announced.last_value is not null

-- Parts: steps of tasks. `statements.MOVES` says which of them a step is made of, by where the task is guarded before and
-- after it. The first guards the rest: it answers the steps of what it has found, with the numbers of the log that go over
-- to `task`, and what it does not find is not written. The rest read its answer alone: joined to `moved`, it would be
-- compared row by row where the server takes the tables for empty. Rows are found by `between` and not by `=`: a table that
-- was empty when the server last counted its rows would be read whole for an equation, and a range leaves only its index.

-- name: moved
-- {columns} are those that moved, and no others: a heartbeat that came in between is not overwritten.
select *
from unnest($1::bigint[], {arrays}) as given (seq, {columns})

-- name: leave_held
-- Where it is said when the lease was to end, no heartbeat may have come since.
delete from yard.held
using {moved} as moved
where held.seq between moved.seq and moved.seq
and held.version = moved.was_version
and (moved.was_expiring is null or held.lease_expires_at = moved.was_expiring)
returning moved.*, held.log

-- name: found_ready
-- The steps of {moved}, each with the place of its row in ready. Plans are kept, and made while tables are small or taken
-- for empty: joined as usual, every row of ready would be compared with every step. A lateral part with an offset is
-- looked up step by step; taken for one step, which is what the range says, the row itself is found by its place.
select moved.*, found.place
from {moved} as moved
cross join lateral (
  select ready.ctid as place
  from yard.ready
  where ready.lane = moved.was_lane
  and ready.band = 0
  and ready.share = 0
  and ready.rank = moved.was_rank
  and ready.seq = moved.seq
  offset 0
) as found
where moved.seq between 1 and 9223372036854775807

-- name: leave_ready
-- The place is that of before this statement: where somebody has changed the row since, its version says so.
delete from yard.ready
using ({found_ready}) as moved
where ready.ctid = moved.place
and ready.version = moved.was_version
and ready.rank = moved.was_rank
returning moved.*, '{}'::bigint[] as log

-- name: change_ready
update yard.ready
set lane = moved.now_lane, rank = moved.now_rank, version = moved.now_version
from ({found_ready}) as moved
where ready.ctid = moved.place
and ready.version = moved.was_version
and ready.rank = moved.was_rank
returning moved.*, '{}'::bigint[] as log

-- name: change_held
update yard.held
set {assignments}
  log = held.log || array_remove(array[drawn.number], null)
from {moved} as moved
left join drawn
on drawn.place = moved.chunk
where held.seq between moved.seq and moved.seq
and held.version = moved.was_version
and (moved.was_expiring is null or held.lease_expires_at = moved.was_expiring)
returning moved.*, '{}'::bigint[] as log

-- name: guard_task
-- A task that is in neither of the others.
update yard.task
set {assignments}
  log = task.log || array_remove(array[drawn.number], null)
from {moved} as moved
left join drawn
on drawn.place = moved.chunk
where task.seq between moved.seq and moved.seq
and task.version = moved.was_version
returning moved.*, '{}'::bigint[] as log

-- name: change_task
update yard.task
set {assignments}
  log = task.log || moved.log || array_remove(array[drawn.number], null)
from {guard} as moved
left join drawn
on drawn.place = moved.chunk
where task.seq between moved.seq and moved.seq

-- name: change_task_of_held
-- The step is that of a task which is held after it: what it says of the attempt is in held.
update yard.task
set {assignments}
  log = task.log
from {guard} as moved
where task.seq between moved.seq and moved.seq

-- name: enter_ready
insert into yard.ready (lane, band, share, rank, seq, version)
select moved.now_lane, 0, 0, moved.now_rank, moved.seq, moved.now_version
from {guard} as moved

-- name: enter_held
insert into yard.held (seq, {held_names}, log)
select moved.seq, {moved_held}, array_remove(array[drawn.number], null)
from {guard} as moved
left join drawn
on drawn.place = moved.chunk

-- name: beat
-- Unversioned, and only where the row is locked.
update yard.held
set {assignments}
  log = held.log
from {moved} as moved
where held.seq between moved.seq and moved.seq

-- name: let_names_go
delete from yard.name
using unnest($1::text[], $2::text[], $3::bigint[]) as given (workspace, name, seq)
where name.workspace = given.workspace
and name.kind = 'key'
and name.name = given.name
and name.seq = given.seq

-- name: take_names
insert into yard.name (workspace, kind, name, seq)
select given.workspace, 'key', given.name, given.seq
from unnest($1::text[], $2::text[], $3::bigint[]) as given (workspace, name, seq)
order by given.workspace, given.name
