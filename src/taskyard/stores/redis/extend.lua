-- Heartbeats, many at once: as transitions.beat and lease.extended_end to each row whose lease is the beat's.
-- No event and no version.

local now = clock(given(take()))

-- A total so far: None leaves what is stored.
local function total(moved, field, said)
  if said then
    moved[#moved + 1] = field
    moved[#moved + 1] = tonumber(said)
  end
end

local function beat(row, progress, cost, tokens_in, tokens_out, tokens_cached)
  local moved = {HEARTBEAT_AT, now, PROGRESS, progress or row[PROGRESS]}
  if tokens_cached then
    moved[#moved + 1] = TOKENS_CACHED
    moved[#moved + 1] = tokens_cached
  end
  if row[STATUS] == 'running' then
    local expires, before = now + row[LEASE_SEC] * SECOND, row[LEASE_EXPIRES_AT] or 0
    moved[#moved + 1] = LEASE_EXPIRES_AT
    moved[#moved + 1] = (expires <= before and before < expires + SECOND) and before + 1 or expires
  end
  total(moved, SPENT, cost)
  total(moved, TOKENS_IN, tokens_in)
  total(moved, TOKENS_OUT, tokens_out)
  write(row, moved)
end

local answers, begun = {text(now)}, false
for place = 1, take_number() do
  local id, lease, workspace = take(), take(), given(take())
  local progress, cost, tokens_in, tokens_out = given(take()), given(take()), given(take()), given(take())
  local tokens_cached = given(take())
  local row = fetch(id)
  local accepted = row and HELD[row[STATUS]] and row[LEASE] == lease and (not workspace or row[WORKSPACE] == workspace)
  if accepted then
    if not begun then
      begin(now, true) -- a server without memory must not cost agents the work that they have in hand
      begun = true
    end
    beat(row, progress, cost, tokens_in, tokens_out, tokens_cached)
  end
  answers[place + 1] = {accepted and '1' or '0', row}
end
settle_tasks()
return answers
