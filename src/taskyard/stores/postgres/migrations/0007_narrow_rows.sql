-- What moves is narrow, and apart from what is known. The events of a commit are one row for each workspace.
-- min_reader: 7
-- min_writer: 7
--
-- A release before this one must not be at work: its statements name columns and tables that are gone, and fail.

drop view yard.tasks;
drop view yard.history;
drop function yard.event_horizon();
alter table yard.task rename to old_task;
alter table yard.attempt rename to old_attempt;
alter table yard.old_attempt rename constraint attempt_pkey to old_attempt_pkey;
alter table yard.event rename to old_event;
alter table yard.old_task rename constraint task_pkey to old_task_pkey;
drop index yard.task_dag, yard.task_due, yard.task_rescore;

-- Half of each page is left free: the tasks of a page end in one transaction, and the page must hold both versions of
-- them for the update to touch no index. No index names a column that moves while a plain task goes through.
create table yard.task (
  seq bigint primary key,
  id text collate "C" not null unique,
  workspace text not null,
  dag_id text,
  lane bigint not null,
  rank bigint not null,
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
  started_at bigint,
  wake_at bigint,
  due_at bigint,
  rescore_at bigint,
  session text,
  ran bigint not null,
  why text,
  updated_at bigint not null,
  idempotency_key text,
  key text,
  reserve bigint,
  claim_ttl integer not null,
  lease_sec integer not null,
  run_sec integer,
  max_attempts integer not null,
  expires_at bigint,
  created_at bigint not null,
  traits integer not null,
  log bigint[] not null
) with (
  fillfactor = 45,
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_threshold = 500,
  autovacuum_analyze_scale_factor = 0.05,
  autovacuum_vacuum_cost_delay = 0
);
comment on table yard.task is
  'Every task, with the columns of core.task.Hot that outlive an attempt. Written at birth, at the end and where a wait '
  'begins. Of a task that has a row in held, status, version, attempt, agent, runtime, started_at, due_at and '
  'updated_at are those of before.';
comment on column yard.task.seq is 'First come, first served: in the order the store was given them.';
comment on column yard.task.rank is 'Place in its lane, lower is sooner; ageing included. Unversioned.';
comment on column yard.task.status is
  'pending, ready, retrying; for good: completed, cancelled, dead_lettered. claimed, running and validating are in held.';
comment on column yard.task.version is 'Counts the stored changes. Every change is guarded by it, and has an event.';
comment on column yard.task.wait is 'Number of the latest wait; rows of blocker belong to one.';
comment on column yard.task.due_at is 'When the sweep must look at it. May be too early, never too late. Unversioned.';
comment on column yard.task.key is 'Concurrency key: of those with the same, one is held at a time.';
comment on column yard.task.why is 'The reason it was cancelled for.';
comment on column yard.task.log is 'The numbers of the log with its first 32 steps; those of an attempt under way are in held.';
create index task_dag on yard.task (dag_id, seq) where dag_id is not null;
create index task_due on yard.task (due_at, seq) where due_at is not null;
create index task_rescore on yard.task (rescore_at, seq) where rescore_at is not null;

-- Emptied as fast as it is filled. Vacuum must not wait, and must not give the emptied pages back to the system: that
-- takes a lock which all claims would wait for.
create table yard.ready (
  lane bigint not null,
  band integer not null,
  share bigint not null,
  rank bigint not null,
  seq bigint not null,
  version integer not null,
  primary key (lane, band, share, rank, seq)
) with (
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_threshold = 5000,
  autovacuum_vacuum_cost_delay = 0,
  vacuum_truncate = off
);
-- Figures for the server, which keeps plans that it makes before there are rows: without them it expects one row of all
-- where band and share are 0, and reads the whole table for each task. An analysis of an empty table leaves them. Each row
-- has a lane of its own: were a lane many rows, a claim would be planned to read all tasks.
insert into yard.ready (lane, band, share, rank, seq, version)
select number, 0, 0, number, number, 1
from generate_series(1, 1000) as number;
analyze yard.ready;
delete from yard.ready;
comment on table yard.ready is 'The tasks that may be claimed, in order. A claim deletes the row and writes one in held.';
comment on column yard.ready.band is 'Room for lanes whose tasks take turns: 0 where they do not.';
comment on column yard.ready.share is 'Room for lanes whose tasks take turns: 0 where they do not.';
comment on column yard.ready.version is 'That of the task: every step of a ready task writes it, so no claim misses one.';

