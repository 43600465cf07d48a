SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;
CREATE SCHEMA yard;
CREATE FUNCTION yard.event_horizon() RETURNS bigint
    LANGUAGE plpgsql
    AS $$
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
CREATE FUNCTION yard.moment(micros bigint) RETURNS timestamp with time zone
    LANGUAGE sql IMMUTABLE
    AS $$
  select 'epoch'::timestamptz + micros * interval '1 microsecond'
$$;
SET default_tablespace = '';
SET default_table_access_method = heap;
CREATE TABLE yard.attempt (
    task_id text NOT NULL COLLATE pg_catalog."C",
    number bigint NOT NULL,
    agent text NOT NULL,
    runtime text,
    lease text NOT NULL,
    claimed_at bigint NOT NULL,
    started_at bigint,
    ended_at bigint NOT NULL,
    outcome text NOT NULL,
    counted boolean NOT NULL,
    reason text,
    error text,
    details text,
    model text,
    cost bigint NOT NULL,
    tokens_in bigint NOT NULL,
    tokens_out bigint NOT NULL,
    session text,
    verb text NOT NULL,
    digest text NOT NULL,
    status text NOT NULL,
    version bigint NOT NULL,
    failures bigint NOT NULL,
    wake_at bigint
);
CREATE TABLE yard.blocker (
    task_id text NOT NULL COLLATE pg_catalog."C",
    wait bigint NOT NULL,
    name text NOT NULL
);
CREATE TABLE yard.ceiling (
    workspace text NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    ceiling bigint,
    held bigint DEFAULT 0 NOT NULL,
    spent bigint DEFAULT 0 NOT NULL
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='500');
CREATE TABLE yard.checkpoint (
    number bigint NOT NULL,
    task_id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL,
    attempt bigint NOT NULL,
    data text NOT NULL
);
ALTER TABLE yard.checkpoint ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME yard.checkpoint_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE yard.counter (
    workspace text NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    value bigint NOT NULL
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='500');
CREATE TABLE yard.definition (
    seq bigint NOT NULL,
    workspace text NOT NULL,
    type text NOT NULL,
    queue text NOT NULL,
    agent text,
    subject text,
    parent_id text,
    body text NOT NULL
);
CREATE TABLE yard.duty (
    name text NOT NULL,
    next_at bigint NOT NULL
)
WITH (fillfactor='50');
CREATE TABLE yard.edge (
    parent text NOT NULL COLLATE pg_catalog."C",
    child text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL
);
CREATE TABLE yard.epoch (
    workspace text NOT NULL,
    epoch bigint NOT NULL
);
CREATE TABLE yard.event (
    seq bigint NOT NULL,
    event text NOT NULL,
    workspace text NOT NULL,
    task_id text COLLATE pg_catalog."C",
    dag_id text,
    at bigint NOT NULL,
    version bigint,
    status text,
    attempt bigint,
    data text
);
CREATE SEQUENCE yard.event_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
CREATE VIEW yard.history AS
 SELECT seq,
    yard.moment(at) AS at,
    workspace,
    event,
    task_id,
    dag_id,
    status,
    attempt,
    version,
    data
   FROM yard.event;
