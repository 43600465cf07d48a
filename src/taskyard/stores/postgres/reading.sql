-- What is asked outside of a write transaction. Each statement sees one moment. {hot} stands for the columns of
-- core.task.Hot, read from {tasks}: task, and held where there is such a row. Order is that of code points, as everywhere
-- else: "C".

-- name: load
-- Each row of held is looked up by itself: see lock_held.
select {hot}
from yard.task
left join lateral (
  select *
  from yard.held
  where held.seq = task.seq
  offset 0
) as held
on true
where task.id = any($1::text[])

-- name: definitions
select task.id, definition.body
from yard.task
join yard.definition
on definition.workspace = task.workspace
and definition.seq = task.seq
where task.id = any($1::text[])

-- name: labels
select task.id, definition.type, definition.subject, definition.agent
from yard.task
join yard.definition
on definition.workspace = task.workspace
and definition.seq = task.seq
where task.id = any($1::text[])

-- name: outputs
select distinct on (task.id) task.id, attempt.number, attempt.data, attempt.artifacts, attempt.decision_report
from yard.task
join yard.attempt
on attempt.seq = task.seq
where task.id = any($1::text[])
and attempt.data is not null
order by task.id, attempt.number desc

-- name: histories
select task.id, {attempt_columns}
from yard.task
join yard.attempt
on attempt.seq = task.seq
where task.id = any($1::text[])
order by attempt.number

-- name: checkpoints
select task_id, name, attempt, data
from yard.checkpoint
where task_id = $1
order by number

-- name: signals
select task_id, name, data, sent_by, at
from yard.signal
where task_id = $1
order by number

-- name: blockers
select task_id, wait, name
from yard.blocker
where task_id = any($1::text[])
order by task_id, wait, name collate "C"

-- name: edges
select parent, child, kind
from yard.edge
where parent = any($1::text[])
order by parent, child, kind collate "C"

-- name: graph_tasks
select {hot}
from {tasks}
where task.dag_id = $1
order by task.seq

-- name: graph_edges
select edge.parent, edge.child, edge.kind
from yard.task
join yard.edge
on edge.parent = task.id
where task.dag_id = $1
order by edge.parent, edge.child, edge.kind collate "C"

-- name: begun
-- The row of a task that is held for the first time still says that it was never claimed.
select asked.dag_id
from unnest($1::text[]) as asked (dag_id)
where exists (
  select 1
  from {tasks}
  where task.dag_id = asked.dag_id
  and (task.attempt > 0 or held.seq is not null)
)

-- name: can_proceed
-- A task that proceeds without another of the DAG: under way, or pending on something else than tasks alone.
select exists (
  select 1
  from yard.task
  where dag_id = $1
  and status not in ('completed', 'cancelled', 'dead_lettered')
  and (
    status <> 'pending'
    or not exists (
      select 1
      from yard.blocker
      where blocker.task_id = task.id
      and blocker.wait = task.wait
      and (starts_with(blocker.name, 'task:') or starts_with(blocker.name, 'child:'))
    )
  )
)

-- name: by_key
select name.name, task.id
from yard.name
join yard.task
on task.seq = name.seq
where name.workspace = $1
and name.kind = 'key'
and name.name = any($2::text[])

-- name: record
select kind, workspace, id, version, body
from yard.record
where kind = $1
and workspace = $2
and id collate "C" = $3

-- name: named
select kind, workspace, id, version, body
from yard.record
where kind = $1
and workspace = $2
and id collate "C" = any($3::text[])

-- name: records
select kind, workspace, id, version, body
from yard.record
where kind = $1
order by kind, workspace collate "C", id collate "C"

-- name: records_of_workspace
select kind, workspace, id, version, body
from yard.record
where kind = any($1::text[])
and workspace = $2
order by kind collate "C", id collate "C"

-- name: last_page
select kind, workspace, id, version, body
from yard.record
where kind = $1
and workspace = $2
and id collate "C" >= $3
order by id collate "C" desc
limit $4

