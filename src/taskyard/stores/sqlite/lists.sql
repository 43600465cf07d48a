-- Lists of tasks for people, and what they are narrowed down by.

-- A list is the first of these, those that were asked for, and the last. It is walked from the newest on, which is soon
-- done where much matches; the plus keeps SQLite from sorting the whole workspace instead. What is seldom has an index.

-- name: find
select {hot}
from definition
cross join {task}
where task.seq = definition.seq
and +definition.workspace = :workspace

-- name: find_after
and definition.seq < :after

-- name: find_statuses
and coalesce(held.status, task.status) in (select value from json_each(:statuses))

-- name: find_held
-- Only states of tasks that are held.
and definition.seq in (
  select seq
  from held
  where status in (select value from json_each(:held))
)

-- name: find_waiting
-- Only states that few tasks are in.
and definition.seq in (
  select seq
  from task
  where workspace = :workspace
  and status in ('pending', 'retrying', 'dead_lettered')
  and status in (select value from json_each(:waiting))
)

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
  from held
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

-- name: find_beyond
and definition.seq > :beyond

-- name: find_reason
and exists (
  select 1
  from attempt
  where attempt.seq = definition.seq
  and attempt.reason = :reason
)

-- name: find_since
and task.created_at >= :since

-- name: find_until
and task.created_at < :until

-- name: find_oldest
order by definition.seq
limit :limit

-- name: find_newest
order by definition.seq desc
limit :limit
