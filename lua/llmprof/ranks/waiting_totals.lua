-- What is kept of collectives that were matched: sums, and the rows of those who came last.
-- It is small beside them, and that of several processes, each with collectives of its own,
-- makes that of all.
local errors = require "llmprof.process.errors"
local pack = require "llmprof.pack"
local rows = require "llmprof.ranks.rows"

local waiting_totals = {}

-- The frames of it, and the order of their rows, which is then the same however the
-- collectives were divided.
waiting_totals.frames = { "sums", "last", "steps" }

local ORDER = {
  -- by rank, kernel and place: count, start (the first), duration, hidden, waiting (of those
  -- that met others), members (the most), met (1: of those), uncounted (absent in what counts)
  sums = { "world", "start", "key", "short_name", "phase", "layer", "met", "uncounted" },
  -- who came last, one for each collective
  last = { "world", "start", "key", "ordinal" },
  -- by rank and step, of those that met others: waiting, transfer
  steps = { "world", "number" },
}

local SUMS = { { "count", "count" }, { "start", "min", "start" },
  { "duration", "sum", "duration" }, { "hidden", "sum", "hidden" },
  { "waiting", "sum", "waiting" }, { "members", "max", "members" } }

local OF_STEPS = { { "waiting", "sum", "waiting" }, { "transfer", "sum", "transfer" } }

local LAST = { "world", "key", "ordinal", "short_name", "phase", "layer", "turn", "place",
  "message", "members", "start", "transfer", "skew", "late", "caused", "more_work", "more_gap",
  "more_kernels", "uncounted" }

-- What is read of collectives, and of it what not all have.
local READ = { "world", "key", "ordinal", "short_name", "phase", "layer", "turn", "place",
  "number", "message", "start", "duration", "hidden", "instance", "members", "waiting", "transfer",
  "skew", "late", "caused", "more_work", "more_gap", "more_kernels", "uncounted" }
local TEXTS = { short_name = true, phase = true }


-- A view with all that is read; absent what is not there.
local function with_all(all)
  local there, lacking = {}, {}
  for _, name in ipairs(READ) do
    if rows.has(all, name) then
      there[#there + 1] = name
    else
      lacking[#lacking + 1] = { name = name, type = TEXTS[name] and "string" or "integer",
        get = function() return nil end }
    end
  end
  local view = errors.check(all:select(there))
  return #lacking > 0 and rows.extend(view, {}, lacking) or view
end


-- all: collectives as llmprof.ranks.partition has matched them.
function waiting_totals.of(all)
  local view = with_all(all)
  view:compute { name = "met", type = "integer", steps = { 1, { "instance" }, "where" } }
  local in_steps = view:where { met = 1, { "number", "~=", false } }
  return {
    sums = view:group { by = { "world", "key", "short_name", "phase", "layer", "met",
      "uncounted" }, columns = SUMS },
    last = view:where({ { "late", "~=", false } }):select(LAST),
    steps = in_steps:group { by = { "world", "number" }, columns = OF_STEPS },
  }
end


-- The same of what counts alone; steps are as they were.
function waiting_totals.counted(all)
  return { sums = errors.check(all.sums:where { uncounted = false }),
    last = errors.check(all.last:where { uncounted = false }), steps = all.steps }
end


-- That of several, which are taken over; nil of none.
function waiting_totals.together(list)
  if #list == 0 then return nil end
  local made = {}
  for _, name in ipairs(waiting_totals.frames) do
    local frames, order = {}, {}
    for i, own in ipairs(list) do frames[i] = own[name] end
    for i, column in ipairs(ORDER[name]) do order[i] = { column } end
    made[name] = errors.check(pack.join(frames):sort(order))
  end
  return made
end


return waiting_totals
