-- Looking for what does not belong together. Each script looks at a few things, and sees one moment.

local checks = {}

-- Whether there is such an entry of the log, with an event of this task or DAG.
local function has_entry(workspace, number, owner)
  local entry = entry_at(workspace, number)
  return entry and (not owner or string.find(entry.body, quoted(owner), 1, true))
end

-- For each task: every sorted set that it stands in, and the key that it owns; then those where it is not found.
function checks.tasks()
  local found = {}
  for place, id in ipairs(take_many()) do
    local row, stands, missing = fetch(id), {}, {}
    for name, entry in pairs(row and places(row) or {}) do
      stands[#stands + 1] = name
      local score = redis.call('ZSCORE', yard .. name, entry[2])
      if not score or tonumber(score) ~= tonumber(entry[1]) then
        missing[#missing + 1] = name
      end
    end
    local key = row and owned_key(row)
    if key then
      stands[#stands + 1] = 'names:' .. row[WORKSPACE]
      if redis.call('HGET', yard .. 'names:' .. row[WORKSPACE], KEY_NAME .. key) ~= id then
        missing[#missing + 1] = 'names:' .. row[WORKSPACE]
      end
    end
    if row and IN_HELD[row[STATUS]] and redis.call('EXISTS', yard .. 'held:' .. id) == 0 then
      missing[#missing + 1] = 'held:' .. id
    end
    if row and redis.call('EXISTS', yard .. 'definition:' .. id) == 0 then
      missing[#missing + 1] = 'definition:' .. id
    end
    for _, each in ipairs(row and numbers_of(row) or {}) do
      if not has_entry(row[WORKSPACE], each, id) then
        missing[#missing + 1] = 'entry ' .. text(each) .. ' of log:' .. row[WORKSPACE]
      end
    end
    found[place] = {stands, missing}
  end
  return found
end

local function id_in(name, member)
  if begins(name, 'index:') or begins(name, 'dag:') then
    return member
  elseif begins(name, 'held-') then
    member = string.match(member, '^[^%z]*%z(.*)$')
  end
  return id_at(member)
end

-- The members of a sorted set that stand there for no task.
function checks.strays()
  local name, strays = take(), {}
  for _, member in ipairs(take_many()) do
    local row = fetch(id_in(name, member))
    local entry = row and places(row)[name]
    if not entry or entry[2] ~= member then
      strays[#strays + 1] = member
    end
  end
  return strays
end

-- The counts of those that are held which are not as many as there are.
function checks.held_counts()
  local right, wrong = {}, {}
  for _, member in ipairs(redis.call('ZRANGE', yard .. 'held-agents', 0, -1)) do
    local row = fetch(id_at(string.match(member, '^[^%z]*%z(.*)$')))
    if row then
      local name = row[WORKSPACE] .. '\0' .. row[STATUS] .. '\0' .. row[TYPE]
      right[name] = (right[name] or 0) + 1
    end
  end
  local flat = redis.call('HGETALL', yard .. 'held-counts')
  for place = 1, #flat, 2 do
    if right[flat[place]] ~= tonumber(flat[place + 1]) then
      wrong[#wrong + 1] = flat[place]
    end
    right[flat[place]] = nil
  end
  for name in pairs(right) do
    wrong[#wrong + 1] = name
  end
  return wrong
end

-- The names that no task owns: name and task in turn.
function checks.stray_names()
  local workspace, strays, flat = take(), {}, take_many()
  for place = 1, #flat, 2 do
    local row = fetch(flat[place + 1])
    if not row or row[WORKSPACE] ~= workspace or KEY_NAME .. (owned_key(row) or '') ~= flat[place] then
      strays[#strays + 1] = flat[place]
    end
  end
  return strays
end

-- Those of these keys that stand for nothing, by what begins their names.

local lone = {}

function lone.papers(id)
  return redis.call('EXISTS', yard .. 'task:' .. id) == 0
end

lone.definition = lone.papers

function lone.held(id)
  local row = fetch(id)
  return not row or not IN_HELD[row[STATUS]]
end

function lone.blockers(id)
  for _, member in ipairs(redis.call('ZRANGE', yard .. 'blockers:' .. id, 0, -1)) do
    local wait, name = string.match(member, '^([^%z]*)%z(.*)$')
    if not redis.call('ZSCORE', yard .. 'blocking:' .. name, id .. '\0' .. wait) then
      return true
    end
  end
  return lone.papers(id)
end

function lone.blocking(name)
  for _, member in ipairs(redis.call('ZRANGE', yard .. 'blocking:' .. name, 0, -1)) do
    local id, wait = string.match(member, '^(.*)%z(.*)$')
    if not redis.call('ZSCORE', yard .. 'blockers:' .. id, wait .. '\0' .. name) then
      return true
    end
    if begins(name, 'signal:') and not redis.call('ZSCORE', yard .. 'awaited', member .. '\0' .. name) then
      return true
    end
  end
  return false
end

function lone.records(name)
  local records, ids = redis.call('HLEN', yard .. 'records:' .. name), redis.call('ZCARD', yard .. 'record-ids:' .. name)
  return records ~= ids or redis.call('SISMEMBER', yard .. 'records', name) == 0
end

lone['record-ids'] = lone.records

function lone.log(workspace)
  return redis.call('SISMEMBER', yard .. 'workspaces', workspace) == 0
end

lone['long-log'] = lone.log

local function is_of_no_entry(workspace)
  local ids = redis.call('HKEYS', yard .. 'gone:' .. workspace)
  for _, id in ipairs(redis.call('ZRANGE', yard .. 'loose:' .. workspace, 0, -1)) do
    ids[#ids + 1] = id
  end
  for _, id in ipairs(ids) do
    if not has_entry(workspace, tonumber(string.match(id, '%d+$'))) then
      return true
    end
  end
  return false
end

lone.loose, lone.gone = is_of_no_entry, is_of_no_entry

lone['dag-log'] = function(name)
  local workspace, dag = string.match(name, '^([^%z]*)%z(.*)$')
  for _, id in ipairs(redis.call('ZRANGE', yard .. 'dag-log:' .. name, 0, -1)) do
    if not has_entry(workspace, tonumber(id), dag) then
      return true
    end
  end
  return false
end

function lone.outbox(topic)
  for _, id in ipairs(redis.call('ZRANGE', yard .. 'outbox:' .. topic, 0, -1)) do
    if redis.call('HEXISTS', yard .. 'outbox', id) == 0 then
      return true
    end
  end
  return false
end

local function is_no_lane(id)
  return number(id) > number(redis.call('HGET', yard .. 'numbers', 'lane') or 0)
end

lone.wake = is_no_lane
lone.ready = is_no_lane

-- How many of those that have events in an entry do not look for them there any more; how many of these are there; and
-- whether it has loose events that were not pruned.
local function owners_gone(workspace, entry, pruned_before)
  local known, gone, there, has_loose = {}, 0, 0, false
  for _, event in ipairs((events_in(workspace, entry.body))) do
    local owner = owner_of(event)
    if not owner then
      has_loose = has_loose or tonumber(event[5]) >= pruned_before
    elseif not known[owner] then
      known[owner] = true
      if not is_owned(workspace, entry.number, event) then
        gone, there = gone + 1, there + redis.call('EXISTS', yard .. 'task:' .. owner)
      end
    end
  end
  return gone, there, has_loose
end

-- What does not agree of an entry: its owners, those that are gone of them, and whether events of no owner are in it.
local function entry_problems(workspace, entry)
  local id, problems = text(entry.number), {}
  local counted, before = unpack(redis.call('HMGET', yard .. 'gone:' .. workspace, id, 'loose:' .. id))
  local gone, there, has_loose = owners_gone(workspace, entry, before and number(before) or -math.huge)
  if count_owners((events_in(workspace, entry.body))) ~= entry.owners then
    problems[#problems + 1] = 'counts other owners than it has'
  end
  -- An event of a task that never was counts for nothing; `verify` finds it.
  if number(counted or 0) > gone or number(counted or 0) < there then
    problems[#problems + 1] = 'has another number of owners left than it counts'
  end
  if has_loose ~= (redis.call('ZSCORE', yard .. 'loose:' .. workspace, id) and true or false) then
    problems[#problems + 1] = 'is not listed by its events of no task'
  end
  if entry.number > number(redis.call('HGET', yard .. 'numbers', 'log') or 0) then
    problems[#problems + 1] = 'is beyond the last number'
  end
  return problems
end

-- A few entries of a workspace from a number on: where to go on, or nothing; then number and problem in turn.
function checks.entries()
  local workspace, from = take(), take_many()[1]
  local entries, found = next_entries(workspace, from, false), {''}
  for _, entry in ipairs(entries) do
    for _, problem in ipairs(entry_problems(workspace, entry)) do
      found[#found + 1], found[#found + 2] = text(entry.number), problem
    end
    found[1] = text(entry.number + 1)
  end
  if #entries < AT_ONCE then
    found[1] = ''
  end
  return found
end

function checks.lone()
  local found = {}
  for _, key in ipairs(take_many()) do
    local kind, rest = string.match(key, '^([^:]*):(.*)$')
    if lone[kind] and lone[kind](rest) then
      found[#found + 1] = key
    end
  end
  return found
end

return checks[take()]()
