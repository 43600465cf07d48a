-- The figures of each day as they are stored, in place of those counted from what is still kept.
-- min_reader: 1
-- min_writer: 1

drop view yard.task_queue_metrics;

-- The day is cast only where the kind is known: a reader's own condition on it may be tried on any record first.
create view yard.task_queue_metrics as
select
  case when record.kind = 'metrics' then record.id::date end as day,
  record.workspace,
  (record.body::json ->> 'tasks_created')::bigint as tasks_created,
  (record.body::json ->> 'tasks_completed')::bigint as tasks_completed,
  (record.body::json ->> 'tasks_failed')::bigint as tasks_failed,
  (record.body::json ->> 'tasks_dead_lettered')::bigint as tasks_dead_lettered,
  (record.body::json ->> 'average_latency')::numeric as average_latency,
  (record.body::json ->> 'worker_heartbeat_delay')::numeric as worker_heartbeat_delay,
  (record.body::json -> 'error_rates_per_agent')::jsonb as error_rates_per_agent
from yard.record
where record.kind = 'metrics';
comment on view yard.task_queue_metrics is 'One row a day and workspace, a few seconds behind. Times are in seconds.';
comment on column yard.task_queue_metrics.day is 'In UTC.';
comment on column yard.task_queue_metrics.tasks_failed is 'Attempts that failed, whether or not another followed.';
comment on column yard.task_queue_metrics.average_latency is 'From creation to completion, of what was completed.';
comment on column yard.task_queue_metrics.worker_heartbeat_delay is
  'How long ago its worker was last heard of when an attempt ended, on average.';
comment on column yard.task_queue_metrics.error_rates_per_agent is
  'By type of agent: the share of its attempts that failed.';
