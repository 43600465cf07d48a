-- Apply each set whose rows are all as it was decided on; say how each fared.
--
-- Sets come one after the other, and each is looked at whole before anything of it is written. A set is a list of
-- guards and a list of writes, planned in `planning.py`; each begins with the name of a function below.

local now, at = 0, '0' -- the store's time; and when the set under way was decided
local changed = {} -- the rows that the set under way changes
local taken = {} -- the keys and ids it wants and others have

local guards, writes = {}, {}

-- Guards: what they return is a conflict.

function guards.expect()
  local id, version = take(), take()
  if redis.call('HGET', yard .. 'task:' .. id, 'version') ~= version then
    return id
  end
end

function guards.change()
  local id, version = take(), take()
  local row = fetch(id)
  changed[id] = row
  if not row or row.version ~= version then
    return id
  end
end

-- Expiring a lease: no heartbeat came since, and it is over by the store's clock.
function guards.expire()
  local id, seen = take(), take()
  local expires = redis.call('HGET', yard .. 'task:' .. id, 'lease_expires_at')
  if not expires or expires ~= seen or tonumber(expires) > now then
    return id
  end
end

-- Deciding on a row as it was handed out: no heartbeat came since. After the change of the same row.
function guards.unbeaten()
  local id, seen = take(), given(take())
  if changed[id].lease_expires_at ~= seen then
    return id
  end
end

function guards.record()
  local kind, workspace, id, version = take(), take(), take(), take()
  local stored = redis.call('HGET', yard .. 'records:' .. kind .. '\0' .. workspace, id)
  if (stored and string.match(stored, '^%d+') or '0') ~= version then
    return kind .. ':' .. id
  end
end

-- A step has one result: the first.
function guards.checkpoint()
  local id, name = take(), take()
  if redis.call('HEXISTS', yard .. 'papers:' .. id, 'checkpoint:' .. name) == 1 then
    return 'checkpoint:' .. name
  end
end

