-- What was stored by an older release, as this one has it. Each step is about a few things, and may be done twice.

local steps = {}

local NUMBERS = {
  seq = SEQ, lane = LANE, rank = RANK, height = HEIGHT, version = VERSION, attempt = ATTEMPT, failures = FAILURES,
  losses = LOSSES, parks = PARKS, wait = WAIT, claimed_at = CLAIMED_AT, started_at = STARTED_AT,
  heartbeat_at = HEARTBEAT_AT, lease_expires_at = LEASE_EXPIRES_AT, limit_at = LIMIT_AT, wake_at = WAKE_AT,
  due_at = DUE_AT, rescore_at = RESCORE_AT, circuit = CIRCUIT, reserved = RESERVED, spent = SPENT,
  tokens_in = TOKENS_IN, tokens_out = TOKENS_OUT, ran = RAN, updated_at = UPDATED_AT, reserve = RESERVE,
  claim_ttl = CLAIM_TTL, lease_sec = LEASE_SEC, run_sec = RUN_SEC, max_attempts = MAX_ATTEMPTS,
  expires_at = EXPIRES_AT, created_at = CREATED_AT, traits = TRAITS,
}
local TEXTS = {
  workspace = WORKSPACE, dag_id = DAG_ID, status = STATUS, agent = AGENT, runtime = RUNTIME, lease = LEASE,
  progress = PROGRESS, session = SESSION, why = WHY, idempotency_key = IDEMPOTENCY_KEY, key = KEY, type = TYPE,
}

-- Until format 2, a task was a hash of its fields by name, without those that were blank.
function steps.pack()
  for _, id in ipairs(take_many()) do
    local key = yard .. 'task:' .. id
    if redis.call('TYPE', key).ok == 'hash' then
      local row, flat = blank(), redis.call('HGETALL', key)
      row[ID] = id
      for place = 1, #flat, 2 do
        local name, value = flat[place], flat[place + 1]
        if NUMBERS[name] then
          row[NUMBERS[name]] = time(value)
        else
          row[TEXTS[name]] = value
        end
      end
      redis.call('SET', key, cmsgpack.pack(row))
    end
  end
end

-- Until format 2, nothing listed the ids of records, by which they are read in pages.
function steps.list_records()
  local owner = take()
  for _, id in ipairs(take_many()) do
    if redis.call('HEXISTS', yard .. 'records:' .. owner, id) == 1 then
      redis.call('ZADD', yard .. 'record-ids:' .. owner, 0, id)
    end
  end
end

-- Until format 2, nothing listed the signals that are waited for.
function steps.list_awaited()
  local name = take()
  for _, member in ipairs(take_many()) do
    if redis.call('ZSCORE', yard .. 'blocking:' .. name, member) then
      redis.call('ZADD', yard .. 'awaited', 0, member .. '\0' .. name)
    end
  end
end

return steps[take()]()
