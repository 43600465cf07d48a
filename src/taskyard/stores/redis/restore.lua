-- Write rows of another yard as they are, with the record that says how far the import is. After writes.lua.
--
-- Nothing follows from a row: no event, no task that becomes ready. What a row refers to may come later or be there.

local restoring = {}

local function raise_log(last)
  if last > number(redis.call('HGET', yard .. 'numbers', 'log') or 0) then
    redis.call('HSET', yard .. 'numbers', 'log', text(last))
  end
end

-- What came before the task and belongs to it: edges from its parents, and its deaths.
local function link(row, parents)
  local mine = yard .. 'papers:' .. row[ID]
  for _, parent in ipairs(parents) do
    for _, kind in ipairs({'depends', 'spawned', 'awaited'}) do
      if redis.call('HEXISTS', yard .. 'papers:' .. parent, 'to:' .. row[ID] .. '\0' .. kind) == 1 then
        redis.call('HSET', mine, 'from:' .. parent .. '\0' .. kind, '')
      end
    end
  end
  for attempt = 1, row[ATTEMPT] do
    local id = row[ID] .. '.' .. text(attempt)
    if redis.call('HEXISTS', yard .. 'records:dead\0' .. row[WORKSPACE], id) == 1 then
      redis.call('HSET', mine, 'dead:' .. row[WORKSPACE] .. '\0' .. id, '')
    end
  end
end

-- Tasks by what each row differs in from the one before it, and by its parents. Their definitions are arguments, from this
-- one on. Their events come later.
function restoring.tasks(first, tasks)
  local row, seq = blank(), draw_numbers(#tasks)
  for place, task in ipairs(tasks) do
    apply(row, task[1])
    row[SEQ], row[LOG], row[HELD_LOG] = seq + place, {}, nil
    shape(row)
    put(row, true)
    keep_text(yard .. 'definition:' .. row[ID], ARGV[first + place - 1])
    know_type(row[WORKSPACE], row[TYPE])
    link(row, task[2])
  end
end

-- The events of one number and one workspace: the body is an argument.
function restoring.entry(workspace, number, owners, loose, body, tasks, dags)
  add_entry(workspace, number, owners, loose, ARGV[body])
  raise_log(number)
  for _, id in ipairs(tasks) do
    if is_there(id) then
      paper(id, 'event:' .. text(number), '')
    end
  end
  for _, dag in ipairs(dags) do
    redis.call('ZADD', yard .. 'dag-log:' .. workspace .. '\0' .. dag, text(number), text(number))
  end
end

function restoring.limit(workspace, name, ceiling, held, spent)
  set_limit(workspace, name, ceiling or nil, held, spent)
end

function restoring.counter(workspace, name, value)
  kept(counts, workspace)[name] = value
end

function restoring.duty(name, til)
  redis.call('HSET', yard .. 'duties', name, til)
end

function restoring.pulse(name, at)
  redis.call('ZADD', yard .. 'pulses', at, name)
end

function restoring.pruned(workspace, through)
  redis.call('HSET', yard .. 'pruned', workspace, through)
  raise_log(math.floor(tonumber(through) / PLACES))
end

function restoring.secret(secret)
  redis.call('HSET', yard .. 'state', 'secret', secret)
end

local said, guard, steps
said, guard, steps = unpack(cjson.decode(ARGV[1]))
now = clock(said)
if guards.record(unpack(guard)) then
  return {text(now), 0, {}}
end
begin(now, false)
for _, step in ipairs(steps) do
  local act = restoring[step[1]] or writes[step[1]]
  act(unpack(step, 2))
end
file()
settle_accounts()
settle_tasks()
return {text(now), 1, announce()}
