-- The log of events: what is read of it. Beyond the horizon an open transaction may still add a smaller number.

-- name: pruned
select coalesce(max(through), 0)
from yard.pruned

-- name: pruned_of_workspace
select coalesce(max(through), 0)
from yard.pruned
where workspace = $1

-- name: log_horizon
select yard.log_horizon()

-- Rows from the one with the number $1 on, up to the last that is settled: at most $3, and until their texts are longer
-- than $4 together. The rows of one commit are read together: its events are in order only then.

-- name: log_rows
select number, workspace, is_partly_gone, body
from (
  select *, coalesce(sum(octet_length(body)) over (order by number groups between unbounded preceding and 1 preceding), 0)
    as read
  from (
    select number, workspace, live is not null as is_partly_gone, body
    from yard.log
    where number >= $1
    and number <= $2
    order by number
    fetch first $3 rows with ties
  ) as next
) as sized
where read < $4
order by number

-- name: log_rows_of_workspace
select number, workspace, is_partly_gone, body
from (
  select *, coalesce(sum(octet_length(body)) over (order by number groups between unbounded preceding and 1 preceding), 0)
    as read
  from (
    select number, workspace, live is not null as is_partly_gone, body
    from yard.log
    where number >= $1
    and number <= $2
    and workspace = $5
    order by number
    fetch first $3 rows with ties
  ) as next
) as sized
where read < $4
order by number

-- The same from the number $1 down.

-- name: last_log_rows
select number, workspace, is_partly_gone, body
from (
  select *, coalesce(sum(octet_length(body)) over (order by number desc groups between unbounded preceding and 1 preceding), 0)
    as read
  from (
    select number, workspace, live is not null as is_partly_gone, body
    from yard.log
    where number <= least($1::bigint, $2::bigint)
    order by number desc
    fetch first $3 rows with ties
  ) as next
) as sized
where read < $4
order by number desc

-- name: last_log_rows_of_workspace
select number, workspace, is_partly_gone, body
from (
  select *, coalesce(sum(octet_length(body)) over (order by number desc groups between unbounded preceding and 1 preceding), 0)
    as read
  from (
    select number, workspace, live is not null as is_partly_gone, body
    from yard.log
    where number <= least($1::bigint, $2::bigint)
    and workspace = $5
    order by number desc
    fetch first $3 rows with ties
  ) as next
) as sized
where read < $4
order by number desc

-- name: numbers_of_tasks
-- Without a horizon: the events of a task are written under its row's lock, so they come in order.
select distinct task.workspace, numbers.number
from {tasks}
cross join lateral (
  select unnest(task.log || coalesce(held.log, '{}')) as number
  union
  select task_event.number
  from yard.task_event
  where task_event.seq = task.seq
) as numbers
where task.id = any($1::text[])
order by task.workspace, numbers.number

-- name: named_log_rows
-- For the events of a task that is there: those of others may be of tasks that are gone.
select number, workspace, false, body
from yard.log
where number = any($1::bigint[])
and workspace = $2
order by number

-- name: live_owners
-- Those of these tasks and DAGs whose events in a row of the log are to be shown. A task whose id was used again is another
-- one: it began later.
select given.number, given.workspace, given.id
from unnest($1::bigint[], $2::text[], $3::text[]) as given (number, workspace, id)
where exists (
  select 1
  from yard.task
  where task.id = given.id
  and coalesce(task.log[1], 0) <= given.number
)
or exists (
  select 1
  from yard.dag_event
  where dag_event.workspace = given.workspace
  and dag_event.dag_id = given.id
  and dag_event.number = given.number
)
