-- The type of the agent that holds a task, which money and granted slots are counted under.
-- min_reader: 1
-- min_writer: 6

alter table yard.task add column agent_type text;
alter table yard.task add column type_slot bigint not null default 0;
alter table yard.attempt add column agent_type text;
comment on column yard.task.agent_type is 'Of the agent of the latest claim; null: none yet, or by a release that knew only ids.';
comment on column yard.task.type_slot is '1: the latest claim took one of the slots that the type was granted.';
comment on table yard.ceiling is
  'Limits: slots:AGENT, type-slots:TYPE, key:K, probe:TYPE:GENERATION; of money agent:ID, type:TYPE, type-day:DATE:TYPE, '
  'type-month:MONTH:TYPE, dag:ID, day:DATE. held + spent <= ceiling.';
