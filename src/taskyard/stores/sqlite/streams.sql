-- Streams: what attempts say while they work.

-- name: held_streams
-- Of each task what the rules of appending need, and of its attempt's stream the end: the last chunk, and the requests of
-- the few before it. No body is read. All of it is one row: after every row, a thread must take the interpreter's lock
-- back from the loop of a server that is at work.
select json_group_array(
  json_array(
    task.id,
    task.seq,
    task.workspace,
    task.dag_id,
    held.status,
    held.attempt,
    held.lease,
    last.chunk,
    last.total,
    last.kind,
    json(
      (
        select json_group_array(request)
        from (
          select request
          from stream
          where stream.seq = held.seq
          and stream.attempt = held.attempt
          and stream.chunk > last.chunk - ?2
          order by chunk
        )
      )
    )
  )
)
from json_each(?1) as given
cross join task
on task.id = given.value
cross join held
on held.seq = task.seq
left join stream as last
on last.seq = held.seq
and last.attempt = held.attempt
and last.chunk = (select max(chunk) from stream where stream.seq = held.seq and stream.attempt = held.attempt)

-- name: insert_chunks
insert into stream (seq, attempt, chunk, at, kind, body, total, request)
values (?, ?, ?, ?, ?, ?, ?, ?)

-- name: insert_decided_chunks
-- Chunks that were decided before the statement, all of them or none: none, where an attempt is not as it was, or where a
-- stream has grown. It is a transaction by itself, of one step, so that nothing in it waits for the interpreter's lock.
insert into stream (seq, attempt, chunk, at, kind, body, total, request)
select
  value ->> 0,
  value ->> 1,
  value ->> 2,
  value ->> 3,
  value ->> 4,
  value ->> 5,
  value ->> 6,
  value ->> 7
from json_each(?1)
where not exists (
  select 1
  from json_each(?2) as decided
  where not exists (
    select 1
    from held
    where held.seq = decided.value ->> 0
    and held.attempt = decided.value ->> 1
    and held.status = decided.value ->> 2
    and held.lease = decided.value ->> 3
  )
  or exists (
    select 1
    from stream
    where stream.seq = decided.value ->> 0
    and stream.attempt = decided.value ->> 1
    and stream.chunk = decided.value ->> 4
  )
)

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
