-- The framework's operators on the timeline. They were recorded in another run of the
-- program, under torch.profiler, and join by order: what a stage launched there and what it
-- launched here are two tellings of one thing, paired by the names of kernels
-- (frame:pair). What that leaves joins by name alone where a single operator launches
-- kernels of the name. The rest stays without an operator.
local check = require("llmprof.process.errors").check
local frame = require "llmprof.frame"
local json = require "llmprof.json"
local lists = require "llmprof.tables.lists"
local pack = require "llmprof.pack"
local rows = require "llmprof.ranks.rows"
local spans = require "llmprof.spans"
local stages = require "llmprof.analysis.stages.find"
local tuple = require("llmprof.tables.keys").tuple
local waiting = require "llmprof.analysis.stages.idle_causes"

local joined = { reads = { "trace", "found", "operators" },
  gives = { joined = "what of the timeline joined the operators" } }

-- Rows of the table that results have.
joined.MOST = 500

-- The profiler's own work, which it shows beside operators, with kernels that were launched
-- meanwhile.
joined.of_profiler = { ["Activity Buffer Request"] = true, ["Buffer Flush"] = true,
  ["Instrumentation"] = true, ["Resource"] = true }

-- Of a list of an operator's kernels as much of its time is enough to take it as whole.
local WHOLE = 0.999


-- ---- what was recorded ----

-- Ends of copies: host, device, peer, array.
local ENDS = { H = true, D = true, P = true, A = true }

-- Words that stand in one spelling and not in the other, or elsewhere, and values as numbers.
local SPELT = { const = "", void = "", ["true"] = "1", ["false"] = "0" }


-- "copy HtoD" and "set"; nil for what is a kernel.
local function copy_of(name)
  local from, to = name:match "^%[CUDA memcpy (%u)%a*%-to%-(%u)"
  if not from then from, to = name:match "^Memcpy (%u)to(%u)" end
  if ENDS[from] and ENDS[to] then return ("copy %sto%s"):format(from, to) end
  return (name:find "^Memset" or name == "[CUDA memset]") and "set" or nil
end


-- One word for all spellings of a kernel's name: as nsys writes it, as c++filt and PyTorch do.
-- What is in round brackets, parameters and types of literals, is left out.
local function spelling_of(name)
  local copy = copy_of(name)
  if copy then return copy end
  local text = name:gsub("<unnamed>::", ""):gsub("%(anonymous namespace%)::", "")
    :gsub("%(instance (%d+)%)", "#%1")
  local parts, depth = {}, 0
  for part, mark in text:gmatch "([^()]*)([()]?)" do
    if depth == 0 then parts[#parts + 1] = part end
    depth = math.max(depth + (mark == "(" and 1 or mark == ")" and -1 or 0), 0)
  end
  return (table.concat(parts):gsub("[%[%]{}]", ""):gsub("%f[%w_]%a+%f[^%w_]", SPELT)
    :gsub("%f[%w_](%d+)[uUlL]+%f[^%w_]", "%1"):gsub("%s+", ""))
end


-- By name, worked out once.
joined.spelling = setmetatable({}, { __index = function(known, name)
  known[name] = spelling_of(name)
  return known[name]
end })


-- The number of a kernel's name, however it is spelt.
local function number_of(words, name)
  local word = joined.spelling[name]
  if not words.numbers[word] then
    words.count = words.count + 1
    words.numbers[word] = words.count
  end
  return words.numbers[word]
end


-- A function from a stage to what was launched in it in order, a frame of word and partner;
-- of a stage that was not recorded, all.
local function sequences(launches, places)
  local order_of, made = { [false] = {} }, {}
  for _, stage in ipairs(launches.stages) do
    local name = stage.name or false
    order_of[name] = order_of[name] or {}
    for number in stage.order:gmatch "%d+" do
      local place = (math.tointeger(tonumber(number)) or -1) + 1
      table.insert(order_of[false], place)
      if name then table.insert(order_of[name], place) end
    end
  end
  local function word_at(place) return places[place] and places[place].word or false end
  return function(stage)
    local name = order_of[stage] and stage or false
    local order = order_of[name]
    made[name] = made[name] or frame.new(#order, {
      { name = "word", type = "integer", values = lists.map(order, word_at) },
      { name = "partner", type = "integer", values = order } })
    return made[name]
  end
end


