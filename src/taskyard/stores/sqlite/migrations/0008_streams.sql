-- Streams: what attempts say while they work.
-- min_reader: 6
-- min_writer: 7
--
-- A release before this one leaves the table alone: streams go by a sweep of their own, also where their task is gone.

create table stream (
  seq integer not null, -- of the task
  attempt integer not null,
  chunk integer not null, -- its index in the attempt, from 0
  at integer not null,
  kind text not null,
  body text not null,
  total integer not null, -- bytes of the attempt up to this chunk
  request text not null, -- by which a repeated append is known
  update_number integer, -- of messages and progress: their order in the whole yard
  primary key (seq, attempt, chunk)
) strict, without rowid;
create index stream_updates on stream (update_number) where update_number is not null;
