-- For people: the ends of tasks, and what the embedding worker has to do about them. Nothing in taskyard reads these.
-- min_reader: 7
-- min_writer: 9

create view yard.agent_events as
select
  history.seq as id,
  history.workspace,
  history.dag_id as workflow_id,
  history.task_id,
  history.event,
  history.data::json ->> 'agent' as agent_name,
  history.attempt,
  history.at as created_at
from yard.history
where history.event in ('task.completed', 'task.dead_lettered');
comment on view yard.agent_events is 'The end of every task that is kept, with whose attempt it was. The id is the number of the event in the log.';

create view yard.embedding_jobs as
with job as (
  select
    agent_events.id,
    agent_events.workspace,
    agent_events.task_id,
    record.id as embedder,
    case
      when agent_events.id > (cursor.body ->> 'seq')::bigint
      and not coalesce(
        agent_events.id between (cursor.body ->> 'below')::bigint and (cursor.body ->> 'top')::bigint, false
      )
      then 'pending'
      when exists (
        select 1
        from yard.embedding
        where embedding.workspace = agent_events.workspace
        and embedding.embedder = record.id
        and embedding.task_id = agent_events.task_id
      ) then 'completed'
      else 'failed'
    end as status,
    (
      select refused.value ->> 'problem'
      from json_array_elements(cursor.body -> 'refused') as refused (value)
      where refused.value ->> 'task_id' = agent_events.task_id
      limit 1
    ) as error,
    agent_events.created_at
  from yard.agent_events
  cross join yard.record
  cross join lateral (select record.body::json as body) as cursor
  where record.kind = 'embedding_cursor'
)
select id, workspace, task_id, embedder, status, error, created_at
from job
where status <> 'failed'
or error is not null;
comment on view yard.embedding_jobs is 'What the embedding worker has to do, or has done, about the end of each task that is to be remembered.';
