-- The tables of results.json by name: what `llmprof show` prints and the page
-- shows. Each section: name, title, columns, rows(results), and subject, what
-- results.missing calls it when it was not measured, or empty, why it has no rows.
local blocks = require "llmprof.report.blocks"
local columns = require "llmprof.report.columns"
local errors = require "llmprof.process.errors"
local nearest = require "llmprof.tables.keys"
local rows = require "llmprof.report.rows"
local text = require "llmprof.text"

local sections = {}

-- ---- rows of sections ----

-- Rows of the tables about ranks, steps and requests, about a load and about stacks.

-- Stages of a pipeline, with their ranks as a text.
local function pipeline(results)
  local list = {}
  for i, stage in ipairs(results.ranks and results.ranks.pipeline
    and results.ranks.pipeline.stages or {}) do
    list[i] = setmetatable({ who = table.concat(stage.ranks, ", ") }, { __index = stage })
  end
  return list
end


local function number_of(own) return own.rank and tostring(own.rank) end


-- A stage over all ranks, then of each, behind the list.
local function add_stage(list, group)
  local one, who = #group.ranks == 1, "all"
  if one then who = number_of(group.ranks[1]) end
  list[#list + 1] = setmetatable({ who = who }, { __index = group })
  for _, own in ipairs(one and {} or group.ranks) do
    list[#list + 1] = setmetatable({ phase = group.phase, who = number_of(own) },
      { __index = own })
  end
end


-- Stages over all ranks, then of each; without steps that ran nothing.
local function stages(results)
  local list = {}
  for _, group in ipairs(results.ranks and results.ranks.stages or {}) do
    if group.mean_ns then add_stage(list, group) end
  end
  return list
end


-- How the kernels of steps were launched, as far as CUDA graphs go.
local function launched(group)
  if not group.graphed or not group.kernels or group.kernels == 0 then return nil end
  local share = group.graphed / group.kernels
  if share == 0 then return "eager" end
  return share > 0.5 and "graph" or "partly graph"
end


local function transfers_of(results)
  return results.ranks and results.ranks.kv_transfers or {}
end


-- Steps by phase, batch and tokens; last the KV caches between ranks.
function sections.step_rows(results)
  local list = {}
  for i, group in ipairs(results.ranks and results.ranks.steps or {}) do
    list[i] = setmetatable({ how = launched(group) }, { __index = group })
  end
  local between = transfers_of(results).times
  if between then
    list[#list + 1] = setmetatable({ phase = "KV transfer" }, { __index = between })
  end
  return list
end


-- The same, request by request.
local function kv_transfers(results) return transfers_of(results).single or {} end


local seen_by_clients = { { "ttft", "TTFT" }, { "tpot", "TPOT" },
  { "between_tokens", "between tokens" } }

local function requests_of(results) return results.ranks and results.ranks.requests or {} end

local function requests(results)
  local made, list = requests_of(results), {}
  for _, entry in ipairs(seen_by_clients) do
    local measured, label = made[entry[1]], entry[2]
    if measured then
      if entry[1] == "between_tokens" and made.averaged then
        label = label .. ", mean of a round's requests"
      end
      list[#list + 1] = setmetatable({ label = label }, { __index = measured })
    end
  end
  return list
end


-- Single requests, where they say when they were sent.
local function request_rows(results)
  return requests_of(results).single or {}
end


-- The engine's own numbers during the steps.
local function engine_looks(results)
  local list = {}
  for i, look in ipairs(results.ranks and results.ranks.engine_looks or {}) do
    list[i] = setmetatable({ kv_percent = look.kv_use and 100 * look.kv_use }, { __index = look })
  end
  return list
end


-- Of ranks and steps; what figures leave out is told by words.repeats.
local function left_out(results)
  local list = {}
  for i, line in ipairs(results.ranks and results.ranks.left_out or {}) do
    list[i] = { text = line }
  end
  return list
end


-- ---- a load ----

-- Rows of the tables about a load and the engine's own numbers.

-- "poisson, 4/s", or what is known where nobody says so: who sent it.
local function label_of(given)
  if given.generator then return given.generator end
  if given.kind == "command" or not given.arrivals then return "load." .. given.kind end
  return ("%s, %s/s"):format(given.arrivals, text.number(given.rate_per_s, 2))
end


function sections.load_rows(results)
  local given = results.load
  if not given then return {} end
  local slo = given.slo or {}
  return { setmetatable({ label = label_of(given), good_share = slo.share, good_per_s = slo.per_s },
    { __index = given }) }
end


local SEEN = { { "ttft", "TTFT" }, { "tpot", "TPOT" }, { "answer", "whole answer" } }

function sections.time_rows(results)
  local list = {}
  for _, entry in ipairs(SEEN) do
    local measured = results.load and results.load[entry[1]]
    if measured then
      list[#list + 1] = setmetatable({ label = entry[2] }, { __index = measured })
    end
  end
  return list
end


local PARTS = { network = "network, from the client to the server and back",
  queue = "queue, before its first step", prefill = "its prefill",
  scheduler = "scheduler and first token, besides its prefill",
  before = "not explained: before its prefill, while no step ran",
  after = "not explained: from its prefill to the client",
  unexplained = "not explained" }
local TOLD_BY = { page = "the engine's page", steps = "steps on the timeline",
  clients = "the clients" }

local function first_token_rows(results)
  local list = {}
  for i, part in ipairs(results.first_token and results.first_token.parts or {}) do
    list[i] = setmetatable({ label = PARTS[part.part], source = TOLD_BY[part.source] },
      { __index = part })
  end
  return list
end


local function kv_cache_rows(results)
  local made, list = results.kv_cache or {}, {}
  for i, look in ipairs(made.looks or {}) do
    list[i] = setmetatable({ bytes = made.tokens and made.bytes_per_token
      and look.use * made.tokens * made.bytes_per_token or nil }, { __index = look })
  end
  return list
end


-- One row a figure: of levels mean, least and most, of the others the value alone.
local FIGURES = {
  { "running", "requests running" }, { "waiting", "requests waiting" },
  { "kv_use", "KV cache in use %", 100 }, { "preemptions", "preemptions" },
  { "prefix_hit_share", "prefix cache hits %", 100 },
  { "acceptance", "speculated tokens accepted %", 100 },
  { "tokens_per_verification", "tokens of a verification" },
}

local function scaled(value, scale) return value and value * scale end

local function engine_rows(results)
  local list, given = {}, results.engine_metrics or {}
  for _, entry in ipairs(FIGURES) do
    local value, scale = given[entry[1]], entry[3] or 1
    if type(value) == "table" then
      list[#list + 1] = { label = entry[2], mean = scaled(value.mean, scale),
        min = scaled(value.min, scale), max = scaled(value.max, scale) }
    elseif value then
      list[#list + 1] = { label = entry[2], mean = scaled(value, scale) }
    end
  end
  return list
end


-- ---- stacks ----

-- Rows of the tables of sampled stacks, from results.

-- A function or frame of a stage's stacks as a row.
local function row(stage, given)
  return setmetatable({ stage = stage.stage, file = stage.file,
    self_share = given.self / stage.samples, total_share = given.total / stage.samples },
    { __index = given })
end


-- The rows of one stage; key: functions or tree.
function sections.stack_rows(stage, key)
  local list = {}
  for i, given in ipairs(stage[key]) do list[i] = row(stage, given) end
  return list
end


local function of_all(key)
  return function(results)
    local list = {}
    for _, stage in ipairs(results.cpu_samples and results.cpu_samples.stages or {}) do
      local own = sections.stack_rows(stage, key)
      table.move(own, 1, #own, #list + 1, list)
    end
    return list
  end
end


-- Functions of every stage, those with most samples of their own first.
sections.function_rows = of_all "functions"

-- The stacks of every stage, as a tree.
local frame_rows = of_all "tree"


-- ---- the sections ----

local by_name = {}


local function operators(results)
  return results.operators and results.operators.operators or {}
end


local function of_marks(key)
  return function(results) return results.modules and results.modules[key] or {} end
end


local function of_ranks(key)
  return function(results) return results.ranks and results.ranks[key] or {} end
end


local list = {
  { "devices", "GPUs", rows = function(results) return results.environment.devices or {} end },
  { "aggregates", "Aggregates" },
  { "latency", "Latency" },
  { "load", "Load", rows = sections.load_rows },
  { "load_times", "What clients waited for", rows = sections.time_rows },
  { "engine_metrics", "The engine's own numbers", rows = engine_rows },
  { "first_token", "Where TTFT goes", rows = first_token_rows },
  { "kv_cache", "The KV cache over time", rows = kv_cache_rows },
  { "repeats", "Latency of each repeat, profiled" },
  { "running_cost", "Running cost",
    rows = function(results)
      return results.running_cost and results.running_cost.stages or {}
    end },
  { "stages", "Per-Stage Timings" },
  { "cpu", "The CPU, by stage" },
  { "cpu_samples", "Functions that the CPU was in", subject = "sampled stacks",
    rows = sections.function_rows },
  { "cpu_stacks", "Sampled stacks", subject = "sampled stacks", rows = frame_rows },
  { "categories", "GPU time by category" },
  { "efficiency", "MFU/MBU", subject = "the model's cost" },
  { "sampled", "Hardware samples" },
  { "gaps", "The longest gaps" },
  { "modules", "Modules" },
  { "lines", "Lines of the program" },
  { "marked_layers", "Layers, by their modules or ranges", rows = of_marks "layers" },
  { "marked_operators", "Operators, by their ranges", rows = of_marks "operators" },
  { "step_layers", "Layers of a decode step" },
  { "findings", "What to do" },
  { "abstained", "Rules that could not tell",
    rows = function(results) return results.advice and results.advice.abstained or {} end },
  { "silent", "Rules that found nothing",
    rows = function(results) return results.advice and results.advice.silent or {} end },
  { "ranks", "Ranks", rows = of_ranks "ranks" },
  { "pipeline", "Stages of the pipeline", rows = pipeline },
  { "rank_stages", "Stages by rank", rows = stages },
  { "steps", "Steps", rows = sections.step_rows },
  { "idle_threads", "Threads while the GPU waited", rows = of_ranks "idle_threads" },
  { "step_rows", "Single steps", rows = of_ranks "step_rows" },
  { "collectives", "Collectives", rows = of_ranks "collectives" },
  { "late", "Who the others wait for", rows = of_ranks "places" },
  { "layers", "Communication by layer", rows = of_ranks "layers" },
  { "rank_kernels", "Kernels over all ranks", rows = of_ranks "kernels" },
  { "rank_files", "Files and their clocks", rows = of_ranks "files" },
  { "requests", "What clients saw", rows = requests },
  { "request_rows", "Requests and their steps", rows = request_rows },
  { "kv_transfers", "KV caches between ranks", rows = kv_transfers },
  { "engine_looks", "The engine's own numbers during the steps", rows = engine_looks },
  { "left_out", "Left out of ranks", rows = left_out },
  { "kernels", "Kernels", columns = columns.page_kernels },
  { "ranges", "Counters of whole ranges", subject = "counters" },
  { "headroom", "Headroom" },
  { "operators", "Operators", subject = "operators",
    rows = function(results) return rows.operators(operators(results)) end },
  { "timeline_operators", "Operators on the timeline", subject = "operators",
    rows = function(results) return rows.timeline_operators(results) end },
  { "operator_stages", "Operators of each stage", subject = "operators",
    rows = function(results) return rows.operator_stages(operators(results)) end },
  { "operator_kernels", "Kernels of the operators", subject = "operators",
    rows = function(results) return rows.operator_kernels(results, operators(results)) end },
  { "transfers", "Copies" },
  { "selection", "Selected for counters" },
  { "integrity", "Integrity of the capture",
    rows = function(results) return results.integrity and results.integrity.checks or {} end },
  { "overhead", "What profiling cost" },
  { "missing", "Not measured", rows = function(results) return results.missing end },
}

-- Why tables have no rows, where results.missing does not say it: what there is not.
local REQUESTS = "no requests of clients are known: metrics.json would name them"
local ENGINE = "no numbers of a serving engine were recorded"
local COLLECTIVES = "no collectives of several ranks"
local STEPS = "no step is marked by ranges or an engine, and none could be inferred"
local STAGES = "nothing ran in a stage"

local empty = { devices = "the trace names no GPU",
  running_cost = "neither a price (price.per_hour) nor energy is known",
  aggregates = STAGES, stages = STAGES,
  latency = "no prefill and no step was timed", repeats = "no prefill and no step was timed",
  load = REQUESTS, load_times = REQUESTS, requests = REQUESTS, request_rows = REQUESTS,
  kv_cache = ENGINE, first_token = REQUESTS,
  engine_metrics = ENGINE, engine_looks = ENGINE, cpu = STAGES, categories = STAGES,
  cpu_samples = "the stacks of the CPU were not sampled",
  cpu_stacks = "the stacks of the CPU were not sampled",
  sampled = "no hardware samples: collector.samples_hz or nsys.gpu_metrics takes them",
  gaps = "the GPU was never idle between two operations",
  modules = "neither stacks of launches nor ranges name modules of the model",
  lines = "no stacks of launches: collector.sources records them, torch.profiler with_stack=True",
  marked_layers = "neither stacks of launches nor ranges name layers of the model",
  marked_operators = "no range names operators",
  step_layers = "layers of a decode step could not be told",
  findings = "no rule found anything to change", abstained = "every rule could tell",
  silent = "no rule was silent", ranks = "one rank, and no steps", pipeline = "no stages of a "
    .. "pipeline that send each other anything", rank_stages = STEPS, steps = STEPS,
  step_rows = STEPS, idle_threads = "no engine marks its steps", collectives = COLLECTIVES,
  late = "no rank comes late to collectives", layers = COLLECTIVES,
  rank_kernels = "one rank, and no steps", rank_files = "one rank, and no steps",
  kv_transfers = "no rank hands a KV cache to another", left_out = "no rank left "
    .. "anything out; which repeats and steps the figures leave out, llmprof digest says",
  kernels = "no kernel ran in a stage", headroom = "no kernel ran in a stage",
  transfers = "nothing was copied or set",
  selection = "no kernel was selected", integrity = "no timeline to check",
  overhead = "nothing was run without the profiler: overhead=before does",
  missing = "nothing is missing" }

for _, section in ipairs(list) do
  section.name, section.title, section.empty = section[1], section[2], empty[section[1]]
  section.columns = section.columns or columns[section.name]
  section.rows = section.rows or rows[section.name]
  by_name[section.name] = section
end


-- All of them, in the order of the reports.
function sections.all()
  return list
end


function sections.known(name) return by_name[name] ~= nil end


-- A section by its name; an unknown one is an error.
function sections.find(name)
  if by_name[name] then return by_name[name] end
  local known = {}
  for i, entry in ipairs(list) do known[i] = entry.name end
  errors.raise("usage", ("no section '%s'%s"):format(name, nearest.suggestion(name, known)),
    { hint = "llmprof show RUN lists the sections" })
end


-- Tables of sums, over the repeats that count and over the whole capture.
local SUMS = { "kernels", "transfers", "operators", "timeline_operators", "operator_stages",
  "operator_kernels", "lines", "modules", "marked_layers", "marked_operators" }
local OF_ALL = { "ranks", "collectives", "late", "layers", "rank_kernels" }

for _, name in ipairs(SUMS) do by_name[name].sums = true end
for _, name in ipairs(OF_ALL) do by_name[name].of_all = true end


-- What the figures of a section are of, where there are several repeats: a sentence, else nil.
function sections.scope(results, section)
  local repeats = results.repeats
  if not repeats or repeats.whole_run or repeats.count < 2 then return nil end
  if section.of_all then return "Sums over the whole capture." end
  return section.sums and repeats.used > 1
    and ("Sums over the %d repeats that count."):format(repeats.used) or nil
end


-- ---- as blocks ----

-- A table of records; name: of the columns.
function sections.table(name, records)
  return blocks.table { name = name, columns = columns[name], rows = records }
end


-- The table, or the sentence where there is no row.
function sections.either(name, records, otherwise)
  return #records > 0 and sections.table(name, records) or blocks.say(otherwise)
end


-- The title of a declared table.
function sections.title_block(name) return blocks.title(sections.find(name).title) end


-- A declared table under its title, of at most `most` rows; nothing without rows.
-- options: most, filter (a page can search in it), bare (no title), note (a sentence above).
function sections.blocks(results, name, options)
  options = options or {}
  local section = sections.find(name)
  local records = section.rows(results)
  local most = options.most or #records
  if #records == 0 then return nil end
  return blocks.join(not options.bare and blocks.title(section.title), blocks.note(options.note),
    blocks.table { name = name, columns = section.columns, filter = options.filter,
      rows = table.move(records, 1, math.min(#records, most), 1, {}) },
    #records > most and blocks.say(("%d more: llmprof show RUN %s."):format(#records - most, name)))
end


return sections
