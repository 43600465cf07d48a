-- Vectors of finished tasks, by which similar work is found.
-- min_reader: 6
-- min_writer: 7
--
-- A release before this one would remove tasks and leave their vectors behind.

create table embedding (
  workspace text not null,
  embedder text not null,
  task_id text not null,
  type text not null,
  vector blob not null, -- 32-bit floats, lowest byte first
  primary key (workspace, embedder, task_id)
) strict, without rowid;
create index embedding_task on embedding (task_id);