create table yard.held (
  seq bigint primary key,
  status text not null,
  version integer not null,
  attempt integer not null,
  agent text,
  runtime text,
  started_at bigint,
  due_at bigint,
  updated_at bigint not null,
  lease text,
  claimed_at bigint,
  heartbeat_at bigint,
  agent_type text,
  type_slot integer not null,
  lease_expires_at bigint,
  limit_at bigint,
  reserved bigint not null,
  circuit integer not null,
  spent bigint not null,
  tokens_in bigint not null,
  tokens_out bigint not null,
  progress text,
  holds text,
  log bigint[] not null
) with (
  fillfactor = 45,
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_threshold = 5000,
  autovacuum_vacuum_cost_delay = 0,
  vacuum_truncate = off
);
comment on table yard.held is 'The attempts under way, and those whose output waits for a verdict. Heartbeats write only this.';
comment on column yard.held.lease is 'Sealed: the token itself is never stored.';
comment on column yard.held.holds is 'Room for the limits that the claim took from, as JSON.';
comment on column yard.held.log is 'The numbers of the log with the steps since the claim.';
create index held_due on yard.held (due_at);
create index held_agent on yard.held (agent);
create index held_runtime on yard.held (runtime) where runtime is not null;

create table yard.name (
  workspace text not null,
  kind text not null,
  name text collate "C" not null,
  seq bigint not null,
  until bigint,
  primary key (workspace, kind, name)
);
comment on table yard.name is 'What only one task may be called at a time. key: its idempotency key, as long as it lives.';
comment on column yard.name.until is 'Room for names that end with a time.';

create table yard.attempt (
  seq bigint not null,
  number integer not null,
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
  version integer not null,
  failures integer not null,
  wake_at bigint,
  agent_type text,
  data text,
  artifacts text,
  decision_report text,
  primary key (seq, number)
);
comment on table yard.attempt is
  'One try at a task by one agent, written when it ended: the columns of core.task.Attempt. It answers a repeated call.';
comment on column yard.attempt.counted is 'Whether it used up one of max_attempts.';
comment on column yard.attempt.digest is 'Of the arguments of the call that ended it.';
comment on column yard.attempt.data is 'What it handed in, as JSON; null: nothing.';

-- A sequence, and not a counter in a row, so that no commit waits for another.
create sequence yard.log_seq;

create table yard.log (
  number bigint not null,
  workspace text not null,
  at bigint not null,
  owners integer not null,
  ends integer not null,
  loose integer not null,
  live integer,
  body text not null,
  primary key (number, workspace)
) with (fillfactor = 90);
comment on table yard.log is 'Every stored change, in order: one row for the events of a commit and a workspace.';
comment on column yard.log.number is 'The number of an event is this times 1,024, and its place in the commit.';
comment on column yard.log.owners is 'Tasks, and DAGs with events of no task. The row goes with the last of them.';
comment on column yard.log.ends is 'Events that say that a task is final: retention finds it by them.';
comment on column yard.log.loose is 'Events of no task and no DAG, which retention removes by their age.';
comment on column yard.log.live is 'Owners that are left, where some are gone: their events are shown no more, and go when half of the owners are gone.';
comment on column yard.log.body is 'JSON of stores.shared.log_rows, column by column. The view history shows the events.';
create index log_workspace on yard.log (workspace, number);
create index log_ends on yard.log (at, number) where ends > 0;
create index log_loose on yard.log (number) where loose > 0;

create table yard.task_event (
  seq bigint not null,
  number bigint not null,
  primary key (seq, number)
);
comment on table yard.task_event is 'The numbers of the log with the other events of a task: messages, notes, steps after the 32nd.';

create table yard.dag_event (
  workspace text not null,
  dag_id text not null,
  number bigint not null,
  primary key (workspace, dag_id, number)
);
comment on table yard.dag_event is 'The numbers of the log with the events of a DAG that are of none of its tasks.';

