-- Where tasks stand: the sorted sets and counts that a row is in; and how a row is written and moved. After yard.lua.

-- A member that sorts as the task's number does, among those of one score.
local function place_of(row)
  return string.format('%014d', row[SEQ]) .. row[ID]
end

local function id_at(place)
  return string.sub(place, 15)
end

-- Texts that many tasks of a script have in common, by what they are made of: to look one up is quicker than to make it.
local lane_names, index_names = {}, {}

local function ready_of(lane)
  local name = lane_names[lane]
  if not name then
    name = 'ready:' .. lane
    lane_names[lane] = name
  end
  return name
end

local function index_of(workspace, status, type)
  local listed = LISTED[status] or status
  local known = index_names[type]
  if not known or known.workspace ~= workspace then
    known = {workspace = workspace}
    index_names[type] = known
  end
  local name = known[listed]
  if not name then
    name = 'index:' .. workspace .. '\0' .. listed .. '\0' .. type
    known[listed] = name
  end
  return name
end

-- Every sorted set that the row stands in: name, then score and member.
local function places(row)
  local status, place = row[STATUS], place_of(row)
  local found = {
    [index_of(row[WORKSPACE], status, row[TYPE])] = {row[SEQ], row[ID]},
  }
  if status == 'ready' then
    found[ready_of(row[LANE])] = {row[RANK], place}
  end
  if row[DUE_AT] then
    found.due = {row[DUE_AT], place}
  end
  if row[RESCORE_AT] and WAITING[status] then
    found.drifting = {row[RESCORE_AT], place}
  end
  if HELD[status] then
    found['held-agents'] = {0, (row[AGENT] or '') .. '\0' .. place}
    if row[RUNTIME] then
      found['held-runtimes'] = {0, row[RUNTIME] .. '\0' .. place}
    end
  end
  if FINAL[status] then
    found[FINAL[status]] = {row[UPDATED_AT], place}
  end
  if row[DAG_ID] then
    found['dag:' .. row[DAG_ID]] = {row[SEQ], row[ID]}
  end
  return found
end

-- Moves in sorted sets, gathered: one command for many members costs a fraction of as many commands. By name and
-- member, the score it is to have, or false where it is to go; the last word counts.
local moves = {}

local function move(name, member, score)
  local of = moves[name]
  if not of then
    of = {}
    moves[name] = of
  end
  of[member] = score
end

-- A short sorted set of short members is kept as a list, which is gone through from its beginning for every member. One
-- that has had a long member is not, so where many come at once, such a one comes first and goes again.
local LONG = string.rep('-', 65)

local held_counts = {} -- by type: of one workspace, by status, how many more are claimed or running

local function settle_held_counts()
  for type, of in pairs(held_counts) do
    for status, change in pairs(of.counts) do
      local name = of.workspace .. '\0' .. status .. '\0' .. type
      if change ~= 0 and redis.call('HINCRBY', yard .. 'held-counts', name, change) == 0 then
        redis.call('HDEL', yard .. 'held-counts', name)
      end
    end
  end
  held_counts = {}
end

-- Write what was gathered of tasks: the last of what a script does.
local function settle_tasks()
  save_rows()
  settle_held_counts()
  for name, of in pairs(moves) do
    local added, gone, last_added, last_gone = {}, {}, 0, 0
    local last, printed = nil, nil
    for member, score in pairs(of) do
      if score then
        if score ~= last then -- most have one score, and a number is dear to print
          last = score
          printed = type(last) == 'number' and text(last) or last
        end
        added[last_added + 1], added[last_added + 2] = printed, member
        last_added = last_added + 2
      else
        last_gone = last_gone + 1
        gone[last_gone] = member
      end
    end
    if last_added > 40 then
      added[last_added + 1], added[last_added + 2] = added[1], added[2]
      added[1], added[2], gone[last_gone + 1] = '0', LONG, LONG
    end
    in_parts('ZADD', added, yard .. name)
    in_parts('ZREM', gone, yard .. name)
  end
  moves = {}
end

local function count_held(workspace, status, type, change)
  if HELD[status] then
    local of = held_counts[type]
    if of and of.workspace ~= workspace then
      settle_held_counts()
      of = nil
    end
    if not of then
      of = {workspace = workspace, counts = {}}
      held_counts[type] = of
    end
    of.counts[status] = (of.counts[status] or 0) + change
  end
end

local function remove_places(row)
  for name, entry in pairs(places(row)) do
    move(name, entry[2], false)
  end
  count_held(row[WORKSPACE], row[STATUS], row[TYPE], -1)
end

local KEY_NAME = 'key\0' -- before an idempotency key: one of the kinds of names that only one task may have

-- The idempotency key that is the task's own for as long as it lives.
local function owned_key(row)
  return not KEY_DEAD[row[STATUS]] and row[IDEMPOTENCY_KEY]
end

local function move_key(id, workspace, was, is)
  if was == is then
    return
  end
  local names = yard .. 'names:' .. workspace
  -- Another task of the same set may have taken it over by now.
  if was and redis.call('HGET', names, KEY_NAME .. was) == id then
    redis.call('HDEL', names, KEY_NAME .. was)
  end
  if is then
    redis.call('HSET', names, KEY_NAME .. is, id)
  end
end

local readied = {} -- lanes, and how many tasks became ready there

-- As `places` has it, but only for what moved, and without making a table of it: this is most of what scripts do.

local function move_index(row, status, type)
  local was, is = LISTED[status] or status, LISTED[row[STATUS]] or row[STATUS]
  if was ~= is or type ~= row[TYPE] then
    if status then
      move(index_of(row[WORKSPACE], status, type), row[ID], false)
    end
    move(index_of(row[WORKSPACE], row[STATUS], row[TYPE]), row[ID], row[SEQ])
  end
