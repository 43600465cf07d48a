-- The statements that remove tasks, everything that is only theirs, and what the log has of them. By the numbers of the
-- tasks where a table has these, else by their ids.

-- name: doomed
select task.seq, task.id, task.workspace, task.dag_id, task.idempotency_key, task.status,
  task.log || coalesce(held.log, '')
from {task}
where task.id in (select value from json_each(?))

-- name: filled
-- What there is to remove at all, by the names of the statements that remove it.
select 'tags' where exists (select 1 from tag)
union all select 'checkpoints' where exists (select 1 from checkpoint)
union all select 'signals' where exists (select 1 from signal)
union all select 'blockers_of' where exists (select 1 from blocker)
union all select 'edges_from' where exists (select 1 from edge)
union all select 'edges_to' where exists (select 1 from edge)
union all select 'outbox' where exists (select 1 from outbox)
union all select 'dead' where exists (select 1 from record where kind = 'dead')
union all select 'embeddings' where exists (select 1 from embedding)

-- name: doomed_dag_events
select number
from dag_event
where workspace = ?
and dag_id = ?

-- name: remove_dag_events
delete from dag_event
where workspace = ?
and dag_id = ?

-- name: remove_definitions
delete from definition
where seq in (select value from json_each(?))

-- name: remove_tags
delete from tag
where seq in (select value from json_each(?))

-- name: remove_attempts
delete from attempt
where seq in (select value from json_each(?))

-- name: remove_task_events
-- Answers where events of the tasks are.
delete from task_event
where seq in (select value from json_each(?))
returning seq, number

-- name: remove_tasks
delete from task
where seq in (select value from json_each(?))

-- name: remove_checkpoints
delete from checkpoint
where task_id in (select value from json_each(?))

-- name: remove_signals
delete from signal
where task_id in (select value from json_each(?))

-- name: remove_blockers_of
delete from blocker
where task_id in (select value from json_each(?))

-- name: remove_edges_from
delete from edge
where parent in (select value from json_each(?))

-- name: remove_edges_to
delete from edge
where child in (select value from json_each(?))

-- name: remove_outbox
delete from outbox
where task_id in (select value from json_each(?))

-- name: remove_dead
delete from record
where kind = 'dead'
and body ->> '$.task_id' in (select value from json_each(?))

-- name: remove_dag_counters
-- The semicolon follows the colon: all names that begin with dag:ID: and no others.
delete from counter
where workspace = ?
and name >= 'dag:' || ? || ':'
and name < 'dag:' || ? || ';'

-- name: remove_dag_limit
delete from ceiling
where workspace = ?
and name = 'dag:' || ?

-- name: remove_embeddings
delete from embedding
where task_id in (select value from json_each(?))
