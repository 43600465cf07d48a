-- What is asked outside of a write transaction. Each statement sees one moment. {hot} stands for the columns of
-- core.task.Hot. Order is that of code points, as everywhere else: "C".

-- name: load
select {hot}
from yard.task
where task.id = any($1::text[])

-- name: definitions
select task.id, definition.body
from yard.task
join yard.definition
on definition.seq = task.seq
where task.id = any($1::text[])

-- name: labels
select task.id, definition.type, definition.subject, definition.agent
from yard.task
join yard.definition
on definition.seq = task.seq
where task.id = any($1::text[])

-- name: outputs
select task_id, attempt, data, artifacts, decision_report
from yard.output
where task_id = any($1::text[])

-- name: attempts
select *
from yard.attempt
where task_id = $1
order by number

-- name: histories
select *
from yard.attempt
where task_id = any($1::text[])
order by number

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
from yard.task
where task.dag_id = $1
order by task.seq

-- name: graph_edges
select edge.parent, edge.child, edge.kind
from yard.task
join yard.edge
on edge.parent = task.id
where task.dag_id = $1
order by edge.parent, edge.child, edge.kind collate "C"

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
select idempotency_key, id
from yard.task
where workspace = $1
and idempotency_key = any($2::text[])
and idempotency_key is not null
and status not in ('cancelled', 'dead_lettered')

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
from yard.task
where task.status in ('claimed', 'running')
order by task.seq

-- name: held_by_agent
select {hot}
from yard.task
where task.status in ('claimed', 'running')
and task.agent = $1
order by task.seq

-- name: held_by_runtime
select {hot}
from yard.task
where task.status in ('claimed', 'running')
and task.runtime = $1
and task.runtime is not null
order by task.seq

-- name: due
select {hot}
from yard.task
where task.due_at <= $1
and task.due_at is not null
order by task.due_at, task.seq
limit $2

-- name: drifting
select {hot}
from yard.task
where task.rescore_at <= $1
and task.rescore_at is not null
and task.status in ('pending', 'ready', 'retrying')
order by task.rescore_at, task.seq
limit $2

-- name: prunable
select task.updated_at, task.seq, task.id, task.dag_id
from yard.task
where task.updated_at < $1
and (task.updated_at, task.seq) > ($4, $5)
and task.status in ('completed', 'cancelled', 'dead_lettered')
and ($3::boolean or task.status <> 'dead_lettered')
order by task.updated_at, task.seq
limit $2

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
from yard.task
where task.dag_id = any($1::text[])
order by task.seq

-- name: ahead
select count(*)
from (
  select 1
  from yard.task
  where lane = $1
  and status = 'ready'
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
-- By the index of what is ready, which has the number too.
select {hot}
from yard.task
where seq = (
  select min(seq)
  from yard.task
  where status = 'ready'
  and lane in (
    select id
    from yard.lane
    where workspace = $1
  )
)

-- name: tally
select task.status, definition.type, count(*)
from yard.task
join yard.definition
on definition.seq = task.seq
where task.workspace = $1
group by task.status, definition.type

-- name: depth
-- By three indexes that have no task which has ended.
select 'ready', count(*)
from yard.task
where task.status = 'ready'
and task.lane in (select lane.id from yard.lane where lane.workspace = $1)
union all
select task.status, count(*)
from yard.task
where task.status in ('claimed', 'running')
and task.workspace = $1
group by task.status
union all
select task.status, count(*)
from yard.task
where task.status in ('pending', 'validating', 'retrying')
and task.workspace = $1
group by task.status

-- A list is the first of these, those that were asked for, and the last.

-- name: find
select {hot}, definition.body
from yard.definition
join yard.task
on task.seq = definition.seq
where definition.workspace = $1

-- name: find_after
and definition.seq < $1

-- name: find_statuses
and task.status = any($1::text[])

-- name: find_types
and definition.type = any($1::text[])

-- name: find_queue
and definition.queue = $1

-- name: find_agent
and (
  definition.agent = $1
  or task.agent = $1 and task.status in ('claimed', 'running')
)

-- name: find_subject
and definition.subject = $1

-- name: find_dag_id
and task.dag_id = $1

-- name: find_parent_id
and definition.parent_id = $1

-- name: find_tag
and definition.seq in (
  select tag.seq
  from yard.tag
  where tag.workspace = definition.workspace
  and tag.tag = $1
)

-- name: find_spelled
-- What may have the text in it, in ASCII: beyond that, letters fold to others, which the reader looks at.
and (
  position($1 in lower(definition.body collate "C")) > 0
  or octet_length(definition.body) > length(definition.body)
)

-- name: find_newest
order by definition.seq desc
limit $1

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

-- name: last_told
-- The latest time that anybody was told, as far as it was written.
select coalesce(max(at), 0)
from (
  select at
  from yard.event
  order by seq desc
  limit 100
) as latest

-- name: without_definition
select task.id || ' has no definition'
from yard.task
where not exists (select 1 from yard.definition where definition.seq = task.seq)

-- name: definition_without_task
select 'definition ' || definition.seq || ' has no task'
from yard.definition
where not exists (select 1 from yard.task where task.seq = definition.seq)

-- name: numbers_behind
select 'the numbers of tasks or events are behind what is stored'
where (select last_value from yard.task_seq) < (select coalesce(max(seq), 0) from yard.task)
or (select last_value from yard.event_seq) < (select coalesce(max(seq), 0) from yard.event)

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
and relname in ('task', 'blocker', 'record', 'ceiling', 'counter', 'pulse', 'duty', 'outbox')
and n_dead_tup > 10000
order by relname
