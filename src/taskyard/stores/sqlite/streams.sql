-- Streams: what attempts say while they work.

-- name: stream_ends
-- The last chunks of these attempts, each the newest first. Few: only those in which a repeated request is looked for.
select ended.value ->> 0, stream.attempt, stream.chunk, stream.at, stream.kind, stream.body, stream.total, stream.request
from json_each(?1) as ended
join stream
on stream.seq = ended.value ->> 1
and stream.attempt = ended.value ->> 2
where stream.chunk > (
  select max(latest.chunk) - ?2
  from stream as latest
  where latest.seq = ended.value ->> 1
  and latest.attempt = ended.value ->> 2
)
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
