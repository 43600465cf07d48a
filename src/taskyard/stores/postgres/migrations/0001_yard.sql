-- The yard.
-- min_reader: 1
-- min_writer: 1
--
-- `yard` stands for the schema that was asked for. Times are whole microseconds since 1970, money whole micro-dollars,
-- ranks whole millionths: every store keeps the same numbers. For people there are the views of 0002_views.sql.

create table yard.meta (
  only_row boolean primary key default true check (only_row),
  secret bytea not null
);
comment on table yard.meta is 'One row: what is true of the whole yard.';
comment on column yard.meta.secret is 'Leases are derived from it. Every process of the yard knows it.';

create table yard.pruned (
  workspace text primary key,
  through bigint not null
);
comment on table yard.pruned is 'The highest number of an event of the workspace that was removed.';

-- Sequences, and not counters in a row, so that no commit waits for another. Numbers become visible out of order:
-- see event_horizon.
create sequence yard.task_seq;
create sequence yard.event_seq;

-- Up to which number every event is settled: there for all to see, or never to be.
-- Who writes events holds, from before it draws a number until after its commit can be seen, a shared lock whose name is
-- the last number drawn before. So whatever is below the lowest of these names is settled, and no stranger's open
-- transaction is waited for. A function, because the order of the two reads matters: numbers first, then locks.
create function yard.event_horizon() returns bigint
language plpgsql
as $$
declare
  last bigint;
  behind bigint;
begin
  select case when is_called then last_value else 0 end
  into last
  from yard.event_seq;
  -- A lock's name has 32 bits. Names above the last number are of those who came after it was read.
  select coalesce(max(distance), 0)
  into behind
  from (
    select (last - objid::bigint) & 4294967295 as distance
    from pg_locks
    where locktype = 'advisory'
    and database = (select oid from pg_database where datname = current_database())
    and classid = 'yard.event_seq'::regclass::oid
    and objsubid = 2
  ) as held
  where distance < 2147483648;
  return last - behind;
end
$$;
comment on function yard.event_horizon() is 'Up to which number every event is settled.';

create table yard.epoch (
  workspace text primary key,
  epoch bigint not null
);
comment on table yard.epoch is 'Grows when something changes that claims are planned on.';

create table yard.lane (
  id bigint generated always as identity primary key,
  workspace text not null,
  lane text not null,
  digest bytea not null unique
);
create index lane_workspace on yard.lane (workspace, id);
comment on table yard.lane is 'What makes tasks alike to a claimer. Only ever added to.';
comment on column yard.lane.lane is 'JSON of core.task.Lane.';
comment on column yard.lane.digest is 'SHA-256 of the JSON, which may be longer than an index takes.';

-- A full page cannot keep the next version of its rows, so room is left for them; and what is dead is cleared away
-- early, because every claim walks over it. Statistics may lag: the plans depend on indexes, not on them.
create table yard.task (
  id text collate "C" primary key,
  seq bigint not null,
  workspace text not null,
  dag_id text,
  lane bigint not null,
  rank bigint not null,
  height bigint not null,
  status text not null,
  version bigint not null,
  attempt bigint not null,
  failures bigint not null,
  losses bigint not null,
  parks bigint not null,
  wait bigint not null,
  agent text,
  runtime text,
  lease text,
  claimed_at bigint,
  started_at bigint,
  heartbeat_at bigint,
  lease_expires_at bigint,
  limit_at bigint,
  wake_at bigint,
  due_at bigint,
  rescore_at bigint,
  circuit bigint not null,
  reserved bigint not null,
  spent bigint not null,
  tokens_in bigint not null,
  tokens_out bigint not null,
  progress text,
  session text,
  ran bigint not null,
  why text,
  updated_at bigint not null,
  idempotency_key text,
  key text,
  reserve bigint,
  claim_ttl bigint not null,
  lease_sec bigint not null,
  run_sec bigint,
  max_attempts bigint not null,
  expires_at bigint,
  created_at bigint not null,
  traits bigint not null
) with (
  fillfactor = 70,
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_threshold = 500,
  autovacuum_analyze_scale_factor = 0.05,
  autovacuum_vacuum_cost_delay = 0
);
comment on table yard.task is
  'The moving row of each task: the columns of core.task.Hot. Everything that moves is here, and nothing that is wide.';
