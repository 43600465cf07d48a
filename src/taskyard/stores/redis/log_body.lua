-- The body of an entry of the log, as `log_rows.py` describes it: what is common to many events is in it once.

local OWN_DAG = 0 -- stands for the DAG of a lone task
local quoted, lone_dag, body_of
do

local ESCAPES = {['"'] = '\\"', ['\\'] = '\\\\', ['\n'] = '\\n', ['\r'] = '\\r', ['\t'] = '\\t', ['\f'] = '\\f', ['\b'] = '\\b'}

local function escaped(character)
  return ESCAPES[character] or string.format('\\u%04x', string.byte(character))
end

-- As Python's JSON has it. That of the server also escapes what need not be, and prints numbers with 14 digits.
function quoted(word)
  return '"' .. string.gsub(word, '[%z\1-\31"\\]', escaped) .. '"'
end

local function printed(value)
  if not value then
    return 'null'
  end
  return type(value) == 'number' and text(value) or quoted(value)
end

local function printed_time(value)
  return type(value) == 'number' and text(value) or value
end

local function list(values, print)
  local words = {}
  for place = 1, #values do
    words[place] = print(values[place])
  end
  return '[' .. table.concat(words, ',') .. ']'
end

local function is_uniform(values)
  local first = values[1]
  for place = 2, #values do
    if values[place] ~= first then
      return false
    end
  end
  return true
end

local function column(events, field)
  local values = {}
  for place = 1, #events do
    values[place] = events[place][field] or false
  end
  return values
end

-- One value where it is the same for all.
local function packed(values, print)
  return is_uniform(values) and print(values[1]) or list(values, print)
end

function lone_dag(task)
  return 'dag_' .. (string.match(task, '^task_(.*)$') or task)
end

local function shown_dags(events)
  local dags = column(events, 4)
  for place, event in ipairs(events) do
    if dags[place] ~= OWN_DAG and event[3] and dags[place] == lone_dag(event[3]) then
      dags[place] = OWN_DAG
    end
  end
  return dags
end

local function alike(one, other, from, step)
  local count, most = 0, math.min(#one, #other)
  while count < most and string.byte(one, from + step * count) == string.byte(other, from + step * count) do
    count = count + 1
  end
  return count
end

-- What all begin with, without a character that may be cut in two.
local function common_head(texts)
  local head = texts[1]
  for _, each in ipairs(texts) do
    if string.sub(each, 1, #head) ~= head then
      head = string.sub(head, 1, alike(head, each, 1, 1))
    end
  end
  return string.match(head, '^(.-)[\128-\255]*$')
end

local function common_tail(texts)
  local tail = texts[1]
  for _, each in ipairs(texts) do
    if #tail > 0 and string.sub(each, -#tail) ~= tail then
      tail = string.sub(tail, #tail + 1 - alike(tail, each, -1, -1))
    end
  end
  return string.match(tail, '^[\128-\255]*(.*)$')
end

-- The texts of a batch often differ in a few numbers: what stands before and after these is kept once.
local function packed_texts(texts)
  if is_uniform(texts) then
    return printed(texts[1])
  end
  for _, each in ipairs(texts) do
    if not each then
      return list(texts, printed)
    end
  end
  local head, rests = common_head(texts), {}
  for place, each in ipairs(texts) do
    rests[place] = string.sub(each, #head + 1)
  end
  local tail = common_tail(rests)
  if #head + #tail < 8 then
    return list(texts, printed)
  end
  for place, rest in ipairs(rests) do
    rests[place] = string.sub(rest, 1, #rest - #tail)
  end
  return '{"head":' .. quoted(head) .. ',"tail":' .. quoted(tail) .. ',"middles":' .. list(rests, quoted) .. '}'
end

function body_of(events, places)
  local words = {'{"f":1,"n":' .. #events}
  local function say(name, value)
    if value ~= 'null' then
      words[#words + 1] = '"' .. name .. '":' .. value
    end
  end
  say('event', packed(column(events, 1), printed))
  say('task', packed(column(events, 3), printed))
  say('at', packed(column(events, 5), printed_time))
  say('version', packed(column(events, 6), printed))
  say('status', packed(column(events, 7), printed))
  say('attempt', packed(column(events, 8), printed))
  local dag = packed(shown_dags(events), printed)
  if dag ~= '0' then
    words[#words + 1] = '"dag":' .. dag
  end
  say('data', packed_texts(column(events, 9)))
  if places[#places] ~= #places - 1 then
    say('place', list(places, text))
  end
  return table.concat(words, ',') .. '}'
end

end
