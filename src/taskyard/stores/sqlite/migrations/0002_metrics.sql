-- For people: the figures of each day as they are stored. Nothing in taskyard reads this.
-- min_reader: 1
-- min_writer: 1

create view task_queue_metrics as
select
  record.id as day, -- in UTC
  record.workspace,
  record.body ->> '$.tasks_created' as tasks_created,
  record.body ->> '$.tasks_completed' as tasks_completed,
  record.body ->> '$.tasks_failed' as tasks_failed, -- attempts, whether or not another followed
  record.body ->> '$.tasks_dead_lettered' as tasks_dead_lettered,
  record.body ->> '$.average_latency' as average_latency, -- seconds from creation to completion
  record.body ->> '$.worker_heartbeat_delay' as worker_heartbeat_delay, -- seconds since it was heard of, at an end
  record.body ->> '$.error_rates_per_agent' as error_rates_per_agent -- by type of agent, as JSON
from record
where record.kind = 'metrics';