-- Up to which number of the log every row is settled: there for all to see, or never to be.
-- Who writes events holds, from before it draws a number until after its commit can be seen, a shared lock whose name is
-- the last number drawn before. So whatever is below the lowest of these names is settled, and no stranger's open
-- transaction is waited for. A function, because the order of the two reads matters: numbers first, then locks.
create function yard.log_horizon() returns bigint
language plpgsql
as $$
declare
  last bigint;
  behind bigint;
begin
  select case when is_called then last_value else last_value - 1 end
  into last
  from yard.log_seq;
  -- A lock's name has 32 bits. Names above the last number are of those who came after it was read.
  select coalesce(max(distance), 0)
  into behind
  from (
    select (last - objid::bigint) & 4294967295 as distance
    from pg_locks
    where locktype = 'advisory'
    and database = (select oid from pg_database where datname = current_database())
    and classid = 'yard.log_seq'::regclass::oid
    and objsubid = 2
  ) as held
  where distance < 2147483648;
  return last - behind;
end
$$;
comment on function yard.log_horizon() is 'Up to which number of the log every row is settled.';

-- Locks the rows that guard these tasks: of each the one in held, else in ready, else in task. Then it answers what
-- they say, in a statement of its own that sees what was written before they were locked. A function, so that the
-- statements, which must see each a state of their own, take one round trip.
create function yard.lock_tasks(ids text[])
returns table (id text, seq bigint, version integer, lease_expires_at bigint, rank bigint, at bigint)
language plpgsql
as $$
declare
  ready_ones bigint[];
begin
  perform 1
  from yard.task
  join yard.held
  on held.seq = task.seq
  where task.id = any(ids)
  order by held.seq
  for update of held;
  -- One row of ready after the other, by its whole key: in a join the server takes ready for the smaller side and reads
  -- all of it, because it expects next to no row where band and share are 0.
  ready_ones = array(
    select found.seq
    from (
      select task.lane, task.rank, task.seq
      from yard.task
      where task.id = any(ids)
      and task.status = 'ready'
      order by task.seq
    ) as given
    cross join lateral (
      select ready.seq
      from yard.ready
      where ready.lane = given.lane
      and ready.band = 0
      and ready.share = 0
      and ready.rank = given.rank
      and ready.seq = given.seq
      for update
    ) as found
  );
  perform 1
  from yard.task
  where task.id = any(ids)
  and task.status <> 'ready'
  and not exists (select 1 from yard.held where held.seq = task.seq)
  order by task.seq
  for no key update;
  -- A row of ready whose rank was moved while it was waited for is not found at the rank that was read: such a task
  -- counts as changed.
  return query
  select task.id, task.seq,
    case
      when held.seq is not null then held.version
      when task.status = 'ready' and task.seq <> all(ready_ones) then 0
      else task.version
    end,
    held.lease_expires_at, task.rank,
    (extract(epoch from clock_timestamp()) * 1000000)::bigint
  from yard.task
  left join yard.held
  on held.seq = task.seq
  where task.id = any(ids);
end
$$;
comment on function yard.lock_tasks(text[]) is 'Locks the rows that guard these tasks, and answers what they say then.';

-- What release 0.1.0 stored. An old event n becomes the event at place n % 1,024 of row n / 1,024: cursors stay valid.
insert into yard.log (number, workspace, at, owners, ends, loose, body)
select
  seq >> 10,
  workspace,
  max(at),
  count(distinct task_id) + count(distinct dag_id) filter (where task_id is null),
  count(*) filter (where status in ('completed', 'cancelled', 'dead_lettered')),
  count(*) filter (where task_id is null and dag_id is null),
  json_build_object(
    'f', 1, 'n', count(*),
    'event', json_agg(event order by seq),
    'task', json_agg(task_id order by seq),
    'dag', json_agg(dag_id order by seq),
    'at', json_agg(at order by seq),
    'version', json_agg(version order by seq),
    'status', json_agg(status order by seq),
    'attempt', json_agg(attempt order by seq),
    'data', json_agg(data order by seq),
    'place', json_agg(seq & 1023 order by seq)
  )::text
from yard.old_event
group by seq >> 10, workspace;

select setval('yard.log_seq', greatest(coalesce((select last_value >> 10 from yard.event_seq where is_called), 0) + 1, 1), false);

