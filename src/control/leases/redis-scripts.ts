import { BUCKET_MS, WINDOW_BUCKETS } from '../../shared/core/allowance.ts'

/**
 * What the Redis authority runs inside Redis. One allowance is one value, packed, together with what makes a call idempotent: the
 * number and the reply of the last call of every holder. Allowances are spread over shards; a shard's own key tells whether Redis
 * still has what was written to it (its epoch) and since when it has been served without a break.
 *
 * Every script takes the time in milliseconds as its first argument, or an empty string for Redis's own clock.
 */

/** How long a holder that says nothing keeps what it holds. */
export const LEASE_TTL_MS = 30_000
/** After a shard was lost, or nobody could reach it for a while, holders have this long to say what they hold. */
export const REOPEN_MS = 2_000
/** A shard that nobody touched for so long was out of reach. */
const SILENCE_MS = 1_000
/** After so long fronts take what they have not said before, and machines may have begun that nobody knows. */
const LONG_MS = 60_000
/** A machine that was silent for so long has lost its processes or its line: others do not wait for it. */
const ABSENT_MS = 6_000
/** An ask that waits for what others hand back is answered within this. */
const RECLAIM_WAIT_MS = 400
/** So much of an allowance that is crowded is left again, and half of it can be set aside as before. */
const ROOMY_PART = 0.6
/** An ask that its holder does not look after any more. */
const ASK_TTL_MS = 3_000
/** A charge may be booked this much too early: buckets leave the window this much later. */
export const CLOCK_SLACK_MS = 50
/** A charge of a clock that is ahead is booked at most this far in the future. */
const AHEAD_BUCKETS = 8
/** Longer than anything in an account matters; of a budget longer than any request, since the database learns of those last. */
const ACCOUNT_TTL_MS = 120_000
const BUDGET_TTL_MS = 26 * 3_600_000

const PRELUDE = `
local now
if ARGV[1] == '' then
  local t = redis.call('TIME')
  now = t[1] * 1000 + math.floor(t[2] / 1000)
else
  now = math.floor(tonumber(ARGV[1]))
end
local function num(x) return string.format('%.17g', x) end

-- Its epoch, when it opens, and when it closed last. The machines that were there before it closed stand in it, each with the last
-- closing of which its fronts have said everything: it opens early when that is this one for all of them.
local function openShard(key, fresh, node, told)
  local raw = redis.call('GET', key)
  local epoch, closed, opens, touched, isEarly, seen = fresh, now, now + ${REOPEN_MS}, now, false, {}
  if raw then
    epoch, closed, opens, touched, isEarly, seen = unpack(cmsgpack.unpack(raw))
    if now - touched > ${SILENCE_MS} then
      for name, x in pairs(seen) do
        if touched - x[1] > ${ABSENT_MS} then seen[name] = nil else x[1] = now end
      end
      closed, opens, isEarly = now, now + ${REOPEN_MS}, now - touched < ${LONG_MS}
    elseif not node then
      return epoch, opens, closed
    end
  end
  if node then seen[node] = { now, told } end
  local haveAllTold = true
  for name, x in pairs(seen) do
    if now - x[1] > ${LEASE_TTL_MS} then seen[name] = nil
    elseif x[2] ~= closed then haveAllTold = false end
  end
  if isEarly and haveAllTold and now < opens then opens = now end
  redis.call('SET', key, cmsgpack.pack({ epoch, closed, opens, now, isEarly, seen }))
  return epoch, opens, closed
end
`

/**
 * KEYS: shard. ARGV: time, epoch of a new shard, node, and of which closing its fronts have said everything. Answers epoch, when it opens,
 * now, which closing was the last.
 */
export const TOUCH_SCRIPT = `${PRELUDE}
local epoch, opens, closed = openShard(KEYS[1], ARGV[2], ARGV[3], tonumber(ARGV[4]))
return epoch .. ' ' .. num(opens) .. ' ' .. num(now) .. ' ' .. num(closed)
`

/**
 * KEYS: the list of nodes. ARGV: time, node, its fronts (0: it leaves), its generation, and 1 where its fronts are those of the control
 * process before. Answers the nodes and fronts there are, then the nodes that are not silent with their generations.
 */