function guards.new()
  local id = take()
  if redis.call('EXISTS', yard .. 'task:' .. id) == 1 then
    taken[#taken + 1] = id
    taken[#taken + 1] = id
  end
end

-- Changes come first: a set may cancel the owner of a key and put in its successor. Kept: who has it after the changes.
function guards.key()
  local workspace, key, by, kept = take(), take(), take(), given(take())
  local owner = redis.call('HGET', yard .. 'keys:' .. workspace, key)
  if not owner or changed[owner] then
    owner = kept
  end
  if owner and owner ~= by then
    taken[#taken + 1] = key
    taken[#taken + 1] = owner
  end
end

-- Writes.

local function take_fields()
  local fields = {}
  for _ = 1, take_number() do
    local name = take()
    fields[name] = given(take()) or false
  end
  return fields
end

function writes.change()
  write(changed[take()], take_fields())
end

local types = {} -- those that are known to be listed

local function know_type(workspace, type)
  local name = workspace .. '\0' .. type
  if not types[name] then
    redis.call('SADD', yard .. 'types:' .. workspace, type)
    types[name] = true
  end
end

function writes.insert()
  local row, definition = {id = take()}, take()
  local fields = take_fields()
  fields.seq = text(redis.call('HINCRBY', yard .. 'numbers', 'task', 1))
  row.workspace = fields.workspace
  write(row, fields)
  paper(row.id, 'definition', definition)
  know_type(row.workspace, row.type)
end

function writes.edge()
  local parent, child, kind = take(), take(), take()
  redis.call('HSET', yard .. 'papers:' .. parent, 'to:' .. child .. '\0' .. kind, '')
  if redis.call('EXISTS', yard .. 'task:' .. child) == 1 then
    redis.call('HSET', yard .. 'papers:' .. child, 'from:' .. parent .. '\0' .. kind, '')
  end
end

function writes.block()
  block(take(), take(), take())
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
  local wait = redis.call('HGET', yard .. 'task:' .. id, 'wait') or '0'
  local names = {name}
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

function writes.lift()
  local name, id, ends_wait = take(), given(take()), take() == '1'
  if id then
    lift_from(id, name, ends_wait)
  else
    lift_from_all(name)
  end
end

-- What is kept with a task and found by its field: attempts, the output.
function writes.paper()
  paper(take(), take(), take())
end

local function paper_number()
  return text(redis.call('HINCRBY', yard .. 'numbers', 'paper', 1))
end

function writes.checkpoint()
  local id, name, body = take(), take(), take()
  redis.call('HSETNX', yard .. 'papers:' .. id, 'checkpoint:' .. name, paper_number() .. ' ' .. body)
end

function writes.signal()
  local id, body = take(), take()
  paper(id, 'signal:' .. paper_number(), body)
end

function writes.redefine()
  local id, type, definition = take(), take(), take()
  local row = fetch(id)
  if row then
    paper(id, 'definition', definition)
    if row.type ~= type then
      know_type(row.workspace, type)
      write(row, {type = type})
    end
  end
end

-- By the status after the changes: only while the task waits.
function writes.rescore()
  local id, fields = take(), take_fields()
  local row = fetch(id)
  if row and WAITING[row.status] then
    write(row, fields)
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
function writes.record()
  local kind, workspace, id, version, body = take(), take(), take(), take(), given(take())
  local of, planned_on = given(take()), take() == '1'
  if body then
    if redis.call('HSET', yard .. 'records:' .. kind .. '\0' .. workspace, id, version .. ' ' .. body) == 1 then
      redis.call('SADD', yard .. 'records', kind .. '\0' .. workspace)
      redis.call('ZADD', yard .. 'record-ids:' .. kind .. '\0' .. workspace, 0, id)
    end
    if of and redis.call('EXISTS', yard .. 'task:' .. of) == 1 then
      redis.call('HSET', yard .. 'papers:' .. of, 'dead:' .. workspace .. '\0' .. id, '')
    end
  else
    remove_record(kind, workspace, id)
  end
  if planned_on then
    redis.call('HINCRBY', yard .. 'epochs', workspace, 1)
    tell_planners(workspace)
  end
end

function writes.post()
  local topic, of, body = take(), given(take()), take()
  local id = text(redis.call('HINCRBY', yard .. 'numbers', 'outbox', 1))
  redis.call('HSET', yard .. 'outbox', id, body)
  redis.call('ZADD', yard .. 'outbox:' .. topic, id, id)
  if of and redis.call('EXISTS', yard .. 'task:' .. of) == 1 then
    redis.call('HSET', yard .. 'papers:' .. of, 'outbox:' .. id, topic)
  end
end

function writes.spend()
  local workspace, name, held, spent = take(), take(), take_number(), take_number()
  spend(workspace, name, held, spent)
  tell_agent(workspace, name, held, spent)
end

function writes.ceiling()
  local workspace, name, ceiling = take(), take(), given(take())
  local limit = limit_of(workspace, name)
  set_limit(workspace, name, ceiling and tonumber(ceiling), limit.held, limit.spent)
end

-- There may be more room than before.
function writes.ease()
  unpark(take(), take(), at)
end

function writes.count()
  local workspace, name, add, clear = take(), take(), take_number(), take() == '1'
  local before = count_of(workspace, name)
  counts[workspace][name] = clear and add or before + add
end

-- Removal: the task and everything that is only its own.

local removing = {} -- for each kind of paper, what goes with it

function removing.to(row, rest)
  local child, kind = string.match(rest, '^(.*)%z(.*)$')
  redis.call('HDEL', yard .. 'papers:' .. child, 'from:' .. row.id .. '\0' .. kind)
end

function removing.from(row, rest)
  local parent, kind = string.match(rest, '^(.*)%z(.*)$')
  redis.call('HDEL', yard .. 'papers:' .. parent, 'to:' .. row.id .. '\0' .. kind)
end

function removing.outbox(row, rest)
  redis.call('ZREM', yard .. 'outbox:' .. redis.call('HGET', yard .. 'papers:' .. row.id, 'outbox:' .. rest), rest)
  redis.call('HDEL', yard .. 'outbox', rest)
end

function removing.dead(_, rest)
  local workspace, id = string.match(rest, '^([^%z]*)%z(.*)$')
  remove_record('dead', workspace, id)
end

-- A reader who was away while these went is told: the last of them is remembered.
local function forget_events(workspace, numbers)
  if #numbers == 0 then
    return
  end
  local last = number(redis.call('HGET', yard .. 'pruned', workspace) or 0)
  local ids = {}
  for place, seq in ipairs(numbers) do
    ids[place] = seq .. '-0'
    last = math.max(last, tonumber(seq))
  end
  in_parts('XDEL', yard .. 'events:' .. workspace, ids)
  redis.call('HSET', yard .. 'pruned', workspace, text(last))
end

local function remove_dag(workspace, dag, words)
  remove_record('dag', workspace, dag)
  set_limit(workspace, 'dag:' .. dag, nil, 0, 0)
  for _, word in ipairs(words) do
    kept(counts, workspace)['dag:' .. dag .. ':' .. word] = 0
  end
  local key = yard .. 'dag-events:' .. workspace .. '\0' .. dag
  forget_events(workspace, redis.call('ZRANGE', key, 0, -1))
  redis.call('DEL', key)
end

function writes.remove()
  local row, words = fetch(take()), take_many()
  if not row then
    return
  end
  file()
  local numbers = {}
  for _, name in ipairs(redis.call('HKEYS', yard .. 'papers:' .. row.id)) do
    local kind, rest = string.match(name, '^(%a+):(.*)$')
    if kind == 'event' then
      numbers[#numbers + 1] = rest
    elseif removing[kind] then
      removing[kind](row, rest)
    end
  end
  for _, member in ipairs(redis.call('ZRANGE', yard .. 'blockers:' .. row.id, 0, -1)) do
    unblock(row.id, string.match(member, '^([^%z]*)%z(.*)$'))
  end
  forget_events(row.workspace, numbers)
  if row.dag_id then
    remove_dag(row.workspace, row.dag_id, words)
  end
  remove_places(row)
  move_key(row.id, row.workspace, owned_key(row), nil)
  redis.call('DEL', yard .. 'task:' .. row.id, yard .. 'papers:' .. row.id)
end

-- The events of a set, last: those of its own steps, of what it let go, and those that belong to no task's step.
local function take_events(events)
  for _ = 1, take_number() do
    events[#events + 1] = {unpack(ARGV, cursor + 1, cursor + 9)}
    cursor = cursor + 9
  end
end

function writes.tell()
  local events = {}
  take_events(events)
  for _, event in ipairs(freed_events) do
    events[#events + 1] = event
  end
  local own = #events
  take_events(events)
  for place = own + 1, #events do
    local task = events[place][3]
    events[place].loose = task ~= NONE and redis.call('EXISTS', yard .. 'task:' .. task) == 0
  end
  tell(events)
  file()
end

-- One set.

local function refusal()
  changed, taken = {}, {}
  for _ = 1, take_number() do
    local conflict = guards[take()]()
    if conflict then
      return {'conflict', conflict}
    end
  end
  if #taken > 0 then
    table.insert(taken, 1, 'taken')
    return taken
  end
end

local function land()
  local length = take_number()
  local past = cursor + length
  at = take()
  local answer = refusal()
  if not answer then
    freed, freed_events = {}, {}
    for _ = 1, take_number() do
      writes[take()]()
    end
    answer = {'committed'}
    for place, row in ipairs(freed) do
      answer[place + 1] = row.id
    end
  end
  cursor = past
  return answer
end

now = clock(take())
begin(now, take() == '1')
local counters = take_many()
local answers, committed = {}, false
for place = 1, take_number() do
  answers[place] = land()
  committed = committed or answers[place][1] == 'committed'
end
local values = {}
for place = 1, #counters, 2 do
  values[#values + 1] = text(count_of(counters[place], counters[place + 1]))
end
settle_accounts()
settle_moves()
return {text(now), committed and announce() or {}, answers, values}
