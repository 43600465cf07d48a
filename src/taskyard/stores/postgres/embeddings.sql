-- Vectors of finished tasks.

-- name: keep_embeddings
-- A task that is being removed is waited for, and then missing: no vector outlives its task.
insert into yard.embedding (workspace, embedder, task_id, type, vector)
select kept.workspace, kept.embedder, kept.task_id, kept.type, kept.vector::real[]
from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[])
as kept (workspace, embedder, task_id, type, vector)
join yard.task
on task.id = kept.task_id
order by kept.task_id
for share of task
on conflict (workspace, embedder, task_id) do update
set type = excluded.type, vector = excluded.vector

-- name: has_pgvector
select exists (
  select 1
  from pg_extension
  where extname = 'vector'
)

-- name: embeddings
-- Every vector in the binary form of arrays, which takes a tenth of the time to read: to be compared here.
select task_id, array_send(vector)
from yard.embedding
where workspace = $1
and embedder = $2
and ($3::text[] is null or type = any($3::text[]))

-- name: nearest_embeddings
-- Compared by pgvector.
select task_id, 1 - (vector::vector <=> $4::real[]::vector) as score
from yard.embedding
where workspace = $1
and embedder = $2
and ($3::text[] is null or type = any($3::text[]))
order by score desc, task_id
limit $5

-- name: embedded
select task_id
from yard.embedding
where workspace = $1
and embedder = $2
and task_id = any($3::text[])

-- name: embedding_counts
select embedder, count(*)
from yard.embedding
where workspace = $1
group by embedder
