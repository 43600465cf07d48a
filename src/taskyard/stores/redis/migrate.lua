-- What was stored by an older release, as this one has it. Each step is about a few things, and may be done twice.

local steps = {}

-- Processes of release 0.1.0 read the hash `meta` before they write a task: they find a text there, and fail. Their small
-- writes do not, so nothing of this format is where these look: the streams have another name, and where a row had its
-- due time there is a text. The numbers of entries begin anew; those of events go on.
function steps.fence()
  if redis.call('TYPE', yard .. 'meta').ok ~= 'hash' then
    return
  end
  redis.call('RENAME', yard .. 'meta', yard .. 'state')
  redis.call('SET', yard .. 'meta', 'see state: processes of release 0.1.0 must stop')
  local last = number(redis.call('HGET', yard .. 'numbers', 'event') or 0)
  redis.call('HSET', yard .. 'numbers', 'log', text(math.floor(last / PLACES)))
end

-- Until format 4, a task was one list of these; until format 3, without the last two; until format 2, a hash of its fields
-- by name, without those that were blank. OLD and PLACE_OF come before this file.
local WORDS = {
  id = true, workspace = true, dag_id = true, status = true, agent = true, runtime = true, lease = true, progress = true,
  session = true, why = true, idempotency_key = true, key = true, type = true, agent_type = true,
}

local function old_row(id)
  local key, row = yard .. 'task:' .. id, blank()
  if redis.call('TYPE', key).ok == 'hash' then
    local flat = redis.call('HGETALL', key)
    for place = 1, #flat, 2 do
      local name, value = flat[place], flat[place + 1]
      row[PLACE_OF[name]] = WORDS[name] and value or time(value)
    end
  else
    local packed = redis.call('GET', key)
    local values = packed and cmsgpack.unpack(packed)
    if not values or not values[1] then
      return -- it is gone, or was done already: a row of this format has no id
    end
    for place, value in ipairs(values) do
      row[PLACE_OF[OLD[place]]] = value
    end
  end
  row[ID] = id
  return row
end

-- The entries that have the events of a task.
local function name_entries(row)
  local key, known, numbers = yard .. 'papers:' .. row[ID], {}, {}
  for _, name in ipairs(redis.call('HKEYS', key)) do
    local seq = string.match(name, '^event:(%d+)$')
    if seq then
      redis.call('HDEL', key, name)
      local entry = math.floor(tonumber(seq) / PLACES)
      if not known[entry] then
        known[entry] = true
        numbers[#numbers + 1] = entry
      end
    end
  end
  table.sort(numbers)
  for place, entry in ipairs(numbers) do
    if place <= 32 then
      row[LOG][place] = entry
    else
      redis.call('HSET', key, 'event:' .. text(entry), '')
    end
  end
end

local function move_papers(id)
  local key = yard .. 'papers:' .. id
  local definition, output = unpack(redis.call('HMGET', key, 'definition', 'output'))
  if definition then
    redis.call('SET', yard .. 'definition:' .. id, definition)
  end
  if output then
    local name = 'attempt:' .. string.match(output, '^%[(%d+)')
    local attempt = redis.call('HGET', key, name)
    if not attempt then
      error('the output of ' .. id .. ' is of no attempt')
    end
    redis.call('HSET', key, name, attempt .. NONE .. output)
  end
  redis.call('HDEL', key, 'definition', 'output')
end

function steps.tasks()
  for _, id in ipairs(take_many()) do
    local row = old_row(id)
    if row then
      name_entries(row)
      move_papers(id)
      if FINAL[row[STATUS]] then
        row[RESCORE_AT] = false
      end
      shape(row)
      store(row, nil, true)
      if HELD[row[STATUS]] then
        move('index:' .. row[WORKSPACE] .. '\0' .. row[STATUS] .. '\0' .. row[TYPE], id, false)
        move(index_of(row[WORKSPACE], row[STATUS], row[TYPE]), id, row[SEQ])
        count_held(row[WORKSPACE], row[STATUS], row[TYPE], 1)
      end
    end
  end
  settle_tasks()
end

-- Until format 4, the events of a DAG were listed by their own numbers.
function steps.dag_events()
  local owner = take()
  local old = yard .. 'dag-events:' .. owner
  for _, seq in ipairs(redis.call('ZRANGE', old, 0, -1)) do
    local entry = text(math.floor(tonumber(seq) / PLACES))
    redis.call('ZADD', yard .. 'dag-log:' .. owner, entry, entry)
  end
  redis.call('DEL', old)
end

-- Until format 4, idempotency keys were not one kind of names: key and task in turn.
function steps.names()
  local workspace, flat = take(), take_many()
  for place = 1, #flat, 2 do
    redis.call('HSET', yard .. 'names:' .. workspace, KEY_NAME .. flat[place], flat[place + 1])
    redis.call('HDEL', yard .. 'keys:' .. workspace, flat[place])
  end
end

-- What is said of an event, after its number. Until format 2 it was said in fields, and always by a text.
local function event_at(entry, workspace)
  local number, flat = entry[1], entry[2]
  if flat[1] == 'packed' then
    return {number, cmsgpack.unpack(flat[2])}
  end
  local said = {}
  for place = 1, #flat, 2 do
    said[flat[place]] = given(flat[place + 1])
  end
  return {
    number,
    {
      said.event, workspace, said.task or false, said.dag or false, said.at, tonumber(said.version) or false,
      said.status or false, tonumber(said.attempt) or false, said.data or false,
    },
  }
end

-- Until format 4, each event was an entry. The first of those that are left and the others of its block of 1,024 become
-- one. Whether there are more.
function steps.events()
  local workspace = take()
  local old = yard .. 'events:' .. workspace
  local first = redis.call('XRANGE', old, '-', '+', 'COUNT', 1)[1]
  if not first then
    redis.call('DEL', old)
    return 0
  end
  local block = math.floor(tonumber(string.match(first[1], '^%d+')) / PLACES)
  local events, places, ids = {}, {}, {}
  for place, entry in ipairs(redis.call('XRANGE', old, text(block * PLACES), text(block * PLACES + PLACES - 1))) do
    local event = event_at(entry, workspace)
    event[2][5] = time(event[2][5])
    ids[place], events[place] = entry[1], event[2]
    places[place] = tonumber(string.match(entry[1], '^%d+')) - block * PLACES
  end
  write_entry(workspace, block, events, places)
  in_parts('XDEL', ids, old)
  return 1
end

-- Until format 2, nothing listed the ids of records, by which they are read in pages.
function steps.list_records()
  local owner = take()
  for _, id in ipairs(take_many()) do
    if redis.call('HEXISTS', yard .. 'records:' .. owner, id) == 1 then
      redis.call('ZADD', yard .. 'record-ids:' .. owner, 0, id)
    end
  end
end

-- Until format 2, nothing listed the signals that are waited for.
function steps.list_awaited()
  local name = take()
  for _, member in ipairs(take_many()) do
    if redis.call('ZSCORE', yard .. 'blocking:' .. name, member) then
      redis.call('ZADD', yard .. 'awaited', 0, member .. '\0' .. name)
    end
  end
end

return steps[take()]()
