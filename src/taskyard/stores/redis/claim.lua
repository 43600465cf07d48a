-- Take the best tasks of the plan's lanes that every ceiling allows: the same choice as claiming.choose.
--
-- Only the heads of the lanes are looked at, so what waits behind them, and in other lanes, costs nothing.

local MOST_PARKED = 64

local plan = {
  workspace = take(),
  epoch = take(),
  agent = take(),
  agent_type = take(),
  type_slot = take_number(),
  runtime = given(take()) or false,
  default_reserve = take_number(),
  start = take() == '1',
  claim_ttl = tonumber(given(take()) or ''),
  now = take_number(),
  slots = take_many(), -- the names of the ceilings that each task takes one of
  money = take_many(), -- those on money that all its tasks stand under
  own_money = take_many(), -- of these, the ones that keep only this agent or its type away, and do limit it
  -- What the event of a claim says before and after how long the task waited: where it starts at once, and where not.
  started = {take(), take()},
  claimed = {take(), take()},
  keeps_key = take_number(), -- the trait of a task that lets its idempotency key go when it starts
  leases = take_many(),
}
local planned = {} -- the ceilings that the plan sets; false: there is none
for _ = 1, take_number() do
  local name = take()
  planned[name] = tonumber(given(take()) or '') or false
end
local lanes = {}
for place = 1, take_number() do
  local id = take()
  lanes[place] = {
    key = yard .. 'ready:' .. id,
    stream = yard .. 'wake:' .. id,
    aged = take_number(), -- what a rank of this lane is to be compared by: rank less this
    floor = take_number(),
    circuit = take_number(),
    probe = given(take()),
    hints = take_many(), -- those this process was woken by
    taken = false,
    read = 0, -- members read so far, of which some wait in `members`
    members = {},
    next = 1,
    rows = {}, -- by id, of some of the members
    ahead = 1, -- rows that are read next
  }
end

local epoch = redis.call('HGET', yard .. 'epochs', plan.workspace) or '0'
if epoch ~= plan.epoch then
  return {'stale', epoch}
end

-- Room under each ceiling: as claiming.Room. False: there is no ceiling.

local left, used, left_to_others = {}, {}, {}

local function remaining(name)
  if left[name] == nil then
    local ceiling = planned[name]
    if ceiling == false then
      left[name] = false -- nobody limits it, so what stands against it need not be read
      return false
    end
    local limit = limit_of(plan.workspace, name)
    if ceiling == nil then
      ceiling = ceiling_of(name, limit)
    end
    left[name] = ceiling and ceiling - limit.held - limit.spent or false
  end
  return left[name]
end

local function exhausted(name)
  local room = remaining(name)
  return room and room <= 0
end

-- What this agent may still reserve; nothing where that is not limited.
local function affordable()
  local least
  for _, name in ipairs(plan.own_money) do
    local room = remaining(name)
    least = least and math.min(least, room) or room
  end
  return least
end

local function closed(lane)
  for _, name in ipairs(plan.slots) do
    if exhausted(name) then
      return true
    end
  end
  local money = affordable()
  return (money and lane.floor > money) or (lane.probe and exhausted(lane.probe))
end

local function is_money_limited(row)
  for _, name in ipairs(plan.money) do
    if remaining(name) then
      return true
    end
  end
  return row[DAG_ID] and remaining('dag:' .. row[DAG_ID])
end

-- What the task reserves; nothing where no ceiling on money applies to it.
local function reservation(row)
  if is_money_limited(row) then
    return row[RESERVE] or plan.default_reserve
  end
end

