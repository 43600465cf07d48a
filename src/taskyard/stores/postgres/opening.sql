-- Making a schema a yard, and bringing it to this release.

-- name: migration_lock
-- Many processes may start at once: one migrates, the others wait and then find it done.
select pg_advisory_xact_lock(hashtext('taskyard migrations'), hashtext('yard.schema_version'))

-- name: migration_patience
-- After the lock of the migrations, which may be waited for as long as it takes.
set local lock_timeout = '1s'

-- name: schema_table
create schema if not exists {schema};
create table if not exists yard.schema_version (
  only_row boolean primary key default true check (only_row),
  version integer not null,
  min_reader integer not null,
  min_writer integer not null
);
comment on table yard.schema_version is 'One row: what is stored, and the oldest release that may still work with it.'

-- name: schema
select version, min_reader, min_writer
from yard.schema_version

-- name: set_schema
insert into yard.schema_version (version, min_reader, min_writer)
values ($1, $2, $3)
on conflict (only_row) do update
set version = excluded.version, min_reader = excluded.min_reader, min_writer = excluded.min_writer

-- name: found_yard
insert into yard.meta (secret)
values ($1)
on conflict do nothing

-- name: secret
select secret
from yard.meta
