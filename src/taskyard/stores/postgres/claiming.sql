-- Claims, heartbeats, and the small writes that are no change sets.

-- name: pick
-- The best ready tasks behind a place in each lane, over all these lanes, locked as far as nobody else has them. A place:
-- nothing that was looked at before is looked at again.
-- $1 lanes, $2 what ageing is worth there now, $3 $4 rank and seq to begin behind; $5 how many to look at, $6 what a task
-- without a maximum reserves, $7 what the agent can afford, $8 the time, $9 workspace, $10 names of ceilings, $11 how many
-- to read of each lane at first, $12 how many.
-- Where lock_picked is left out, it is `look`, which locks nothing.
-- Lateral parts with an offset are looked up row by row. Joined as usual, all of ready would be read for each task: it is
-- emptied again and again, and the server takes it for empty where it counted its rows at such a time.
with lane as materialized (
  select *
  from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[]) as lane (id, aged, rank, seq)
), front as materialized (
  select lane.id as lane, lane.aged, found.*, found.rank - lane.aged as worth,
    count(*) over (partition by lane.id) as alike,
    row_number() over (partition by lane.id order by found.rank desc, found.seq desc) as from_end
  from lane
  cross join lateral (
    select ready.rank, ready.seq, ready.version, ready.ctid as place
    from yard.ready
    where ready.lane = lane.id
    and ready.band = 0
    and ready.share = 0
    and (ready.rank, ready.seq) > (lane.rank, lane.seq)
    order by ready.rank, ready.seq
    limit $11::bigint
  ) as found
), bound as materialized (
  -- As many as are to be looked at are no worse than this one, so nothing that is worse is read. Else the end of any lane.
  select coalesce(max(worth), 4611686018427387904) as worth, coalesce(max(seq), 0) as seq, count(*) > 0 as is_known
  from (select worth, seq from front order by worth, seq offset $5::bigint - 1 limit 1) as nth
), deep as materialized (
  -- The lanes that may have more of the best than was read at first.
  select front.lane, front.aged, front.rank, front.seq, bound.worth + front.aged as bound_rank, bound.seq as bound_seq,
    least($5::bigint, greatest(8, 4 * $5::bigint / count(*) over ())) - $11::bigint as most
  from front
  join bound
  on (front.worth, front.seq) <= (bound.worth, bound.seq)
  where front.from_end = 1
  and front.alike = $11::bigint
), behind as materialized (
  select deep.lane, found.*, found.rank - deep.aged as worth, count(*) over (partition by deep.lane) = deep.most as is_cut,
    row_number() over (partition by deep.lane order by found.rank desc, found.seq desc) as from_end
  from deep
  cross join lateral (
    select ready.rank, ready.seq, ready.version, ready.ctid as place
    from yard.ready
    where ready.lane = deep.lane
    and ready.band = 0
    and ready.share = 0
    and (ready.rank, ready.seq) > (deep.rank, deep.seq)
    and (ready.rank, ready.seq) <= (deep.bound_rank, deep.bound_seq)
    order by ready.rank, ready.seq
    limit deep.most
  ) as found
), horizon as materialized (
  -- Where a lane has more than were read, nothing is taken that comes after the last one read: there may be better behind.
  select worth, seq
  from behind
  where is_cut
  and from_end = 1
  order by worth, seq
  limit 1
), best as materialized (
  select head.*
  from (
    select lane, rank, seq, version, place, worth
    from front
    union all
    select lane, rank, seq, version, place, worth
    from behind
  ) as head
  where not exists (select 1 from horizon)
  or (head.worth, head.seq) <= (select worth, seq from horizon)
  order by head.worth, head.seq
  limit $5::bigint
), payable as materialized (
  -- What the agent cannot afford, and what has expired, is left out, and not looked at again.
  select best.worth, best.place, {ready_hot}
  from (select * from best order by worth, seq offset 0) as best
  cross join lateral (
    select {task_names}
    from yard.task
    where task.seq = best.seq
    and task.version = best.version
    and coalesce(task.reserve, $6::bigint) <= $7::bigint
    and (task.expires_at is null or task.expires_at > $8::bigint)
    offset 0
  ) as task
  order by best.worth, best.seq
  limit $12::bigint
), reached as materialized (
  -- What comes behind it was not taken into account.
  (select worth, seq from payable where (select count(*) from payable) = $12::bigint order by worth desc, seq desc limit 1)
  union all
  (select worth, seq from best where (select count(*) from payable) < $12::bigint order by worth desc, seq desc limit 1)
), picked as materialized (
  select payable.worth, {payable}
  from payable
  {lock}
), fact as materialized (
  select
    (select coalesce(max(epoch.epoch), 0) from yard.epoch where epoch.workspace = $9::text) as epoch,
    -- The lanes that may have tasks which were not taken into account.
    (
      select json_agg(part.lane)
      from (
        select lane from front where from_end = 1 and (worth, seq) > (select worth, seq from reached)
        union
        select lane from behind where from_end = 1 and (is_cut or (worth, seq) > (select worth, seq from reached))
        union
        select lane from deep where (select is_known from bound)
      ) as part
    ) as unread,
    (
      select json_agg(json_build_array(ceiling.name, ceiling.ceiling, ceiling.held, ceiling.spent))
      from yard.ceiling
      where ceiling.workspace = $9::text
      and ceiling.name = any($10::text[])
    ) as limits,
    (
      select json_agg(json_build_array(last.lane, last.rank, last.seq))
      from (
        select distinct on (lane) lane, rank, seq
        from best
        where (best.worth, best.seq) <= (select reached.worth, reached.seq from reached)
        order by lane, rank desc, seq desc
      ) as last
    ) as places
)
-- What is true of the whole comes with each row, so that nothing has to be joined row by row to what was looked at.
select fact.epoch, fact.unread, fact.limits, fact.places, definition.body, {picked}
from fact
left join picked
on true
left join lateral (
  select definition.body
  from yard.definition
  where definition.workspace = picked.workspace
  and definition.seq = picked.seq
  offset 0
) as definition
on true
order by picked.worth, picked.seq

