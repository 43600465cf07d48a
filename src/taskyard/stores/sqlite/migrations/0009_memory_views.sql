-- For people: the ends of tasks, and what the embedding worker has to do about them. Nothing in taskyard reads these.
-- min_reader: 6
-- min_writer: 7

create view agent_events as
with recursive place (at) as (
  select 0
  union all
  select at + 1 from place where at < 1023 -- a row of the log has at most 1,024 events
),
ending as (
  select
    (log.first >> 10 << 10) + coalesce(log.body ->> ('$.place[' || place.at || ']'), place.at) as id,
    iif(
      json_type(log.body, '$.workspace') = 'array',
      log.body ->> ('$.workspace[' || place.at || ']'),
      coalesce(log.body ->> '$.workspace', log.workspace)
    ) as workspace,
    iif(
      json_type(log.body, '$.task') = 'array', log.body ->> ('$.task[' || place.at || ']'), log.body ->> '$.task'
    ) as task_id,
    iif(
      json_type(log.body, '$.event') = 'array', log.body ->> ('$.event[' || place.at || ']'), log.body ->> '$.event'
    ) as event,
    iif(
      json_type(log.body, '$.attempt') = 'array',
      log.body ->> ('$.attempt[' || place.at || ']'),
      log.body ->> '$.attempt'
    ) as attempt,
    case json_type(log.body, '$.data')
      when 'array' then log.body ->> ('$.data[' || place.at || ']')
      when 'object' then
        (log.body ->> '$.data.head') || (log.body ->> ('$.data.middles[' || place.at || ']'))
        || (log.body ->> '$.data.tail')
      else log.body ->> '$.data'
    end as data,
    iif(
      json_type(log.body, '$.at') = 'array', log.body ->> ('$.at[' || place.at || ']'), log.body ->> '$.at'
    ) as at
  from log
  cross join place
  on place.at < log.body ->> '$.n'
  where log.ends > 0
)
select
  ending.id, -- the number of the event in the log
  ending.workspace,
  coalesce(
    task.dag_id, 'dag_' || iif(substr(task.id, 1, 5) = 'task_', substr(task.id, 6), task.id)
  ) as workflow_id,
  ending.task_id,
  ending.event, -- task.completed or task.dead_lettered
  ending.data ->> '$.agent' as agent_name, -- whose attempt it was
  ending.attempt,
  strftime('%Y-%m-%dT%H:%M:%S', ending.at / 1000000, 'unixepoch') || printf('.%06dZ', ending.at % 1000000) as created_at
from ending
join task
on task.id = ending.task_id
and cast(substr(task.log, 2) as integer) <= ending.id >> 10 -- not of one before it with the same id, which was pruned
where ending.event in ('task.completed', 'task.dead_lettered');

create view embedding_jobs as
with job as (
  select
    agent_events.id,
    agent_events.workspace,
    agent_events.task_id,
    record.id as embedder,
    case
      when agent_events.id > record.body ->> '$.seq'
      and not coalesce(agent_events.id between record.body ->> '$.below' and record.body ->> '$.top', 0)
      then 'pending'
      when exists (
        select 1
        from embedding
        where embedding.workspace = agent_events.workspace
        and embedding.embedder = record.id
        and embedding.task_id = agent_events.task_id
      ) then 'completed'
      else 'failed'
    end as status,
    (
      select refused.value ->> '$.problem'
      from json_each(record.body, '$.refused') as refused
      where refused.value ->> '$.task_id' = agent_events.task_id
    ) as error,
    agent_events.created_at
  from agent_events
  cross join record
  on record.kind = 'embedding_cursor'
)
select id, workspace, task_id, embedder, status, error, created_at
from job
where status <> 'failed'
or error is not null; -- one that the worker has looked at and left out is not to be remembered