export const BEAT_SCRIPT = `${PRELUDE}
if ARGV[3] == '0' then
  redis.call('HDEL', KEYS[1], ARGV[2])
else
  local generation = ARGV[4]
  local known = ARGV[5] == '1' and redis.call('HGET', KEYS[1], ARGV[2])
  if known then generation = string.match(known, '^%d+ %d+ (%d+)$') or generation end
  redis.call('HSET', KEYS[1], ARGV[2], ARGV[3] .. ' ' .. num(now) .. ' ' .. generation)
end
local nodes, fronts, present = 0, 0, {}
local all = redis.call('HGETALL', KEYS[1])
for i = 1, #all, 2 do
  local count, seen, generation = string.match(all[i + 1], '^(%d+) (%d+) ?(%d*)$')
  if now - tonumber(seen) > ${LEASE_TTL_MS} then
    redis.call('HDEL', KEYS[1], all[i])
  else
    nodes = nodes + 1
    fronts = fronts + tonumber(count)
    if now - tonumber(seen) <= ${ABSENT_MS} then present[#present + 1] = ' ' .. all[i] .. '=' .. generation end
  end
end
return nodes .. ' ' .. fronts .. table.concat(present)
`

/** KEYS: account, shard. ARGV: time. Answers how much of a budget is used or held; empty where Redis does not know. */
export const BUDGET_SCRIPT = `
local raw, shard = redis.call('GET', KEYS[1]), redis.call('GET', KEYS[2])
if not raw or not shard then return '' end
local a = cmsgpack.unpack(raw)
if a.e ~= cmsgpack.unpack(shard)[1] or a.k ~= 'budget' or not a.read then return '' end
local sum = 0
for _, amount in pairs(a.u) do sum = sum + amount end
for _, x in pairs(a.h) do sum = sum + x.v end
return string.format('%.17g', sum)
`

/**
 * KEYS: account, shard. ARGV: time, epoch of a new shard, the call as JSON, prefix of the channels on which nodes are poked.
 * Answers a list: the reply, then (when the time was given) the pokes that would have been published.
 */
