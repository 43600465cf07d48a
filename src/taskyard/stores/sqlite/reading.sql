-- What readers ask. {hot} stands for the columns of core.task.Hot.

-- name: load
select {hot}
from task
where id in (select value from json_each(?))

-- name: definitions
select task.id, definition.body
from task
join definition
on definition.seq = task.seq
where task.id in (select value from json_each(?))

-- name: labels
select task.id, definition.type, definition.subject, definition.agent
from task
join definition
on definition.seq = task.seq
where task.id in (select value from json_each(?))

-- name: outputs
select task_id, attempt, data, artifacts, decision_report
from output
where task_id in (select value from json_each(?))

-- name: attempts
select *
from attempt
where task_id = ?
order by number

-- name: histories
select *
from attempt
where task_id in (select value from json_each(?))
order by number

-- name: checkpoints
select task_id, name, attempt, data
from checkpoint
where task_id = ?
order by number

-- name: signals
select task_id, name, data, sent_by, at
from signal
where task_id = ?
order by number

-- name: blockers
select task_id, wait, name
from blocker
where task_id in (select value from json_each(?))
order by task_id, wait, name

-- name: edges
select parent, child, kind
from edge
where parent in (select value from json_each(?))
order by parent, child, kind

-- name: graph_tasks
select {hot}
from task
where dag_id = ?
order by seq

-- name: graph_edges
select edge.parent, edge.child, edge.kind
from task
cross join edge
on edge.parent = task.id
where task.dag_id = ?
order by edge.parent, edge.child, edge.kind

-- name: can_proceed
-- A task that proceeds without another of the DAG: under way, or pending on something else than tasks alone.
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

-- name: by_key
select idempotency_key, id
from task
where workspace = ?
and idempotency_key in (select value from json_each(?))
and idempotency_key is not null
and status not in ('cancelled', 'dead_lettered')

-- name: record
select kind, workspace, id, version, body
from record
where kind = ?
and workspace = ?
and id = ?

-- name: named
select kind, workspace, id, version, body
from record
where kind = ?
and workspace = ?
and id in (select value from json_each(?))

-- name: records
select kind, workspace, id, version, body
from record
where kind = ?
order by kind, workspace, id

-- name: records_of_workspace
select kind, workspace, id, version, body
from record
where kind = ?
and workspace = ?
order by kind, workspace, id

-- name: last_page
select kind, workspace, id, version, body
from record
where kind = ?
and workspace = ?
and id >= ?
order by id desc
limit ?

-- name: page
select kind, workspace, id, version, body
from record
where kind = ?
and workspace = ?
and id >= ?
and id < ?
order by id desc
limit ?

-- name: limits_named
select workspace, name, ceiling, held, spent
from ceiling
where workspace = ?
and name in (select value from json_each(?))

-- name: limits_all
select workspace, name, ceiling, held, spent
from ceiling
where workspace = ?

-- name: counters_named
select name, value
from counter
where workspace = ?
and name in (select value from json_each(?))

-- name: held
-- SQLite reads the whole table here, if it is not told better.
select {hot}
from task
indexed by task_held
where status in ('claimed', 'running')
order by seq

-- name: held_by_agent
select {hot}
from task
where status in ('claimed', 'running')
and agent = ?
order by seq

-- name: held_by_runtime
select {hot}
from task
where status in ('claimed', 'running')
and runtime = ?
and runtime is not null
order by seq

-- name: due
select {hot}
from task
where due_at <= ?
and due_at is not null
order by due_at, seq
limit ?

-- name: drifting
select {hot}
from task
where rescore_at <= ?
and rescore_at is not null
and status in ('pending', 'ready', 'retrying')
order by rescore_at, seq
limit ?

-- name: prunable
-- In the order of the index of final tasks, which has the number too.
select updated_at, seq, id, dag_id
from task
where updated_at < :before
and (updated_at, seq) > (:updated_at, :seq)
and status in ('completed', 'cancelled', 'dead_lettered')
and (:dead_too or status <> 'dead_lettered')
order by updated_at, seq
limit :limit

-- name: prunable_dags
-- Whole DAGs only: as long as one task is needed, so are its neighbours, which say how it came about.
select asked.value, (select count(*) from task where dag_id = asked.value)
from json_each(:dag_ids) as asked
where not exists (
  select 1
  from task
  where dag_id = asked.value
  and not (
    updated_at < :before
    and status in ('completed', 'cancelled', 'dead_lettered')
    and (:dead_too or status <> 'dead_lettered')
  )
)

-- name: dag_tasks
select {hot}
from task
where dag_id in (select value from json_each(?))
order by seq

-- name: ahead
select count(*)
from (
  select 1
  from task
  where lane = :lane
  and status = 'ready'
  and (rank, seq) < (:rank, :seq)
  limit :limit
)

