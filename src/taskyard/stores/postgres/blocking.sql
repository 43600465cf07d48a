-- Blockers: taking them off, and what is free then.

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
from {tasks}
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
join {tasks}
on task.id = blocker.task_id
and task.wait = blocker.wait
where blocker.name = $1
and task.workspace = $2
and task.status = 'pending'

-- name: lock_best_parked
-- The first $3 of each lane, as far as nobody else has them. Locked before the numbers of the log are drawn: see write_log.
with best as materialized (
  select parked.seq
  from (
    select task.seq, row_number() over (partition by blocker.name, task.lane order by task.rank, task.seq) as place
    from unnest($1::text[], $2::text[]) as eased (name, workspace)
    join yard.blocker
    on blocker.name = eased.name
    join yard.task
    on task.id = blocker.task_id
    and task.wait = blocker.wait
    where task.workspace = eased.workspace
    and task.status = 'pending'
  ) as parked
  where parked.place <= $3
)
select task.id
from best
join yard.task
on task.seq = best.seq
where task.status = 'pending'
order by task.seq
for no key update of task
skip locked

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
