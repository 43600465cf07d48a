-- What every script begins with: the names of a yard's keys, and the ways to write one.
--
-- A script is one step: nothing comes in between, and nothing is rolled back. So whatever may be refused is looked at
-- before the first write, and the first write is one that a server without memory refuses (see `begin`).
-- Of the rules, scripts know only those that the store itself has to: claim, extend, lift, and what is un-parked.
--
-- Numbers are doubles, exact below 2^53; they are kept as the text they came as, and made text again by `text`, for
-- tostring would round. A field that is not there is None or, where it cannot be None, nothing.

local yard = KEYS[1] -- '{name}:', which is no key itself: on a cluster whose slot moves, no script runs on half a yard
local NONE = '\0' -- no text has it
local SECOND = 1000000

local HELD = {claimed = true, running = true}
local WAITING = {pending = true, ready = true, retrying = true}
local FINAL = {completed = 'final', cancelled = 'final', dead_lettered = 'dead'}
local KEY_DEAD = {cancelled = true, dead_lettered = true}

local function text(number)
  return string.format('%.0f', number)
end

local function number(value)
  return tonumber(value or 0)
end

local function given(value)
  if value ~= NONE then
    return value
  end
end

local cursor = 0
local function take()
  cursor = cursor + 1
  return ARGV[cursor]
end

local function take_number()
  return tonumber(take())
end

local function take_many()
  local values = {}
  for place = 1, take_number() do
    values[place] = take()
  end
  return values
end