CREATE TABLE yard.lane (
    id bigint NOT NULL,
    workspace text NOT NULL,
    lane text NOT NULL,
    digest bytea NOT NULL
);
ALTER TABLE yard.lane ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME yard.lane_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE yard.meta (
    only_row boolean DEFAULT true NOT NULL,
    secret bytea NOT NULL,
    CONSTRAINT meta_only_row_check CHECK (only_row)
);
CREATE TABLE yard.outbox (
    number bigint NOT NULL,
    workspace text NOT NULL,
    topic text NOT NULL,
    task_id text COLLATE pg_catalog."C",
    data text NOT NULL,
    at bigint NOT NULL
);
ALTER TABLE yard.outbox ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME yard.outbox_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE yard.output (
    task_id text NOT NULL COLLATE pg_catalog."C",
    attempt bigint NOT NULL,
    data text NOT NULL,
    artifacts text NOT NULL,
    decision_report text
);
CREATE TABLE yard.pruned (
    workspace text NOT NULL,
    through bigint NOT NULL
);
CREATE TABLE yard.pulse (
    name text NOT NULL,
    at bigint NOT NULL
)
WITH (fillfactor='50');
CREATE TABLE yard.record (
    kind text NOT NULL,
    workspace text NOT NULL,
    id text NOT NULL,
    version bigint NOT NULL,
    body text NOT NULL
)
WITH (fillfactor='70');
CREATE TABLE yard.schema_version (
    only_row boolean DEFAULT true NOT NULL,
    version integer NOT NULL,
    min_reader integer NOT NULL,
    min_writer integer NOT NULL,
    CONSTRAINT schema_version_only_row_check CHECK (only_row)
);
CREATE TABLE yard.signal (
    number bigint NOT NULL,
    task_id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL,
    data text NOT NULL,
    sent_by text NOT NULL,
    at bigint NOT NULL
);
ALTER TABLE yard.signal ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME yard.signal_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE yard.tag (
    workspace text NOT NULL,
    tag text NOT NULL,
    seq bigint NOT NULL
);
CREATE TABLE yard.task (
    id text NOT NULL COLLATE pg_catalog."C",
    seq bigint NOT NULL,
    workspace text NOT NULL,
    dag_id text,
    lane bigint NOT NULL,
    rank bigint NOT NULL,
    height bigint NOT NULL,
    status text NOT NULL,
    version bigint NOT NULL,
    attempt bigint NOT NULL,
    failures bigint NOT NULL,
    losses bigint NOT NULL,
    parks bigint NOT NULL,
    wait bigint NOT NULL,
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
    circuit bigint NOT NULL,
    reserved bigint NOT NULL,
    spent bigint NOT NULL,
    tokens_in bigint NOT NULL,
    tokens_out bigint NOT NULL,
    progress text,
    session text,
    ran bigint NOT NULL,
    why text,
    updated_at bigint NOT NULL,
    idempotency_key text,
    key text,
    reserve bigint,
    claim_ttl bigint NOT NULL,
    lease_sec bigint NOT NULL,
    run_sec bigint,
    max_attempts bigint NOT NULL,
    expires_at bigint,
    created_at bigint NOT NULL,
    traits bigint NOT NULL
)
WITH (fillfactor='70', autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_threshold='500', autovacuum_analyze_scale_factor='0.05', autovacuum_vacuum_cost_delay='0');
CREATE VIEW yard.task_queue_metrics AS
 SELECT
        CASE
            WHEN (kind = 'metrics'::text) THEN (id)::date
            ELSE NULL::date
        END AS day,
    workspace,
    (((body)::json ->> 'tasks_created'::text))::bigint AS tasks_created,
    (((body)::json ->> 'tasks_completed'::text))::bigint AS tasks_completed,
    (((body)::json ->> 'tasks_failed'::text))::bigint AS tasks_failed,
    (((body)::json ->> 'tasks_dead_lettered'::text))::bigint AS tasks_dead_lettered,
    (((body)::json ->> 'average_latency'::text))::numeric AS average_latency,
    (((body)::json ->> 'worker_heartbeat_delay'::text))::numeric AS worker_heartbeat_delay,
    (((body)::json -> 'error_rates_per_agent'::text))::jsonb AS error_rates_per_agent
   FROM yard.record
  WHERE (kind = 'metrics'::text);
CREATE SEQUENCE yard.task_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
CREATE VIEW yard.tasks AS
 SELECT task.id,
    task.dag_id AS workflow_id,
    task.workspace,
    COALESCE(task.agent, definition.agent) AS agent_name,
    definition.type AS task_type,
    definition.queue,
    ((definition.body)::json ->> 'title'::text) AS title,
    ((definition.body)::json ->> 'payload'::text) AS payload,
    COALESCE((((definition.body)::json ->> 'priority'::text))::integer, 50) AS priority,
    task.status,
    task.failures AS attempts,
    task.max_attempts,
    yard.moment(task.wake_at) AS available_at,
        CASE
            WHEN (task.status = ANY (ARRAY['claimed'::text, 'running'::text])) THEN task.agent
            ELSE NULL::text
        END AS lease_owner,
    yard.moment(task.lease_expires_at) AS lease_expires_at,
    yard.moment(task.heartbeat_at) AS heartbeat_at,
    ( SELECT attempt.error
           FROM yard.attempt
          WHERE ((attempt.task_id = task.id) AND (attempt.error IS NOT NULL))
          ORDER BY attempt.number DESC
         LIMIT 1) AS error_info,
    ( SELECT string_agg(blocker.name, ', '::text ORDER BY blocker.name) AS string_agg
           FROM yard.blocker
          WHERE ((blocker.task_id = task.id) AND (blocker.wait = task.wait))) AS waits_for,
    yard.moment(task.created_at) AS created_at,
    yard.moment(task.updated_at) AS updated_at
   FROM (yard.task
     JOIN yard.definition ON ((definition.seq = task.seq)));
