-- What every script begins with: the names of a yard's keys, and the ways to write one.
--
-- A script is one step: nothing comes in between, and nothing is rolled back. So whatever may be refused is looked at
-- before the first write, and the first write is one that a server without memory refuses (see `begin`).
-- Of the rules, scripts know only those that the store itself has to: claim, extend, lift, and what is un-parked.
--
-- A task is a list of its fields, which `encoding.py` numbers (ID, SEQ and so on), packed in two keys: see `fetch`. None is false.
-- Numbers are doubles, exact below 2^53; a time beyond that is kept as a text. Where a number becomes part of a text,
-- it is made so by `text`, for `..` would round what is longer than 14 digits, as times are.

local yard = KEYS[1] -- '{name}:', which is no key itself: on a cluster whose slot moves, no script runs on half a yard
local NONE = '\0' -- no text has it
local SECOND = 1000000
local TOLERANCE = 5 * SECOND

local HELD = {claimed = true, running = true}
local IN_HELD = {claimed = true, running = true, validating = true} -- those with `held:ID`
local LISTED = {claimed = 'ready', running = 'ready'} -- in the index of ready tasks, so that a claim leaves it alone
local WAITING = {pending = true, ready = true, retrying = true}
local FINAL = {completed = 'final', cancelled = 'final', dead_lettered = 'dead'}
local KEY_DEAD = {cancelled = true, dead_lettered = true}

local function text(number)
  return string.format('%d', number)
end

local function number(value)
  return tonumber(value or 0)
end

local function given(value)
  if value ~= NONE then
    return value
  end
end

-- A time that came as a text, as rows have it.
local function time(word)
  local value = tonumber(word)
  return value and math.abs(value) < 2 ^ 53 and value or word
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

-- The time that counts: the server's where no clock is given. A time that was already given out keeps it from going back a
-- little; a clock that was set back further counts, as `core.clock_jump.time_of` has it.
local function clock(said)
  local latest = number(redis.call('HGET', yard .. 'state', 'told') or 0)
  local now = said and tonumber(said)
  if not now then
    local time = redis.call('TIME')
    now = time[1] * SECOND + time[2]
  end
  return latest > now + TOLERANCE and now or math.max(latest, now)
end

-- The first write. A server that is out of memory refuses it, and with it the whole script; later writes it lets pass.
-- What makes room, or keeps work from being lost, must go on: before that comes a write which needs no memory.
local function begin(now, always)
  if always then
    redis.call('DEL', yard .. 'nothing')
  end
  redis.call('HSET', yard .. 'state', 'told', text(now))
end

local AT_MOST = 4000 -- arguments of one command

-- Many values for one command, and behind a key.
local function in_parts(command, values, key)
  for first = 1, #values, AT_MOST do
    local last = math.min(first + AT_MOST - 1, #values)
    if key then
      redis.call(command, key, unpack(values, first, last))
    else
      redis.call(command, unpack(values, first, last))
    end
  end
end

local function texts_at(keys)
  if #keys <= AT_MOST then
    return #keys > 0 and redis.call('MGET', unpack(keys)) or {}
  end
  local found = {}
  for first = 1, #keys, AT_MOST do
    for place, value in ipairs(redis.call('MGET', unpack(keys, first, math.min(first + AT_MOST - 1, #keys)))) do
      found[first + place - 1] = value
    end
  end
  return found
end

-- Tasks.

-- What is written of tasks is gathered: one command for many keys costs a fraction of as many commands. `save_rows` writes
-- it, at the latest when the script ends, and earlier where a task is looked at again.
local unsaved = {} -- by id, the tasks with something gathered
local texts, emptied = {}, {} -- key and text in turn; and keys that go

local function save_rows()
  in_parts('MSET', texts)
  in_parts('DEL', emptied)
  unsaved, texts, emptied = {}, {}, {}
end

local function keep_text(key, value)
  local last = #texts
  texts[last + 1], texts[last + 2] = key, value
end

local function is_there(id)
  return unsaved[id] or redis.call('EXISTS', yard .. 'task:' .. id) == 1
end

-- A task is `task:ID`, and as long as an attempt holds something, `held:ID` beside it: what both have, `held` says.
-- Without it, the row ends before the fields that only `held` has.
local function parse_row(id, task, held)
  local row = task and cmsgpack.unpack(task)
  if row then
    row[ID] = id
    if held then
      overlay(row, cmsgpack.unpack(held))
    end
  end
  return row
end

local function fetch(id)
  if unsaved[id] then
    save_rows()
  end
  local found = redis.call('MGET', yard .. 'task:' .. id, yard .. 'held:' .. id)
  return parse_row(id, found[1], found[2])
end

-- The rows of these tasks, by id.
local function fetch_all(ids)
  save_rows()
  local rows, keys = {}, {}
  for place, id in ipairs(ids) do
    keys[2 * place - 1], keys[2 * place] = yard .. 'task:' .. id, yard .. 'held:' .. id
  end
  local found = texts_at(keys)
  for place, id in ipairs(ids) do
    rows[id] = parse_row(id, found[2 * place - 1], found[2 * place])
  end
  return rows
end
