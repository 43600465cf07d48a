-- Blockers and ceilings: putting a task aside, and letting it go. After yard.lua.

-- What is waited for from outside is also in one list, from where people are asked for it.
local function block(id, wait, name)
  if begins(name, 'signal:') then
    redis.call('ZADD', yard .. 'awaited', 0, id .. '\0' .. wait .. '\0' .. name)
  end
  redis.call('ZADD', yard .. 'blockers:' .. id, wait, wait .. '\0' .. name)
  redis.call('ZADD', yard .. 'blocking:' .. name, 0, id .. '\0' .. wait)
end

local function unblock(id, wait, name)
  if begins(name, 'signal:') then
    redis.call('ZREM', yard .. 'awaited', id .. '\0' .. wait .. '\0' .. name)
  end
  redis.call('ZREM', yard .. 'blocking:' .. name, id .. '\0' .. wait)
  return redis.call('ZREM', yard .. 'blockers:' .. id, wait .. '\0' .. name) == 1
end

-- What each script lets go, in order.
local freed = {}

-- As transitions.ready, where the last blocker of the present wait is gone. A task that is not pending stays as it is.
local function free(id, at)
  local row = fetch(id)
  if not row or row[STATUS] ~= 'pending' then
    return
  end
  if redis.call('ZCOUNT', yard .. 'blockers:' .. id, row[WAIT], row[WAIT]) > 0 then
    return
  end
  write(row, {
    STATUS, 'ready',
    WAKE_AT, false,
    VERSION, row[VERSION] + 1,
    UPDATED_AT, at,
    DUE_AT, row[EXPIRES_AT],
  }, 'task.ready', at, '{"from":"pending"}')
  freed[#freed + 1] = row
end

-- Limits and counters: read once, and written when the script is done with them.

local limits, counts = {}, {}

local function kept(cache, workspace)
  cache[workspace] = cache[workspace] or {}
  return cache[workspace]
end

local function limit_of(workspace, name)
  local known = kept(limits, workspace)
  if not known[name] then
    local stored = redis.call('HGET', yard .. 'limits:' .. workspace, name)
    local ceiling, held, spent = string.match(stored or '- 0 0', '(%S+) (%S+) (%S+)')
    -- '-' is no number: there is none.
    known[name] = {ceiling = tonumber(ceiling), held = tonumber(held), spent = tonumber(spent)}
  end
  return known[name]
end

local function set_limit(workspace, name, ceiling, held, spent)
  local limit = limit_of(workspace, name)
  limit.ceiling, limit.held, limit.spent, limit.moved = ceiling, held, spent, true
end

local function spend(workspace, name, held, spent)
  local limit = limit_of(workspace, name)
  set_limit(workspace, name, limit.ceiling, limit.held + held, limit.spent + spent)
end

local function count_of(workspace, name)
  local known = kept(counts, workspace)
  known[name] = known[name] or number(redis.call('HGET', yard .. 'counts:' .. workspace, name))
  return known[name]
end

local function write_limit(key, name, limit)
  if not limit.ceiling and limit.held == 0 and limit.spent == 0 then
    redis.call('HDEL', key, name)
  else
    local ceiling = limit.ceiling and text(limit.ceiling) or '-'
    redis.call('HSET', key, name, ceiling .. ' ' .. text(limit.held) .. ' ' .. text(limit.spent))
  end
end

local function settle_accounts()
  for workspace, known in pairs(limits) do
    for name, limit in pairs(known) do
      if limit.moved then
        write_limit(yard .. 'limits:' .. workspace, name, limit)
      end
    end
  end
  for workspace, known in pairs(counts) do
    for name, count in pairs(known) do
      if count == 0 then
        redis.call('HDEL', yard .. 'counts:' .. workspace, name)
      else
        redis.call('HSET', yard .. 'counts:' .. workspace, name, text(count))
      end
    end
  end
end

-- Keys and probes admit one, without anyone having said so.
local function ceiling_of(name, limit)
  return limit.ceiling or ((begins(name, 'key:') or begins(name, 'probe:')) and 1) or nil
end

-- As claiming.parked_on.
local function parked_on(name)
  if begins(name, 'key:') then
    return name
  elseif begins(name, 'day:') then
    return 'budget:day'
  elseif begins(name, 'dag:') then
    return 'budget:' .. name
  end
end

local function default_reserve(workspace)
  local record = redis.call('HGET', yard .. 'records:workspace\0' .. workspace, workspace)
  local body = record and cjson.decode(string.match(record, '^%d+ (.*)$'))
  return body and type(body.default_reserve) == 'number' and body.default_reserve or 0
end

-- What is parked under the name, in this workspace: others may have a key or a budget that is called the same.
local function parked_under(name, workspace)
  local found = {}
  for _, member in ipairs(redis.call('ZRANGE', yard .. 'blocking:' .. name, 0, -1)) do
    local id, wait = string.match(member, '^(.*)%z(.*)$')
    local row = fetch(id)
    if row and row[WORKSPACE] == workspace and row[STATUS] == 'pending' and row[WAIT] == tonumber(wait) then
      found[#found + 1] = row
    end
  end
  table.sort(found, function(one, other)
    return one[RANK] < other[RANK] or (one[RANK] == other[RANK] and one[SEQ] < other[SEQ])
  end)
  return found
end

-- As claiming.unpark: of each lane the best, as many as would fit, now that a ceiling has room.
local function unpark(workspace, name, at)
  local blocker = parked_on(name)
  if not blocker or redis.call('EXISTS', yard .. 'blocking:' .. blocker) == 0 then
    return
  end
  local limit = limit_of(workspace, name)
  local ceiling = ceiling_of(name, limit)
  local room = ceiling and ceiling - limit.held - limit.spent or math.huge
  local each = begins(name, 'key:') and 1 or nil
  if each and room < each then
    return
  end
  local usual = not each and default_reserve(workspace)
  local left, count = {}, {}
  for _, row in ipairs(parked_under(blocker, workspace)) do
    local amount, lane = each or row[RESERVE] or usual, row[LANE]
    left[lane] = left[lane] or room
    count[lane] = count[lane] or 0
    if amount <= left[lane] and count[lane] < 64 then
      left[lane], count[lane] = left[lane] - amount, count[lane] + 1
      unblock(row[ID], row[WAIT], blocker)
      free(row[ID], at)
    end
  end
end
