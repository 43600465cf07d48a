-- Waking those who wait for what is written. After yard.lua.

local HINTS = 64 -- that a stream keeps: who is not woken by one looks by itself before long
local woken = {} -- what else than ready tasks may change the answer to a claim

-- As identifiers.is_own_ceiling.
local OWN_CEILINGS = {'slots:', 'agent:', 'type:', 'type-slots:', 'type-day:', 'type-month:', 'probe:'}

local function is_own_ceiling(name)
  for _, kind in ipairs(OWN_CEILINGS) do
    if begins(name, kind) then
      return true
    end
  end
  return false
end

-- A workspace's claims are planned on something else now; or there is more room under an agent's own ceiling.
local function wake_planners(workspace)
  woken[workspace .. '/'] = true
end

local function wake_agent(workspace, name, held, spent)
  if (held < 0 or spent < 0) and is_own_ceiling(name) then
    woken[workspace .. '/' .. name] = true
  end
end

-- One stream says to every process that something was written, and whom it may wake. A task that became ready is named
-- to one of those who wait at its lane: its stream is there once anybody has waited.
local function announce()
  local names = {}
  for name in pairs(woken) do
    names[#names + 1] = name
  end
  local id = text(redis.call('HINCRBY', yard .. 'numbers', 'change', 1))
  redis.call('XADD', yard .. 'changed', 'MAXLEN', HINTS, id .. '-0', 'news', table.concat(names, '\0'))
  for lane, count in pairs(readied) do
    names[#names + 1] = text(lane)
    local stream = yard .. 'wake:' .. lane
    if redis.call('EXISTS', stream) == 1 then
      for _ = 1, math.min(count, HINTS) do
        redis.call('XADD', stream, 'MAXLEN', HINTS, '*', 'ready', '')
      end
    end
  end
  table.insert(names, 1, id)
  return names
end
