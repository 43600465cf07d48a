-- The statements that read a DAG as a whole.

-- name: graph_tasks
select {hot}
from {task}
where task.dag_id = ?
order by task.seq

-- name: graph_edges
select edge.parent, edge.child, edge.kind
from task
cross join edge
on edge.parent = task.id
where task.dag_id = ?
order by edge.parent, edge.child, edge.kind

-- name: begun
-- The row of a task that is held for the first time still says that it was never claimed.
select asked.value
from json_each(?) as asked
where exists (
  select 1
  from task
  left join held
  on held.seq = task.seq
  where task.dag_id = asked.value
  and (task.attempt > 0 or held.seq is not null)
)

-- name: can_proceed
-- A task that proceeds without another of the DAG: under way, or pending on something else than tasks alone. One that is
-- held is ready in its row, and both may proceed.
select exists (
  select 1
  from task
  where dag_id = ?
  and status not in ('completed', 'cancelled', 'dead_lettered')
  and (
    status <> 'pending'
    or not exists (
      select 1
      from blocker
      where blocker.task_id = task.id
      and blocker.wait = task.wait
      and (blocker.name glob 'task:*' or blocker.name glob 'child:*')
    )
  )
)