export const EXCHANGE_SCRIPT = `${PRELUDE}
local c = cjson.decode(ARGV[3])
local epoch, opens, closed = openShard(KEYS[2], ARGV[2])
if c.e ~= epoch then return { 'epoch ' .. epoch .. ' ' .. num(now) } end
local raw = redis.call('GET', KEYS[1])
local a = raw and cmsgpack.unpack(raw)
if not a or a.e ~= epoch then a = { e = epoch, k = c.k, l = 0, w = {}, h = {}, p = {} } end
if c.l then a.k, a.l = c.k, c.l end
local me = a.h[c.h]
if not c.G then
  if me and me.q == c.s then return { me.a } end
  if me and me.q > c.s then return { 'stale' } end
  if c.b > 0 and not c.S and not c.f and (not me or me.q ~= c.b) then
    return { 'gap ' .. num(me and me.q or 0) }
  end
end

local isWindow, isBudget = a.k == 'window', a.k == 'budget'
if isBudget then a.u = a.u or {} end
local bucket = math.floor(now / ${BUCKET_MS})
local eldest = math.floor((now - ${CLOCK_SLACK_MS}) / ${BUCKET_MS}) - ${WINDOW_BUCKETS}
for s in pairs(a.w) do if s < eldest then a.w[s] = nil end end
local function charge(s, amount, writer)
  if isBudget and writer then a.u[writer] = math.max(0, (a.u[writer] or 0) + amount) end
  if not isWindow or s < eldest or amount == 0 then return end
  if s > bucket + ${AHEAD_BUCKETS} then s = bucket + ${AHEAD_BUCKETS} end
  local after = math.max(0, (a.w[s] or 0) + amount)
  a.w[s] = after > 0 and after or nil
end
local function used()
  local sum = 0
  for _, amount in pairs(isBudget and a.u or a.w) do sum = sum + amount end
  return sum
end
local function left()
  local sum = a.l - used() + 1e-6
  for _, x in pairs(a.h) do sum = sum - x.v end
  return sum
end
local function leavesAt(s) return (s + ${WINDOW_BUCKETS + 1}) * ${BUCKET_MS} + ${CLOCK_SLACK_MS} end
local function dropAsks(match)
  local kept = {}
  for _, ask in ipairs(a.p) do if not match(ask) then kept[#kept + 1] = ask end end
  a.p = kept
end
local function forget(holder, s)
  charge(s, a.h[holder].v, a.h[holder].w)
  a.h[holder] = nil
  dropAsks(function(ask) return ask.o == holder end)
end

local expires = now > closed + ${LEASE_TTL_MS}
for holder, x in pairs(a.h) do
  if holder ~= c.h then
    local older = false
    if c.g and string.sub(holder, 1, #c.n + 1) == c.n .. '/' then
      local incarnation = tonumber(string.match(holder, '^[^/]*/(%d+)/'))
      older = incarnation ~= nil and incarnation < c.i
    end
    if older then forget(holder, bucket)
    -- A holder uses nothing any more when its lease ends.
    elseif expires and now > x.x then forget(holder, math.floor(x.x / ${BUCKET_MS})) end
  end
end
dropAsks(function(ask) return now > ask.x end)

-- What the database has of a budget, by the journal that told it; what the living say of their own is newer.
-- Of its own journals that are closed a machine knows that this is all.
if c.B and isBudget then
  local living = {}
  for _, writer in ipairs(c.L) do living[writer] = true end
  for writer in pairs(a.u) do
    if not living[writer] and string.sub(writer, 1, #c.n + 1) == c.n .. '/' then a.u[writer] = nil end
  end
  for writer, amount in pairs(c.B) do a.u[writer] = math.max(a.u[writer] or 0, amount) end
  a.read = true
end
if not me then
  me = { v = 0 }
  a.h[c.h] = me
end
me.w = c.w
if c.f then
  me.v = c.f.h
  for _, x in ipairs(c.f.c) do charge(x[1], x[2], c.w) end
end
if c.S then
  if isWindow and not c.S.k then charge(bucket, math.max(0, me.v - c.S.h)) end
  me.v = c.S.h
  me.r, me.t, me.d, me.c = nil, nil, nil, nil
  if isBudget then
    -- The same writer under the name it had before: what it says now holds for all.
    for holder, x in pairs(a.h) do
      if holder ~= c.h and x.w == c.w then
        a.h[holder] = nil
        dropAsks(function(ask) return ask.o == holder end)
      end
    end
    if c.S.u[1] then a.u[c.w] = c.S.u[1][2] end
  else
    for _, x in ipairs(c.S.u) do charge(x[1], x[2]) end
  end
  dropAsks(function(ask) return ask.o == c.h end)
end
for _, x in ipairs(c.c or {}) do
  me.v = math.max(0, me.v - x[2])
  charge(x[1], x[2] + x[3], c.w)
end
if c.r then me.v = math.max(0, me.v - c.r) end
if c.R then me.r = nil end
if c.x or c.a then dropAsks(function(ask) return ask.o == c.h end) end
if c.a then a.p[#a.p + 1] = { o = c.h, n = c.a.n, w = c.a.w, t = c.a.t } end
if c.G then forget(c.h, bucket) end

local pokes = {}
local function poke(holder) pokes[#pokes + 1] = holder end

-- Half of it is set aside for outages, in even parts that fronts take unasked. It is granted only once all machines have said that
-- their fronts know of it: then it is crowded.
local hasParts = not isBudget and string.sub(c.A, 1, 5) ~= 'slot:' and math.floor(a.l / (2 * c.N)) > 0
if c.m and a.c then a.m[c.n] = c.M[c.n] end
local function aside()
  if not hasParts then return 0 end
  for node, generation in pairs(c.M) do
    if not a.c or a.m[node] ~= generation then return math.floor(a.l / 2) end
  end
  return 0
end
local function announce()
  if not a.c then a.c, a.m = true, {} end
  for node, generation in pairs(c.M) do
    if a.m[node] ~= generation then poke(node .. '/*') end
  end
end
local function reclaimsOpen()
  for _, x in pairs(a.h) do if x.r then return true end end
  return false
end

-- Asks are served in their own holder's calls; in between they stand.
local mine, ahead = nil, 0
for _, ask in ipairs(a.p) do
  if ask.o == c.h then
    mine = ask
    break
  end
  if a.k == 'places' then ahead = ahead + ask.n end
end
local outcome, amount, retryAt = 0, 0, 0
local isOpen = now >= opens and (not isBudget or a.read == true)
if mine then
  mine.x = now + ${ASK_TTL_MS}
  mine.k = nil
  if isOpen then
    local all = left() - ahead
    local room = all - aside()
    if room < math.max(1, mine.n) and all >= math.max(1, mine.n) and hasParts then announce() end
    if room >= mine.n then
      if a.k ~= 'places' then
        amount = math.max(mine.n, math.min(mine.w, math.floor(room / (2 * c.N))))
      else
        amount = math.max(mine.n, math.min(mine.w, math.floor(a.l / c.N) - me.v, math.floor(room)))
      end
    end
    if amount > 0 or mine.n == 0 then
      amount = math.max(0, amount)
      me.v = me.v + amount
      outcome = 1
    elseif all < mine.n then
      local interested, count = {}, 0
      for holder, x in pairs(a.h) do
        if x.v > 0 then
          interested[holder] = true
          count = count + 1
        end
      end
      for _, ask in ipairs(a.p) do
        if not interested[ask.o] then
          interested[ask.o] = true
          count = count + 1
        end
      end
      local keep = math.floor(a.l / math.max(1, count))
      for holder, x in pairs(a.h) do
        if holder ~= c.h and x.v > 0 then
          local knows
          if mine.t then knows = x.t ~= nil and x.t <= keep else knows = mine.r or x.r end
          if not knows then
            x.r, x.t, x.d, x.c = true, keep, keep, nil
            poke(holder)
          end
        end
      end
      mine.r = mine.r or now
      if not mine.t and not (reclaimsOpen() and now - mine.r < ${RECLAIM_WAIT_MS}) then
        outcome = 2
        retryAt = now
        if isWindow and mine.n <= a.l then
          local total, buckets = used(), {}
          for s in pairs(a.w) do buckets[#buckets + 1] = s end
          table.sort(buckets)
          for _, s in ipairs(buckets) do
            if total + mine.n <= a.l then break end
            total = total - a.w[s]
            retryAt = leavesAt(s)
          end
        end
      end
    end
    if outcome > 0 then
      dropAsks(function(ask) return ask.o == c.h end)
      mine = nil
    end
  end
end

-- What nobody uses of a crowded window is shared out to those who use it: who holds it can take it when Redis goes away.
if isOpen and isWindow and a.c and c.c and #a.p == 0 and outcome == 0 and used() > ${1 - ROOMY_PART} * a.l then
  local room = left() - aside()
  local unused = room
  for _, x in pairs(a.h) do unused = unused + x.v end
  local part = math.floor(unused / c.N)
  if 2 * me.v <= part and room >= 1 then
    amount = math.min(part - me.v, math.floor(room))
    if amount > 0 then
      outcome = 1
      me.v = me.v + amount
    end
  end
end

-- Who may be served now, or has waited in vain, is told to look.
if isOpen then
  local room, reclaims = left() - aside(), reclaimsOpen()
  for _, ask in ipairs(a.p) do
    if ask.o ~= c.h then
      local fits = ask.n <= room
      if not ask.k and (fits or (not ask.t and ask.r and not reclaims)) then
        ask.k = true
        poke(ask.o)
      end
      if fits and a.k == 'places' then room = room - ask.n end
    end
  end
end
if #a.p == 0 then
  for holder, x in pairs(a.h) do
    if x.t then
      x.t = nil
      if a.k == 'places' then
        x.c, x.d = true, nil
        if holder ~= c.h then poke(holder) end
      end
    end
  end
end

if a.c and #a.p == 0 and left() >= ${ROOMY_PART} * a.l then
  for node in pairs(a.m) do poke(node .. '/*') end
  a.c, a.m = nil, nil
end
local crowd = not a.c and '0' or a.m[c.n] == c.M[c.n] and '1' or '2'

local newest = 0
for s in pairs(a.w) do if s > newest then newest = s end end
local reply = table.concat({
  'ok', epoch, num(now), num(me.v), num(used()), num(left()), newest > 0 and num(leavesAt(newest)) or num(now),
  outcome, num(amount), num(retryAt), me.d and num(me.d) or '-1', me.c and '1' or '0', mine and '1' or '0',
  isBudget and num(a.u[c.w] or 0) or '0', isBudget and not a.read and '1' or '0', crowd,
}, ' ')
if a.h[c.h] then
  me.d, me.c = nil, nil
  me.q, me.a, me.x = c.s, reply, now + ${LEASE_TTL_MS}
end
if next(a.h) == nil and next(a.w) == nil and not isBudget then
  redis.call('DEL', KEYS[1])
else
  redis.call('SET', KEYS[1], cmsgpack.pack(a), 'PX', isBudget and ${BUDGET_TTL_MS} or ${ACCOUNT_TTL_MS})
end

local answer = { reply }
for _, holder in ipairs(pokes) do
  if ARGV[1] == '' then
    redis.call('PUBLISH', ARGV[4] .. string.match(holder, '^[^/]*'), cjson.encode({ c.A, holder }))
  else
    answer[#answer + 1] = holder
  end
end
return answer
`
