-- Streams: what attempts say while they work.

-- name: stream_ends
-- Of each attempt the last chunk, and among the few before it the one of the same request. Their bodies are not read.
with ended as materialized (
  select
    value ->> 0 as id,
    value ->> 1 as seq,
    value ->> 2 as attempt,
    value ->> 3 as request,
    (select max(chunk) from stream where stream.seq = value ->> 1 and stream.attempt = value ->> 2) as latest
  from json_each(?1)
)
select ended.id, stream.attempt, stream.chunk, stream.at, stream.kind, '', stream.total, stream.request
from ended
join stream
on stream.seq = ended.seq
and stream.attempt = ended.attempt
and stream.chunk > ended.latest - ?2
where stream.chunk = ended.latest
or stream.request = ended.request
order by stream.seq, stream.attempt, stream.chunk

-- name: insert_chunks
insert into stream (seq, attempt, chunk, at, kind, body, total, request)
values (?, ?, ?, ?, ?, ?, ?, ?)

-- name: stream
select task.id, stream.attempt, stream.chunk, stream.at, stream.kind, stream.body, stream.total, stream.request
from stream
join task
on task.seq = stream.seq
where stream.seq = (select seq from task where id = ?)
and (stream.attempt, stream.chunk) > (?, ?)
order by stream.attempt, stream.chunk
limit ?

-- name: next_stream
-- From one task to the next, without reading the chunks in between.
select min(seq)
from stream
where seq > ?

-- name: is_stream_over
select not exists (
  select 1
  from task
  where seq = ?
  and not (status in ('completed', 'cancelled', 'dead_lettered') and updated_at < ?)
)

-- name: remove_stream
delete from stream
where seq = ?

-- name: stream_with_a_gap
select 'the stream of attempt ' || attempt || ' of task ' || seq || ' has a gap'
from stream
group by seq, attempt
having count(*) <> max(chunk) + 1