INSERT INTO yard.attempt VALUES ('task_01M7JFH9AZWJ979K7FDNN0B2HZ', 1, 'worker', NULL, '7f0a00afe33c1011a72032b7e85d4c66.1', 1767225600000000, 1767225600000000, 1767225600000000, 'failed', true, 'crash', 'it fell over', NULL, NULL, 0, 0, 0, NULL, 'fail', 'c96fc1bf90fb8a26d37d31b160083dc8', 'dead_lettered', 4, 1, NULL);
INSERT INTO yard.attempt VALUES ('task_01M7JFH9NXD300WQH4FXTBNTGT', 1, 'worker', NULL, '99a14d9b1dfe545572a5a8f7c343c026.1', 1767225600000000, 1767225600000000, 1767225600000000, 'completed', false, NULL, NULL, NULL, NULL, 0, 0, 0, NULL, 'complete', 'f0f16afdbab68e92dcb376abab812542', 'completed', 4, 0, NULL);
INSERT INTO yard.attempt VALUES ('task_01M7JFH9VQE4T0RAQ0TF7FAKY2', 1, 'worker', NULL, '489748fab7cdd467def457e2322a5d7a.1', 1767225600000000, 1767225600000000, 1767225600000000, 'failed', true, 'crash', '', NULL, NULL, 0, 0, 0, NULL, 'fail', 'bbfba11acbf59a9ebb19c96ad86043cc', 'retrying', 4, 1, 1767225605170107);
INSERT INTO yard.blocker VALUES ('task_01M7JFH9ZDYHMCYWQNAJD8X5ZJ', 0, 'task:task_01M7JFH9ZDYHMCYWHTPZKMKSA0');
INSERT INTO yard.ceiling VALUES ('default', 'slots:worker', NULL, 1, 0);
INSERT INTO yard.counter VALUES ('default', 'breaker:later:0', 1);
INSERT INTO yard.counter VALUES ('default', 'dag:dag_01M7JFH9ZDYHMCYWEFF51CEXEP:live', 2);
INSERT INTO yard.definition VALUES (1, 'default', 'code', 'default', NULL, NULL, NULL, '{"v":1,"id":"task_01M7JFH9AZWJ979K7FDNN0B2HZ","workspace":"default","type":"code","created_at":1767225600000000,"created_by":"human:local","max_attempts":1,"retry":["exponential",10000000,2.0,300000000,0.5,[],["auth_failure","budget_exceeded","cancelled"]]}');
INSERT INTO yard.definition VALUES (2, 'default', 'code', 'default', NULL, 'issue:7', NULL, '{"v":1,"id":"task_01M7JFH9NXD300WQH4FXTBNTGT","workspace":"default","type":"code","created_at":1767225600000000,"created_by":"human:local","idempotency_key":"done","subject":"issue:7","tags":["a"],"retry":["exponential",10000000,2.0,300000000,0.5,[],["auth_failure","budget_exceeded","cancelled"]]}');
INSERT INTO yard.definition VALUES (3, 'default', 'code', 'default', NULL, NULL, NULL, '{"v":1,"id":"task_01M7JFH9SBNBCB8547RPK9N1SW","workspace":"default","type":"code","created_at":1767225600000000,"created_by":"human:local","title":"goes on","retry":["exponential",10000000,2.0,300000000,0.5,[],["auth_failure","budget_exceeded","cancelled"]]}');
INSERT INTO yard.definition VALUES (4, 'default', 'later', 'default', NULL, NULL, NULL, '{"v":1,"id":"task_01M7JFH9VQE4T0RAQ0TF7FAKY2","workspace":"default","type":"later","created_at":1767225600000000,"created_by":"human:local","retry":["exponential",10000000,2.0,300000000,0.5,[],["auth_failure","budget_exceeded","cancelled"]]}');
INSERT INTO yard.definition VALUES (5, 'default', 'code', 'default', NULL, NULL, NULL, '{"v":1,"id":"task_01M7JFH9ZDYHMCYWHTPZKMKSA0","workspace":"default","dag_id":"dag_01M7JFH9ZDYHMCYWEFF51CEXEP","type":"code","created_at":1767225600000000,"created_by":"human:local","retry":["exponential",10000000,2.0,300000000,0.5,[],["auth_failure","budget_exceeded","cancelled"]]}');
INSERT INTO yard.definition VALUES (6, 'default', 'code', 'default', NULL, NULL, NULL, '{"v":1,"id":"task_01M7JFH9ZDYHMCYWQNAJD8X5ZJ","workspace":"default","dag_id":"dag_01M7JFH9ZDYHMCYWEFF51CEXEP","type":"code","created_at":1767225600000000,"created_by":"human:local","depends_on":["task_01M7JFH9ZDYHMCYWHTPZKMKSA0"],"retry":["exponential",10000000,2.0,300000000,0.5,[],["auth_failure","budget_exceeded","cancelled"]]}');
INSERT INTO yard.definition VALUES (7, 'default', 'review', 'default', NULL, NULL, NULL, '{"v":1,"id":"task_01M7JFHA0N7TJGGY5GBKF8WKM3","workspace":"default","type":"review","created_at":1767225600000000,"created_by":"human:local","idempotency_key":"waiting","retry":["exponential",10000000,2.0,300000000,0.5,[],["auth_failure","budget_exceeded","cancelled"]]}');
INSERT INTO yard.definition VALUES (8, 'default', 'review', 'default', NULL, NULL, NULL, '{"v":1,"id":"task_01M7JFHA1GYRFGN0DHFRSBRKY8","workspace":"default","type":"review","created_at":1767225600000000,"created_by":"human:local","idempotency_key":"gone","retry":["exponential",10000000,2.0,300000000,0.5,[],["auth_failure","budget_exceeded","cancelled"]]}');
INSERT INTO yard.edge VALUES ('task_01M7JFH9ZDYHMCYWHTPZKMKSA0', 'task_01M7JFH9ZDYHMCYWQNAJD8X5ZJ', 'depends');
INSERT INTO yard.epoch VALUES ('default', 6);
INSERT INTO yard.event VALUES (1, 'agent.registered', 'default', NULL, NULL, 1767225600000000, NULL, NULL, NULL, '{"agent":"worker","by":"agent:worker"}');
INSERT INTO yard.event VALUES (2, 'task.created', 'default', 'task_01M7JFH9AZWJ979K7FDNN0B2HZ', 'dag_01M7JFH9AZWJ979K7FDNN0B2HZ', 1767225600000000, 1, 'ready', 0, '{"through":["created","pending"],"type":"code","by":"human:local"}');
INSERT INTO yard.event VALUES (3, 'task.claimed', 'default', 'task_01M7JFH9AZWJ979K7FDNN0B2HZ', 'dag_01M7JFH9AZWJ979K7FDNN0B2HZ', 1767225600000000, 2, 'claimed', 1, '{"from":"ready","agent":"worker","waited":0}');
INSERT INTO yard.event VALUES (4, 'task.running', 'default', 'task_01M7JFH9AZWJ979K7FDNN0B2HZ', 'dag_01M7JFH9AZWJ979K7FDNN0B2HZ', 1767225600000000, 3, 'running', 1, '{"from":"claimed","agent":"worker"}');
INSERT INTO yard.event VALUES (5, 'task.dead_lettered', 'default', 'task_01M7JFH9AZWJ979K7FDNN0B2HZ', 'dag_01M7JFH9AZWJ979K7FDNN0B2HZ', 1767225600000000, 4, 'dead_lettered', 1, '{"from":"running","through":["failed"],"reason":"crash","error":"it fell over","agent":"worker","poison_pill":false,"type":"code","silent":0,"ran":0}');
INSERT INTO yard.event VALUES (6, 'task.created', 'default', 'task_01M7JFH9NXD300WQH4FXTBNTGT', 'dag_01M7JFH9NXD300WQH4FXTBNTGT', 1767225600000000, 1, 'ready', 0, '{"through":["created","pending"],"type":"code","by":"human:local"}');
INSERT INTO yard.event VALUES (7, 'task.claimed', 'default', 'task_01M7JFH9NXD300WQH4FXTBNTGT', 'dag_01M7JFH9NXD300WQH4FXTBNTGT', 1767225600000000, 2, 'claimed', 1, '{"from":"ready","agent":"worker","waited":0}');
INSERT INTO yard.event VALUES (8, 'task.running', 'default', 'task_01M7JFH9NXD300WQH4FXTBNTGT', 'dag_01M7JFH9NXD300WQH4FXTBNTGT', 1767225600000000, 3, 'running', 1, '{"from":"claimed","agent":"worker"}');
INSERT INTO yard.event VALUES (9, 'task.completed', 'default', 'task_01M7JFH9NXD300WQH4FXTBNTGT', 'dag_01M7JFH9NXD300WQH4FXTBNTGT', 1767225600000000, 4, 'completed', 1, '{"from":"running","agent":"worker","type":"code","silent":0,"ran":0,"age":0}');
INSERT INTO yard.event VALUES (10, 'task.created', 'default', 'task_01M7JFH9SBNBCB8547RPK9N1SW', 'dag_01M7JFH9SBNBCB8547RPK9N1SW', 1767225600000000, 1, 'ready', 0, '{"through":["created","pending"],"type":"code","by":"human:local"}');
INSERT INTO yard.event VALUES (11, 'task.claimed', 'default', 'task_01M7JFH9SBNBCB8547RPK9N1SW', 'dag_01M7JFH9SBNBCB8547RPK9N1SW', 1767225600000000, 2, 'claimed', 1, '{"from":"ready","agent":"worker","waited":0}');
INSERT INTO yard.event VALUES (12, 'task.running', 'default', 'task_01M7JFH9SBNBCB8547RPK9N1SW', 'dag_01M7JFH9SBNBCB8547RPK9N1SW', 1767225600000000, 3, 'running', 1, '{"from":"claimed","agent":"worker"}');
INSERT INTO yard.event VALUES (13, 'task.created', 'default', 'task_01M7JFH9VQE4T0RAQ0TF7FAKY2', 'dag_01M7JFH9VQE4T0RAQ0TF7FAKY2', 1767225600000000, 1, 'ready', 0, '{"through":["created","pending"],"type":"later","by":"human:local"}');
INSERT INTO yard.event VALUES (14, 'task.claimed', 'default', 'task_01M7JFH9VQE4T0RAQ0TF7FAKY2', 'dag_01M7JFH9VQE4T0RAQ0TF7FAKY2', 1767225600000000, 2, 'claimed', 1, '{"from":"ready","agent":"worker","waited":0}');
INSERT INTO yard.event VALUES (15, 'task.running', 'default', 'task_01M7JFH9VQE4T0RAQ0TF7FAKY2', 'dag_01M7JFH9VQE4T0RAQ0TF7FAKY2', 1767225600000000, 3, 'running', 1, '{"from":"claimed","agent":"worker"}');
INSERT INTO yard.event VALUES (16, 'task.retrying', 'default', 'task_01M7JFH9VQE4T0RAQ0TF7FAKY2', 'dag_01M7JFH9VQE4T0RAQ0TF7FAKY2', 1767225600000000, 4, 'retrying', 1, '{"from":"running","through":["failed"],"reason":"crash","error":"","agent":"worker","type":"later","silent":0,"ran":0}');
INSERT INTO yard.event VALUES (17, 'task.created', 'default', 'task_01M7JFH9ZDYHMCYWHTPZKMKSA0', 'dag_01M7JFH9ZDYHMCYWEFF51CEXEP', 1767225600000000, 1, 'ready', 0, '{"through":["created","pending"],"type":"code","by":"human:local"}');
INSERT INTO yard.event VALUES (18, 'task.created', 'default', 'task_01M7JFH9ZDYHMCYWQNAJD8X5ZJ', 'dag_01M7JFH9ZDYHMCYWEFF51CEXEP', 1767225600000000, 1, 'pending', 0, '{"through":["created"],"type":"code","by":"human:local"}');
INSERT INTO yard.event VALUES (19, 'dag.created', 'default', NULL, 'dag_01M7JFH9ZDYHMCYWEFF51CEXEP', 1767225600000000, NULL, NULL, NULL, '{"tasks":2}');
INSERT INTO yard.event VALUES (20, 'task.created', 'default', 'task_01M7JFHA0N7TJGGY5GBKF8WKM3', 'dag_01M7JFHA0N7TJGGY5GBKF8WKM3', 1767225600000000, 1, 'ready', 0, '{"through":["created","pending"],"type":"review","by":"human:local"}');
INSERT INTO yard.event VALUES (21, 'task.created', 'default', 'task_01M7JFHA1GYRFGN0DHFRSBRKY8', 'dag_01M7JFHA1GYRFGN0DHFRSBRKY8', 1767225600000000, 1, 'ready', 0, '{"through":["created","pending"],"type":"review","by":"human:local"}');
INSERT INTO yard.event VALUES (22, 'task.cancelled', 'default', 'task_01M7JFHA1GYRFGN0DHFRSBRKY8', 'dag_01M7JFHA1GYRFGN0DHFRSBRKY8', 1767225600000000, 2, 'cancelled', 0, '{"from":"ready","reason":"not wanted"}');
INSERT INTO yard.lane OVERRIDING SYSTEM VALUE VALUES (1, 'default', '["default","default","code",null,[],10,0,null]', '\xbc75b74d66fb674a2f06ab2a60825e67b932710b174bd6d308fa5902ec718717');
INSERT INTO yard.lane OVERRIDING SYSTEM VALUE VALUES (2, 'default', '["default","default","later",null,[],10,0,null]', '\x997adfe94f42129081eb84804d9b77ed54d67814a44969529e4e87ed8f60315d');
INSERT INTO yard.lane OVERRIDING SYSTEM VALUE VALUES (3, 'default', '["default","default","review",null,[],10,0,null]', '\x5352bc13e7656f8612bb1da1f3496e7d7ef05c70bf9e7611878d496441e5b8d9');
INSERT INTO yard.meta VALUES (true, '\xc0a5b4b8dd725c13a257dcb2332573d5e757f58466ceebda8737dd5e769cc7b9');
INSERT INTO yard.outbox OVERRIDING SYSTEM VALUE VALUES (1, 'default', 'notify', 'task_01M7JFH9AZWJ979K7FDNN0B2HZ', '{"kind":"dead_letter","reason":"crash","poison_pill":false,"error":"it fell over"}', 1767225600000000);
INSERT INTO yard.output VALUES ('task_01M7JFH9NXD300WQH4FXTBNTGT', 1, '{"ok":true}', '[]', NULL);
INSERT INTO yard.pulse VALUES ('agent:["default","worker"]', 1767225600000000);
INSERT INTO yard.record VALUES ('agent', 'default', 'worker', 1, '{"type":"worker","runtime":null,"capabilities":[],"models":[],"types":null,"max_concurrent_tasks":1000,"budget":null,"status":"active","poll_interval_sec":5.0,"claim_ttl_sec":null,"orchestrator":false,"token":null}');
INSERT INTO yard.record VALUES ('agent_type', 'default', 'worker', 1, '{"in_code":null,"by_operator":null,"grant":null,"id_grants":{}}');
INSERT INTO yard.record VALUES ('workspace', 'default', 'default', 1, '{"preset":"standard"}');
INSERT INTO yard.record VALUES ('dead', 'default', 'task_01M7JFH9AZWJ979K7FDNN0B2HZ.1', 1, '{"task_id":"task_01M7JFH9AZWJ979K7FDNN0B2HZ","at":1767225600000000,"reason":"crash","poison_pill":false,"reviewed":false,"resolution":null,"reviewed_by":null,"reviewed_at":null,"note":null}');
INSERT INTO yard.record VALUES ('dag', 'default', 'dag_01M7JFH9ZDYHMCYWEFF51CEXEP', 1, '{"title":"","tags":[],"created_by":"human:local","created_at":1767225600000000,"status":"running","ended_at":null,"preset":"standard","inbox":null}');
INSERT INTO yard.schema_version VALUES (true, 4, 1, 1);
INSERT INTO yard.tag VALUES ('default', 'a', 2);
INSERT INTO yard.task VALUES ('task_01M7JFH9AZWJ979K7FDNN0B2HZ', 1, 'default', NULL, 1, 2945426000000, 0, 'dead_lettered', 4, 1, 1, 0, 0, 0, 'worker', NULL, NULL, 1767225600000000, 1767225600000000, 1767225600000000, NULL, NULL, NULL, NULL, NULL, 0, 0, 0, 0, 0, NULL, NULL, 0, NULL, 1767225600000000, NULL, NULL, NULL, 60, 90, NULL, 1, NULL, 1767225600000000, 0);
INSERT INTO yard.task VALUES ('task_01M7JFH9NXD300WQH4FXTBNTGT', 2, 'default', NULL, 1, 2945426000000, 0, 'completed', 4, 1, 0, 0, 0, 0, 'worker', NULL, NULL, 1767225600000000, 1767225600000000, 1767225600000000, NULL, NULL, NULL, NULL, NULL, 0, 0, 0, 0, 0, NULL, NULL, 0, NULL, 1767225600000000, 'done', NULL, NULL, 60, 90, NULL, 3, NULL, 1767225600000000, 0);
INSERT INTO yard.task VALUES ('task_01M7JFH9SBNBCB8547RPK9N1SW', 3, 'default', NULL, 1, 2945426000000, 0, 'running', 3, 1, 0, 0, 0, 0, 'worker', NULL, '0092683d9ef3052423246e90aa41942e.1', 1767225600000000, 1767225600000000, 1767225600000000, 1767225690000000, NULL, NULL, 1767225690000000, NULL, 0, 0, 0, 0, 0, NULL, NULL, 0, NULL, 1767225600000000, NULL, NULL, NULL, 60, 90, NULL, 3, NULL, 1767225600000000, 0);
INSERT INTO yard.task VALUES ('task_01M7JFH9VQE4T0RAQ0TF7FAKY2', 4, 'default', NULL, 2, 2945426000000, 0, 'retrying', 4, 1, 1, 0, 0, 0, 'worker', NULL, NULL, 1767225600000000, 1767225600000000, 1767225600000000, NULL, NULL, 1767225605170107, 1767225605170107, NULL, 0, 0, 0, 0, 0, NULL, NULL, 0, NULL, 1767225600000000, NULL, NULL, NULL, 60, 90, NULL, 3, NULL, 1767225600000000, 0);
INSERT INTO yard.task VALUES ('task_01M7JFH9ZDYHMCYWHTPZKMKSA0', 5, 'default', 'dag_01M7JFH9ZDYHMCYWEFF51CEXEP', 1, 2945425000000, 1, 'ready', 1, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, 0, 0, 0, NULL, NULL, 0, NULL, 1767225600000000, NULL, NULL, NULL, 60, 90, NULL, 3, NULL, 1767225600000000, 0);
INSERT INTO yard.task VALUES ('task_01M7JFH9ZDYHMCYWQNAJD8X5ZJ', 6, 'default', 'dag_01M7JFH9ZDYHMCYWEFF51CEXEP', 1, 2945426000000, 0, 'pending', 1, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, 0, 0, 0, NULL, NULL, 0, NULL, 1767225600000000, NULL, NULL, NULL, 60, 90, NULL, 3, NULL, 1767225600000000, 0);
INSERT INTO yard.task VALUES ('task_01M7JFHA0N7TJGGY5GBKF8WKM3', 7, 'default', NULL, 3, 2945426000000, 0, 'ready', 1, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, 0, 0, 0, NULL, NULL, 0, NULL, 1767225600000000, 'waiting', NULL, NULL, 60, 90, NULL, 3, NULL, 1767225600000000, 0);
INSERT INTO yard.task VALUES ('task_01M7JFHA1GYRFGN0DHFRSBRKY8', 8, 'default', NULL, 3, 2945426000000, 0, 'cancelled', 2, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, 0, 0, 0, NULL, NULL, 0, 'not wanted', 1767225600000000, 'gone', NULL, NULL, 60, 90, NULL, 3, NULL, 1767225600000000, 0);
SELECT pg_catalog.setval('yard.checkpoint_number_seq', 1, false);
SELECT pg_catalog.setval('yard.event_seq', 22, true);
SELECT pg_catalog.setval('yard.lane_id_seq', 3, true);
SELECT pg_catalog.setval('yard.outbox_number_seq', 1, true);
SELECT pg_catalog.setval('yard.signal_number_seq', 1, false);
SELECT pg_catalog.setval('yard.task_seq', 8, true);
ALTER TABLE ONLY yard.attempt
    ADD CONSTRAINT attempt_pkey PRIMARY KEY (task_id, number);