comment on column yard.task.seq is 'First come, first served: in the order the store was given them.';
comment on column yard.task.rank is 'Place in its lane, lower is sooner; ageing included. Unversioned.';
comment on column yard.task.status is
  'pending, ready, claimed, running, validating, retrying; for good: completed, cancelled, dead_lettered.';
comment on column yard.task.version is 'Counts the stored changes. Every change is guarded by it, and has an event.';
comment on column yard.task.wait is 'Number of the latest wait; rows of blocker belong to one.';
comment on column yard.task.lease is 'Sealed: the token itself is never stored.';
comment on column yard.task.due_at is 'When the sweep must look at it. May be too early, never too late. Unversioned.';
comment on column yard.task.key is 'Concurrency key: of those with the same, one is held at a time.';
comment on column yard.task.why is 'The reason it was cancelled for.';
create unique index task_seq_number on yard.task (seq);
-- The rest are partial: a finished task is in none but the last two, so history does not slow the living down.
create index task_ready on yard.task (lane, rank, seq) where status = 'ready';
create index task_held on yard.task (agent) where status in ('claimed', 'running');
create index task_runtime on yard.task (runtime) where status in ('claimed', 'running') and runtime is not null;
create index task_due on yard.task (due_at, seq) where due_at is not null;
create index task_rescore on yard.task (rescore_at, seq)
  where rescore_at is not null and status in ('pending', 'ready', 'retrying');
create unique index task_live_key on yard.task (workspace, idempotency_key)
  where idempotency_key is not null and status not in ('cancelled', 'dead_lettered');
create index task_dag on yard.task (dag_id, seq) where dag_id is not null;
create index task_final on yard.task (updated_at) where status in ('completed', 'cancelled', 'dead_lettered');

create table yard.definition (
  seq bigint primary key,
  workspace text not null,
  type text not null,
  queue text not null,
  agent text,
  subject text,
  parent_id text,
  body text not null
);
comment on table yard.definition is
  'What was asked for. Inserted, seldom changed; here are the indexes that lists are filtered by.';
comment on column yard.definition.seq is 'That of the task.';
comment on column yard.definition.body is 'JSON of core.codec: prompt, payload and all.';
create index definition_workspace on yard.definition (workspace, seq);
create index definition_type on yard.definition (workspace, type, seq);
create index definition_queue on yard.definition (workspace, queue, seq) where queue <> 'default';
create index definition_agent on yard.definition (workspace, agent, seq) where agent is not null;
create index definition_subject on yard.definition (workspace, subject, seq) where subject is not null;
create index definition_parent on yard.definition (parent_id) where parent_id is not null;

create table yard.tag (
  workspace text not null,
  tag text not null,
  seq bigint not null,
  primary key (workspace, tag, seq)
);
create index tag_seq on yard.tag (seq);
comment on table yard.tag is 'The tags of each task, to list by.';

create table yard.output (
  task_id text collate "C" primary key,
  attempt bigint not null,
  data text not null,
  artifacts text not null,
  decision_report text
);
comment on table yard.output is 'What a completed task handed in; JSON.';

create table yard.attempt (
  task_id text collate "C" not null,
  number bigint not null,
  agent text not null,
  runtime text,
  lease text not null,
  claimed_at bigint not null,
  started_at bigint,
  ended_at bigint not null,
  outcome text not null,
  counted boolean not null,
  reason text,
  error text,
  details text,
  model text,
  cost bigint not null,
  tokens_in bigint not null,
  tokens_out bigint not null,
  session text,
  verb text not null,
  digest text not null,
  status text not null,
  version bigint not null,
  failures bigint not null,
  wake_at bigint,
  primary key (task_id, number)
);
comment on table yard.attempt is
  'One try at a task by one agent, written when it ended: the columns of core.task.Attempt. It answers a repeated call.';
