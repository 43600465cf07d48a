-- Heartbeats, many at once: as transitions.beat to each row whose lease is the beat's. No event and no version.

local now = clock(take())

-- A total so far: None leaves what is stored, and nothing is not stored.
local function total(moved, name, said)
  if said then
    moved[name] = said ~= '0' and said or false
  end
end

local function beat(row, progress, cost, tokens_in, tokens_out)
  local moved = {heartbeat_at = text(now)}
  if row.status == 'running' then
    moved.lease_expires_at = text(now + number(row.lease_sec) * SECOND)
  end
  if progress then
    moved.progress = progress
  end
  total(moved, 'spent', cost)
  total(moved, 'tokens_in', tokens_in)
  total(moved, 'tokens_out', tokens_out)
  write(row, moved)
end

local answers, begun = {text(now)}, false
for place = 1, take_number() do
  local id, lease, workspace = take(), take(), given(take())
  local progress, cost, tokens_in, tokens_out = given(take()), given(take()), given(take()), given(take())
  local row = fetch(id)
  local accepted = row and HELD[row.status] and row.lease == lease and (not workspace or row.workspace == workspace)
  if accepted then
    if not begun then
      begin(now, true) -- a server without memory must not cost agents the work that they have in hand
      begun = true
    end
    beat(row, progress, cost, tokens_in, tokens_out)
  end
  answers[place + 1] = {accepted and '1' or '0', row and flattened(row) or {}}
end
settle_moves()
return answers
