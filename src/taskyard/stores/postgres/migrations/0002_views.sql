-- For people: the yard in the words of a plain task table. Nothing in taskyard reads these.
-- min_reader: 1
-- min_writer: 1

create function yard.moment(micros bigint) returns timestamptz
language sql
immutable
as $$
  select 'epoch'::timestamptz + micros * interval '1 microsecond'
$$;
comment on function yard.moment(bigint) is 'A stored time as PostgreSQL shows times.';

create view yard.tasks as
select
  task.id,
  task.dag_id as workflow_id,
  task.workspace,
  coalesce(task.agent, definition.agent) as agent_name,
  definition.type as task_type,
  definition.queue,
  definition.body::json ->> 'title' as title,
  definition.body::json ->> 'payload' as payload,
  coalesce((definition.body::json ->> 'priority')::int, 50) as priority,
  task.status,
  task.failures as attempts,
  task.max_attempts,
  yard.moment(task.wake_at) as available_at,
  case when task.status in ('claimed', 'running') then task.agent end as lease_owner,
  yard.moment(task.lease_expires_at) as lease_expires_at,
  yard.moment(task.heartbeat_at) as heartbeat_at,
  (
    select attempt.error
    from yard.attempt
    where attempt.task_id = task.id
    and attempt.error is not null
    order by attempt.number desc
    limit 1
  ) as error_info,
  (
    select string_agg(blocker.name, ', ' order by blocker.name)
    from yard.blocker
    where blocker.task_id = task.id
    and blocker.wait = task.wait
  ) as waits_for,
  yard.moment(task.created_at) as created_at,
  yard.moment(task.updated_at) as updated_at
from yard.task
join yard.definition
on definition.seq = task.seq;
comment on view yard.tasks is 'Every task, with who has it, until when, and what it waits for.';

create view yard.history as
select
  event.seq,
  yard.moment(event.at) as at,
  event.workspace,
  event.event,
  event.task_id,
  event.dag_id,
  event.status,
  event.attempt,
  event.version,
  event.data
from yard.event;
comment on view yard.history is 'Every event, with times to read.';

create view yard.task_queue_metrics as
select
  yard.moment(event.at)::date as day,
  event.workspace,
  definition.type as task_type,
  count(*) filter (where event.event = 'task.created') as tasks_created,
  count(*) filter (where event.status = 'completed') as tasks_completed,
  count(*) filter (where event.status = 'dead_lettered') as tasks_failed,
  avg(event.at - task.created_at) filter (where event.status = 'completed') / 1000000 as average_latency_sec
from yard.event
join yard.task
on task.id = event.task_id
join yard.definition
on definition.seq = task.seq
group by 1, 2, 3;
comment on view yard.task_queue_metrics is 'By day, workspace and type, of what is still kept.';
