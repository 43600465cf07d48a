-- Narrow moving state: what a claim, a heartbeat and an end write is small, and apart from what is known of a task.
-- min_reader: 6
-- min_writer: 6

-- A process of an older release that is still connected fails with its next statement: it reads `event_seq` before every
-- write, and columns of `task` that are gone with every read.

alter table task rename to task_1;
alter table attempt rename to attempt_1;
alter table meta rename to meta_1;
drop index task_id;
drop index task_ready;
drop index task_held;
drop index task_runtime;
drop index task_due;
drop index task_rescore;
drop index task_live_key;
drop index task_dag;
drop index task_final;
drop index task_waiting;

-- One row. A commit writes its clock and its numbers into its row of the log; one without events writes them here.
-- Whichever has the higher number of the log is the later one, and of equal numbers this row is.
create table meta (
  only integer primary key check (only = 1),
  secret blob not null,
  number integer not null default 0, -- of the log
  clock integer not null default 0, -- the latest time that any process was told
  task_seq integer not null default 0,
  jumped_at integer not null default 0, -- when the clock was last found to have gone back, by its own time afterwards
  jumped_by integer not null default 0
) strict;

insert into meta (only, secret, number, clock, task_seq, jumped_at, jumped_by)
select only, secret, event_seq >> 10, clock, task_seq, jumped_at, jumped_by
from meta_1;

-- What is known of a task. While it is held, the columns that `held` has too are those of its last waiting state.
create table task (
  seq integer primary key,
  id text not null,
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
  started_at integer,
  wake_at integer,
  due_at integer,
  rescore_at integer,
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
  traits integer not null,
  log text not null -- ,12,40: the numbers of the log with its first 32 steps, without those under `held`
) strict;

insert into task
select
  seq, id, workspace, dag_id, lane, rank, height,
  iif(status in ('claimed', 'running', 'validating'), 'ready', status),
  version, attempt, failures, losses, parks, wait, agent, runtime, started_at, wake_at,
  iif(status in ('claimed', 'running', 'validating'), expires_at, due_at),
  iif(status in ('completed', 'cancelled', 'dead_lettered'), null, rescore_at),
  session, ran, why, updated_at, idempotency_key, key, reserve, claim_ttl, lease_sec, run_sec, max_attempts, expires_at,
  created_at, traits,
  coalesce((
    select ',' || group_concat(number)
    from (
      select distinct seq >> 10 as number
      from event
      where event.task_id = task_1.id
      order by number
      limit 32
    )
  ), '')
from task_1
order by seq;

create unique index task_id on task (id);
create index task_due on task (due_at) where due_at is not null;
create index task_rescore on task (rescore_at) where rescore_at is not null;
create index task_dag on task (dag_id) where dag_id is not null;
-- What lists and figures look for among much that has ended. A plain task is never in it.
create index task_waiting on task (workspace, status) where status in ('pending', 'retrying', 'dead_lettered');

-- What may be claimed, in the order in which it is. Shares of a lane that are served in turn come by band and share: 0
-- where nothing is shared.
create table ready (
  lane integer not null,
  band integer not null,
  share integer not null,
  rank integer not null,
  seq integer not null,
  primary key (lane, band, share, rank, seq)
) strict, without rowid;

insert into ready (lane, band, share, rank, seq)
select lane, 0, 0, rank, seq
from task_1
where status = 'ready';

-- What an attempt has, from its claim until it holds nothing any more: claimed, running and validating tasks.
create table held (
  seq integer primary key,
  status text not null,
  version integer not null,
  attempt integer not null,
  agent text,
  runtime text, -- with the incarnation
  started_at integer,
  due_at integer,
  updated_at integer not null,
  lease text,
  claimed_at integer,
  heartbeat_at integer,
  lease_expires_at integer,
  limit_at integer,
  circuit integer not null,
  reserved integer not null,
  spent integer not null,
  tokens_in integer not null,
  tokens_out integer not null,
  progress text,
  agent_type text,
  type_slot integer not null,
  holds text, -- JSON: what the claim took of limits that may change at any time, as [limit, amount] each
  log text not null -- as in `task`, from the claim on
) strict;

insert into held
select
  seq, status, version, attempt, agent, runtime, started_at, due_at, updated_at, lease, claimed_at, heartbeat_at,
  lease_expires_at, limit_at, circuit, reserved, spent, tokens_in, tokens_out, progress, agent_type, type_slot, null, ''
from task_1
where status in ('claimed', 'running', 'validating')
order by seq;

create index held_due on held (due_at) where due_at is not null;
create index held_agent on held (agent);
create index held_runtime on held (runtime) where runtime is not null;