local function begins(name, with)
  return string.sub(name, 1, #with) == with
end

-- The time that counts: the server's where no clock is given, and never behind what somebody was already told.
local function clock(said)
  local told = number(redis.call('HGET', yard .. 'meta', 'told') or 0)
  if said ~= NONE then
    return math.max(told, tonumber(said))
  end
  local now = redis.call('TIME')
  return math.max(told, now[1] * SECOND + now[2])
end

-- The first write. A server that is out of memory refuses it, and with it the whole script; later writes it lets pass.
-- What makes room, or keeps work from being lost, must go on: before that comes a write which needs no memory.
local function begin(now, always)
  if always then
    redis.call('DEL', yard .. 'nothing')
  end
  redis.call('HSET', yard .. 'meta', 'told', text(now))
end

-- Many values for one command: a call takes only so many arguments.
local function in_parts(command, key, values)
  for first = 1, #values, 4000 do
    redis.call(command, key, unpack(values, first, math.min(first + 3999, #values)))
  end
end

-- Tasks.

local function fetch(id)
  local flat = redis.call('HGETALL', yard .. 'task:' .. id)
  if #flat == 0 then
    return nil
  end
  local row = {id = id}
  for place = 1, #flat, 2 do
    row[flat[place]] = flat[place + 1]
  end
  return row
end

local function flattened(row)
  local flat = {row.id}
  for name, value in pairs(row) do
    if name ~= 'id' then
      flat[#flat + 1] = name
      flat[#flat + 1] = value
    end
  end
  return flat
end

-- A member that sorts as the task's number does, among those of one score.
local function place_of(row)
  return string.format('%014.0f', row.seq) .. row.id
end

local function id_at(place)
  return string.sub(place, 15)
end

-- Every sorted set that the row stands in: name, then score and member.
local function places(row)
  if not row.status then
    return {}
  end
  local place = place_of(row)
  local found = {
    ['index:' .. row.workspace .. '\0' .. row.status .. '\0' .. row.type] = {row.seq, row.id},
  }
  if row.status == 'ready' then
    found['ready:' .. row.lane] = {row.rank or '0', place}
  end
  if row.due_at then
    found.due = {row.due_at, place}
  end
  if row.rescore_at and WAITING[row.status] then
    found.drifting = {row.rescore_at, place}
  end
  if HELD[row.status] then
    found['held-agents'] = {'0', (row.agent or '') .. '\0' .. place}
    if row.runtime then
      found['held-runtimes'] = {'0', row.runtime .. '\0' .. place}
    end
  end
  if FINAL[row.status] then
    found[FINAL[row.status]] = {row.updated_at or '0', place}
  end
  if row.dag_id then
    found['dag:' .. row.dag_id] = {row.seq, row.id}
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

local function settle_moves()
  for name, of in pairs(moves) do
    local added, gone = {}, {}
    for member, score in pairs(of) do
      if score then
        added[#added + 1] = score
        added[#added + 1] = member
      else
        gone[#gone + 1] = member
      end
    end
    in_parts('ZADD', yard .. name, added)
    in_parts('ZREM', yard .. name, gone)
  end
  moves = {}
end

local function remove_places(row)
  for name, entry in pairs(places(row)) do
    move(name, entry[2], false)
  end
end

-- The idempotency key that is the task's own for as long as it lives.
local function owned_key(row)
  if row.status and not KEY_DEAD[row.status] then
    return row.idempotency_key
  end
end

local function move_key(id, workspace, was, is)
  if was == is then
    return
  end
  local keys = yard .. 'keys:' .. workspace
  -- Another task of the same set may have taken it over by now.
  if was and redis.call('HGET', keys, was) == id then
    redis.call('HDEL', keys, was)
  end
  if is then
    redis.call('HSET', keys, is, id)
  end
end

local readied = {} -- lanes, and how many tasks became ready there

-- As `places` has it, but only for what moved, and without making a table of it: this is most of what scripts do.

local function move_index(row, status, type)
  if status ~= row.status or type ~= row.type then
    local index = 'index:' .. row.workspace .. '\0'
    if status then
      move(index .. status .. '\0' .. type, row.id, false)
    end
    move(index .. row.status .. '\0' .. row.type, row.id, row.seq)
  end
end

local function move_ready(row, place, status, lane, rank)
  local was, is = status == 'ready', row.status == 'ready'
  local stayed = was and is and lane == row.lane
  if was and not stayed then
    move('ready:' .. lane, place, false)
  end
  if is and not (stayed and rank == row.rank) then
    move('ready:' .. row.lane, place, row.rank or '0')
  end
  if is and not stayed then
    readied[row.lane] = (readied[row.lane] or 0) + 1
  end
end

-- From one member and score of a sorted set to another; there is none where it is nil or false.
local function move_member(name, was, was_at, is, is_at)
  if was and was ~= is then
    move(name, was, false)
  end
  if is and (was ~= is or was_at ~= is_at) then
    move(name, is, is_at)
  end
end

local function move_times(row, place, status, due_at, rescore_at, updated_at)
  if due_at ~= row.due_at then
    move('due', place, row.due_at or false)
  end
  local was, is = WAITING[status] and rescore_at or false, WAITING[row.status] and row.rescore_at or false
  if was ~= is then
    move('drifting', place, is)
  end
  local ended, ends = FINAL[status], FINAL[row.status]
  if ended and ended ~= ends then
    move(ended, place, false)
  end
  if ends and (ended ~= ends or updated_at ~= row.updated_at) then
    move(ends, place, row.updated_at or '0')
  end
end

local function move_held(row, place, status, agent, runtime)
  local was, is = HELD[status], HELD[row.status]
  if was or is then
    local before, after = was and (agent or '') .. '\0' .. place, is and (row.agent or '') .. '\0' .. place
    move_member('held-agents', before, '0', after, '0')
    before, after = was and runtime and runtime .. '\0' .. place, is and row.runtime and row.runtime .. '\0' .. place
    move_member('held-runtimes', before, '0', after, '0')
  end
end

-- Write the fields that moved, and no others: a heartbeat that came in between is not overwritten. False: it is None.
local function write(row, moved)
  local status, type, lane, rank, dag = row.status, row.type, row.lane, row.rank, row.dag_id
  local due_at, rescore_at, updated_at = row.due_at, row.rescore_at, row.updated_at
  local agent, runtime, key = row.agent, row.runtime, owned_key(row)
  local set, gone = {}, {}
  for name, value in pairs(moved) do
    if value then
      set[#set + 1] = name
      set[#set + 1] = value
      row[name] = value
    elseif row[name] then
      gone[#gone + 1] = name
      row[name] = nil
    end
  end
  if #set > 0 then
    redis.call('HSET', yard .. 'task:' .. row.id, unpack(set))
  end
  if #gone > 0 then
    redis.call('HDEL', yard .. 'task:' .. row.id, unpack(gone))
  end
  local place = place_of(row)
  move_index(row, status, type)
  move_ready(row, place, status, lane, rank)
  move_times(row, place, status, due_at, rescore_at, updated_at)
  move_held(row, place, status, agent, runtime)
  if dag and dag ~= row.dag_id then
    move('dag:' .. dag, row.id, false)
  end
  if row.dag_id and dag ~= row.dag_id then
    move('dag:' .. row.dag_id, row.id, row.seq)
  end
  move_key(row.id, row.workspace, key, owned_key(row))
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
    in_parts('HSET', yard .. 'papers:' .. id, held)
  end
  papers = {}
end

-- Events.

local told = {} -- the workspaces that are known to have a stream

local function dag_of(row)
  if row.dag_id and row.dag_id ~= '' then
    return row.dag_id
  end
  return 'dag_' .. (string.match(row.id, '^task_(.*)$') or row.id)
end

-- As they come, each with the next number: event, workspace, task, DAG, time, version, status, attempt, data. They are
-- found again by their task, or where they are of none, by their DAG; one that is loose is of a task that is not there.
local function tell(events)
  if #events == 0 then
    return
  end
  local seq = redis.call('HINCRBY', yard .. 'numbers', 'event', #events) - #events
  for _, each in ipairs(events) do
    seq = seq + 1
    local workspace, task, dag, id = each[2], each[3], each[4], text(seq)
    redis.call(
      'XADD', yard .. 'events:' .. workspace, id .. '-0',
      'event', each[1], 'task', task, 'dag', dag, 'at', each[5], 'version', each[6], 'status', each[7],
      'attempt', each[8], 'data', each[9]
    )
    if task ~= NONE and not each.loose then
      paper(task, 'event:' .. id, '')
    elseif task == NONE and dag ~= NONE then
      redis.call('ZADD', yard .. 'dag-events:' .. workspace .. '\0' .. dag, id, id)
    end
    if not told[workspace] then
      redis.call('SADD', yard .. 'workspaces', workspace)
      told[workspace] = true
    end
  end
end

local function event_of(row, name, at, data)
  return {name, row.workspace, row.id, dag_of(row), at, row.version, row.status, row.attempt or '0', data}
end
