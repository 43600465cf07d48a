-- Tasks with what belongs to them, in the order of their numbers, for a copy of the yard.

local STATUSES = {'pending', 'ready', 'validating', 'retrying', 'completed', 'cancelled', 'dead_lettered'}

-- Numbers and ids of the next tasks of each index, which are more than are wanted.
local function next_tasks(after, limit)
  local found = {}
  for _, workspace in ipairs(redis.call('SMEMBERS', yard .. 'workspaces')) do
    for _, type in ipairs(redis.call('SMEMBERS', yard .. 'types:' .. workspace)) do
      for _, status in ipairs(STATUSES) do
        local key = yard .. index_of(workspace, status, type)
        local flat = redis.call('ZRANGEBYSCORE', key, '(' .. after, '+inf', 'WITHSCORES', 'LIMIT', 0, limit)
        for place = 1, #flat, 2 do
          found[#found + 1] = {tonumber(flat[place + 1]), flat[place]}
        end
      end
    end
  end
  table.sort(found, function(one, other)
    return one[1] < other[1]
  end)
  return found
end

-- What is kept with a task under names that begin so, name and value in turn.
local function papers_of(flat, prefix)
  local found = {}
  for place = 1, #flat, 2 do
    if begins(flat[place], prefix) then
      found[#found + 1] = string.sub(flat[place], #prefix + 1)
      found[#found + 1] = flat[place + 1]
    end
  end
  return found
end

local after, limit = take(), take_number()
local found = {}
for place, each in ipairs(next_tasks(after, limit)) do
  if place > limit then
    break
  end
  local flat = redis.call('HGETALL', yard .. 'papers:' .. each[2])
  found[place] = {
    fetch(each[2]), redis.call('GET', yard .. 'definition:' .. each[2]), papers_of(flat, 'checkpoint:'), papers_of(flat, 'signal:'),
  }
end
return found
