-- The events of a script: one entry of the log for each workspace, with the body that `log_rows.py` describes. Short ones
-- are in the stream `log:WORKSPACE`, long ones in the sorted set `long-log:WORKSPACE`.
--
-- An event has the number of its entry times 1,024, plus its place. The row of a task names the entries with its steps, so
-- an event is added before the row is stored. Events are lists: event, workspace, task, DAG, time, version, status,
-- attempt, data. `gone:WORKSPACE` counts the owners of an entry that were removed, and whoever reads it leaves out the events
-- of those. A long one that lost half of them is written again without them. An entry goes with the last of them.

-- Of the functions here, those that others need are declared before a block: a script may have 200 local names.

local PLACES = 1024

-- Writing.

local function owner_of(event)
  return event[3] or event[4]
end

-- How many tasks and DAGs the events are of, and how many are of none.
local function count_owners(events)
  local owners, count, loose = {}, 0, 0
  for _, event in ipairs(events) do
    local owner = owner_of(event)
    if not owner then
      loose = loose + 1
    elseif not owners[owner] then
      owners[owner], count = true, count + 1
    end
  end
  return count, loose
end

local tell, add_other, add_step, event_of, add_entry, write_entry, write_long
do

-- Of a body, in bytes. A stream takes less memory for what is short, but nothing in it can be replaced, and a node of some
-- 4,096 bytes is freed when all that is in it is gone.
local MOST_STREAMED = 1024
local MOST_EVENTS, MOST_TEXT = 512, 64000 -- of an entry
local MOST_IN_ROW = 32 -- entries that the row of a task names; later ones are among its papers

local chunk -- the events that are to be one entry of each workspace
local listed = {} -- the workspaces that are known to have a stream

-- Number, owners and body are one member, so that two of the same body are two.
function write_long(workspace, id, owners, body)
  redis.call('ZADD', yard .. 'long-log:' .. workspace, id, id .. ' ' .. text(owners) .. ' ' .. body)
end

function add_entry(workspace, number, owners, loose, body)
  local id = text(number)
  if #body > MOST_STREAMED then
    write_long(workspace, id, owners, body)
  else
    -- No stream has an entry 0-0: only a migration or an import has events of the number 0.
    redis.call('XADD', yard .. 'log:' .. workspace, id == '0' and '0-1' or id .. '-0', 'owners', owners, 'body', body)
  end
  if loose > 0 then
    redis.call('ZADD', yard .. 'loose:' .. workspace, id, id)
  end
  if not listed[workspace] then
    redis.call('SADD', yard .. 'workspaces', workspace)
    listed[workspace] = true
  end
end

function write_entry(workspace, number, events, places)
  local owners, loose = count_owners(events)
  add_entry(workspace, number, owners, loose, body_of(events, places))
end