end

local function move_ready(row, place, status, lane, rank)
  local was, is = status == 'ready', row[STATUS] == 'ready'
  local stayed = was and is and lane == row[LANE]
  if was and not stayed then
    move(ready_of(lane), place, false)
  end
  if is and not (stayed and rank == row[RANK]) then
    move(ready_of(row[LANE]), place, row[RANK])
  end
  if is and not stayed then
    readied[row[LANE]] = (readied[row[LANE]] or 0) + 1
  end
end

local function move_times(row, place, status, due_at, rescore_at, updated_at)
  if due_at ~= row[DUE_AT] then
    move('due', place, row[DUE_AT])
  end
  local was, is = WAITING[status] and rescore_at or false, WAITING[row[STATUS]] and row[RESCORE_AT] or false
  if was ~= is then
    move('drifting', place, is)
  end
  local ended, ends = FINAL[status], FINAL[row[STATUS]]
  if ended and ended ~= ends then
    move(ended, place, false)
  end
  if ends and (ended ~= ends or updated_at ~= row[UPDATED_AT]) then
    move(ends, place, row[UPDATED_AT])
  end
end

local function move_holder(name, place, was, is)
  if was ~= is then
    if was then
      move(name, was .. '\0' .. place, false)
    end
    if is then
      move(name, is .. '\0' .. place, 0)
    end
  end
end

local function move_held(row, place, status, type, agent, runtime)
  count_held(row[WORKSPACE], status, type, -1)
  count_held(row[WORKSPACE], row[STATUS], row[TYPE], 1)
  local was, is = HELD[status], HELD[row[STATUS]]
  if was or is then
    move_holder('held-agents', place, was and (agent or ''), is and (row[AGENT] or ''))
    move_holder('held-runtimes', place, was and runtime, is and row[RUNTIME])
  end
end

-- Whether a field moved that only `task:ID` has.
local function apply(row, moved)
  local is_wide = false
  for place = 1, #moved, 2 do
    local field, value = moved[place], moved[place + 1]
    is_wide = is_wide or (not HELD_TOO[field] and row[field] ~= value)
    row[field] = value
  end
  return is_wide
end

-- Give the row the fields of a task that is held, or take them away.
local function shape(row)
  if IN_HELD[row[STATUS]] then
    fill(row)
  else
    for _, each in ipairs(row[HELD_LOG] or {}) do
      row[LOG][#row[LOG] + 1] = each
    end
    for field = LAST_HELD, FIRST_HELD, -1 do
      row[field] = nil
    end
  end
end

-- Whether an attempt holds something says which of the two keys are written. A claim and a heartbeat write `held` alone.
local function store(row, status, is_wide)
  local was, is, id = IN_HELD[status], IN_HELD[row[STATUS]], row[ID]
  unsaved[id] = true
  if is then
    keep_text(yard .. 'held:' .. id, cmsgpack.pack(held_of(row)))
  elseif was then
    emptied[#emptied + 1] = yard .. 'held:' .. id
  end
  row[ID] = false -- the key has it
  if not is then
    keep_text(yard .. 'task:' .. id, cmsgpack.pack(row))
  elseif is_wide then
    keep_text(yard .. 'task:' .. id, cmsgpack.pack({unpack(row, 1, FIRST_HELD - 1)}))
  end
  row[ID] = id
end

-- Store a row, and put it where it belongs: it was of this status, and so on; of none where it is new.
local function put(row, is_wide, status, type, lane, rank, dag, due_at, rescore_at, updated_at, agent, runtime, key)
  store(row, status, is_wide)
  local place = place_of(row)
  move_index(row, status, type)
  move_ready(row, place, status, lane, rank)
  move_times(row, place, status, due_at or false, rescore_at, updated_at)
  move_held(row, place, status, type, agent, runtime)
  if dag and dag ~= row[DAG_ID] then
    move('dag:' .. dag, row[ID], false)
  end
  if row[DAG_ID] and dag ~= row[DAG_ID] then
    move('dag:' .. row[DAG_ID], row[ID], row[SEQ])
  end
  move_key(row[ID], row[WORKSPACE], key or false, owned_key(row))
end

local note_step -- of log.lua

-- Write what `change` does to the row, and nothing else: a heartbeat that came in between is not overwritten. Change says
-- whether a field moved that only `task:ID` has. The event that tells of it is given whole, or by its name, its time and what
-- it says; a step without a version has none.
local function write_change(row, change, given, event, at, data)
  local status, type, lane, rank, dag = row[STATUS], row[TYPE], row[LANE], row[RANK], row[DAG_ID]
  local due_at, rescore_at, updated_at = row[DUE_AT], row[RESCORE_AT], row[UPDATED_AT]
  local agent, runtime, key = row[AGENT], row[RUNTIME], owned_key(row)
  local is_wide = change(row, given)
  shape(row)
  if event then
    note_step(row, event, at, data)
  end
  put(row, is_wide, status, type, lane, rank, dag, due_at, rescore_at, updated_at, agent, runtime, key)
end

-- Write what moved, field and value in turn.
local function write(row, moved, event, at, data)
  write_change(row, apply, moved, event, at, data)
end

-- What is kept with a task, each in a field of its own. Gathered, and written in one go by `file`.
local papers = {}

local function paper(id, name, value)
  local held = papers[id]
  if not held then
    held = {}
    papers[id] = held
  end
  held[#held + 1] = name
  held[#held + 1] = value
end

local function file()
  for id, held in pairs(papers) do
    in_parts('HSET', held, yard .. 'papers:' .. id)
  end
  papers = {}
end