-- name: awaited
select blocker.task_id, blocker.wait, blocker.name
from blocker
join task
on task.id = blocker.task_id
where blocker.name >= 'signal:'
and blocker.name < 'signal;'
and blocker.wait = task.wait
and task.workspace = ?
and task.status = 'pending'
order by task.updated_at, blocker.task_id, blocker.name
limit ?

-- name: longest_ready
-- By the index of what is ready, which has the number too.
select {hot}
from task
where seq = (
  select min(seq)
  from task
  where status = 'ready'
  and lane in (
    select id
    from lane
    where workspace = ?
  )
)

-- name: tally
select task.status, definition.type, count(*)
from task
join definition
on definition.seq = task.seq
where task.workspace = ?
group by task.status, definition.type

-- name: depth
-- By three indexes that have no task which has ended. Of the ready ones it is enough to read the index.
select 'ready', count(*)
from task
where status = 'ready'
and lane in (select id from lane where workspace = :workspace)
union all
select status, count(*)
from task
where status in ('claimed', 'running')
and workspace = :workspace
group by status
union all
select status, count(*)
from task
where status in ('pending', 'validating', 'retrying')
and workspace = :workspace
group by status

-- A list is the first of these, those that were asked for, and the last. It is walked from the newest on, which is soon
-- done where much matches; the plus keeps SQLite from sorting the whole workspace instead. What is seldom has an index.

-- name: find
select {hot}
from definition
cross join task
on task.seq = definition.seq
where +definition.workspace = :workspace

-- name: find_after
and definition.seq < :after

-- name: find_statuses
and task.status in (select value from json_each(:statuses))

-- name: find_type
and definition.workspace = :workspace
and definition.type = :type

-- name: find_types
and definition.type in (select value from json_each(:types))

-- name: find_queue
and definition.workspace = :workspace
and definition.queue = :queue
and definition.queue <> 'default'

-- name: find_default_queue
and definition.queue = :default_queue

-- name: find_agent
and definition.seq in (
  select seq
  from definition
  where workspace = :workspace
  and agent = :agent
  union
  select seq
  from task
  where agent = :agent
  and status in ('claimed', 'running')
)

-- name: find_subject
and definition.workspace = :workspace
and definition.subject = :subject

-- name: find_dag_id
and definition.seq in (
  select seq
  from task
  where dag_id = :dag_id
)

-- name: find_parent_id
and definition.parent_id = :parent_id

-- name: find_tag
and definition.seq in (
  select seq
  from tag
  where workspace = :workspace
  and tag = :tag
)

-- name: find_text
-- A function of `connection.py`: SQLite's own knows upper and lower case of ASCII only.
and mentions(definition.body, :text)

-- name: find_newest
order by definition.seq desc
limit :limit

-- name: pruned
select coalesce(max(through), 0)
from pruned

-- name: pruned_of_workspace
select coalesce(max(through), 0)
from pruned
where workspace = ?

-- name: events
select seq, event, workspace, task_id, dag_id, at, version, status, attempt, data
from event
where seq > ?
order by seq
limit ?

-- name: events_of_workspace
select seq, event, workspace, task_id, dag_id, at, version, status, attempt, data
from event
where seq > ?
and workspace = ?
order by seq
limit ?

-- name: events_of_task
select seq, event, workspace, task_id, dag_id, at, version, status, attempt, data
from event
where seq > ?
and task_id = ?
order by seq
limit ?

-- name: newest_events
select seq, event, workspace, task_id, dag_id, at, version, status, attempt, data
from event
where seq < ?
order by seq desc
limit ?

-- name: newest_events_of_workspace
select seq, event, workspace, task_id, dag_id, at, version, status, attempt, data
from event
where seq < ?
and workspace = ?
order by seq desc
limit ?

-- name: newest_events_of_task
select seq, event, workspace, task_id, dag_id, at, version, status, attempt, data
from event
where seq < ?
and task_id = ?
order by seq desc
limit ?

-- name: outbox
select number, workspace, topic, task_id, data, at
from outbox
where topic = ?
order by number
limit ?

-- name: pulses
select name, at
from pulse
where substr(name, 1, length(:prefix)) = :prefix

-- name: lanes_above
select id, lane
from lane
where workspace = ?
and id > ?

-- name: sizes
select page_count.page_count * page_size.page_size, freelist_count.freelist_count * page_size.page_size
from pragma_page_count as page_count, pragma_freelist_count as freelist_count, pragma_page_size as page_size

-- name: integrity
pragma integrity_check

-- name: without_definition
select task.id || ' has no definition'
from task
where not exists (select 1 from definition where definition.seq = task.seq)

-- name: definition_without_task
select 'definition ' || definition.seq || ' has no task'
from definition
where not exists (select 1 from task where task.seq = definition.seq)

-- name: numbers_behind
select 'the numbers of tasks or events are behind what is stored'
from meta
where task_seq < (select coalesce(max(seq), 0) from task)
or event_seq < (select coalesce(max(seq), 0) from event)

-- name: last_jump
-- By how much the clock went back, for a day after it did.
select iif(clock < jumped_at + 86400000000, jumped_by, 0)
from meta