ALTER TABLE ONLY yard.blocker
    ADD CONSTRAINT blocker_pkey PRIMARY KEY (task_id, wait, name);
ALTER TABLE ONLY yard.ceiling
    ADD CONSTRAINT ceiling_pkey PRIMARY KEY (workspace, name);
ALTER TABLE ONLY yard.checkpoint
    ADD CONSTRAINT checkpoint_pkey PRIMARY KEY (number);
ALTER TABLE ONLY yard.checkpoint
    ADD CONSTRAINT checkpoint_task_id_name_key UNIQUE (task_id, name);
ALTER TABLE ONLY yard.counter
    ADD CONSTRAINT counter_pkey PRIMARY KEY (workspace, name);
ALTER TABLE ONLY yard.definition
    ADD CONSTRAINT definition_pkey PRIMARY KEY (seq);
ALTER TABLE ONLY yard.duty
    ADD CONSTRAINT duty_pkey PRIMARY KEY (name);
ALTER TABLE ONLY yard.edge
    ADD CONSTRAINT edge_pkey PRIMARY KEY (parent, child, kind);
ALTER TABLE ONLY yard.epoch
    ADD CONSTRAINT epoch_pkey PRIMARY KEY (workspace);
ALTER TABLE ONLY yard.event
    ADD CONSTRAINT event_pkey PRIMARY KEY (seq);
