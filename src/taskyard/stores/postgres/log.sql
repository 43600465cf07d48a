-- The log of events: what is read of it. Beyond the horizon an open transaction may still add a smaller number.

-- name: pruned
select coalesce(max(through), 0)
from yard.pruned

-- name: pruned_of_workspace
select coalesce(max(through), 0)
from yard.pruned
where workspace = $1

-- name: event_horizon
select yard.event_horizon()

-- name: events
select seq, event, workspace, task_id, dag_id, at, version, status, attempt, data
from yard.event
where seq > $1
and seq <= $2
order by seq
limit $3

-- name: events_of_workspace
select seq, event, workspace, task_id, dag_id, at, version, status, attempt, data
from yard.event
where seq > $1
and seq <= $2
and workspace = $4
order by seq
limit $3

-- name: events_of_task
-- Without a horizon: the events of one task are written under its row's lock, so they come in order.
select seq, event, workspace, task_id, dag_id, at, version, status, attempt, data
from yard.event
where seq > $1
and task_id = $2
order by seq
limit $3

-- name: newest_events
select seq, event, workspace, task_id, dag_id, at, version, status, attempt, data
from yard.event
where seq < $1
and seq <= $2
order by seq desc
limit $3

-- name: newest_events_of_workspace
select seq, event, workspace, task_id, dag_id, at, version, status, attempt, data
from yard.event
where seq < $1
and seq <= $2
and workspace = $4
order by seq desc
limit $3

-- name: newest_events_of_task
select seq, event, workspace, task_id, dag_id, at, version, status, attempt, data
from yard.event
where seq < $1
and task_id = $2
order by seq desc
limit $3
