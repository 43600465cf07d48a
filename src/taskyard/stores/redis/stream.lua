-- Streams: what attempts say while they work. `stream:ID\0ATTEMPT` is a list, in which the index of a chunk is its place.
-- As stream.appended in the core.

local MOST_BYTES = 8 * 1024 * 1024
local SEEN_REQUESTS = 8
local ANNOUNCED = {message = 'task.message', progress = 'task.progress'}
local streams = {}

local function stream_key(id, attempt)
  return yard .. 'stream:' .. id .. '\0' .. text(attempt)
end

-- Time, kind, bytes so far, request, body.
local function chunk_parts(chunk)
  return string.match(chunk, '^(%d+)%z(%a+)%z(%d+)%z([^%z]*)%z')
end

local has_events = false

-- Listeners of the whole yard hear messages and progress, whether the stream has room for them or not. Whether there were any.
local function announce_entries(row, entries, now)
  local is_any = false
  for place = 1, #entries, 2 do
    local name = ANNOUNCED[entries[place]]
    if name then
      local event = event_of(row, name, now, entries[place + 1])
      event[6], event[7] = false, false
      add_other(event)
      has_events, is_any = true, true
    end
  end
  return is_any
end

local function push_chunk(key, now, kind, total, request, body)
  redis.call('RPUSH', key, table.concat({text(now), kind, text(total), request, body}, '\0'))
end

-- Whether the stream takes no more.
local function append(row, request, entries, now)
  local key = stream_key(row[ID], row[ATTEMPT])
  local last = redis.call('LRANGE', key, -SEEN_REQUESTS, -1)
  local total, is_full, is_known = 0, false, false
  for _, chunk in ipairs(last) do
    local _, kind, so_far, by = chunk_parts(chunk)
    total, is_full, is_known = tonumber(so_far), kind == 'cut', is_known or by == request
  end
  if is_known then
    return is_full
  end
  local is_announced = announce_entries(row, entries, now)
  if is_full then
    if is_announced then
      push_chunk(key, now, 'cut', total, request, '')
    end
    return true
  end
  for place = 1, #entries, 2 do
    local kind, body = entries[place], entries[place + 1]
    is_full = total + #body > MOST_BYTES
    if is_full then
      kind, body = 'cut', text(MOST_BYTES)
    else
      total = total + #body
    end
    push_chunk(key, now, kind, total, request, body)
    if is_full then
      break
    end
  end
  redis.call('ZADD', yard .. 'streams', 0, row[ID] .. '\0' .. text(row[ATTEMPT]))
  return is_full
end

-- Those who follow these streams wait at a Redis stream of their own, so that nobody else wakes.
local function announce_streams(ids)
  local number = text(redis.call('HINCRBY', yard .. 'numbers', 'streamed', 1))
  redis.call('XADD', yard .. 'streamed', 'MAXLEN', 64, number .. '-0', 'tasks', table.concat(ids, '\0'))
  return {number, unpack(ids)}
end

function streams.append()
  local now = clock(given(take()))
  local answers, ids, begun = {}, {}, false
  for place = 1, take_number() do
    local id, workspace, lease, request = take(), take(), take(), take()
    local entries = take_many()
    local row = fetch(id)
    if row and HELD[row[STATUS]] and row[LEASE] == lease and row[WORKSPACE] == workspace then
      if not begun then
        begin(now)
        begun = true
      end
      answers[place] = append(row, request, entries, now) and 'full' or 'stored'
      ids[#ids + 1] = id
    else
      answers[place] = 'refused'
    end
  end
  tell()
  file()
  return {text(now), begun and announce_streams(ids) or {}, has_events and announce() or {}, answers}
end

local function is_over(id, before)
  local row = fetch(id)
  return not row or (FINAL[row[STATUS]] and tonumber(row[UPDATED_AT]) < before)
end

function streams.prune()
  local before, after, limit = take_number(), take(), take_number()
  redis.call('DEL', yard .. 'nothing')
  local first = after == '' and '-' or '(' .. after
  local found = redis.call('ZRANGEBYLEX', yard .. 'streams', first, '+', 'LIMIT', 0, limit)
  for _, member in ipairs(found) do
    local id, attempt = string.match(member, '^([^%z]*)%z(.*)$')
    if is_over(id, before) then
      redis.call('DEL', yard .. 'stream:' .. member)
      redis.call('ZREM', yard .. 'streams', member)
    end
  end
  return #found == limit and found[limit] or false
end

local function read_chunk(found, id, attempt, index, chunk)
  found[#found + 1] = {id, text(attempt), text(index), chunk}
end

function streams.read()
  local id, attempt, index, limit = take(), take_number(), take_number(), take_number()
  local row, found = fetch(id), {}
  for number = math.max(attempt, 1), row and row[ATTEMPT] or 0 do
    local first = number == attempt and index + 1 or 0
    for place, chunk in ipairs(redis.call('LRANGE', stream_key(id, number), first, first + limit - #found - 1)) do
      read_chunk(found, id, number, first + place - 1, chunk)
    end
    if #found >= limit then
      break
    end
  end
  return found
end

return streams[take()]()
