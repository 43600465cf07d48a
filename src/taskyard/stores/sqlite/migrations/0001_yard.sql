-- The yard.
-- min_reader: 1
-- min_writer: 1

-- One row. The numbers that the next task and event get are kept here and not left to SQLite, which would give a number
-- again after the row that had it was pruned.
create table meta (
  only integer primary key check (only = 1),
  secret blob not null,
  clock integer not null default 0, -- the latest time that any process was told
  task_seq integer not null default 0,
  event_seq integer not null default 0
) strict;

-- The highest number of an event that was removed.
create table pruned (
  workspace text primary key,
  through integer not null
) strict, without rowid;

-- Grows when something changes that claims are planned on.
create table epoch (
  workspace text primary key,
  epoch integer not null
) strict, without rowid;

create table lane (
  id integer primary key,
  workspace text not null,
  lane text not null unique -- JSON of core.task.Lane
) strict;
create index lane_workspace on lane (workspace);

-- The columns of core.task.Hot, in its order. Everything that moves is here, and nothing that is wide.
create table task (
  id text not null,
  seq integer primary key,
  workspace text not null,
  dag_id text,
  lane integer not null,
  rank integer not null,
  height integer not null,
  status text not null,
  version integer not null,
  attempt integer not null,
  failures integer not null,
  losses integer not null,
  parks integer not null,
  wait integer not null,
  agent text,
  runtime text,
  lease text,
  claimed_at integer,
  started_at integer,
  heartbeat_at integer,
  lease_expires_at integer,
  limit_at integer,
  wake_at integer,
  due_at integer,
  rescore_at integer,
  circuit integer not null,
  reserved integer not null,
  spent integer not null,
  tokens_in integer not null,
  tokens_out integer not null,
  progress text,
  session text,
  ran integer not null,
  why text,
  updated_at integer not null,
  idempotency_key text,
  key text,
  reserve integer,
  claim_ttl integer not null,
  lease_sec integer not null,
  run_sec integer,
  max_attempts integer not null,
  expires_at integer,
  created_at integer not null,
  traits integer not null
) strict;
create unique index task_id on task (id);
-- The rest are partial: a finished task is in none but the last two, so history does not slow the living down.
create index task_ready on task (lane, rank, seq) where status = 'ready';
create index task_held on task (agent) where status in ('claimed', 'running');
create index task_runtime on task (runtime) where status in ('claimed', 'running') and runtime is not null;
create index task_due on task (due_at) where due_at is not null;
create index task_rescore on task (rescore_at)
  where rescore_at is not null and status in ('pending', 'ready', 'retrying');
create unique index task_live_key on task (workspace, idempotency_key)
  where idempotency_key is not null and status not in ('cancelled', 'dead_lettered');
create index task_dag on task (dag_id) where dag_id is not null;
create index task_final on task (updated_at) where status in ('completed', 'cancelled', 'dead_lettered');

-- What was asked for. Inserted, seldom changed; here are the indexes that lists are filtered by.
create table definition (
  seq integer primary key, -- the task's
  workspace text not null,
  type text not null,
  queue text not null,
  agent text,
  subject text,
  parent_id text,
  body text not null -- core.codec
) strict;
create index definition_type on definition (workspace, type);
create index definition_queue on definition (workspace, queue) where queue <> 'default';
create index definition_agent on definition (workspace, agent) where agent is not null;
create index definition_subject on definition (workspace, subject) where subject is not null;
create index definition_parent on definition (parent_id) where parent_id is not null;

create table tag (
  workspace text not null,
  tag text not null,
  seq integer not null,
  primary key (workspace, tag, seq)
) strict, without rowid;
create index tag_seq on tag (seq);

create table output (
  task_id text primary key,
  attempt integer not null,
  data text not null,
  artifacts text not null, -- JSON
  decision_report text
) strict, without rowid;

-- The columns of core.task.Attempt, in its order.
create table attempt (
  task_id text not null,
  number integer not null,
  agent text not null,
  runtime text,
  lease text not null,
  claimed_at integer not null,
  started_at integer,
  ended_at integer not null,
  outcome text not null,
  counted integer not null,
  reason text,
  error text,
  details text,
  model text,
  cost integer not null,
  tokens_in integer not null,
  tokens_out integer not null,
  session text,
  verb text not null,
  digest text not null,
  status text not null,
  version integer not null,
  failures integer not null,
  wake_at integer,
  primary key (task_id, number)
) strict, without rowid;

create table event (
  seq integer primary key,
  event text not null,
  workspace text not null,
  task_id text,
  dag_id text,
  at integer not null,
  version integer,
  status text,
  attempt integer,
  data text
) strict;
create index event_task on event (task_id) where task_id is not null;
create index event_dag on event (dag_id) where task_id is null; -- found by their dag only when it is pruned

create table blocker (
  task_id text not null,
  wait integer not null,
  name text not null,
  primary key (task_id, wait, name)
) strict, without rowid;
create index blocker_name on blocker (name);

create table edge (
  parent text not null,
  child text not null,
  kind text not null,
  primary key (parent, child, kind)
) strict, without rowid;
create index edge_child on edge (child);

create table checkpoint (
  number integer primary key, -- in the order they were made
  task_id text not null,
  name text not null,
  attempt integer not null,
  data text not null,
  unique (task_id, name)
) strict;

create table signal (
  number integer primary key, -- in the order they came
  task_id text not null,
  name text not null,
  data text not null,
  sent_by text not null,
  at integer not null
) strict;
create index signal_task on signal (task_id);

create table record (
  kind text not null,
  workspace text not null,
  id text not null,
  version integer not null,
  body text not null,
  primary key (kind, workspace, id)
) strict, without rowid;
create index record_dead on record (body ->> '$.task_id') where kind = 'dead';

create table ceiling (
  workspace text not null,
  name text not null,
  ceiling integer,
  held integer not null,
  spent integer not null,
  primary key (workspace, name)
) strict, without rowid;

create table counter (
  workspace text not null,
  name text not null,
  value integer not null,
  primary key (workspace, name)
) strict, without rowid;

-- Autoincrement: a number that was settled is never given again, so a late second settling settles nothing else.
create table outbox (
  number integer primary key autoincrement,
  workspace text not null,
  topic text not null,
  task_id text,
  data text not null,
  at integer not null
) strict;
create index outbox_topic on outbox (topic);
create index outbox_task on outbox (task_id) where task_id is not null;

create table pulse (
  name text primary key,
  at integer not null
) strict, without rowid;

create table duty (
  name text primary key,
  next_at integer not null
) strict, without rowid;
