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

local committed = false

local function land(decided, guarding, writing)
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

local said, always, counters, sets, ends -- ends: until when each set may be written, or false
said, always, counters, sets, ends = unpack(cjson.decode(ARGV[1]))
now = clock(said)
begin(now, always)
local answers = {}
for place, set in ipairs(sets) do
  local is_late = ends[place] and now > tonumber(ends[place])
  local answer = is_late and {'conflict', 'time'} or land(unpack(set))
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
if after_removals then
  after_removals()
end
settle_accounts()
settle_tasks()
return {text(now), committed and announce() or {}, answers, values}
