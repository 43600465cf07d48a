-- The reads that look at more than one key. Each sees one moment.

local reads = {}

local function rows_of(ids)
  local rows = {}
  for _, id in ipairs(ids) do
    local row = fetch(id)
    if row then
      rows[#rows + 1] = row
    end
  end
  return rows
end

local function rows_at(members)
  for place, member in ipairs(members) do
    members[place] = id_at(member)
  end
  return rows_of(members)
end

function reads.load()
  return rows_of(take_many())
end

-- Each behind the fields that only its row has. Whether the task is held makes no difference to these.
function reads.definitions()
  local found = {}
  for _, id in ipairs(take_many()) do
    local packed, definition = unpack(redis.call('MGET', yard .. 'task:' .. id, yard .. 'definition:' .. id))
    local row = packed and cmsgpack.unpack(packed)
    if row then
      found[#found + 1] = {id, row[WORKSPACE], row[TYPE], row[CREATED_AT], definition}
    end
  end
  return found
end

-- One field of a definition's text, where it has it. Within what a caller wrote, quotation marks are escaped, so a field's
-- name stands there only once; the whole is parsed only for a value with escapes.
local function defined(text, name)
  local at = string.find(text, ',"' .. name .. '":', 1, true)
  return at and (string.match(text, '^"([^"\\]*)"', at + #name + 4) or cjson.decode(text)[name]) or false
end

-- What events are filtered by.
function reads.labels()
  local found = {}
  for _, id in ipairs(take_many()) do
    local text = redis.call('GET', yard .. 'definition:' .. id)
    if text then
      found[#found + 1] = {id, fetch(id)[TYPE], defined(text, 'subject'), defined(text, 'agent')}
    end
  end
  return found
end

-- The fields of a task's papers that begin so, with what they hold.
local function papers(id, prefix)
  local key, names = yard .. 'papers:' .. id, {}
  for _, name in ipairs(redis.call('HKEYS', key)) do
    if begins(name, prefix) then
      names[#names + 1] = name
    end
  end
  local found = {}
  for _, name in ipairs(names) do
    found[#found + 1] = string.sub(name, #prefix + 1)
    found[#found + 1] = redis.call('HGET', key, name)
  end
  return found
end

function reads.papers()
  return papers(take(), take())
end

-- The attempts of a task, without what they put out.
local function attempts(id)
  local flat = papers(id, 'attempt:')
  for place = 2, #flat, 2 do
    flat[place] = string.match(flat[place], '^[^%z]*')
  end
  return flat
end

function reads.attempts()
  return attempts(take())
end

function reads.histories()
  local found = {}
  for place, id in ipairs(take_many()) do
    found[place] = attempts(id)
  end
  return found
end

-- Of each task, what its last attempt put out that put out something.
function reads.outputs()
  local found = {}
  for place, id in ipairs(take_many()) do
    local flat, last = papers(id, 'attempt:'), 0
    found[place] = false
    for at = 1, #flat, 2 do
      local output = string.match(flat[at + 1], '%z(.*)$')
      if output and tonumber(flat[at]) > last then
        found[place], last = output, tonumber(flat[at])
      end
    end
  end
  return found
end

function reads.awaited()
  local workspace, found = take(), {}
  for _, member in ipairs(redis.call('ZRANGE', yard .. 'awaited', 0, -1)) do
    local id, wait, name = string.match(member, '^([^%z]*)%z([^%z]*)%z(.*)$')
    local row = fetch(id)
    if row and row[WORKSPACE] == workspace and row[STATUS] == 'pending' and row[WAIT] == tonumber(wait) then
      found[#found + 1] = {row[UPDATED_AT], id, row[WAIT], name}
    end
  end
  return found
end

-- The index of each type has the oldest first; those that are held stay there.
local function longest_ready_of(key)
  local first = 0
  while true do
    local found = redis.call('ZRANGE', key, first, first + 99, 'WITHSCORES')
    for place = 1, #found, 2 do
      if redis.call('EXISTS', yard .. 'held:' .. found[place]) == 0 then
        return found[place], tonumber(found[place + 1])
      end
    end
    if #found < 200 then
      return nil, math.huge
    end
    first = first + 100
  end
end

function reads.longest_ready()
  local workspace, first, id = take(), math.huge, nil
  for _, type in ipairs(redis.call('SMEMBERS', yard .. 'types:' .. workspace)) do
    local found, seq = longest_ready_of(yard .. index_of(workspace, 'ready', type))
    if seq < first then
      first, id = seq, found
    end
  end
  return rows_of({id})
end

local function edges_from(ids)
  local found = {}
  for _, id in ipairs(ids) do
    for place, name in ipairs(papers(id, 'to:')) do
      if place % 2 == 1 then
        found[#found + 1] = {id, name}
      end
    end
  end
  return found
end

function reads.edges()
  return edges_from(take_many())
end

function reads.graph()
  local ids = redis.call('ZRANGE', yard .. 'dag:' .. take(), 0, -1)
  return {rows_of(ids), edges_from(ids)}
end

function reads.blockers()
  local found = {}
  for place, id in ipairs(take_many()) do
    found[place] = redis.call('ZRANGE', yard .. 'blockers:' .. id, 0, -1)
  end
  return found
end

local function waits_for_a_task(row)
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', yard .. 'blockers:' .. row[ID], row[WAIT], row[WAIT])) do
    local name = string.match(member, '^[^%z]*%z(.*)$')
    if begins(name, 'task:') or begins(name, 'child:') then
      return true
    end
  end
  return false
end

function reads.stuck()
  for _, id in ipairs(redis.call('ZRANGE', yard .. 'dag:' .. take(), 0, -1)) do
    local row = fetch(id)
    if not FINAL[row[STATUS]] and not (row[STATUS] == 'pending' and waits_for_a_task(row)) then
      return 0
    end
  end
  return 1
end

-- Of a sorted set of places, those up to a score.
function reads.up_to()
  return rows_at(redis.call('ZRANGEBYSCORE', yard .. take(), '-inf', take(), 'LIMIT', 0, take()))
end

-- Of those that are held by an agent or for a runtime: all, or those of one name.
function reads.held()
  local key, name = yard .. take(), given(take())
  local members = redis.call('ZRANGEBYLEX', key, name and '[' .. name .. '\0' or '-', name and '(' .. name .. '\1' or '+')
  for place, member in ipairs(members) do
    members[place] = string.match(member, '^[^%z]*%z(.*)$')
  end
  return rows_at(members)
end

local function is_over(id, before, dead_too)
  local row = fetch(id)
  local where = FINAL[row[STATUS]]
  return where and (dead_too or where == 'final') and tonumber(row[UPDATED_AT]) < before
end

local function all_over(ids, before, dead_too)
  for _, id in ipairs(ids) do
    if not is_over(id, before, dead_too) then
      return false
    end
  end
  return true
end

-- The rank of the first member behind a time and a task's number.
local function rank_behind(key, at, seq)
  local first = redis.call('ZCOUNT', key, '-inf', '(' .. text(at))
  local last = first + redis.call('ZCOUNT', key, text(at), text(at))
  while first < last do
    local middle = math.floor((first + last) / 2)
    if tonumber(string.sub(redis.call('ZRANGE', key, middle, middle)[1], 1, 14)) > seq then
      last = middle
    else
      first = middle + 1
    end
  end
  return first
end

-- Final tasks behind a cursor, as time, number and id, in that order.
local function gather_final(name, before, limit, at, seq, found)
  local first = rank_behind(yard .. name, at, seq)
  local flat = redis.call('ZRANGE', yard .. name, first, first + limit - 1, 'WITHSCORES')
  for place = 1, #flat, 2 do
    local ended = tonumber(flat[place + 1])
    if ended < before then
      found[#found + 1] = {ended, tonumber(string.sub(flat[place], 1, 14)), id_at(flat[place])}
    end
  end
end

local function ended_first(one, other)
  return one[1] < other[1] or (one[1] == other[1] and one[2] < other[2])
end

-- Whole DAGs only: as long as one task of a DAG is needed, so are its neighbours, which say how it came about.
local function gather_dag(dag, before, dead_too, found)
  local ids = redis.call('ZRANGE', yard .. 'dag:' .. dag, 0, -1)
  if all_over(ids, before, dead_too) then
    for _, id in ipairs(ids) do
      found[#found + 1] = fetch(id)
    end
  end
end

-- The tasks of a piece, and the last one that was looked at, or nothing where no more are behind it.
function reads.prunable()
  local before, limit, dead_too, at, seq = take_number(), take_number(), take() == '1', take_number(), take_number()
  local looked, found, seen = {}, {}, {}
  gather_final('final', before, limit, at, seq, looked)
  if dead_too then
    gather_final('dead', before, limit, at, seq, looked)
    table.sort(looked, ended_first)
  end
  local cursor = {}
  for place = 1, math.min(limit, #looked) do
    if #found >= limit then
      return {found, cursor}
    end
    local row = fetch(looked[place][3])
    local dag = row[DAG_ID]
    cursor = {text(looked[place][1]), text(looked[place][2])}
    if not dag then
      found[#found + 1] = row
    elseif not seen[dag] then
      seen[dag] = true
      gather_dag(dag, before, dead_too, found)
    end
  end
  return {found, #looked >= limit and cursor or {}}
end

-- Id and number of those that are held, of all workspaces.
local function gather_held(bound, oldest, found)
  local edge = tonumber(string.match(bound, '%d+'))
  for _, member in ipairs(redis.call('ZRANGE', yard .. 'held-agents', 0, -1)) do
    local place = string.match(member, '^[^%z]*%z(.*)$')
    local seq = tonumber(string.sub(place, 1, 14))
    if not edge or (oldest and seq > edge) or (not oldest and seq < edge) then
      found[#found + 1] = {id_at(place), seq}
    end
  end
end

local function gather_listed(name, bound, oldest, limit, found)
  local order, other = oldest and 'ZRANGEBYSCORE' or 'ZREVRANGEBYSCORE', oldest and '+inf' or '-inf'
  local flat = redis.call(order, yard .. name, bound, other, 'WITHSCORES', 'LIMIT', 0, limit)
  for place = 1, #flat, 2 do
    found[#found + 1] = {flat[place], tonumber(flat[place + 1])}
  end
end

-- The newest below a number, or the oldest above it, of all these sorted sets; with their definitions where asked for.
function reads.listed()
  local bound, limit, defined, oldest = take(), take_number(), take() == '1', take() == '1'
  local found = {}
  for _, name in ipairs(take_many()) do
    if name == 'held-agents' then
      gather_held(bound, oldest, found)
    else
      gather_listed(name, bound, oldest, limit, found)
    end
  end
  -- Of one with itself both must be false: table.sort asks that too, and leaves a wrong order behind where it is not.
  table.sort(found, function(one, other)
    if oldest then
      return one[2] < other[2]
    end
    return one[2] > other[2]
  end)
  local rows = {}
  for place = 1, math.min(limit, #found) do
    local id = found[place][1]
    rows[place] = {fetch(id), defined and redis.call('GET', yard .. 'definition:' .. id) or ''}
  end
  return rows
end

local function held_count(workspace, status, type)
  return number(redis.call('HGET', yard .. 'held-counts', workspace .. '\0' .. status .. '\0' .. type) or 0)
end

local function count_listed(workspace, status, type)
  if HELD[status] then
    return held_count(workspace, status, type)
  end
  local count = redis.call('ZCARD', yard .. index_of(workspace, status, type))
  if status == 'ready' then
    count = count - held_count(workspace, 'claimed', type) - held_count(workspace, 'running', type)
  end
  return count
end

function reads.tally()
  local workspace, statuses = take(), take_many()
  local found = {}
  for _, type in ipairs(redis.call('SMEMBERS', yard .. 'types:' .. workspace)) do
    for _, status in ipairs(statuses) do
      local count = count_listed(workspace, status, type)
      if count > 0 then
        found[#found + 1] = {status, type, count}
      end
    end
  end
  return found
end

function reads.first_ready()
  local limit, found = take_number(), {}
  for _, lane in ipairs(take_many()) do
    for _, row in ipairs(rows_at(redis.call('ZRANGE', yard .. 'ready:' .. lane, 0, limit - 1))) do
      found[#found + 1] = row
    end
  end
  return found
end

function reads.ahead()
  local key, rank, seq, limit = yard .. 'ready:' .. take(), take(), take_number(), take_number()
  local count = redis.call('ZCOUNT', key, '-inf', '(' .. rank)
  if count < limit then
    for _, member in ipairs(redis.call('ZRANGEBYSCORE', key, rank, rank, 'LIMIT', 0, limit)) do
      if tonumber(string.sub(member, 1, 14)) < seq then
        count = count + 1
      end
    end
  end
  return math.min(count, limit)
end

function reads.records()
  local kind, found = take(), {}
  for _, each in ipairs(redis.call('SMEMBERS', yard .. 'records')) do
    local of, workspace = string.match(each, '^([^%z]*)%z(.*)$')
    if of == kind then
      found[#found + 1] = {workspace, redis.call('HGETALL', yard .. 'records:' .. each)}
    end
  end
  return found
end

-- By their ids from the highest on. All have one score, so that the sorted set is in the order of their bytes.
function reads.page()
  local owner, from, below, limit = take(), take(), given(take()), take()
  local key = yard .. 'record-ids:' .. owner
  local ids = redis.call('ZREVRANGEBYLEX', key, below and '(' .. below or '+', '[' .. from, 'LIMIT', 0, limit)
  local found = {}
  for _, id in ipairs(ids) do
    found[#found + 1] = id
    found[#found + 1] = redis.call('HGET', yard .. 'records:' .. owner, id)
  end
  return found
end

function reads.config()
  local workspace, above, records = take(), take(), {}
  for place, kind in ipairs(take_many()) do
    records[place] = redis.call('HGETALL', yard .. 'records:' .. kind .. '\0' .. workspace)
  end
  local lanes = redis.call('ZRANGEBYSCORE', yard .. 'lanes:' .. workspace, '(' .. above, '+inf', 'WITHSCORES')
  local secret = redis.call('HGET', yard .. 'state', 'secret') or ''
  return {redis.call('HGET', yard .. 'epochs', workspace) or '0', records, lanes, secret}
end

function reads.outbox()
  local found = {}
  for _, id in ipairs(redis.call('ZRANGE', yard .. 'outbox:' .. take(), 0, take_number() - 1)) do
    found[#found + 1] = id
    found[#found + 1] = redis.call('HGET', yard .. 'outbox', id)
  end
  return found
end
