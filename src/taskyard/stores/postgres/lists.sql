-- Lists of tasks for people, and what they are narrowed down by.

-- name: plan_for_values
-- A list is planned for what is asked for: a plan for any number of rows may be a bad one for few.
set local plan_cache_mode = auto

-- A list is the first of these, those that were asked for, and the last.

-- name: find
select {hot}, definition.body
from yard.definition
join {tasks}
on task.seq = definition.seq
where definition.workspace = $1

-- name: find_after
and definition.seq < $1

-- name: find_statuses
and coalesce(held.status, task.status) = any($1::text[])

-- name: find_held
-- Where only tasks are asked for that are held: they are few, and not looked for among all.
and definition.seq = any(array(select held.seq from yard.held))

-- name: find_types
and definition.type = any($1::text[])

-- name: find_queue
and definition.queue = $1

-- name: find_agent
and (
  definition.agent = $1
  or held.agent = $1 and held.status in ('claimed', 'running')
)

-- name: find_subject
and definition.subject = $1

-- name: find_dag_id
and task.dag_id = $1

-- name: find_parent_id
and definition.parent_id = $1

-- name: find_tag
and definition.seq in (
  select tag.seq
  from yard.tag
  where tag.workspace = definition.workspace
  and tag.tag = $1
)

-- name: find_spelled
-- What may have the text in it, in ASCII: beyond that, letters fold to others, which the reader looks at.
and (
  position($1 in lower(definition.body collate "C")) > 0
  or octet_length(definition.body) > length(definition.body)
)

-- name: find_beyond
and definition.seq > $1

-- name: find_reason
and exists (
  select 1
  from yard.attempt
  where attempt.seq = definition.seq
  and attempt.reason = $1
)

-- name: find_since
and task.created_at >= $1

-- name: find_until
and task.created_at < $1

-- name: find_oldest
order by definition.seq
limit $1

-- name: find_newest
order by definition.seq desc
limit $1