comment on column yard.attempt.counted is 'Whether it used up one of max_attempts.';
comment on column yard.attempt.digest is 'Of the arguments of the call that ended it.';

create table yard.event (
  seq bigint primary key,
  event text not null,
  workspace text not null,
  task_id text collate "C",
  dag_id text,
  at bigint not null,
  version bigint,
  status text,
  attempt bigint,
  data text
);
comment on table yard.event is 'Every stored change, in order: what tails, histories and verify read.';
comment on column yard.event.version is 'That of the task after the change; null where the event is not of a task.';
create index event_task on yard.event (task_id, seq) where task_id is not null;
create index event_workspace on yard.event (workspace, seq);
create index event_dag on yard.event (dag_id) where task_id is null; -- found by their DAG only when it is pruned

create table yard.blocker (
  task_id text collate "C" not null,
  wait bigint not null,
  name text not null,
  primary key (task_id, wait, name)
);
create index blocker_name on yard.blocker (name);
comment on table yard.blocker is 'What a pending task waits for: task:ID, child:ID, signal:NAME, time, key:K, budget:NAME.';

create table yard.edge (
  parent text collate "C" not null,
  child text collate "C" not null,
  kind text not null,
  primary key (parent, child, kind)
);
create index edge_child on yard.edge (child);
comment on table yard.edge is 'depends: the child needs the output of the parent; spawned: the parent made it; awaited: and waits.';

create table yard.checkpoint (
  number bigint generated always as identity primary key,
  task_id text collate "C" not null,
  name text not null,
  attempt bigint not null,
  data text not null,
  unique (task_id, name)
);
comment on table yard.checkpoint is 'The result of a named step. Written once.';

create table yard.signal (
  number bigint generated always as identity primary key,
  task_id text collate "C" not null,
  name text not null,
  data text not null,
  sent_by text not null,
  at bigint not null
);
create index signal_task on yard.signal (task_id, number);
comment on table yard.signal is 'What was sent to a task from outside.';

create table yard.record (
  kind text not null,
  workspace text not null,
  id text not null,
  version bigint not null,
  body text not null,
  primary key (kind, workspace, id)
) with (fillfactor = 70);
comment on table yard.record is 'Versioned documents: agents, queues, breakers, DAGs, dead letters. The body is JSON.';

create table yard.ceiling (
  workspace text not null,
  name text collate "C" not null,
  ceiling bigint,
  held bigint not null default 0,
  spent bigint not null default 0,
  primary key (workspace, name)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);
comment on table yard.ceiling is
  'Limits: slots:AGENT, key:K, probe:TYPE:GENERATION; of money agent:ID, dag:ID, day:DATE. held + spent <= ceiling.';
comment on column yard.ceiling.ceiling is 'Null: none is stored. Keys and probes then admit one.';

create table yard.counter (
  workspace text not null,
  name text collate "C" not null,
  value bigint not null,
  primary key (workspace, name)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);
comment on table yard.counter is 'dag:ID:live and its like, breaker:TYPE:GENERATION. One at nothing has no row.';

create table yard.outbox (
  number bigint generated always as identity primary key,
  workspace text not null,
  topic text not null,
  task_id text collate "C",
  data text not null,
  at bigint not null
);
create index outbox_topic on yard.outbox (topic, number);
create index outbox_task on yard.outbox (task_id) where task_id is not null;
comment on table yard.outbox is 'Work that follows a change and must not be lost. Settling removes it.';

create table yard.pulse (
  name text primary key,
  at bigint not null
) with (fillfactor = 50);
comment on table yard.pulse is 'When each agent and runtime was last heard of.';

create table yard.duty (
  name text primary key,
  next_at bigint not null
) with (fillfactor = 50);
comment on table yard.duty is 'When each sweep is next due. Who moves the time on is its holder.';