-- name: lock_picked
-- By the place that the row had when this statement began. It is looked at again once it is locked; the row of task stays
-- as old as the statement. Every step of a ready task writes the version, so a task that was changed since is left out.
cross join lateral (
  select ready.seq
  from yard.ready
  where ready.ctid = payable.place
  and ready.rank = payable.rank
  and ready.seq = payable.seq
  and ready.version = payable.version
  for update
  skip locked
) as ready

-- name: lock_plan
-- What claims are planned on does not change until this transaction ends: see let_no_claim_in. Planned anew for each
-- claim, choosing and taking would take longer than they do.
select
  set_config('plan_cache_mode', 'force_generic_plan', true),
  pg_advisory_xact_lock_shared('yard.epoch'::regclass::oid::int, {workspace})

-- Parts of a claim that is one statement, behind lock_plan. All other parts of it take rows only where it is whole.

-- name: chosen
-- What was chosen from what `look` has shown, as far as it is still so, and nobody else has it. Each is looked up by
-- itself: joined as usual, every row of ready would be compared with it where the server takes the table for empty.
select found.seq
from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[]) as seen (seq, lane, rank, version)
cross join lateral (
  select ready.seq
  from yard.ready
  where ready.lane = seen.lane
  and ready.band = 0
  and ready.share = 0
  and ready.rank = seen.rank
  and ready.seq = seen.seq
  and ready.version = seen.version
  for update
  skip locked
) as found

-- name: whole
-- A row, if all that was chosen can be taken, and by a plan that is still good.
select true as is_whole
where (select count(*) from chosen) = $1::text::bigint
and (select coalesce(max(epoch.epoch), 0) from yard.epoch where epoch.workspace = $2::text) = $3::text::bigint

-- name: room
-- A row, if all was taken. An error, if the agent has not that many slots any more: nothing else takes back the whole.
select 1 / bool_and(move_limits.held + move_limits.spent <= $1::text::bigint)::int as is_left
from move_limits
having count(*) > 0

-- name: touch
-- Of a task that is held its row in held, else its row in task.
with given as materialized (
  select task.seq, given.seen, given.due_at, given.lease_expires_at, held.seq is not null as is_held
  from unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[]) as given (id, seen, due_at, lease_expires_at)
  join yard.task
  on task.id = given.id
  left join yard.held
  on held.seq = task.seq
), of_held as (
  update yard.held
  set due_at = touched.due_at, lease_expires_at = coalesce(touched.lease_expires_at, held.lease_expires_at)
  from (
    select given.seq, given.due_at, given.lease_expires_at
    from given
    join yard.held
    on held.seq = given.seq
    where held.due_at = given.seen
    order by held.seq
    for no key update of held
  ) as touched
  where held.seq = touched.seq
)
update yard.task
set due_at = touched.due_at
from (
  select given.seq, given.due_at
  from given
  join yard.task
  on task.seq = given.seq
  where not given.is_held
  and task.due_at = given.seen
  order by task.seq
  for no key update of task
) as touched
where task.seq = touched.seq

-- name: write_pulses
insert into yard.pulse as stored (name, at)
select name, $2::bigint
from unnest($1::text[]) as name
order by name
on conflict (name) do update
set at = greatest(stored.at, excluded.at)

-- name: insert_lane
insert into yard.lane (workspace, lane, digest)
values ($1, $2, $3)

-- name: lane_ids
select digest, id
from yard.lane
where digest = any($1::bytea[])

-- name: take_duty
-- By compare and set: of two who come at once, the second sees the time that the first has set, and goes.
with before as (
  select next_at
  from yard.duty
  where name = $1
  for no key update
)
update yard.duty
set next_at = $3
from before
where duty.name = $1
and (before.next_at <= $2 or before.next_at > $4)
returning before.next_at

-- name: first_duty
insert into yard.duty (name, next_at)
values ($1, 0)
on conflict do nothing

-- name: settle
delete from yard.outbox
where number = any($1::bigint[])

-- name: notify
-- After the commit and outside of it: notifying inside would make all commits of the server wait for each other. A hint
-- need not be on the disk.
select pg_notify($1, $2), set_config('synchronous_commit', 'off', true)

-- name: clock
select (extract(epoch from clock_timestamp()) * 1000000)::bigint

-- name: event_count
-- Whether anything was written, without reading any of it. A sequence says 1 before its first number as well as after.
select case when is_called then last_value else last_value - 1 end
from yard.log_seq