ALTER TABLE ONLY yard.lane
    ADD CONSTRAINT lane_digest_key UNIQUE (digest);
ALTER TABLE ONLY yard.lane
    ADD CONSTRAINT lane_pkey PRIMARY KEY (id);
ALTER TABLE ONLY yard.meta
    ADD CONSTRAINT meta_pkey PRIMARY KEY (only_row);
ALTER TABLE ONLY yard.outbox
    ADD CONSTRAINT outbox_pkey PRIMARY KEY (number);
ALTER TABLE ONLY yard.output
    ADD CONSTRAINT output_pkey PRIMARY KEY (task_id);
ALTER TABLE ONLY yard.pruned
    ADD CONSTRAINT pruned_pkey PRIMARY KEY (workspace);
ALTER TABLE ONLY yard.pulse
    ADD CONSTRAINT pulse_pkey PRIMARY KEY (name);
ALTER TABLE ONLY yard.record
    ADD CONSTRAINT record_pkey PRIMARY KEY (kind, workspace, id);
ALTER TABLE ONLY yard.schema_version
    ADD CONSTRAINT schema_version_pkey PRIMARY KEY (only_row);
ALTER TABLE ONLY yard.signal
    ADD CONSTRAINT signal_pkey PRIMARY KEY (number);
ALTER TABLE ONLY yard.tag
    ADD CONSTRAINT tag_pkey PRIMARY KEY (workspace, tag, seq);
