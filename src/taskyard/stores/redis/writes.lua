-- The guards and writes of change sets, which `commits.py` plans by name. `restore.lua` uses some of them too.

local now, at = 0, 0 -- the store's time; and when the set under way was decided
local changed = {} -- the rows that the set under way changes
local taken = {} -- the keys and ids it wants and others have

local guards, writes = {}, {}

-- Guards: what they return is a conflict.

function guards.expect(id, version)
  local row = fetch(id)
  if not row or row[VERSION] ~= version then
    return id
  end
end

-- Of each row that is changed: its id, its version, and the end of the lease that it was decided on. That end must be as it
-- was where the row was not read again after it was handed out: then no heartbeat came since.
function guards.changes(rows)
  local ids = {}
  for place = 1, #rows, 3 do
    ids[#ids + 1] = rows[place]
  end
  changed = fetch_all(ids)
  for place = 1, #rows, 3 do
    local id, version, seen = rows[place], rows[place + 1], rows[place + 2]
    local row = changed[id]
    if not row or row[VERSION] ~= version or (seen ~= 'any' and (row[LEASE_EXPIRES_AT] or false) ~= seen) then
      return id
    end
  end
end

-- Expiring a lease: no heartbeat came since, and it is over by the store's clock. After the change of the same row.
function guards.expire(id, seen)
  local expires = changed[id][LEASE_EXPIRES_AT]
  if not expires or expires ~= seen or tonumber(expires) > now then
    return id
  end
end

function guards.record(kind, workspace, id, version)
  local stored = redis.call('HGET', yard .. 'records:' .. kind .. '\0' .. workspace, id)
  if number(stored and string.match(stored, '^%d+')) ~= version then
    return kind .. ':' .. id
  end
end

-- A step has one result: the first.
function guards.checkpoint(id, name)
  if redis.call('HEXISTS', yard .. 'papers:' .. id, 'checkpoint:' .. name) == 1 then
    return 'checkpoint:' .. name
  end
end

function guards.new(ids)
  for _, id in ipairs(ids) do
    if is_there(id) then
      taken[#taken + 1] = id
      taken[#taken + 1] = id
    end
  end
end

-- Changes come first: a set may cancel the owner of a key and put in its successor. Kept: who has it after the changes.
function guards.key(workspace, key, by, kept)
  local owner = redis.call('HGET', yard .. 'names:' .. workspace, KEY_NAME .. key)
  if not owner or changed[owner] then
    owner = kept
  end
  if owner and owner ~= by then
    taken[#taken + 1] = key
    taken[#taken + 1] = owner
  end
end

-- Writes.

function writes.change(id, moved, event)
  write(changed[id], moved, event)
end

-- Steps that move the same fields to the same values: of each its task, and what its event says. The rest of the event
-- follows from the row.
function writes.changes(moved, name, time, tasks)
  for place = 1, #tasks, 2 do
    write(changed[tasks[place]], moved, name, time, tasks[place + 1])
  end
end

local types = {} -- those that are known to be listed, by their workspace

local function know_type(workspace, type)
  local known = kept(types, workspace)
  if not known[type] then
    redis.call('SADD', yard .. 'types:' .. workspace, type)
    known[type] = true
  end
end

-- A new task, by what its row differs in from the one before it; and its event.
local function bear(row, moved, seq, definition, event)
  apply(row, moved)
  row[SEQ], row[LOG], row[HELD_LOG] = seq, {}, nil
  shape(row)
  note_step(row, event)
  put(row, true)
  keep_text(yard .. 'definition:' .. row[ID], definition)
  know_type(row[WORKSPACE], row[TYPE])
end

local function draw_numbers(count)
  return redis.call('HINCRBY', yard .. 'numbers', 'task', count) - count
end

-- All that are new; their definitions are arguments, from this one on.
function writes.insert(first, tasks)
  local row, seq = blank(), draw_numbers(#tasks)
  for place, task in ipairs(tasks) do
    bear(row, task[1], seq + place, ARGV[first + place - 1], task[2])
  end
end

function writes.edge(parent, child, kind)
  redis.call('HSET', yard .. 'papers:' .. parent, 'to:' .. child .. '\0' .. kind, '')
  if is_there(child) then
    redis.call('HSET', yard .. 'papers:' .. child, 'from:' .. parent .. '\0' .. kind, '')
  end
end

function writes.block(id, wait, name)
  block(id, wait, name)
end

local function lift_from_all(name)
  local key = yard .. 'blocking:' .. name
  local tasks = {}
  for _, member in ipairs(redis.call('ZRANGE', key, 0, -1)) do
    local id, wait = string.match(member, '^(.*)%z(.*)$')
    unblock(id, wait, name)
    if tasks[#tasks] ~= id then
      tasks[#tasks + 1] = id
    end
  end
  for _, id in ipairs(tasks) do
    free(id, at)
  end
end

-- Off one task: of its present wait the blocker of that name, or all.
local function lift_from(id, name, ends_wait)
  local row = fetch(id)
  local wait, names = row and row[WAIT] or 0, {name}
  if ends_wait then
    names = {}
    for _, member in ipairs(redis.call('ZRANGEBYSCORE', yard .. 'blockers:' .. id, wait, wait)) do
      names[#names + 1] = string.match(member, '^[^%z]*%z(.*)$')
    end
  end
  local lifted = false
  for _, each in ipairs(names) do
    lifted = unblock(id, wait, each) or lifted
  end
  if lifted then
    free(id, at)
  end
end

function writes.lift(name, id, ends_wait)
  if id then
    lift_from(id, name, ends_wait)
  else
    lift_from_all(name)
  end
end

-- Attempts by task and number: their texts, with what each put out behind it, are arguments from this one on.
function writes.attempts(first, attempts)
  for place = 1, #attempts, 2 do
    paper(attempts[place], 'attempt:' .. text(attempts[place + 1]), ARGV[first + (place - 1) / 2])
  end
end

-- An attempt that puts nothing out. What is stored of that stays: an approval writes the attempt once more.
function writes.attempt(id, number, body)
  file()
  local name = 'attempt:' .. text(number)
  local output = string.match(redis.call('HGET', yard .. 'papers:' .. id, name) or '', '%z(.*)$')
  paper(id, name, output and body .. NONE .. output or body)
end

local function paper_number()
  return text(redis.call('HINCRBY', yard .. 'numbers', 'paper', 1))
end

function writes.checkpoint(id, name, body)
  redis.call('HSETNX', yard .. 'papers:' .. id, 'checkpoint:' .. name, paper_number() .. ' ' .. body)
end

function writes.signal(id, body)
  paper(id, 'signal:' .. paper_number(), body)
end

function writes.redefine(id, type, definition)
  local row = fetch(id)
  if row then
    keep_text(yard .. 'definition:' .. id, definition)
    if row[TYPE] ~= type then
      know_type(row[WORKSPACE], type)
      write(row, {TYPE, type})
    end
  end
end

-- By the status after the changes: only while the task waits.
function writes.rescore(id, rank, height, rescore_at)
  local row = fetch(id)
  if row and WAITING[row[STATUS]] then
    write(row, {RANK, rank, HEIGHT, height, RESCORE_AT, rescore_at})
  end
end

local function remove_record(kind, workspace, id)
  local key = yard .. 'records:' .. kind .. '\0' .. workspace
  redis.call('HDEL', key, id)
  redis.call('ZREM', yard .. 'record-ids:' .. kind .. '\0' .. workspace, id)
  if redis.call('EXISTS', key) == 0 then
    redis.call('SREM', yard .. 'records', kind .. '\0' .. workspace)
  end
end

-- Of: the task that a dead letter is of, with which it goes. Planned on: whether claims are.
function writes.record(kind, workspace, id, version, body, of, planned_on)
  if body then
    if redis.call('HSET', yard .. 'records:' .. kind .. '\0' .. workspace, id, version .. ' ' .. body) == 1 then
      redis.call('SADD', yard .. 'records', kind .. '\0' .. workspace)
      redis.call('ZADD', yard .. 'record-ids:' .. kind .. '\0' .. workspace, 0, id)
    end
    if of and is_there(of) then
      redis.call('HSET', yard .. 'papers:' .. of, 'dead:' .. workspace .. '\0' .. id, '')
    end
  else
    remove_record(kind, workspace, id)
  end
  if planned_on then
    redis.call('HINCRBY', yard .. 'epochs', workspace, 1)
    wake_planners(workspace)
  end
end

function writes.post(topic, of, body)
  local id = text(redis.call('HINCRBY', yard .. 'numbers', 'outbox', 1))
  redis.call('HSET', yard .. 'outbox', id, body)
  redis.call('ZADD', yard .. 'outbox:' .. topic, id, id)
  if of and is_there(of) then
    redis.call('HSET', yard .. 'papers:' .. of, 'outbox:' .. id, topic)
  end
end

function writes.spend(workspace, name, held, spent)
  spend(workspace, name, held, spent)
  wake_agent(workspace, name, held, spent)
end

function writes.ceiling(workspace, name, ceiling)
  local limit = limit_of(workspace, name)
  set_limit(workspace, name, ceiling or nil, limit.held, limit.spent)
end

-- There may be more room than before.
function writes.ease(workspace, name)
  unpark(workspace, name, at)
end

function writes.count(workspace, name, add, clear)
  local before = count_of(workspace, name)
  counts[workspace][name] = clear and add or before + add
end

-- Removal: the task and everything that is only its own.

local after_removals -- what is left to do once tasks were removed

local removing = {} -- for each kind of paper, what goes with it

function removing.to(row, rest)
  local child, kind = string.match(rest, '^(.*)%z(.*)$')
  redis.call('HDEL', yard .. 'papers:' .. child, 'from:' .. row[ID] .. '\0' .. kind)
end

function removing.from(row, rest)
  local parent, kind = string.match(rest, '^(.*)%z(.*)$')
  redis.call('HDEL', yard .. 'papers:' .. parent, 'to:' .. row[ID] .. '\0' .. kind)
end

function removing.outbox(row, rest)
  redis.call('ZREM', yard .. 'outbox:' .. redis.call('HGET', yard .. 'papers:' .. row[ID], 'outbox:' .. rest), rest)
  redis.call('HDEL', yard .. 'outbox', rest)
end

function removing.dead(_, rest)
  local workspace, id = string.match(rest, '^([^%z]*)%z(.*)$')
  remove_record('dead', workspace, id)
end

function removing.embedding(row, rest)
  redis.call('HDEL', yard .. 'embeddings:' .. row[WORKSPACE] .. '\0' .. rest, row[ID])
end

local function remove_dag(workspace, dag, words)
  remove_record('dag', workspace, dag)
  set_limit(workspace, 'dag:' .. dag, nil, 0, 0)
  for _, word in ipairs(words) do
    kept(counts, workspace)['dag:' .. dag .. ':' .. word] = 0
  end
  local key = yard .. 'dag-log:' .. workspace .. '\0' .. dag
  local numbers = redis.call('ZRANGE', key, 0, -1)
  for place, each in ipairs(numbers) do
    numbers[place] = tonumber(each)
  end
  forget_events(workspace, dag, numbers)
  redis.call('DEL', key)
end

function writes.remove(id, words)
  local row = fetch(id)
  if not row then
    return
  end
  after_removals = settle_removals
  tell()
  file()
  for _, name in ipairs(redis.call('HKEYS', yard .. 'papers:' .. row[ID])) do
    local kind, rest = string.match(name, '^(%a+):(.*)$')
    if removing[kind] then
      removing[kind](row, rest)
    end
  end
  for _, member in ipairs(redis.call('ZRANGE', yard .. 'blockers:' .. row[ID], 0, -1)) do
    unblock(row[ID], string.match(member, '^([^%z]*)%z(.*)$'))
  end
  forget_events(row[WORKSPACE], row[ID], numbers_of(row))
  if row[DAG_ID] then
    remove_dag(row[WORKSPACE], row[DAG_ID], words)
  end
  remove_places(row)
  move_key(row[ID], row[WORKSPACE], owned_key(row), false)
  for _, kind in ipairs({'task:', 'held:', 'definition:', 'papers:'}) do
    redis.call('DEL', yard .. kind .. row[ID])
  end
end

-- The events of a set that are of no task's step: last.
function writes.tell(others)
  for _, event in ipairs(others) do
    add_other(event)
  end
end
