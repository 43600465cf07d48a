-- Vectors of finished tasks, by which similar work is found.
-- min_reader: 7
-- min_writer: 9
--
-- A release before this one would remove tasks and leave their vectors behind.
-- An array, and no column of pgvector: a yard must not need an extension, nor must whoever restores its dump.

create table yard.embedding (
  workspace text not null,
  embedder text not null,
  task_id text not null,
  type text not null,
  vector real[] not null,
  primary key (workspace, embedder, task_id)
);
create index embedding_task on yard.embedding (task_id);
comment on table yard.embedding is 'Vectors of finished tasks, by which similar work is found. Removed with their tasks.';
