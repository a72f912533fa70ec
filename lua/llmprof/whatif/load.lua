-- TTFT and TPOT of a server at a concurrency that was not measured: a queue model, fitted to the
-- requests of a load in which more and fewer were under way. They are let through the queue when
-- they were sent; what a step takes is found by how long they then take.
--
-- A request waits for the front end, one after the other; then the engine runs steps, each of all
-- that decode and of prompts as far as its budget of tokens goes. What a step takes is known by
-- how many decode, and by tokens of prompts; what it made reaches the client at once, or after the
-- next step, where the engine schedules ahead.
local document = require "llmprof.io.document"
local errors = require "llmprof.process.errors"
local fs = require "llmprof.fs"
local json = require "llmprof.json"
local layout = require "llmprof.bundle.layout"
local lists = require "llmprof.tables.lists"
local source = require "llmprof.query.session.source"
local statistics = require "llmprof.statistics"
local tables = require "llmprof.tables"

local load = {}

-- Tokens of a step, unless it is said otherwise: what vLLM and SGLang take of prompts.
local BUDGET = 8192

-- Fewer requests are no level; levels are this part of an octave apart.
local FEWEST, PARTS = 8, 2

-- Requests of a level for each that is under way, at least: fewer come from a beginning or an end.
local TURNS = 3

-- What a prediction is sure to, at best; what the model may miss of what was measured, in the mean
-- over levels; how many times the prompts of a step that were measured it is believed.
local LEAST_WIDTH, MOST_MISSED, MOST_TAKEN = 0.15, 0.25, 2

-- Clients send two requests as far apart as this percentile of the intervals between any.
local APART = 5

-- Requests that a prediction passes through the queue, of each client and in all; the first half of
-- them is left out.
local ROUNDS, LEAST_REQUESTS = 24, 240

-- Requests wait as much longer or shorter than the queue says as those within this many octaves
-- of a concurrency did.
local ALIKE = 0.8


local function usage(message, hint) errors.raise("usage", message, { hint = hint }) end


-- ---- requests ----

local function metrics_of(word)
  local path = source.locate(word) or word
  if path:find "%.json$" then return errors.check(document.read(path, "metrics")) end
  for _, name in ipairs { layout.workload.metrics, "metrics.json" } do
    local file = path .. "/" .. name
    if fs.stat(file) then return errors.check(document.read(file, "metrics")) end
  end
  usage(("%s: there is no metrics.json with the requests of a load"):format(word),
    "load takes runs whose clients were measured, or their metrics.json")
end


