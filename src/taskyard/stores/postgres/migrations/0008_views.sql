-- For people: the views of 0002 over the tables of 0007. Nothing in taskyard reads these.
-- min_reader: 7
-- min_writer: 7

create view yard.tasks as
select
  task.id,
  task.dag_id as workflow_id,
  task.workspace,
  coalesce(held.agent, task.agent, definition.agent) as agent_name,
  definition.type as task_type,
  definition.queue,
  definition.body::json ->> 'title' as title,
  definition.body::json ->> 'payload' as payload,
  coalesce((definition.body::json ->> 'priority')::int, 50) as priority,
  coalesce(held.status, task.status) as status,
  task.failures as attempts,
  task.max_attempts,
  yard.moment(task.wake_at) as available_at,
  case when held.status in ('claimed', 'running') then held.agent end as lease_owner,
  yard.moment(held.lease_expires_at) as lease_expires_at,
  yard.moment(held.heartbeat_at) as heartbeat_at,
  (
    select attempt.error
    from yard.attempt
    where attempt.seq = task.seq
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
  yard.moment(coalesce(held.updated_at, task.updated_at)) as updated_at
from yard.task
left join yard.held
on held.seq = task.seq
join yard.definition
on definition.workspace = task.workspace
and definition.seq = task.seq;
comment on view yard.tasks is 'Every task, with who has it, until when, and what it waits for.';

-- The value of one event in a column of a row: a column has one value for all events, or one for each.
create function yard.in_column(packed json, place integer) returns text
language sql
immutable
as $$
  select case json_typeof(packed) when 'array' then packed ->> place else packed #>> '{}' end
$$;
comment on function yard.in_column(json, integer) is 'The value of the event at this place, counted from 0, in a column of log.body.';

create view yard.history as
select
  log.number * 1024 + coalesce((body.value -> 'place' ->> event.place)::bigint, event.place) as seq,
  yard.moment(yard.in_column(body.value -> 'at', event.place)::bigint) as at,
  log.workspace,
  yard.in_column(body.value -> 'event', event.place) as event,
  yard.in_column(body.value -> 'task', event.place) as task_id,
  case
    when body.value -> 'dag' is null or yard.in_column(body.value -> 'dag', event.place) = '0'
    then regexp_replace(yard.in_column(body.value -> 'task', event.place), '^(task_)?', 'dag_')
    else yard.in_column(body.value -> 'dag', event.place)
  end as dag_id,
  yard.in_column(body.value -> 'status', event.place) as status,
  yard.in_column(body.value -> 'attempt', event.place)::integer as attempt,
  yard.in_column(body.value -> 'version', event.place)::integer as version,
  case json_typeof(body.value -> 'data')
    when 'object' then
      (body.value -> 'data' ->> 'head') || (body.value -> 'data' -> 'middles' ->> event.place)
      || (body.value -> 'data' ->> 'tail')
    else yard.in_column(body.value -> 'data', event.place)
  end as data
from yard.log
cross join lateral (select log.body::json as value) as body
cross join lateral generate_series(0, (body.value ->> 'n')::integer - 1) as event (place)
cross join lateral (
  select yard.in_column(body.value -> 'task', event.place) as task_id,
    yard.in_column(body.value -> 'dag', event.place) as dag_id
) as owner
where log.live is null
or coalesce(owner.task_id, owner.dag_id) is null
or exists (
  select 1
  from yard.task
  where task.id = owner.task_id
  and coalesce(task.log[1], 0) <= log.number
)
or owner.task_id is null
and exists (
  select 1
  from yard.dag_event
  where dag_event.workspace = log.workspace
  and dag_event.dag_id = owner.dag_id
  and dag_event.number = log.number
);
comment on view yard.history is 'Every event, with times to read.';
