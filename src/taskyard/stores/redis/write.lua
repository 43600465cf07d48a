-- The small writes that are no change sets: each takes what it is given and looks at next to nothing.

local small = {}

-- Move due_at, and the lease's end where one is given, where due_at is still the one that was seen.
function small.touch()
  for _ = 1, take_number() do
    local id, seen, due_at, expires = take(), time(take()), given(take()), given(take())
    local row = fetch(id)
    if row and row[DUE_AT] == seen then
      write(row, {
        DUE_AT, due_at and time(due_at) or false,
        LEASE_EXPIRES_AT, expires and time(expires) or row[LEASE_EXPIRES_AT] or false,
      })
    end
  end
  settle_tasks()
end

-- The ids of these lanes; new ones are added, which makes claim plans stale.
function small.lanes()
  local ids, new = {}, false
  for place = 1, take_number() do
    local workspace, lane = take(), take()
    local id = redis.call('HGET', yard .. 'lane-ids', lane)
    if not id then
      id, new = text(redis.call('HINCRBY', yard .. 'numbers', 'lane', 1)), true
      redis.call('HSET', yard .. 'lane-ids', lane, id)
      redis.call('ZADD', yard .. 'lanes:' .. workspace, id, lane)
      redis.call('HINCRBY', yard .. 'epochs', workspace, 1)
      wake_planners(workspace)
    end
    ids[place] = id
  end
  return {new and announce() or {}, ids}
end

-- Of two who come at once, the second sees the time that the first has set, and goes. A time beyond all that a clock
-- would set was set by a wrong clock, and is past.
function small.take_duty()
  local name, now, til, beyond = take(), take_number(), take(), take_number()
  local last = redis.call('HGET', yard .. 'duties', name) or '0'
  if tonumber(last) > now and tonumber(last) <= beyond then
    return false
  end
  redis.call('HSET', yard .. 'duties', name, til)
  return last
end

-- Of all workspaces, the first entries behind a number that have events of no task and no DAG.
local function loose_entries(after, limit)
  local found = {}
  for _, workspace in ipairs(redis.call('SMEMBERS', yard .. 'workspaces')) do
    local key = yard .. 'loose:' .. workspace
    for _, id in ipairs(redis.call('ZRANGEBYSCORE', key, '(' .. text(after), '+inf', 'LIMIT', 0, limit)) do
      found[#found + 1] = {tonumber(id), workspace}
    end
  end
  table.sort(found, function(one, other)
    return one[1] < other[1]
  end)
  return found
end

-- Remove events that are older and of no task and no DAG. So many entries are looked at, and those with the number of
-- the last: the number to go on after, where there may be more.
function small.prune_events()
  local before, after, limit = take_number(), math.floor(take_number() / PLACES), take_number()
  local last
  for place, each in ipairs(loose_entries(after, limit)) do
    if place > limit and each[1] ~= last then
      break
    end
    last = each[1]
    prune_loose(each[2], text(last), before)
    if place >= limit then
      after = last
    end
  end
  return last == after and text(last * PLACES + PLACES - 1)
end

function small.settle()
  for _ = 1, take_number() do
    local id = take()
    local row = redis.call('HGET', yard .. 'outbox', id)
    if row then
      local _, topic, of = unpack(cjson.decode(row))
      redis.call('HDEL', yard .. 'outbox', id)
      redis.call('ZREM', yard .. 'outbox:' .. topic, id)
      if type(of) == 'string' then
        redis.call('HDEL', yard .. 'papers:' .. of, 'outbox:' .. id)
      end
    end
  end
end

-- Vectors of tasks that exist: `papers:ID` names the embedders, so that a removal of the task finds the vectors.
function small.keep_embeddings()
  for _ = 1, take_number() do
    local workspace, embedder, id, value = take(), take(), take(), take()
    if is_there(id) then
      redis.call('HSET', yard .. 'embeddings:' .. workspace .. '\0' .. embedder, id, value)
      redis.call('HSET', yard .. 'papers:' .. id, 'embedding:' .. embedder, '1')
      redis.call('SADD', yard .. 'embedders:' .. workspace, embedder)
    end
  end
end

-- Before one waits at these lanes: each has its stream, read from its beginning on. What was handed to somebody who has
-- not been heard of since is handed to this one: the lane's place in the list, and the hint. Whether any lane is new.
function small.stand_at()
  local consumer, idle = take(), take()
  local new, found = 0, {}
  for place, lane in ipairs(take_many()) do
    local stream = yard .. 'wake:' .. lane
    if redis.call('EXISTS', stream) == 0 then
      redis.call('XGROUP', 'CREATE', stream, 'workers', '0', 'MKSTREAM')
      new = 1
    end
    for _, id in ipairs(redis.call('XAUTOCLAIM', stream, 'workers', consumer, idle, '0-0', 'COUNT', 10, 'JUSTID')[2]) do
      found[#found + 1] = place
      found[#found + 1] = id
    end
  end
  return {new, found}
end

-- Those who have not been heard of for long, and whom nothing was handed to that others have not.
function small.forget_consumers()
  local idle = take_number()
  for _, lane in ipairs(take_many()) do
    local stream = yard .. 'wake:' .. lane
    for _, facts in ipairs(redis.call('XINFO', 'CONSUMERS', stream, 'workers')) do
      local consumer = {}
      for place = 1, #facts, 2 do
        consumer[facts[place]] = facts[place + 1]
      end
      if consumer.pending == 0 and consumer.idle > idle then
        redis.call('XGROUP', 'DELCONSUMER', stream, 'workers', consumer.name)
      end
    end
  end
end

-- Whoever comes first founds the yard; the others find it founded.
function small.found()
  local state = yard .. 'state'
  redis.call('SETNX', yard .. 'meta', 'see state: processes of release 0.1.0 must stop')
  for _, name in ipairs({'version', 'min_reader', 'min_writer', 'secret', 'run_id'}) do
    redis.call('HSETNX', state, name, take())
  end
end

-- What is stored has this format now, or already has a later one.
function small.reach()
  local state, version, min_reader, min_writer = yard .. 'state', take(), take(), take()
  if number(redis.call('HGET', state, 'version')) < tonumber(version) then
    redis.call('HSET', state, 'version', version, 'min_reader', min_reader, 'min_writer', min_writer)
  end
end

local name = take()
if name ~= 'lanes' then
  -- None of the others puts anything in, and the sweep, which makes room, begins with them: see `begin`.
  redis.call('DEL', yard .. 'nothing')
end
return small[name]()