-- Requests of several metrics.json by when they were sent: { sent, first, stop (ms), prompt,
-- tokens }; in_rounds: each of several rounds was sent at once.
function load.requests(list)
  local made = {}
  for _, metrics in ipairs(list) do
    local repeats = metrics.repeats or {}
    made.in_rounds = made.in_rounds or not metrics.load and #repeats > 1
    for _, rep in ipairs(repeats) do
      for _, one in ipairs(rep.requests or {}) do
        local prompt = one.prompt_tokens or metrics.prompt_tokens
        if not one.sent_utc_ns then
          usage("load: the requests do not say when they were sent",
            "metrics.json of a recipe's load, or a generator that says it (llmprof help serving)")
        elseif not prompt or prompt < 1 then
          usage "load: the requests do not say how long their prompts were"
        elseif not (one.ttft_ms and one.ms and one.tokens) then
          usage "load: the requests do not say when their first and last token came, and how many"
        end
        local sent = one.sent_utc_ns / 1e6
        made[#made + 1] = { sent = sent, first = sent + one.ttft_ms, stop = sent + one.ms,
          prompt = prompt, tokens = one.tokens }
      end
    end
  end
  if #made < FEWEST then
    usage(#made == 0 and "load: there are no requests of a load to a server"
      or ("load: %d requests are too few"):format(#made))
  end
  lists.sort(made, "sent")
  local zero, apart = made[1].sent, {}
  for i = 2, #made do apart[i - 1] = made[i].sent - made[i - 1].sent end
  made.apart = statistics.percentile(apart, APART)
  for _, one in ipairs(made) do
    one.sent, one.first, one.stop = one.sent - zero, one.first - zero, one.stop - zero
  end
  return made
end


-- A function that gives how many requests there are on average from one time to another; from,
-- to: where each begins and ends.
local function counter(list, from, to)
  local moments = {}
  for _, one in ipairs(list) do
    moments[#moments + 1] = { one[from], 1 }
    moments[#moments + 1] = { one[to], -1 }
  end
  lists.sort(moments, function(moment) return moment[1] end)
  local times, counts, sums = {}, {}, {} -- count from a time on; sum of count times time before it
  local count, sum, last = 0, 0, moments[1][1]
  for i, moment in ipairs(moments) do
    sum = sum + count * (moment[1] - last)
    count, last = count + moment[2], moment[1]
    times[i], counts[i], sums[i] = moment[1], count, sum
  end
  local function until_time(time)
    local i = statistics.first_above(times, time) - 1
    if i < 1 then return 0 end
    return sums[i] + counts[i] * (time - times[i])
  end
  return function(a, b) return b > a and (until_time(b) - until_time(a)) / (b - a) or 0 end
end


local function tpot_of(one) return (one.stop - one.first) / (one.tokens - 1) end


local function ttft_of(one) return one.first - one.sent end


-- Of those of which `of` knows a value.
local function quantile(list, of, percent)
  return statistics.percentile(lists.map(list, of), percent)
end


-- What of the times to the first token is fitted, in percent, and the median of tokens.
local QUANTILES = { 25, 50, 75 }

local function modelled_ttft(one) return one.began - one.sent end

local function modelled_tpot(one)
  return one.tokens > 1 and (one.ended - one.began) / (one.tokens - 1) or nil
end


local function quantiles(list, of)
  local sorted = lists.sort(lists.map(list, of))
  return lists.map(QUANTILES, function(percent)
    return sorted[math.max(1, math.ceil(percent / 100 * #sorted))]
  end)
end


-- Requests by how many there were at once: list of { at (in flight), decoding (of them), requests,
-- ttft, tpot (medians, ms), quantiles (of TTFT) }, by `at`; with `least` and `most`, between which
-- a concurrency was seen, and `all`, the requests.
local function levels_of(list)
  local flying, decoding = counter(list, "sent", "stop"), counter(list, "first", "stop")
  local by_key, made = {}, {}
  for _, one in ipairs(list) do
    if one.tokens > 1 then
      one.at, one.decoding = flying(one.sent, one.stop), decoding(one.first, one.stop)
      local key = math.floor(PARTS * math.log(math.max(one.at, 1), 2) + 0.5)
      by_key[key] = by_key[key] or { requests = {} }
      table.insert(by_key[key].requests, one)
    end
  end
  for _, level in pairs(by_key) do
    local own = level.requests
    level.at = quantile(own, "at", 50)
    if #own >= math.max(FEWEST, TURNS * level.at) then
      level.decoding = quantile(own, "decoding", 50)
      level.ttft, level.tpot = quantile(own, ttft_of, 50), quantile(own, tpot_of, 50)
      level.quantiles = quantiles(own, ttft_of)
      made[#made + 1] = level
    end
  end
  lists.sort(made, "at")
  if #made > 0 then
    made.least = math.floor(quantile(made[1].requests, "at", 25) + 0.5)
    made.most = math.floor(quantile(made[#made].requests, "at", 95) + 0.5)
  end
  made.all = list
  return made
end


-- ---- the queue ----

-- What a step takes in which `count` requests decode: on the lines between points { decoding, ms },
-- by decoding, and on the last one beyond; as of the first point below it.
local function interval(steps, count)
  local low, high = steps[1], steps[1]
  for i = 2, #steps do
    if low.decoding < count then high = steps[i] end
    if high.decoding >= count then break end
    low = i < #steps and high or low
  end
  if high.decoding == low.decoding or count <= low.decoding then return low.ms end
  return math.max(low.ms + (high.ms - low.ms) * (count - low.decoding)
    / (high.decoding - low.decoding), 0)
end


local NOBODY = {}

-- Let requests through the queue. given: steps (as for interval), front (ms of each request, alone
-- in it), before (ms besides), prefill (ms of a step that takes prompts, at least), token (ms of
-- a token of a prompt), ahead (0 or 1: steps that the engine schedules ahead), budget. arrivals:
-- in the order of `sent`, to which `done` may add when one of them is; `late`: how many ms later
-- than others it reaches the engine. Each gets `began` and `ended`, when its first and last token
-- reach the client, and `met`, how many tokens of prompts were in the step of its last one.
local function pass(given, arrivals, done)
  local now, number, decoding = 0, 0, 0 -- number: of the last step
  local next_in, free = 1, 0 -- free: when the front end is
  local ready, left -- when the next one in is through the front end; tokens left of its prompt
  local ends, lengths = {}, {} -- by step those that end in it; ms by how many decode
  local held_first, held_last -- what reaches the client after the next step

  local function next_ready()
    local one = arrivals[next_in]
    if one and not ready then
      free = math.max(free, one.sent) + given.front
      ready = free + given.before + (one.late or 0)
    end
    return ready or math.huge
  end

  -- how many tokens, and the requests whose last one is among them; nil without
  local function take_prompts()
    local room, taken, whole = given.budget - decoding, 0, nil
    while next_ready() <= now and room > 0 do
      local one = arrivals[next_in]
      left = left or one.prompt
      local part = math.min(left, room)
      left, room, taken = left - part, room - part, taken + part
      if left > 0 then break end
      whole = whole or {}
      whole[#whole + 1] = one
      next_in, ready, left = next_in + 1, nil, nil
    end
    return taken, whole
  end

  local function length_of(count)
    lengths[count] = lengths[count] or count > 0 and interval(given.steps, count) or 0
    return lengths[count]
  end

  -- first: those that begin to decode; returns those that end in it
  local function step(prompts, first)
    local ms, count = length_of(decoding), 1
    if prompts == 0 and not held_first and not held_last then
      -- all steps until something changes are alike
      local most = math.ceil((next_ready() - now) / ms)
      while count < most and not ends[number + count] do count = count + 1 end
    end
    number = number + count
    now = now + (prompts > 0 and math.max(ms, given.prefill, given.token * prompts)
      or count * ms)
    for _, one in ipairs(first or NOBODY) do
      local place = number + one.tokens - 1
      one.met, ends[place] = prompts, ends[place] or {}
      table.insert(ends[place], one)
      decoding = decoding + 1
    end
    local last = ends[number]
    ends[number], decoding = nil, decoding - (last and #last or 0)
    return last
  end

  while true do
    local prompts, first, last = 0, nil, nil
    if next_ready() <= now then prompts, first = take_prompts() end
    if prompts > 0 or decoding > 0 then
      last = step(prompts, first)
    elseif not held_first and not held_last then
      now = next_ready()
      if now == math.huge then return end
    end
    if given.ahead == 1 then
      first, held_first = held_first, first
      last, held_last = held_last, last
    end
    for _, one in ipairs(first or NOBODY) do one.began = now end
    for _, one in ipairs(last or NOBODY) do one.ended = now end
    for _, one in ipairs(done and last or NOBODY) do done(one, now) end
  end
end


-- ---- the fit ----

-- How many tokens of prompts were in the step of one of them, in the mean.
local function taken_of(list)
  return lists.sum(list, "met") / #lists.map(list, "met")
end


-- How much longer than in the queue those of about `count` in flight waited for their first token,
-- beside the median: a list. Of the last requests that were let through it.
local function lateness(list, count)
  local late = {}
  for _, one in ipairs(list) do
    if one.at and math.abs(math.log(math.max(one.at, 1) / count, 2)) < ALIKE then
      late[#late + 1] = one.first - one.began
    end
  end
  local middle = statistics.percentile(late, 50)
  for i = 1, #late do late[i] = late[i] - middle end
  return late
end


-- What `count` clients see that send the next request when the last one is answered, or, in rounds,
-- when all are: requests with `began` and `ended`, without those of the beginning; how many came
-- a second; how many tokens of prompts met in a step. Lengths are those of the requests of a list,
-- one after the other. late: one of them is added to what each waits, in an order of chance;
-- apart: ms between the beginnings of two clients.
local function closed(given, list, count, late, apart)
  local arrivals, made, most = {}, 0, count * math.max(ROUNDS, LEAST_REQUESTS // count)
  local dice = 1
  local function add(now)
    local before = arrivals[made]
    made = made + 1
    dice = (dice * 1103515245 + 12345) % (1 << 31)
    local like = list[(made - 1) % #list + 1]
    arrivals[made] = { sent = before and math.max(now, before.sent + list.apart) or now,
      prompt = like.prompt, tokens = like.tokens,
      late = #late > 0 and math.max(late[(dice >> 16) % #late + 1], -given.before) or 0 }
  end
  local answered = 0
  for i = 1, count do add(apart * (i - 1)) end
  pass(given, arrivals, function(_, now)
    answered = answered + 1
    local is_over = answered % count == 0
    for _ = 1, not given.in_rounds and 1 or is_over and count or 0 do
      if made < most then add(now) end
    end
  end)
  local first, last = arrivals[most // 2 + 1].sent, arrivals[most - count + 1].sent
  local kept = table.move(arrivals, most // 2 + 1, most, 1, {})
  return kept, 1000 * (most - count - most // 2) / math.max(last - first, 1e-9),
    taken_of(kept)
end


-- How far the queue is from what was measured: a sum over levels of squares of logarithms of
-- ratios; and by level { ttft, tpot }, medians of the queue.
local function miss(given, levels)
  local sum, said = 0, {}
  pass(given, levels.all)
  for i, level in ipairs(levels) do
    local ttft = quantiles(level.requests, modelled_ttft)
    for k, value in ipairs(ttft) do
      sum = sum + math.log(math.max(value, 1e-3) / level.quantiles[k]) ^ 2
    end
    said[i] = { ttft = ttft[2], tpot = quantiles(level.requests, modelled_tpot)[2] }
    sum = sum + math.log(said[i].tpot / level.tpot) ^ 2
  end
  return sum, said
end


-- Parameters that are fitted; factors by which the simplex of each descent spreads around its
-- start; iterations of a descent.
local FITTED, SPREADS, TRIES = { "front", "before", "prefill", "token" }, { 1.5, 0.6, 1.2 }, 50

-- Look around for what fits better: the simplex of Nelder and Mead, over logarithms.
local function descend(given, levels, spread, tries)
  local function tried(point)
    for i, name in ipairs(FITTED) do given[name] = math.exp(point[i]) end
    return { at = point, sum = miss(given, levels) }
  end
  -- of a the share by, of b the rest
  local function between(a, b, by)
    local point = {}
    for i in ipairs(FITTED) do point[i] = by * a[i] + (1 - by) * b[i] end
    return tried(point)
  end
  local start, simplex = {}, {}
  for i, name in ipairs(FITTED) do start[i] = math.log(given[name]) end
  for i = 0, #FITTED do
    local point = lists.first(start)
    if i > 0 then point[i] = point[i] + math.log(spread) end
    simplex[i + 1] = tried(point)
  end
  for _ = 1, tries do
    lists.sort(simplex, "sum")
    local worst, middle = table.remove(simplex), {}
    for i in ipairs(FITTED) do
      middle[i] = 0
      for _, one in ipairs(simplex) do middle[i] = middle[i] + one.at[i] / #simplex end
    end
    local new = between(middle, worst.at, 2)
    if new.sum < simplex[1].sum then
      local further = between(middle, worst.at, 3)
      new = further.sum < new.sum and further or new
    elseif new.sum >= simplex[#simplex].sum then
      new = between(middle, new.sum < worst.sum and new.at or worst.at, 0.5)
    end
    simplex[#simplex + 1] = new
    if new.sum >= worst.sum then
      for i = 2, #simplex do simplex[i] = between(simplex[1].at, simplex[i].at, 0.5) end
    end
  end
  lists.sort(simplex, "sum")
  tried(simplex[1].at)
end


-- Steps take less than the time between tokens, in which prompts of others lie.
local function correct(given, levels, times)
  for _ = 1, times or 1 do
    local _, said = miss(given, levels)
    for i, level in ipairs(levels) do
      given.steps[i].ms = given.steps[i].ms * level.tpot / said[i].tpot
    end
  end
end


-- Parts of the time to a first token, alone, that the front end, a step with prompts and their
-- tokens may take, to begin with.
local FRONT, PREFILL, TOKENS = { 0.01, 0.06 }, { 0.2, 0.4, 0.6 }, { 0.03, 0.07, 0.15 }

local function start_of(levels, parts, in_rounds, ahead)
  local steps, low = {}, levels[1]
  for i, level in ipairs(levels) do steps[i] = { decoding = level.decoding, ms = level.tpot } end
  local front, prefill, token = table.unpack(parts)
  return { steps = steps, in_rounds = in_rounds, budget = BUDGET, ahead = ahead,
    front = low.ttft * front, prefill = low.ttft * prefill,
    token = low.ttft * token / low.requests[1].prompt,
    before = math.max(low.ttft * (1 - front - prefill - token) - ahead * low.tpot, 0.1) }
end


-- Of all beginnings the one that fits best, when the best of each cost of a token has been looked
-- around for roughly.
local function best_start(levels, ...)
  local best, least
  for _, token in ipairs(TOKENS) do
    local start, sum
    for _, front in ipairs(FRONT) do
      for _, prefill in ipairs(PREFILL) do
        local one = start_of(levels, { front, prefill, token }, ...)
        correct(one, levels)
        local found = miss(one, levels)
        if not sum or found < sum then start, sum = one, found end
      end
    end
    descend(start, levels, SPREADS[1], TRIES // 2)
    correct(start, levels)
    local found = miss(start, levels)
    if not least or found < least then best, least = start, found end
  end
  return best
end


-- A queue fitted to levels: what pass takes, with `levels`, `said` (its own medians by level),
-- `sum` (of miss), `missed` and `typical` (the largest share by which medians are off, and the
-- mean) and `taken` (how many tokens of prompts met in a step, of the level where most did).
local function fitted(levels, ...)
  local given = best_start(levels, ...)
  for _, spread in ipairs(SPREADS) do
    descend(given, levels, spread, TRIES)
    correct(given, levels, 3)
  end
  given.sum, given.said = miss(given, levels)
  given.levels, given.missed, given.typical, given.taken = levels, 0, 0, 0
  for i, level in ipairs(levels) do
    for _, key in ipairs { "ttft", "tpot" } do
      local missed = math.abs(given.said[i][key] / level[key] - 1)
      given.missed = math.max(given.missed, missed)
      given.typical = given.typical + missed / (2 * #levels)
    end
    given.taken = math.max(given.taken, taken_of(level.requests))
  end
  return given
end


-- The queues that requests may have gone through: that which fits best, then, if it fits well
-- enough, the same of an engine that schedules otherwise.
local function fits_of(levels, in_rounds)
  local one, other = fitted(levels, in_rounds, 0), fitted(levels, in_rounds, 1)
  if other.sum < one.sum then one, other = other, one end
  if one.typical > MOST_MISSED then
    usage(("load: the queue model misses what was measured by %.0f %%"):format(100 * one.typical),
      "other requests may have been there, or the engine works otherwise")
  end
  return { one, other.typical <= MOST_MISSED and other or nil }
end


-- ---- predictions ----

local function check_measured(levels, count)
  local low, high = levels.least, levels.most
  if count < low or count > high then
    local at = low == high and ("%d at once only"):format(low)
      or ("%d to %d at once"):format(low, high)
    usage(("load(%d): requests were measured at %s"):format(count, at),
      "name runs under other loads, too")
  end
  return count
end


-- Clients of loads whose answers are all as long keep the distance at which they began: the
-- intervals are of those who begin together and of those who begin in turn.
local function predicted(fits, list, count)
  local row = { concurrency = count }
  for k, given in ipairs(fits) do
    pass(given, list)
    local late, width, apart = lateness(list, count), math.max(LEAST_WIDTH, given.missed), 0
    for turn = 1, given.in_rounds and 1 or 2 do
      local passed, per_s, taken = closed(given, list, count, late, apart)
      if taken > MOST_TAKEN * given.taken then
        usage(("load(%d): %.0f tokens of prompts would meet in a step, %.0f did"):format(count,
          taken, given.taken), "requests of clients that begin together show it")
      end
      for key, of in pairs { ttft = modelled_ttft, tpot = modelled_tpot } do
        local value = quantiles(passed, of)[2]
        if k == 1 and turn == 1 then row[key .. "_ms"], row.per_s = value, per_s end
        local low, high = key .. "_low_ms", key .. "_high_ms"
        row[low] = math.min(row[low] or math.huge, value * (1 - width))
        row[high] = math.max(row[high] or 0, value * (1 + width))
      end
      apart = 1000 / per_s
    end
  end
  return row
end


-- Of each concurrency { concurrency, ttft_ms, ttft_low_ms, ttft_high_ms, tpot_ms, tpot_low_ms,
-- tpot_high_ms, per_s }, the queue that fits best, and why others are refused: errors. list: of
-- load.requests; raises where all are, as those are that lie outside of what was measured.
function load.predict(list, wanted)
  local levels, asked, rows = levels_of(list), {}, {}
  if #levels == 0 then
    usage(("load: no concurrency has %d requests of more than one token"):format(FEWEST))
  end
  for _, level in ipairs(levels) do
    if level.ttft <= 0 or level.tpot <= 0 then
      usage("load: the last token came with the first",
        "a client that streams its answers sees both times")
    end
  end
  local try, raise, refused = errors.gather()
  for _, count in ipairs(wanted) do asked[#asked + 1] = try(check_measured, levels, count) end
  if #asked == 0 then raise() end
  local fits = fits_of(levels, list.in_rounds)
  for _, count in ipairs(asked) do rows[#rows + 1] = try(predicted, fits, list, count) end
  if #rows == 0 then raise() end
  return rows, fits[1], refused
end


-- ---- what is asked, and said ----

-- The concurrencies that a change asks for: 'load(8)', 'load(2, 4, 8)'; nil: it is another one.
function load.asked(code)
  local inside = type(code) == "string" and code:match "^%s*load%s*%((.*)%)%s*$"
  if not inside then return nil end
  local list = {}
  for word in (inside .. ","):gmatch "%s*(.-)%s*," do
    local count = math.tointeger(tonumber(word))
    if not count or count < 1 then
      usage("load: at how many requests at a time?", "for example: load(2, 4, 8)")
    end
    list[#list + 1] = count
  end
  return list
end


local function number(key, title, digits)
  return { key = key, title = title, type = "number", digits = digits }
end

local PREDICTED = { number("concurrency", "At a time", 0), number("ttft_ms", "TTFT p50 ms", 1),
  { key = "ttft_between", title = "Between ms" }, number("tpot_ms", "TPOT p50 ms", 2),
  { key = "tpot_between", title = "Between ms" }, number("per_s", "Requests/s", 1) }

local MEASURED = { number("at", "At a time", 1), number("requests", "Requests", 0),
  number("ttft_ms", "TTFT p50 ms", 1), number("ttft_model_ms", "Model ms", 1),
  number("ttft_off", "Off %", 1), number("tpot_ms", "TPOT p50 ms", 2),
  number("tpot_model_ms", "Model ms", 2), number("tpot_off", "Off %", 1) }


local function fit_rows(given)
  local rows = {}
  for i, level in ipairs(given.levels) do
    local said = given.said[i]
    rows[i] = { at = level.at, requests = #level.requests }
    for _, key in ipairs { "ttft", "tpot" } do
      rows[i][key .. "_ms"], rows[i][key .. "_model_ms"] = level[key], said[key]
      rows[i][key .. "_off"] = 100 * (said[key] / level[key] - 1)
    end
  end
  return rows
end


local WORDS = "Fitted: a request takes the front end %.2f ms, and %.1f ms pass besides; a step "
  .. "with prompts takes %.1f ms at least and %.4f ms a token; %s. Assumed: %s, of "
  .. "lengths as measured; steps of %d tokens at most."

-- What a server would do at other concurrencies, as text or JSON. paths: runs, or their
-- metrics.json; format: of tables.formats with headings, or "json".
function load.render(format, paths, wanted)
  local files = {}
  for i, path in ipairs(paths) do files[i] = metrics_of(path) end
  local rows, given, refused = load.predict(load.requests(files), wanted)
  local fit, said = fit_rows(given), json.list {}
  for i, err in ipairs(refused) do said[i] = err.message .. ": " .. err.hint end
  if format == "json" then
    return errors.check(json.encode({ schema_version = 1, load = json.list(rows),
      fit = json.list(fit), refused = said }, { pretty = true })) .. "\n"
  end
  for _, row in ipairs(rows) do
    row.ttft_between = ("%.1f to %.1f"):format(row.ttft_low_ms, row.ttft_high_ms)
    row.tpot_between = ("%.2f to %.2f"):format(row.tpot_low_ms, row.tpot_high_ms)
  end
  local one = tables.format(format)
  local words = WORDS:format(given.front, given.before, given.prefill, given.token,
    given.ahead > 0 and "tokens come a step later, as the engine schedules ahead"
      or "tokens come at the end of their step",
    given.in_rounds and "a round is sent at once when the one before is answered"
      or "each client sends the next request when the last one is answered", given.budget)
  if #said > 0 then words = ("%s Refused: %s."):format(words, table.concat(said, "; ")) end
  return ("%sWhat If\n\n%s\n\n%s\n\n%sHow Well the Queue Fits\n\n%s\n"):format(one.heading,
    one.escape(words), tables.render(format, PREDICTED, rows), one.heading,
    tables.render(format, MEASURED, fit))
end


return load