create temporary table old_log on commit drop as
select old_task.seq, old_event.number, row_number() over (partition by old_task.seq order by old_event.number) as place
from (
  select distinct task_id, seq >> 10 as number
  from yard.old_event
  where task_id is not null
) as old_event
join yard.old_task
on old_task.id = old_event.task_id;

insert into yard.task_event (seq, number)
select seq, number
from old_log
where place > 32;

insert into yard.dag_event (workspace, dag_id, number)
select distinct workspace, dag_id, seq >> 10
from yard.old_event
where task_id is null
and dag_id is not null;

-- Of a held task all but the lease and what comes of it is written here too: it counts again when the row in held goes.
insert into yard.task (
  seq, id, workspace, dag_id, lane, rank, height, status, version, attempt, failures, losses, parks, wait, agent, runtime,
  started_at, wake_at, due_at, rescore_at, session, ran, why, updated_at, idempotency_key, key, reserve, claim_ttl,
  lease_sec, run_sec, max_attempts, expires_at, created_at, traits, log
)
select
  seq, id, workspace, dag_id, lane, rank, height, status, version, attempt, failures, losses, parks, wait, agent, runtime,
  started_at, wake_at, case when status not in ('claimed', 'running') then due_at end,
  case when status not in ('completed', 'cancelled', 'dead_lettered') then rescore_at end,
  session, ran, why, updated_at, idempotency_key, key, reserve, claim_ttl, lease_sec, run_sec, max_attempts, expires_at,
  created_at, traits, coalesce(first_steps.log, '{}')
from yard.old_task
left join (
  select seq as of, array_agg(number order by number) as log
  from old_log
  where place <= 32
  group by seq
) as first_steps
on first_steps.of = old_task.seq
order by seq;

insert into yard.held (
  seq, status, version, attempt, agent, runtime, started_at, due_at, updated_at, lease, claimed_at, heartbeat_at, agent_type,
  type_slot, lease_expires_at, limit_at, reserved, circuit, spent, tokens_in, tokens_out, progress, log
)
select
  seq, status, version, attempt, agent, runtime, started_at, due_at, updated_at, lease, claimed_at, heartbeat_at, agent_type,
  type_slot, lease_expires_at, limit_at, reserved, circuit, spent, tokens_in, tokens_out, progress, '{}'
from yard.old_task
where status in ('claimed', 'running', 'validating')
order by seq;

insert into yard.ready (lane, band, share, rank, seq, version)
select lane, 0, 0, rank, seq, version
from yard.old_task
where status = 'ready'
order by lane, rank, seq;

insert into yard.name (workspace, kind, name, seq)
select workspace, 'key', idempotency_key, seq
from yard.old_task
where idempotency_key is not null
and status not in ('cancelled', 'dead_lettered');

insert into yard.attempt (
  seq, number, agent, runtime, lease, claimed_at, started_at, ended_at, outcome, counted, reason, error, details, model, cost,
  tokens_in, tokens_out, session, verb, digest, status, version, failures, wake_at, agent_type, data, artifacts,
  decision_report
)
select
  old_task.seq, old.number, old.agent, old.runtime, old.lease, old.claimed_at, old.started_at, old.ended_at, old.outcome,
  old.counted, old.reason, old.error, old.details, old.model, old.cost, old.tokens_in, old.tokens_out, old.session, old.verb,
  old.digest, old.status, old.version, old.failures, old.wake_at, old.agent_type, output.data, output.artifacts,
  output.decision_report
from yard.old_attempt as old
join yard.old_task
on old_task.id = old.task_id
left join yard.output
on output.task_id = old.task_id
and output.attempt = old.number;

-- An output without its attempt is a defect that `taskyard verify` shows. It must not be lost unseen.
do $$
begin
  if exists (
    select 1
    from yard.output
    where not exists (
      select 1
      from yard.old_attempt
      where old_attempt.task_id = output.task_id
      and old_attempt.number = output.attempt
    )
  ) then
    raise exception 'an output has no attempt that it belongs to';
  end if;
end
$$;

drop table yard.output;
drop table yard.old_attempt;
drop table yard.old_event;
drop table yard.old_task;
drop sequence yard.event_seq;

-- One index less: a definition is found by its workspace and number.
drop index yard.definition_workspace;
alter table yard.definition drop constraint definition_pkey;
alter table yard.definition add primary key (workspace, seq);
