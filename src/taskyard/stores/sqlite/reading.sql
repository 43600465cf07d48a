-- The statements of readers. The marks in braces mean what writing.sql says.

-- name: load
select {hot}
from {task}
where task.id in (select value from json_each(?))

-- name: definitions
select task.id, definition.body
from task
join definition
on definition.seq = task.seq
where task.id in (select value from json_each(?))

-- name: bodies
select seq, body
from definition
where seq in (select value from json_each(?))

-- name: labels
-- Tasks that have the same labels are one row: those of a batch mostly do.
select definition.type, definition.subject, definition.agent, json_group_array(task.id)
from task
join definition
on definition.seq = task.seq
where task.id in (select value from json_each(?))
group by definition.type, definition.subject, definition.agent

-- name: outputs
-- Of each task the latest attempt that has one.
select task.id, attempt.number, attempt.data, attempt.artifacts, attempt.decision_report
from task
cross join attempt
on attempt.seq = task.seq
and attempt.data is not null
where task.id in (select value from json_each(?))
order by attempt.number

-- name: attempts
select task.id, {attempt}
from task
cross join attempt
on attempt.seq = task.seq
where task.id = ?
order by attempt.number

-- name: histories
select task.id, {attempt}
from task
cross join attempt
on attempt.seq = task.seq
where task.id in (select value from json_each(?))
order by attempt.number

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

-- name: by_key
select name.name, task.id
from name
cross join task
on task.seq = name.task_seq
where name.workspace = ?
and name.kind = 'key'
and name.name in (select value from json_each(?))

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
select {hot}
from held
cross join task
on task.seq = held.seq
where held.status in ('claimed', 'running')
order by held.seq

-- name: held_by_agent
-- All that it holds, or what it holds under some of these leases.
select {hot}
from held
cross join task
on task.seq = held.seq
where held.agent = ?1
and held.status in ('claimed', 'running')
and (
  ?2 is null
  or rtrim(rtrim(held.lease, '0123456789'), '.') in (select value from json_each(?2)) -- without the number of the attempt
)
order by held.seq

-- name: held_by_runtime
select {hot}
from held
cross join task
on task.seq = held.seq
where held.runtime = ?
and held.status in ('claimed', 'running')
order by held.seq

-- name: due
-- The first of those that are held, and the first of the others: together they are enough.
select {hot}
from (
  select seq, due_at
  from (
    select seq, due_at
    from held
    where due_at <= :now
    order by due_at, seq
    limit :limit
  )
  union all
  select seq, due_at
  from (
    select task.seq, task.due_at
    from task
    where task.due_at <= :now
    and not exists (select 1 from held where held.seq = task.seq)
    order by task.due_at, task.seq
    limit :limit
  )
) as first
cross join {task}
where task.seq = first.seq
order by first.due_at, first.seq
limit :limit

-- name: drifting
select {waiting}
from task
where rescore_at <= ?
and status in ('pending', 'ready', 'retrying')
and not exists (select 1 from held where held.seq = task.seq)
order by rescore_at, seq
limit ?

-- name: ended
-- Those of these tasks that may be removed: what is held is not final in `task`.
select {waiting}
from task
where task.id in (select value from json_each(:ids))
and task.updated_at < :before
and task.status in ('completed', 'cancelled', 'dead_lettered')
and (:dead_too or task.status <> 'dead_lettered')

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
from {task}
where task.dag_id in (select value from json_each(?))
order by task.seq

-- name: first_ready
-- From the ready ones on: their key has them in order, so the first are read and no others.
select {waiting}
from ready
cross join task
on task.seq = ready.seq
where ready.lane = ?
and ready.band = 0
and ready.share = 0
order by ready.rank, ready.seq
limit ?

-- name: ahead
select count(*)
from (
  select 1
  from ready
  where lane = :lane
  and band = 0
  and share = 0
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
select {waiting}
from task
where seq = (
  select min(seq)
  from ready
  where lane in (
    select id
    from lane
    where workspace = ?
  )
)

-- name: tally
select coalesce(held.status, task.status), definition.type, count(*)
from {task}
join definition
on definition.seq = task.seq
where task.workspace = ?
group by 1, 2

-- name: depth
-- No task that has ended is read. Of the ready ones it is enough to read their keys.
select 'ready', count(*)
from ready
where lane in (select id from lane where workspace = :workspace)
union all
select held.status, count(*)
from held
cross join task
on task.seq = held.seq
where task.workspace = :workspace
group by held.status
union all
select status, count(*)
from task
where status in ('pending', 'retrying', 'dead_lettered')
and status <> 'dead_lettered'
and workspace = :workspace
group by status

-- name: pruned
select coalesce(max(through), 0)
from pruned

-- name: pruned_of_workspace
select coalesce(max(through), 0)
from pruned
where workspace = ?

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

-- name: last_jump
-- By how much the clock went back, for a day after it did.
select jumped_at, jumped_by
from meta

-- name: embeddings
-- Every vector, to be compared here.
select task_id, vector
from embedding
where workspace = ?1
and embedder = ?2
and (?3 is null or type in (select value from json_each(?3)))

-- name: nearest_embeddings
-- Compared by the extension sqlite-vec.
select task_id, 1 - vec_distance_cosine(vector, ?4) as score
from embedding
where workspace = ?1
and embedder = ?2
and (?3 is null or type in (select value from json_each(?3)))
order by score desc, task_id
limit ?5

-- name: embedded
select task_id
from embedding
where workspace = ?
and embedder = ?
and task_id in (select value from json_each(?))

-- name: embedding_counts
select embedder, count(*)
from embedding
where workspace = ?
group by embedder
