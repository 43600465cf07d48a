-- Streams: what attempts say while they work.
-- min_reader: 7
-- min_writer: 9
--
-- A release before this one leaves the table alone: streams go by a sweep of their own, also where their task is gone.

create table yard.stream (
  seq bigint not null,
  attempt integer not null,
  chunk integer not null,
  at bigint not null,
  kind text not null,
  body text not null,
  total bigint not null,
  request text not null,
  update_number bigint,
  primary key (seq, attempt, chunk)
);
create index stream_updates on yard.stream (update_number) where update_number is not null;
comment on table yard.stream is 'What attempts say while they work. Removed an hour after the end of their task.';
comment on column yard.stream.total is 'Bytes of the attempt up to this chunk.';
comment on column yard.stream.request is 'By which a repeated append is known.';
comment on column yard.stream.update_number is 'Of messages and progress: their order in the whole yard.';
