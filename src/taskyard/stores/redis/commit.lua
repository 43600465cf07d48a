-- Apply each set whose rows are all as it was decided on; answer of those that were refused, or that let others go.
--
-- Sets come one after the other, and each is looked at whole before anything of it is written. A set is a list of
-- guards and a list of writes, planned in `commits.py`; each begins with the name of a function of `writes.lua`.

-- One set.

local function whatever_is_taken()
  if #taken > 0 then
    table.insert(taken, 1, 'taken')
    return taken
  end
end

local function refusal(steps)
  changed, taken = {}, {}
  for _, step in ipairs(steps) do
    local conflict = guards[step[1]](unpack(step, 2))
    if conflict then
      return {'conflict', conflict}
    end
  end
  return whatever_is_taken()
end

-- Those whom the set under way let go.
local function whoever_is_free()
  local answer
  for place, row in ipairs(freed) do
    answer = answer or {'freed'}
    answer[place + 1] = row[ID]
  end
  return answer
end

local landing, committed = {}, false

function landing.set(decided, guarding, writing)
  at = decided
  local answer = refusal(guarding)
  if not answer then
    freed = {}
    for _, step in ipairs(writing) do
      writes[step[1]](unpack(step, 2))
    end
    answer = whoever_is_free()
    committed = true
  end
  return answer
end

-- What many have in common: the event's name and time; then of births what it says, of ends what moves.
local kinds = {}

-- New tasks and nothing more, of which none has a key: id, kind, and as `bear` has it.
function landing.births(first, tasks)
  taken = {}
  local ids = {}
  for place, task in ipairs(tasks) do
    ids[place] = task[1]
  end
  guards.new(ids)
  local answer = whatever_is_taken()
  if answer then
    return answer
  end
  local row, seq = blank(), draw_numbers(#tasks)
  for place, task in ipairs(tasks) do
    bear(row, task[3], seq + place, ARGV[first + place - 1], unpack(kinds[task[2]]))
  end
  committed = true
end

-- Attempts that ended, and nothing more: most sets are that. Of each: id and version; where no heartbeat may have come
-- since, what was seen; its kind; the attempt's number; and where its texts are among the arguments: what its event says,
-- the attempt, and perhaps an output. Lifted: what waits for them may go.
function landing.ends(decided, ended, lifted, spent, counted)
  local rows = {}
  for place, each in ipairs(ended) do
    local row = fetch(each[1])
    if not row or row[VERSION] ~= each[2] or (each[3] and row[LEASE_EXPIRES_AT] ~= each[3]) then
      return {'conflict', each[1]}
    end
    rows[place] = row
  end
  at, freed = decided, {}
  for place, row in ipairs(rows) do
    local id, _, _, kind, number, first, texts = unpack(ended[place])
    local event, event_at, moved = unpack(kinds[kind])
    write(row, moved, event, event_at, ARGV[first])
    writes.attempt(id, number, ARGV[first + 1], texts == 3 and ARGV[first + 2])
  end
  for _, name in ipairs(lifted) do
    lift_from_all(name)
  end
  for _, each in ipairs(spent) do
    writes.spend(unpack(each))
  end
  for _, each in ipairs(counted) do
    writes.count(unpack(each))
  end
  committed = true
  return whoever_is_free()
end

local said, always, counters, sets, ends -- ends: until when each set may be written, or false
said, always, counters, kinds, sets, ends = unpack(cjson.decode(ARGV[1]))
now = clock(said)
begin(now, always)
local answers = {}
for place, set in ipairs(sets) do
  local is_late = ends[place] and now > tonumber(ends[place])
  local answer = is_late and {'conflict', 'time'} or landing[set[1]](unpack(set, 2))
  if answer then
    answers[#answers + 1] = {place - 1, answer}
  end
end
local values = {}
for place, counter in ipairs(counters) do
  values[place] = text(count_of(unpack(counter)))
end
tell()
file()
settle_removals()
settle_accounts()
settle_moves()
return {text(now), committed and announce() or {}, answers, values}