ALTER TABLE ONLY yard.task
    ADD CONSTRAINT task_pkey PRIMARY KEY (id);
CREATE INDEX blocker_name ON yard.blocker USING btree (name);
CREATE INDEX blocker_signal ON yard.blocker USING btree (task_id) WHERE ("left"(name, 7) = 'signal:'::text);
CREATE INDEX definition_agent ON yard.definition USING btree (workspace, agent, seq) WHERE (agent IS NOT NULL);
CREATE INDEX definition_parent ON yard.definition USING btree (parent_id) WHERE (parent_id IS NOT NULL);
CREATE INDEX definition_queue ON yard.definition USING btree (workspace, queue, seq) WHERE (queue <> 'default'::text);
CREATE INDEX definition_subject ON yard.definition USING btree (workspace, subject, seq) WHERE (subject IS NOT NULL);
CREATE INDEX definition_type ON yard.definition USING btree (workspace, type, seq);
CREATE INDEX definition_workspace ON yard.definition USING btree (workspace, seq);
CREATE INDEX edge_child ON yard.edge USING btree (child);
CREATE INDEX event_dag ON yard.event USING btree (dag_id) WHERE (task_id IS NULL);
CREATE INDEX event_task ON yard.event USING btree (task_id, seq) WHERE (task_id IS NOT NULL);
CREATE INDEX event_workspace ON yard.event USING btree (workspace, seq);
CREATE INDEX lane_workspace ON yard.lane USING btree (workspace, id);
CREATE INDEX outbox_task ON yard.outbox USING btree (task_id) WHERE (task_id IS NOT NULL);
CREATE INDEX outbox_topic ON yard.outbox USING btree (topic, number);
CREATE INDEX record_page ON yard.record USING btree (kind, workspace, id COLLATE "C");
CREATE INDEX signal_task ON yard.signal USING btree (task_id, number);
CREATE INDEX tag_seq ON yard.tag USING btree (seq);
CREATE INDEX task_dag ON yard.task USING btree (dag_id, seq) WHERE (dag_id IS NOT NULL);
CREATE INDEX task_due ON yard.task USING btree (due_at, seq) WHERE (due_at IS NOT NULL);
CREATE INDEX task_final ON yard.task USING btree (updated_at) WHERE (status = ANY (ARRAY['completed'::text, 'cancelled'::text, 'dead_lettered'::text]));
CREATE INDEX task_held ON yard.task USING btree (agent) WHERE (status = ANY (ARRAY['claimed'::text, 'running'::text]));
CREATE UNIQUE INDEX task_live_key ON yard.task USING btree (workspace, idempotency_key) WHERE ((idempotency_key IS NOT NULL) AND (status <> ALL (ARRAY['cancelled'::text, 'dead_lettered'::text])));
CREATE INDEX task_ready ON yard.task USING btree (lane, rank, seq) WHERE (status = 'ready'::text);
CREATE INDEX task_rescore ON yard.task USING btree (rescore_at, seq) WHERE ((rescore_at IS NOT NULL) AND (status = ANY (ARRAY['pending'::text, 'ready'::text, 'retrying'::text])));
CREATE INDEX task_runtime ON yard.task USING btree (runtime) WHERE ((status = ANY (ARRAY['claimed'::text, 'running'::text])) AND (runtime IS NOT NULL));
CREATE UNIQUE INDEX task_seq_number ON yard.task USING btree (seq);
