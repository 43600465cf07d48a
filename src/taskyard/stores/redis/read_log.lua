-- The reads of the log, behind those of `read.lua`. The function that is asked for is called at the end.

local function pruned(workspace)
  return number(redis.call('HGET', yard .. 'pruned', workspace) or 0)
end

-- Entries, a few at a time, until they have so many events behind or before the entry that is read in part.
local function gather_entries(workspace, from, is_backward, limit, found)
  local count, partly = 0, from
  while count < limit do
    local entries = next_entries(workspace, from, is_backward)
    for _, entry in ipairs(entries) do
      local seen = shown(workspace, entry)
      if seen then
        found[#found + 1] = seen
        count = count + (seen[1] == partly and 0 or tonumber(string.match(seen[3], '"n":(%d+)')))
      end
      from = text(entry.number + (is_backward and -1 or 1))
      if count >= limit then
        break
      end
    end
    if #entries < AT_ONCE or tonumber(from) < 0 then
      return
    end
  end
end

local function workspaces(named)
  return named and {named} or redis.call('SMEMBERS', yard .. 'workspaces')
end

-- Of one workspace, or of all: the last that was pruned there, and the next entries of each in order.
function reads.events()
  local from, limit, workspace = take(), take_number(), given(take())
  local gone, found = 0, {}
  for _, each in ipairs(workspaces(workspace)) do
    gone = math.max(gone, pruned(each))
    gather_entries(each, from, false, limit, found)
  end
  return {text(gone), found}
end

-- Of one workspace, or of all: the last entries of each up to this number, newest first.
function reads.newest_events()
  local last, limit, workspace = take(), take_number(), given(take())
  local found = {}
  for _, each in ipairs(workspaces(workspace)) do
    gather_entries(each, last, true, limit, found)
  end
  return found
end

-- The workspace of a task, and the entries with its events, from a number on.
function reads.events_of_task()
  local row, from, limit = fetch(take()), take_number(), take_number()
  local found = {}
  if not row then
    return {'', found}
  end
  for _, each in ipairs(numbers_of(row)) do
    local entry = each >= from and #found < limit and entry_at(row[WORKSPACE], each)
    if entry then
      found[#found + 1] = {text(each), row[WORKSPACE], entry.body}
    end
  end
  return {row[WORKSPACE], found}
end

-- The entries with events of these tasks, each once.
function reads.events_of_tasks()
  local found, seen = {}, {}
  for _, id in ipairs(take_many()) do
    local row = fetch(id)
    for _, each in ipairs(row and numbers_of(row) or {}) do
      local place = row[WORKSPACE] .. ' ' .. text(each)
      local entry = not seen[place] and entry_at(row[WORKSPACE], each)
      seen[place] = true
      if entry then
        found[#found + 1] = {text(each), row[WORKSPACE], entry.body}
      end
    end
  end
  return found
end

return reads[take()]()