-- name: page
select kind, workspace, id, version, body
from yard.record
where kind = $1
and workspace = $2
and id collate "C" >= $3
and id collate "C" < $4
order by id collate "C" desc
limit $5

-- name: limits_named
-- A ceiling that limits nothing and holds nothing is not there, though its row may be kept for the next one.
select workspace, name, ceiling, held, spent
from yard.ceiling
where workspace = $1
and name = any($2::text[])
and (ceiling is not null or held <> 0 or spent <> 0)

-- name: limits_all
select workspace, name, ceiling, held, spent
from yard.ceiling
where workspace = $1
and (ceiling is not null or held <> 0 or spent <> 0)

-- name: counters_named
select name, value
from yard.counter
where workspace = $1
and name = any($2::text[])
and value <> 0

-- name: duty
select next_at
from yard.duty
where name = $1

-- name: held
select {hot}
from yard.held
join yard.task
on task.seq = held.seq
where held.status in ('claimed', 'running')
order by held.seq

-- name: held_by_agent
-- All that it holds, or what it holds under some of these leases.
select {hot}
from yard.held
join yard.task
on task.seq = held.seq
where held.agent = $1
and held.status in ('claimed', 'running')
and (
  $2::text[] is null
  or rtrim(rtrim(held.lease, '0123456789'), '.') = any($2::text[]) -- without the number of the attempt
)
order by held.seq

-- name: held_by_runtime
select {hot}
from yard.held
join yard.task
on task.seq = held.seq
where held.runtime = $1
and held.runtime is not null
and held.status in ('claimed', 'running')
order by held.seq

-- name: due
-- Those that are held, and the others, each with a limit of its own: neither is read for the sake of the other.
select {hot}
from (
  (
    select held.due_at, held.seq
    from yard.held
    where held.due_at <= $1
    order by held.due_at
    limit $2
  )
  union all
  (
    select task.due_at, task.seq
    from yard.task
    where task.due_at <= $1
    and task.due_at is not null
    and not exists (select 1 from yard.held where held.seq = task.seq)
    order by task.due_at, task.seq
    limit $2
  )
) as past
join {tasks}
on task.seq = past.seq
order by past.due_at, past.seq
limit $2

-- name: drifting
select {hot}
from {tasks}
where task.rescore_at <= $1
and task.rescore_at is not null
and task.status in ('pending', 'ready', 'retrying')
and held.seq is null
order by task.rescore_at, task.seq
limit $2

-- name: ends
-- The rows of the log that say that a task is final, from a place on, in the order of time: at most $4, and no more than
-- have $5 such events, of which those of the first row may have been read before.
select at, number, workspace, body
from (
  select *, coalesce(sum(ends) over (order by at, number, workspace rows between unbounded preceding and 1 preceding), 0)
    as read
  from (
    select log.at, log.number, log.workspace, log.ends, log.body
    from yard.log
    where log.at < $1
    and (log.at, log.number) >= ($2, $3)
    and log.ends > 0
    order by log.at, log.number, log.workspace
    limit $4
  ) as next
) as counted
where read < $5
order by at, number, workspace

-- name: prunable
-- Those whose latest step it is that they are final.
select {hot}
from unnest($1::text[], $2::bigint[]) as ended (id, version)
join yard.task
on task.id between ended.id and ended.id
and task.version = ended.version
left join lateral (
  select *
  from yard.held
  where held.seq = task.seq
  offset 0
) as held
on true
where task.updated_at < $3
and task.status in ('completed', 'cancelled', 'dead_lettered')
and ($4::boolean or task.status <> 'dead_lettered')

-- name: prunable_dags
-- Whole DAGs only: as long as one task is needed, so are its neighbours, which say how it came about.
select asked.dag_id, (select count(*) from yard.task where task.dag_id = asked.dag_id)
from unnest($1::text[]) as asked (dag_id)
where not exists (
  select 1
  from yard.task
  where task.dag_id = asked.dag_id
  and not (
    task.updated_at < $2
    and task.status in ('completed', 'cancelled', 'dead_lettered')
    and ($3::boolean or task.status <> 'dead_lettered')
  )
)

