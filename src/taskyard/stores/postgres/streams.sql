-- Streams: what attempts say while they work.

-- name: stream_ends
-- The last chunks of these attempts, without bodies. Few: only those in which a repeated request is looked for.
select ended.id, last.attempt, last.chunk, last.at, last.kind, '', last.total, last.request
from unnest($1::text[], $2::bigint[], $3::int[]) as ended (id, seq, attempt)
cross join lateral (
  select seq, attempt, chunk, at, kind, total, request
  from yard.stream
  where stream.seq = ended.seq
  and stream.attempt = ended.attempt
  order by stream.chunk desc
  limit $4
) as last
order by last.seq, last.attempt, last.chunk

-- name: insert_chunks
insert into yard.stream (seq, attempt, chunk, at, kind, body, total, request)
select *
from unnest($1::bigint[], $2::int[], $3::int[], $4::bigint[], $5::text[], $6::text[], $7::bigint[], $8::text[])

-- name: stream
select task.id, stream.attempt, stream.chunk, stream.at, stream.kind, stream.body, stream.total, stream.request
from yard.task
join yard.stream
on stream.seq = task.seq
where task.id = $1
and (stream.attempt, stream.chunk) > ($2::int, $3::int)
order by stream.attempt, stream.chunk
limit $4

-- name: next_streams
-- From one task to the next, without reading the chunks in between, and whether each is over.
with recursive streamed (seq, place) as (
  select (select min(seq) from yard.stream where seq > $1), 1
  union all
  select (select min(stream.seq) from yard.stream where stream.seq > streamed.seq), place + 1
  from streamed
  where streamed.seq is not null
  and place < $3
)
select
  streamed.seq,
  not exists (
    select 1
    from yard.task
    where task.seq = streamed.seq
    and not (task.status in ('completed', 'cancelled', 'dead_lettered') and task.updated_at < $2)
  )
from streamed
where streamed.seq is not null
order by streamed.seq

-- name: remove_streams
delete from yard.stream
where seq = any($1::bigint[])

-- name: stream_with_a_gap
select 'the stream of attempt ' || attempt || ' of task ' || seq || ' has a gap'
from yard.stream
group by seq, attempt
having count(*) <> max(chunk) + 1