-- Say that an operator launches kernels of a word; two of them make it false.
local function note(only, word, operator)
  if not word then return end
  if only[word] == nil then only[word] = operator or false
  elseif only[word] ~= operator then only[word] = false end
end


-- By word the only operator that launches such kernels; false where there are several, or
-- none is known. Nothing where a list of kernels was cut. Second: the same for kernels of CUDA
-- graphs, which no operator launches, so that these do not make it unknown.
local function only_operators(operators, places, words)
  local only, in_graphs = {}, {}
  for _, place in ipairs(places) do
    note(only, place.word, place.operator)
    if place.operator then note(in_graphs, place.word, place.operator) end
  end
  if #places > 0 then return only, in_graphs end
  for _, operator in ipairs(operators.operators) do
    local own = operator.kernels or {}
    if lists.sum(own, "device_ns") < WHOLE * (operator.device_self_ns or 0) then return {}, {} end
    for _, kernel in ipairs(joined.of_profiler[operator.name] and {} or own) do
      note(only, number_of(words, kernel.name), operator.name)
    end
  end
  return only, only
end


-- ---- pairs ----

local KEY = { "op", "word", "turn" }

-- Add `partner`: of each launch what it pairs off with. ops: with word and turn.
local function add_places(ops, sequence_of)
  local ordered, list = check(ops:sort { { "pid", false }, { "device", false },
    { "api_start", false }, { "start", false } }), {}
  for _, group in ipairs(ordered:group { by = { "pid", "device", "stage" } }) do
    local view = check(ordered:where { pid = group.pid or false, device = group.device or false,
      stage = group.stage or false }):select(KEY)
    local other = sequence_of(group.stage)
    view:pair { column = "word", turn = "turn", other = other, key = "word", name = "row" }
    spans.look_up(view, "row", other, "partner", "partner")
    list[#list + 1] = view:select { "op", "partner" }
  end
  local all = pack.join(list)
  ops:match { by = { "op" }, other = all, keys = { "op" }, name = "paired" }
  return spans.look_up(ops, "paired", all, "partner", "partner")
end


local TURN = { "pid", "device", "stage_range" }

-- Columns that say what an operation is joined with, by its word and by what it pairs off
-- with, its `partner` among the places, or nil.
local function operator_columns(only, in_graphs, places)
  local function operator(key)
    local place = places[key.partner]
    local by_name = (key.api or ""):find("GraphLaunch", 1, true) and in_graphs or only
    return place and place.operator or by_name[key.word]
  end
  return {
    { name = "operator", type = "string", get = operator },
    { name = "module", type = "string", get = function(key)
      return places[key.partner] and places[key.partner].module
    end },
    { name = "joined_by", type = "string", get = function(key)
      if places[key.partner] and places[key.partner].operator then return "order" end
      return operator(key) and "name"
    end } }
end


-- All operations of a trace, row by row, with `operator`, `module` and `joined_by` ("order"
-- or "name"), absent where they did not join: by the order of launches, else by name.
-- operators: as docs/operators.schema.json says; nil where these hold nothing to join by.
function joined.find(trace, found, operators)
  local words, launches = { numbers = {}, count = 0 }, operators.launches
  local places = lists.map(launches and launches.places or {}, function(place) -- from 1
    local kernel = launches.kernels[place.kernel + 1]
    return { word = kernel and number_of(words, kernel),
      operator = place.operator and launches.operators[place.operator + 1],
      module = place.module and launches.modules and launches.modules[place.module + 1] }
  end)
  local only, in_graphs = only_operators(operators, places, words)
  local ops = found.ops and check(found.ops:where {})
    or stages.label(trace, check(trace:frame "gpu"), found)
  if next(only) == nil or #ops == 0 then return nil end
  -- words that were not recorded pair off with nothing: they have no number
  rows.extend(ops, { "name" }, { { name = "word", type = "integer",
    get = function(key) return key.name and words.numbers[joined.spelling[key.name]] end } })
  if launches then
    local turn = 0
    rows.extend(ops, rows.has(ops, "stage_range") and TURN or { "pid", "device" },
      { { name = "turn", type = "integer", get = function()
        turn = turn + 1
        return turn
      end } })
    add_places(ops, sequences(launches, places))
  end
  return rows.extend(ops, lists.add({ "word", "api" }, launches and { "partner" } or {}),
    operator_columns(only, in_graphs, places))
end


-- ---- time without CUDA calls ----

-- Add `outside_ns` to the operations of a trace: before each, ns in which the GPU had nothing
-- to do and the CPU was in no CUDA call. That of the used ones hangs on no other.
local function add_idle(trace, found, ops)
  local of = stages.by_range(found, "start") -- when it could begin
  local covered, sets = waiting.covered(trace, found.ops), {}
  local number = {} -- by process, of its set in the list
  rows.extend(ops, { "stage_range", "pid" }, {
    { name = "begin", type = "integer", unit = "ns",
      get = function(key) return of[key.stage_range] end },
    { name = "process", type = "integer", get = function(key)
      local pid = key.pid or 0
      if not number[pid] then
        sets[#sets + 1] = covered(key.pid)
        number[pid] = #sets - 1
      end
      return number[pid]
    end } })
  ops:gaps { by = { "device", "stage_range" }, before = "gap" }
  ops:compute { name = "idle", unit = "ns", type = "integer", steps = { { "gap" }, 0, "above",
    { "start" }, { "begin" }, -1, "*", "+", 0, "most", { "begin" }, "where", { "end" }, "where",
    { "gap" }, "unless", "or" } }
  ops:less { column = "start", by = "idle", name = "since" }
  local before = { start = "since", ["end"] = "start", key = "process" }
  spans.cover(ops, before, sets, "in_calls")
  return spans.rest(ops, before, "in_calls", "outside_ns")
end


-- ---- sums ----

local function sums_by(ops, by)
  return ops:group { by = by, total = { "duration", "outside_ns" } }
end


local function add(record, group)
  record.launches = record.launches + group.count
  record.gpu_time_ns = record.gpu_time_ns + group.duration.total
  if record.outside_ns then
    record.outside_ns = record.outside_ns + (group.outside_ns.total or 0)
  end
end


local function nothing(outside) return { launches = 0, gpu_time_ns = 0, outside_ns = outside } end


-- By stage and operator the line of the program that launched most of its time, where the trace
-- has stacks, as { line, function, ns }.
local function lines_of(ops)
  local of = {}
  for _, group in ipairs(ops:group { by = { "stage", "operator", "line", "function" },
    total = { "duration" } }) do
    local key, ns = tuple(group.stage, group.operator), group.duration.total
    if group.line and not (of[key] and of[key].ns >= ns) then
      of[key] = { line = group.line, ["function"] = group["function"], ns = ns }
    end
  end
  return of
end


local function operators_list(ops, totals)
  local list, line_of = json.list {}, lines_of(ops)
  for _, group in ipairs(sums_by(ops, { "stage", "operator" })) do
    if group.operator then
      local stage = group.stage or stages.WHOLE_RUN
      local record = nothing(0)
      add(record, group)
      record.stage, record.name = stage, group.operator
      record.share = totals[stage] > 0 and record.gpu_time_ns / totals[stage] or nil
      local from = line_of[tuple(group.stage, group.operator)] or {}
      record.line, record["function"] = from.line, from["function"]
      list[#list + 1] = record
    end
  end
  return json.list(lists.first(lists.sort(list, "-gpu_time_ns", "stage", "name"), joined.MOST))
end


-- How much of the repeats that count joined, and the operators' times on the timeline:
-- docs/operators.schema.json, `joined`; nil where no operation is in them. ops: of
-- joined.find, which it changes.
function joined.summary(trace, found, ops)
  local all = add_idle(trace, found, ops)
  local used = check(all:where(found.whole and {} or { stage_range = stages.used_ranges(found) }))
  if #used == 0 then return nil end
  local made = { all = nothing(0), order = nothing(), name = nothing(), outside_ns = 0 }
  local totals = {}
  for _, group in ipairs(sums_by(used, { "stage", "joined_by" })) do
    local stage = group.stage or stages.WHOLE_RUN
    totals[stage] = (totals[stage] or 0) + group.duration.total
    add(made.all, group)
    if group.joined_by then
      add(made[group.joined_by], group)
      made.outside_ns = made.outside_ns + (group.outside_ns.total or 0)
    end
  end
  return { launches = made.all.launches, gpu_time_ns = made.all.gpu_time_ns,
    outside_ns = made.all.outside_ns, joined_outside_ns = made.outside_ns,
    by_order = made.order, by_name = made.name, operators = operators_list(used, totals) }
end


function joined.run(state)
  local ops = state.trace and state.operators
    and joined.find(state.trace, state.found, state.operators)
  if not ops then return end
  state.joined = joined.summary(state.trace, state.found, ops)
  ops:close()
end


return joined