-- name: dag_tasks
select {hot}
from {tasks}
where task.dag_id = any($1::text[])
order by task.seq

-- name: first_ready
select {hot}
from unnest($1::bigint[]) with ordinality as asked (lane, place)
cross join lateral (
  select ready.rank, ready.seq
  from yard.ready
  where ready.lane = asked.lane
  and ready.band = 0
  and ready.share = 0
  order by ready.rank, ready.seq
  limit $2
) as first
join {tasks}
on task.seq = first.seq
order by asked.place, first.rank, first.seq

-- name: ahead
select count(*)
from (
  select 1
  from yard.ready
  where lane = $1
  and band = 0
  and share = 0
  and (rank, seq) < ($2, $3)
  limit $4
) as before

-- name: awaited
select blocker.task_id, blocker.wait, blocker.name
from yard.blocker
join yard.task
on task.id = blocker.task_id
where left(blocker.name, 7) = 'signal:'
and blocker.wait = task.wait
and task.workspace = $1
and task.status = 'pending'
order by task.updated_at, blocker.task_id, blocker.name collate "C"
limit $2

-- name: longest_ready
select {hot}
from {tasks}
where task.seq = (
  select min(seq)
  from yard.ready
  where lane in (
    select id
    from yard.lane
    where workspace = $1
  )
)

-- name: tally
select coalesce(held.status, task.status), definition.type, count(*)
from {tasks}
join yard.definition
on definition.workspace = task.workspace
and definition.seq = task.seq
where task.workspace = $1
group by 1, 2

-- name: depth
-- By what only tasks have that have not ended: rows in ready and held, blockers, and the time that a delay ends.
select 'ready', count(*)
from yard.ready
where ready.lane in (select lane.id from yard.lane where lane.workspace = $1)
union all
select held.status, count(*)
from yard.held
join yard.task
on task.seq = held.seq
where task.workspace = $1
group by held.status
union all
select 'pending', count(*)
from (
  select distinct task.seq
  from yard.blocker
  join yard.task
  on task.id = blocker.task_id
  where task.workspace = $1
  and task.status = 'pending'
  and task.wait = blocker.wait
) as pending
union all
select 'retrying', count(*)
from yard.task
where task.due_at is not null
and task.status = 'retrying'
and task.workspace = $1

-- name: outbox
select number, workspace, topic, task_id, data, at
from yard.outbox
where topic = $1
order by number
limit $2

-- name: pulses
select name, at
from yard.pulse
where starts_with(name, $1)

-- name: lanes_above
select id, lane
from yard.lane
where workspace = $1
and id > $2

-- name: latest_time
-- The latest time that was given out, as far as it was written.
select coalesce(max(at), 0)
from (
  select at
  from yard.log
  order by number desc
  limit 100
) as latest

-- name: health
-- The oldest transaction is that of this database: one of another keeps no dead rows here from being removed.
select
  current_setting('server_version'),
  pg_database_size(current_database()),
  (select count(*) from pg_stat_activity where backend_type = 'client backend'),
  round(
    (select count(*) from pg_stat_activity where backend_type = 'client backend')::numeric
    / current_setting('max_connections')::int,
    3
  )::float,
  (
    select coalesce(extract(epoch from max(clock_timestamp() - xact_start)), 0)::float
    from pg_stat_activity
    where datname = current_database()
    and pid <> pg_backend_pid()
    and state <> 'idle'
  ),
  current_setting('synchronous_commit'),
  current_setting('fsync'),
  (select count(*) from pg_stat_replication),
  (select count(*) from pg_stat_replication where sync_state in ('sync', 'quorum')),
  (
    select coalesce(max(pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn)), 0)::bigint
    from pg_stat_replication
  )

-- name: dead_rows
-- Of the tables that every task goes through, those that have more than a few: small tables are now all dead, now not.
select relname, n_dead_tup, n_live_tup
from pg_stat_user_tables
where schemaname = '{schema}'
and relname in ('task', 'ready', 'held', 'name', 'log', 'blocker', 'record', 'ceiling', 'counter', 'pulse', 'duty', 'outbox')
and n_dead_tup > 10000
order by relname