-- What only one live task of a workspace may be called. Kind key: idempotency keys.
create table name (
  workspace text not null,
  kind text not null,
  name text not null,
  task_seq integer not null,
  until integer, -- null: as long as the task has it
  primary key (workspace, kind, name)
) strict, without rowid;

insert into name (workspace, kind, name, task_seq)
select workspace, 'key', idempotency_key, seq
from task_1
where idempotency_key is not null
and status not in ('cancelled', 'dead_lettered');

-- The columns of core.task.Attempt, with the number of the task instead of its id, and those of its output. A rowid table:
-- in one without, a row of more than a thousand bytes takes a page of its own.
create table attempt (
  seq integer not null,
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
  agent_type text,
  data text, -- null: it has no output
  artifacts text, -- JSON
  decision_report text
) strict;

-- An output without its attempt cannot be kept: `taskyard verify` of the older release says so too.
create table output_check (
  attempt integer not null constraint every_output_has_its_attempt check (attempt > 0)
);

insert into output_check
select 0
from output
where not exists (select 1 from attempt_1 where attempt_1.task_id = output.task_id and attempt_1.number = output.attempt);

drop table output_check;

insert into attempt
select
  task_1.seq, attempt_1.number, attempt_1.agent, attempt_1.runtime, attempt_1.lease, attempt_1.claimed_at,
  attempt_1.started_at, attempt_1.ended_at, attempt_1.outcome, attempt_1.counted, attempt_1.reason, attempt_1.error,
  attempt_1.details, attempt_1.model, attempt_1.cost, attempt_1.tokens_in, attempt_1.tokens_out, attempt_1.session,
  attempt_1.verb, attempt_1.digest, attempt_1.status, attempt_1.version, attempt_1.failures, attempt_1.wake_at,
  attempt_1.agent_type, output.data, output.artifacts, output.decision_report
from attempt_1
join task_1
on task_1.id = attempt_1.task_id
left join output
on output.task_id = attempt_1.task_id
and output.attempt = attempt_1.number
order by task_1.seq, attempt_1.number;

create unique index attempt_number on attempt (seq, number);

-- The events of one commit and one workspace together (stores.shared.log_rows). An event's number is the number of the log
-- times 1,024 and its place. An older event keeps its number.
create table log (
  first integer primary key, -- the number of the first event that the row had when it was written
  workspace text not null,
  at integer not null, -- of the latest event
  clock integer not null, -- as in `meta`
  task_seq integer not null, -- as in `meta`
  owners integer not null, -- tasks, and DAGs with events of no task
  ends integer not null, -- events that say that a task is final
  loose integer not null, -- events of no task and no DAG
  body text not null
) strict;

insert into log
select
  min(seq),
  workspace,
  max(at),
  (select clock from meta),
  (select task_seq from meta),
  count(distinct task_id) + count(distinct iif(task_id is null, dag_id, null)),
  sum(coalesce(status in ('completed', 'cancelled', 'dead_lettered'), 0)),
  sum(task_id is null and dag_id is null),
  json_object(
    'f', 1,
    'n', count(*),
    'event', json_group_array(event order by seq),
    'task', json_group_array(task_id order by seq),
    'dag', json_group_array(dag_id order by seq),
    'at', json_group_array(at order by seq),
    'version', json_group_array(version order by seq),
    'status', json_group_array(status order by seq),
    'attempt', json_group_array(attempt order by seq),
    'data', json_group_array(data order by seq),
    'place', json_group_array(seq & 1023 order by seq)
  )
from event
group by seq >> 10, workspace;

create index log_ends on log (at) where ends > 0; -- what retention looks for
create index log_loose on log (first) where loose > 0;

-- How many owners of a row are left, where some are gone. Apart from the log: SQLite writes a whole row anew when the
-- length of it changes. The events of those that are gone are not shown, and go once half of the owners are.
create table log_live (
  first integer primary key, -- of the row in `log`
  live integer not null
) strict;

-- Where else events of a task are: those without a version, and its steps beyond the 32nd.
create table task_event (
  seq integer not null,
  number integer not null,
  primary key (seq, number)
) strict, without rowid;

insert into task_event (seq, number)
select seq, number
from (
  select task.seq, event.seq >> 10 as number, dense_rank() over (partition by task.seq order by event.seq >> 10) as place
  from task
  join event
  on event.task_id = task.id
)
where place > 32
group by seq, number;

-- Where the events of a DAG are that are of none of its tasks.
create table dag_event (
  workspace text not null,
  dag_id text not null,
  number integer not null,
  primary key (workspace, dag_id, number)
) strict, without rowid;

insert into dag_event (workspace, dag_id, number)
select distinct workspace, dag_id, seq >> 10
from event
where task_id is null
and dag_id is not null;

drop table event;
drop table output;
drop table attempt_1;
drop table task_1;
drop table meta_1;