-- Write what was added so far. What is added later has another number.
function tell()
  if not chunk then
    return
  end
  local of, order = {}, {}
  for place, event in ipairs(chunk.events) do
    local workspace = event[2]
    if not of[workspace] then
      of[workspace] = {events = {}, places = {}}
      order[#order + 1] = workspace
    end
    local mine = of[workspace]
    mine.events[#mine.events + 1], mine.places[#mine.places + 1] = event, place - 1
  end
  for _, workspace in ipairs(order) do
    write_entry(workspace, chunk.number, of[workspace].events, of[workspace].places)
  end
  chunk = nil
end

local function add_event(event)
  local length = event[9] and #event[9] or 0
  if chunk and (#chunk.events == MOST_EVENTS or chunk.length + length > MOST_TEXT) then
    tell()
  end
  chunk = chunk or {number = redis.call('HINCRBY', yard .. 'numbers', 'log', 1), events = {}, length = 0}
  chunk.events[#chunk.events + 1] = event
  chunk.length = chunk.length + length
  return chunk.number
end

-- An event of no step: it is found again by its task, if that is there, or where it is of none, by its DAG.
function add_other(event)
  local number, task, dag = add_event(event), event[3], event[4]
  if task and is_there(task) then
    paper(task, 'event:' .. text(number), '')
  elseif not task and dag then
    redis.call('ZADD', yard .. 'dag-log:' .. event[2] .. '\0' .. dag, text(number), text(number))
  end
end

-- The event of a step, before the row is stored.
function add_step(row, event)
  if event[3] ~= row[ID] then
    return add_other(event)
  end
  local number, named = add_event(event), row[HELD_LOG] or row[LOG]
  if #row[LOG] + #(row[HELD_LOG] or {}) >= MOST_IN_ROW then
    paper(row[ID], 'event:' .. text(number), '')
  elseif named[#named] ~= number then
    named[#named + 1] = number
  end
end

function event_of(row, name, at, data)
  local dag = row[DAG_ID]
  if not dag or dag == '' then
    dag = OWN_DAG
  end
  return {name, row[WORKSPACE], row[ID], dag, at, row[VERSION], row[STATUS], row[ATTEMPT], data}
end

function note_step(row, name, at, data)
  add_step(row, at and event_of(row, name, at, data) or name)
end

end

-- Reading.

local function numbers_of(row)
  local numbers, known = {}, {}
  local function add(number)
    if not known[number] then
      known[number] = true
      numbers[#numbers + 1] = number
    end
  end
  for _, named in ipairs({row[LOG], row[HELD_LOG]}) do
    for _, number in ipairs(named) do
      add(number)
    end
  end
  for _, name in ipairs(redis.call('HKEYS', yard .. 'papers:' .. row[ID])) do
    local number = string.match(name, '^event:(%d+)$')
    if number then
      add(tonumber(number))
    end
  end
  table.sort(numbers)
  return numbers
end

local is_owned, events_in, kept_body
do

local function names_entry(id, number)
  local row = fetch(id)
  for _, named in ipairs(row and {row[LOG], row[HELD_LOG]} or {}) do
    for _, each in ipairs(named) do
      if each == number then
        return true
      end
    end
  end
  return row and redis.call('HEXISTS', yard .. 'papers:' .. id, 'event:' .. text(number)) == 1
end

-- Whether a task or a DAG that has this event still looks for it in the entry.
function is_owned(workspace, number, event)
  if event[3] then
    return names_entry(event[3], number)
  end
  return redis.call('ZSCORE', yard .. 'dag-log:' .. workspace .. '\0' .. event[4], text(number)) and true
end

local function unpacked(body, name, usual)
  local value = body[name]
  if value == nil then
    value = usual
  end
  local is_list, values = type(value) == 'table' and not value.middles, {}
  for place = 1, body.n do
    local each = value
    if is_list then
      each = value[place]
    elseif type(value) == 'table' then
      each = value.head .. value.middles[place] .. value.tail
    end
    values[place] = each ~= cjson.null and each or false
  end
  return values
end

-- Times beyond 2^53 would be rounded: they are read as texts. Within what an event says, quotation marks are escaped.
local function with_exact_times(body)
  return (string.gsub(body, '"at":([%d%-%[][^%]}"]*)', function(times)
    return '"at":' .. string.gsub(times, '%-?%d+', '"%0"')
  end, 1))
end

-- The events of a body and their places.
function events_in(workspace, text_of_body)
  local body = cjson.decode(with_exact_times(text_of_body))
  local names, tasks, dags, times = unpacked(body, 'event'), unpacked(body, 'task'), unpacked(body, 'dag', 0), unpacked(body, 'at')
  local versions, statuses, attempts = unpacked(body, 'version'), unpacked(body, 'status'), unpacked(body, 'attempt')
  local texts, events, places = unpacked(body, 'data'), {}, {}
  for place = 1, body.n do
    local dag = dags[place]
    if dag == 0 then
      dag = tasks[place] and lone_dag(tasks[place])
    end
    events[place] = {
      names[place], workspace, tasks[place], dag, times[place], versions[place], statuses[place], attempts[place],
      texts[place],
    }
    places[place] = body.place and body.place[place] or place - 1
  end
  return events, places
end

-- The body without the events of those that are gone, and without loose ones that were pruned; none where nothing is left.
-- And how many own what is left.
function kept_body(workspace, number, body, pruned_before)
  local events, places = events_in(workspace, body)
  local kept, kept_places, known = {}, {}, {}
  for place, event in ipairs(events) do
    local owner, keeps = owner_of(event), nil
    if not owner then
      keeps = tonumber(event[5]) >= pruned_before
    else
      if known[owner] == nil then
        known[owner] = is_owned(workspace, number, event) or false
      end
      keeps = known[owner]
    end
    if keeps then
      kept[#kept + 1], kept_places[#kept_places + 1] = event, places[place]
    end
  end
  return #kept > 0 and body_of(kept, kept_places), (count_owners(kept))
end

end

local entry_at, next_entries, shown
local AT_ONCE = 16 -- entries: each may have 64 kB
do

local function entry_in_stream(found)
  return {number = tonumber(string.match(found[1], '^%d+')), owners = tonumber(found[2][2]), body = found[2][4]}
end

local function long_entry(member)
  local number, owners, body = string.match(member, '^(%d+) (%d+) (.*)$')
  return {number = tonumber(number), owners = tonumber(owners), body = body, is_long = true}
end

function entry_at(workspace, number)
  local id = text(number)
  local found = redis.call('XRANGE', yard .. 'log:' .. workspace, id, id)[1]
  if found then
    return entry_in_stream(found)
  end
  found = redis.call('ZRANGEBYSCORE', yard .. 'long-log:' .. workspace, id, id)[1]
  return found and long_entry(found)
end

-- The next entries from a number on, or backwards: the short and the long ones.
function next_entries(workspace, from, is_backward)
  local streamed, scored = {'XRANGE', '+'}, {'ZRANGEBYSCORE', '+inf'}
  if is_backward then
    streamed, scored = {'XREVRANGE', '-'}, {'ZREVRANGEBYSCORE', '-inf'}
  end
  local found = redis.call(streamed[1], yard .. 'log:' .. workspace, from, streamed[2], 'COUNT', AT_ONCE)
  for place, entry in ipairs(found) do
    found[place] = entry_in_stream(entry)
  end
  local long = redis.call(scored[1], yard .. 'long-log:' .. workspace, from, scored[2], 'LIMIT', 0, AT_ONCE)
  for _, member in ipairs(long) do
    found[#found + 1] = long_entry(member)
  end
  if #long > 0 then
    table.sort(found, function(one, other)
      return one.number ~= other.number and (one.number > other.number) == is_backward
    end)
  end
  return {unpack(found, 1, math.min(#found, AT_ONCE))}
end

-- What is shown of an entry: number, workspace, body; nothing where all of it is gone.
function shown(workspace, entry)
  local id, body = text(entry.number), entry.body
  local gone = redis.call('HMGET', yard .. 'gone:' .. workspace, id, 'loose:' .. id)
  if gone[1] or gone[2] then
    body = kept_body(workspace, entry.number, body, number(gone[2] or 0))
  end
  return body and {id, workspace, body}
end

end

-- Removal.

local forget_events, settle_removals, prune_loose
do

local doomed = {} -- by workspace and number: the owners whose events go, and how many they are

function forget_events(workspace, owner, numbers)
  doomed[workspace] = doomed[workspace] or {}
  for _, each in ipairs(numbers) do
    local entry = doomed[workspace][each] or {owners = {}, count = 0}
    doomed[workspace][each] = entry
    entry.owners[owner], entry.count = true, entry.count + 1
  end
end

local function last_place(workspace, body, is_gone)
  local last = -1
  local events, places = events_in(workspace, body)
  for place, event in ipairs(events) do
    if is_gone(event) then
      last = places[place]
    end
  end
  return last
end

-- A reader that was away while these went learns of it: the last of them is remembered.
local function note_pruned(workspace, event_number)
  local last = number(redis.call('HGET', yard .. 'pruned', workspace) or 0)
  if event_number > last then
    redis.call('HSET', yard .. 'pruned', workspace, text(event_number))
  end
end

local function drop_entry(workspace, id)
  if redis.call('ZREMRANGEBYSCORE', yard .. 'long-log:' .. workspace, id, id) == 0 then
    redis.call('XDEL', yard .. 'log:' .. workspace, id == '0' and '0-1' or id .. '-0')
  end
  redis.call('HDEL', yard .. 'gone:' .. workspace, id, 'loose:' .. id)
  redis.call('ZREM', yard .. 'loose:' .. workspace, id)
end

-- Of a long entry, keep what is somebody's.
local function rewrite_entry(workspace, entry)
  local id = text(entry.number)
  local pruned_before = redis.call('HGET', yard .. 'gone:' .. workspace, 'loose:' .. id)
  local body, owners = kept_body(workspace, entry.number, entry.body, number(pruned_before or 0))
  if not body then
    return drop_entry(workspace, id)
  end
  redis.call('ZREMRANGEBYSCORE', yard .. 'long-log:' .. workspace, id, id)
  redis.call('HDEL', yard .. 'gone:' .. workspace, id, 'loose:' .. id)
  write_long(workspace, id, owners, body)
end

local function take_owners_out(workspace, entry, gone)
  local id = text(entry.number)
  local count = redis.call('HINCRBY', yard .. 'gone:' .. workspace, id, gone.count)
  if count >= entry.owners and not redis.call('ZSCORE', yard .. 'loose:' .. workspace, id) then
    drop_entry(workspace, id)
  elseif entry.is_long and 2 * count >= entry.owners then
    rewrite_entry(workspace, entry)
  end
end

function settle_removals()
  for workspace, entries in pairs(doomed) do
    local last
    for each, gone in pairs(entries) do
      local entry = entry_at(workspace, each)
      if entry and (not last or each > last.number) then
        last = {number = each, body = entry.body, owners = gone.owners}
      end
      if entry then -- without one, the yard is damaged: what can be removed is
        take_owners_out(workspace, entry, gone)
      end
    end
    if last then
      local place = last_place(workspace, last.body, function(event)
        return last.owners[owner_of(event) or false]
      end)
      note_pruned(workspace, last.number * PLACES + place)
    end
  end
  doomed = {}
end

-- Take the loose events of an entry out that are older. Once all are, nothing looks at it again for that.
function prune_loose(workspace, id, before)
  local entry = entry_at(workspace, tonumber(id))
  local has_younger = false
  local last = last_place(workspace, entry.body, function(event)
    local is_loose = not owner_of(event)
    local is_old = tonumber(event[5]) < before
    has_younger = has_younger or (is_loose and not is_old)
    return is_loose and is_old
  end)
  if last < 0 then
    return
  end
  note_pruned(workspace, tonumber(id) * PLACES + last)
  redis.call('HSET', yard .. 'gone:' .. workspace, 'loose:' .. id, text(before))
  if not has_younger then
    redis.call('ZREM', yard .. 'loose:' .. workspace, id)
    if number(redis.call('HGET', yard .. 'gone:' .. workspace, id) or 0) >= entry.owners then
      drop_entry(workspace, id)
    end
  end
end

end
