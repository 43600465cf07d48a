-- Locking the rows that guard tasks, each looked up by itself.
-- min_reader: 7
-- min_writer: 9
--
-- The function of 0007 read all of task and held where these were empty when the server last counted their rows. A lateral
-- part with an offset or a lock is not joined otherwise than row by row.

create or replace function yard.lock_tasks(ids text[])
returns table (id text, seq bigint, version integer, lease_expires_at bigint, rank bigint, at bigint)
language plpgsql
as $$
declare
  numbers bigint[];
  are_final boolean;
  ready_ones bigint[] = '{}';
begin
  select array_agg(found.seq order by found.seq),
    bool_and(found.status in ('completed', 'cancelled', 'dead_lettered'))
  into numbers, are_final
  from unnest(ids) as given (id)
  cross join lateral (select task.seq, task.status from yard.task where task.id = given.id offset 0) as found;
  -- Those that retention removes are guarded by their rows in task. One that was revived since counts as changed.
  if not are_final then
    perform 1
    from unnest(numbers) as named (seq)
    cross join lateral (select 1 from yard.held where held.seq = named.seq for update) as locked;
    ready_ones = array(
      select found.seq
      from unnest(numbers) as named (seq)
      cross join lateral (
        select task.lane, task.rank
        from yard.task
        where task.seq = named.seq
        and task.status = 'ready'
        offset 0
      ) as given
      cross join lateral (
        select ready.seq
        from yard.ready
        where ready.lane = given.lane
        and ready.band = 0
        and ready.share = 0
        and ready.rank = given.rank
        and ready.seq = named.seq
        for update
      ) as found
    );
  end if;
  perform 1
  from unnest(numbers) as named (seq)
  cross join lateral (
    select 1
    from yard.task
    where task.seq = named.seq
    and task.status <> 'ready'
    and (select held.seq from yard.held where held.seq = named.seq) is null
    for no key update
  ) as locked;
  -- A row of ready whose rank was moved while it was waited for is not found at the rank that was read: such a task
  -- counts as changed.
  return query
  select task.id, task.seq,
    case
      when held.seq is not null then held.version
      when task.status = 'ready' and task.seq <> all(ready_ones) then 0
      else task.version
    end,
    held.lease_expires_at, task.rank,
    (extract(epoch from clock_timestamp()) * 1000000)::bigint
  from unnest(numbers) as named (seq)
  cross join lateral (select * from yard.task where task.seq = named.seq offset 0) as task
  left join lateral (select * from yard.held where held.seq = named.seq offset 0) as held
  on true;
end
$$;