local A_SLOT = {} -- what most tasks want
for _, name in ipairs(plan.slots) do
  A_SLOT[#A_SLOT + 1] = name
  A_SLOT[#A_SLOT + 1] = 1
end

-- Name and amount in turn. The agent's own ceilings come first: what it may not have anyway, it does not set aside for
-- the others.
local function wants(row, lane, reserved)
  if not (lane.probe or reserved or row[KEY]) then
    return A_SLOT
  end
  local found = {unpack(A_SLOT)}
  local function want(name, amount)
    found[#found + 1] = name
    found[#found + 1] = amount
  end
  if lane.probe then
    want(lane.probe, 1)
  end
  if reserved then
    for _, name in ipairs(plan.money) do
      want(name, reserved)
    end
    if row[DAG_ID] then
      want('dag:' .. row[DAG_ID], reserved)
    end
  end
  if row[KEY] then
    want('key:' .. row[KEY], 1)
  end
  return found
end

local function shortage(wanted)
  for place = 1, #wanted, 2 do
    local room = remaining(wanted[place])
    if room and wanted[place + 1] > room then
      return wanted[place]
    end
  end
end

local function hold(wanted)
  for place = 1, #wanted, 2 do
    local name, amount = wanted[place], wanted[place + 1]
    if amount ~= 0 then
      if left[name] then
        left[name] = left[name] - amount
      end
      used[name] = (used[name] or 0) + amount
    end
  end
end

-- Leave to others what a task that is set aside for something else was up for: as claiming.stepped_back.
local function step_back(row, short)
  if row[WAIT] == 0 then
    return
  end
  for _, name in ipairs({row[KEY] and 'key:' .. row[KEY], row[DAG_ID] and 'dag:' .. row[DAG_ID]}) do
    if name and name ~= short then
      left_to_others[name] = true
    end
  end
end

-- All lanes as one, best first: a heap of their heads by worth, then by number.

local heap = {}

local function is_before(one, other)
  return one.worth < other.worth or (one.worth == other.worth and one.seq < other.seq)
end

local function sift_down(at)
  while true do
    local least = at
    for child = 2 * at, 2 * at + 1 do
      if heap[child] and is_before(heap[child], heap[least]) then
        least = child
      end
    end
    if least == at then
      return
    end
    heap[at], heap[least] = heap[least], heap[at]
    at = least
  end
end

-- The next of a lane. After its first, some are read at once.
local function head_of(index)
  local lane = lanes[index]
  if closed(lane) then
    return nil
  end
  if not lane.members[lane.next] then
    local last = lane.read + (lane.read == 0 and 1 or math.min(#plan.leases, 50))
    lane.members, lane.next = redis.call('ZRANGE', lane.key, lane.read, last - 1, 'WITHSCORES'), 1
    lane.read = last
  end
  local place, rank = lane.members[lane.next], lane.members[lane.next + 1]
  lane.next = lane.next + 2
  if place then
    return {worth = tonumber(rank) - lane.aged, seq = tonumber(string.sub(place, 1, 14)), place = place, lane = index}
  end
end

-- Byte by byte: `<` would go by the server's locale.
local function precedes(one, other)
  for place = 1, math.min(#one, #other) do
    local mine, theirs = string.byte(one, place), string.byte(other, place)
    if mine ~= theirs then
      return mine < theirs
    end
  end
  return #one < #other
end

-- What is done with one: taken, set aside, or left.

local taken, parked = {}, {}

local function earliest(one, other)
  if one and other then
    return tonumber(one) < tonumber(other) and one or other
  end
  return one or other
end

local function claim_ttl_of(row)
  return row[CLAIM_TTL] ~= 0 and plan.claim_ttl or row[CLAIM_TTL]
end

-- What a claim does to the row: as transitions.claim. A heartbeat may have written cost, tokens and progress after the last
-- attempt's end was decided: they are not this one's.
local function lease_out(row, taking)
  local now, attempt, started = plan.now, row[ATTEMPT] + 1, taking.starts
  local expires = now + (started and row[LEASE_SEC] or claim_ttl_of(row)) * SECOND
  local limit = started and row[RUN_SEC] and now + row[RUN_SEC] * SECOND - row[RAN] or false
  row[STATUS], row[VERSION], row[UPDATED_AT] = started and 'running' or 'claimed', row[VERSION] + 1, now
  row[ATTEMPT], row[LEASE] = attempt, taking.lease .. '.' .. attempt
  row[AGENT], row[AGENT_TYPE], row[TYPE_SLOT], row[RUNTIME] = plan.agent, plan.agent_type, plan.type_slot, plan.runtime
  row[CLAIMED_AT], row[STARTED_AT], row[HEARTBEAT_AT] = now, started and now, now
  row[LEASE_EXPIRES_AT], row[LIMIT_AT], row[DUE_AT] = expires, limit, earliest(expires, limit)
  row[CIRCUIT], row[RESERVED], row[SPENT] = taking.lane.circuit, taking.reserved or 0, 0
  row[TOKENS_IN], row[TOKENS_OUT], row[TOKENS_CACHED], row[PROGRESS] = 0, 0, false, false
  local lets_go = started and row[IDEMPOTENCY_KEY] and bit.band(row[TRAITS], plan.keeps_key) ~= 0
  if lets_go then
    row[IDEMPOTENCY_KEY] = false
  end
  return lets_go
end

local function lease_to_agent(taking)
  local row = taking.row
  taking.starts = plan.start or claim_ttl_of(row) == 0
  local said = taking.starts and plan.started or plan.claimed
  local data = said[1] .. text(plan.now - row[UPDATED_AT]) .. said[2]
  write_change(row, lease_out, taking, taking.starts and 'task.running' or 'task.claimed', plan.now, data)
end

-- As transitions.park.
local function set_aside(row, blocker)
  local data = '{"from":"ready","blocker":' .. quoted(blocker) .. '}'
  write(row, {
    STATUS, 'pending',
    VERSION, row[VERSION] + 1,
    UPDATED_AT, plan.now,
    WAIT, row[WAIT] + 1,
    DUE_AT, earliest(row[WAKE_AT], row[EXPIRES_AT]),
  }, 'task.parked', plan.now, data)
  block(row[ID], row[WAIT], blocker)
end

-- The row of a lane's head. With it come those behind it, twice as many each time, but not more than can be taken.
local function row_of(head, lane)
  local id = id_at(head.place)
  if not lane.rows[id] then
    local ids, last = {id}, math.min(lane.ahead, #plan.leases - #taken) - 1
    for behind = 1, last do
      local place = lane.members[lane.next + 2 * (behind - 1)]
      ids[behind + 1] = place and id_at(place)
    end
    lane.rows, lane.ahead = fetch_all(ids), 2 * lane.ahead
  end
  return lane.rows[id]
end

-- Whether there is no use in looking further.
local function meet(head)
  local lane = lanes[head.lane]
  local row = row_of(head, lane)
  if row[EXPIRES_AT] and tonumber(row[EXPIRES_AT]) <= plan.now then
    return false -- it must not run late, though the sweep has not taken it out yet
  end
  local reserved = reservation(row)
  local wanted = wants(row, lane, reserved)
  local short = shortage(wanted)
  if not short then
    hold(wanted)
    taken[#taken + 1] = {row = row, lane = lane, lease = plan.leases[#taken + 1], reserved = reserved}
    lane.taken = true
  elseif parked_on(short) then
    if #parked == MOST_PARKED then
      return true
    end
    parked[#parked + 1] = {row, parked_on(short)}
    step_back(row, short)
  end
  return #taken == #plan.leases
end

for index = 1, #lanes do
  heap[#heap + 1] = head_of(index)
end
for at = math.floor(#heap / 2), 1, -1 do
  sift_down(at)
end
while heap[1] do
  local head = heap[1]
  if not closed(lanes[head.lane]) and meet(head) then
    break
  end
  heap[1] = head_of(head.lane) or table.remove(heap)
  if heap[1] == head then
    heap[1] = nil -- it was the last
  end
  sift_down(1)
end

-- A hint has done its work when something was taken, or when there is nothing left; else another is to have it. Of an
-- empty lane, nobody needs those that were not delivered yet.
local function settle_hints(lane)
  local is_empty = redis.call('EXISTS', lane.key) == 0
  if #lane.hints > 0 and (lane.taken or is_empty) then
    redis.call('XACK', lane.stream, 'workers', unpack(lane.hints))
    redis.call('XDEL', lane.stream, unpack(lane.hints))
  end
  if lane.taken and is_empty and redis.call('EXISTS', lane.stream) == 1 then
    redis.call('XTRIM', lane.stream, 'MAXLEN', 0)
  end
end

-- Whether nothing is left that more room under the agent's own ceilings would let it take: as claiming.choose.
local function took_all()
  if #taken == #plan.leases or #parked == MOST_PARKED or #plan.own_money > 0 then
    return 0
  end
  for _, name in ipairs(plan.slots) do
    if exhausted(name) then
      return 0
    end
  end
  for _, lane in ipairs(lanes) do
    if lane.probe and exhausted(lane.probe) then
      return 0
    end
  end
  return 1
end

if #taken == 0 and #parked == 0 then
  for _, lane in ipairs(lanes) do
    settle_hints(lane)
  end
  return {'claimed', {}, 0, took_all()}
end

-- Nothing was written until here.

begin(clock(plan.now), false)
for _, each in ipairs(taken) do
  lease_to_agent(each)
end
for _, each in ipairs(parked) do
  set_aside(each[1], each[2])
end
for name, amount in pairs(used) do
  spend(plan.workspace, name, amount, 0)
end
local eased = {}
for name in pairs(left_to_others) do
  if not used[name] then
    eased[#eased + 1] = name
  end
end
table.sort(eased, precedes)
for _, name in ipairs(eased) do
  unpark(plan.workspace, name, plan.now)
end
tell()
file()
settle_accounts()
settle_tasks()
for _, lane in ipairs(lanes) do
  settle_hints(lane)
end
-- Field by field behind each other, and behind each task its definition: the server sends a list in a list as a message
-- of its own. The entries of the log are for scripts alone.
return (function() -- has locals of its own: a script may have 200
  local answer, last = {'claimed', announce(), #parked, took_all()}, 4
  local keys = {}
  for place, each in ipairs(taken) do
    keys[place] = yard .. 'definition:' .. each.row[ID]
  end
  local definitions = texts_at(keys)
  for place, each in ipairs(taken) do
    local row = each.row
    for field = 1, LAST_HELD do
      answer[last + field] = row[field] or false
    end
    answer[last + LOG], answer[last + HELD_LOG] = false, false
    answer[last + LAST_HELD + 1] = definitions[place]
    last = last + LAST_HELD + 1
  end
  return answer
end)()
