-- The tables of results.json by name: what `llmprof show` prints and the page
-- shows. Each section: name, title, columns, rows(results), and subject, what
-- results.missing calls it when it was not measured, or empty, why it has no rows.
local blocks = require "llmprof.report.blocks"
local columns = require "llmprof.report.columns"
local errors = require "llmprof.process.errors"
local keys = require "llmprof.tables.keys"
local lists = require "llmprof.tables.lists"
local rows = require "llmprof.report.rows"
local text = require "llmprof.text"
local words = require "llmprof.report.words"

local sections = {}

-- ---- rows of sections ----

local at = rows.at

-- The list at a path of results ("ranks.steps"); empty where there is none.
local function list_at(results, path) return at(path)(results) end


local function number_of(own) return own.rank and tostring(own.rank) end


-- Stages over all ranks, then of each; without steps that ran nothing.
local function stages(results)
  local list = {}
  for _, group in ipairs(lists.filtered(list_at(results, "ranks.stages"), "mean_ns")) do
    local only = #group.ranks == 1 and group.ranks[1]
    list[#list + 1] = setmetatable({ who = only and number_of(only) or "all" }, { __index = group })
    lists.add(list, rows.with(only and {} or group.ranks, function(own)
      return { phase = group.phase, who = number_of(own) }
    end))
  end
  return list
end


-- Steps by phase, batch and tokens; last the KV caches between ranks.
function sections.step_rows(results)
  local list = rows.with(list_at(results, "ranks.steps"), function(group)
    if not group.graphed or not group.kernels or group.kernels == 0 then return {} end
    local share = group.graphed / group.kernels -- of kernels that CUDA graphs launched
    return { how = share == 0 and "eager" or share > 0.5 and "graph" or "partly graph" }
  end)
  local between = list_at(results, "ranks.kv_transfers").times
  if between then
    list[#list + 1] = setmetatable({ phase = "KV transfer" }, { __index = between })
  end
  return list
end


-- Rows of those of these times that are there; labels: { key, label } each.
local function labelled(times, labels)
  return lists.map(labels, function(entry)
    local time = times[entry[1]]
    return time and setmetatable({ label = entry[2] }, { __index = time })
  end)
end


local function requests(results)
  local made = list_at(results, "ranks.requests")
  return labelled(made, { { "ttft", "TTFT" }, { "tpot", "TPOT" }, { "between_tokens",
    "between tokens" .. (made.averaged and ", mean of a round's requests" or "") } })
end


-- ---- a load ----

function sections.load_rows(results)
  local given = results.load
  if not given then return {} end
  -- "poisson, 4/s", or what is known where nobody says so: who sent it
  local label = given.generator or "load." .. given.kind
  if not given.generator and given.kind ~= "command" and given.arrivals then
    label = ("%s, %s/s"):format(given.arrivals, text.number(given.rate_per_s, 2))
  end
  local slo = given.slo or {}
  return { setmetatable({ label = label, good_share = slo.share, good_per_s = slo.per_s },
    { __index = given }) }
end


function sections.time_rows(results)
  return labelled(results.load or {}, { { "ttft", "TTFT" }, { "tpot", "TPOT" },
    { "answer", "whole answer" } })
end


local TOLD_BY = { page = "the engine's page", steps = "steps on the timeline",
  clients = "the clients" }

-- One row a figure: of levels mean, least and most, of the others the value alone.
local FIGURES = {
  { "running", "requests running" }, { "waiting", "requests waiting" },
  { "kv_use", "KV cache in use %", 100 }, { "preemptions", "preemptions" },
  { "prefix_hit_share", "prefix cache hits %", 100 },
  { "acceptance", "speculated tokens accepted %", 100 },
  { "tokens_per_verification", "tokens of a verification" },
}

local function engine_rows(results)
  local given = results.engine_metrics or {}
  return lists.map(FIGURES, function(entry)
    local value, scale = given[entry[1]], entry[3] or 1
    if not value then return nil end
    if type(value) ~= "table" then return { label = entry[2], mean = value * scale } end
    return { label = entry[2], mean = value.mean * scale, min = value.min * scale,
      max = value.max * scale }
  end)
end


-- ---- stacks ----

-- The functions of one stage.
function sections.functions_of(stage)
  return rows.with(stage.functions, function(given)
    return { stage = stage.stage, file = stage.file,
      self_share = given.self / stage.samples, total_share = given.total / stage.samples }
  end)
end


local list = {
  { "devices", "GPUs", rows = at "environment.devices" },
  { "latency", "Latency" },
  { "load", "Load", rows = sections.load_rows },
  { "load_times", "What clients waited for", rows = sections.time_rows },
  { "engine_metrics", "The engine's own numbers", rows = engine_rows },
  { "first_token", "Where TTFT goes", rows = at("first_token.parts", function(part)
    return { label = words.ttft_parts[part.part], source = TOLD_BY[part.source] }
  end) },
  { "kv_cache", "The KV cache over time", rows = at("kv_cache.looks", function(look, results)
    local made = results.kv_cache
    return { bytes = made.tokens and made.bytes_per_token
      and look.use * made.tokens * made.bytes_per_token or nil }
  end) },
  { "repeats", "Latency of each repeat, profiled" },
  { "running_cost", "Running cost", rows = at("running_cost.stages", function(row, results)
    return { currency = row.per_million_tokens
      and keys.at(results, "running_cost.price.currency") }
  end) },
  { "stages", "Per-Stage Timings" },
  { "cpu", "The CPU, by stage" },
  { "cpu_samples", "Functions that the CPU was in", subject = "sampled stacks",
    rows = function(results)
      return lists.flat(list_at(results, "cpu_samples.stages"), sections.functions_of)
    end },
  { "categories", "GPU time by category" },
  { "efficiency", "MFU/MBU", subject = "the model's cost" },
  { "sampled", "Hardware samples" },
  { "gaps", "The longest gaps" },
  { "modules", "Modules" },
  { "lines", "Lines of the program" },
  { "marked_layers", "Layers, by their modules or ranges", rows = at "modules.layers" },
  { "marked_operators", "Operators, by their ranges", rows = at "modules.operators" },
  { "step_layers", "Layers of a decode step" },
  { "findings", "What to do" },
  { "abstained", "Rules that could not tell", rows = at "advice.abstained" },
  { "silent", "Rules that found nothing", rows = at "advice.silent" },
  { "ranks", "Ranks", rows = at "ranks.ranks" },
  { "pipeline", "Stages of the pipeline", rows = at("ranks.pipeline.stages", function(stage)
    return { who = table.concat(stage.ranks, ", ") }
  end) },
  { "rank_stages", "Stages by rank", rows = stages },
  { "steps", "Steps", rows = sections.step_rows },
  { "idle_threads", "Threads while the GPU waited", rows = at "ranks.idle_threads" },
  { "step_rows", "Single steps", rows = at "ranks.step_rows" },
  { "collectives", "Collectives", rows = at "ranks.collectives" },
  { "late", "Who the others wait for", rows = at "ranks.places" },
  { "layers", "Communication by layer", rows = at "ranks.layers" },
  { "rank_kernels", "Kernels over all ranks", rows = at "ranks.kernels" },
  { "rank_files", "Files and their clocks", rows = at "ranks.files" },
  { "requests", "What clients saw", rows = requests },
  { "request_rows", "Requests and their steps", rows = at "ranks.requests.single" },
  { "kv_transfers", "KV caches between ranks", rows = at "ranks.kv_transfers.single" },
  { "engine_looks", "The engine's own numbers during the steps",
    rows = at("ranks.engine_looks", function(look)
      return { kv_percent = look.kv_use and 100 * look.kv_use }
    end) },
  { "left_out", "Left out of ranks", rows = function(results)
    return lists.map(list_at(results, "ranks.left_out"), function(line) return { text = line } end)
  end },
  { "kernels", "Kernels" },
  { "ranges", "Counters of whole ranges", subject = "counters" },
  { "headroom", "Headroom" },
  { "operators", "Operators", subject = "operators" },
  { "timeline_operators", "Operators on the timeline", subject = "operators" },
  { "operator_stages", "Operators of each stage", subject = "operators" },
  { "operator_kernels", "Kernels of the operators", subject = "operators" },
  { "transfers", "Copies" },
  { "integrity", "Integrity of the capture", rows = at "integrity.checks" },
  { "overhead", "What profiling cost" },
  { "missing", "Not measured", rows = at "missing" },
}

-- Why tables have no rows, where results.missing does not say it: what there is not.
local empty = {}
for reason, names in pairs {
  ["no requests of clients are known: metrics.json would name them"] = "load load_times requests "
    .. "request_rows first_token",
  ["no numbers of a serving engine were recorded"] = "kv_cache engine_metrics engine_looks",
  ["no collectives of several ranks"] = "collectives layers",
  ["no rank comes late to collectives"] = "late",
  ["no step is marked by ranges or an engine, and none could be inferred"] = "rank_stages steps "
    .. "step_rows",
  ["no engine marks its steps"] = "idle_threads",
  ["nothing ran in a stage"] = "stages cpu categories kernels headroom",
  ["no prefill and no step was timed"] = "latency repeats",
  ["neither a price (price.per_hour) nor energy is known"] = "running_cost",
  ["the stacks of the CPU were not sampled"] = "cpu_samples",
  ["no hardware samples: collector.samples_hz or nsys.gpu_metrics takes them"] = "sampled",
  ["neither stacks of launches nor ranges name any"] = "modules marked_layers",
  ["no range names operators"] = "marked_operators",
  ["no stacks of launches: collector.sources records them, torch.profiler with_stack=True"]
    = "lines",
  ["layers of a decode step could not be told"] = "step_layers",
  ["one rank, and no steps"] = "ranks rank_kernels rank_files",
  ["no stages of a pipeline that send each other anything"] = "pipeline",
  ["no rank hands a KV cache to another"] = "kv_transfers",
  ["the GPU was never idle between two operations"] = "gaps",
  ["no rule found anything to change"] = "findings",
  ["every rule could tell"] = "abstained",
  ["no rule was silent"] = "silent",
  ["the trace names no GPU"] = "devices",
  ["nothing was copied or set"] = "transfers",
  ["no timeline to check"] = "integrity",
  ["nothing is missing"] = "missing",
  ["no rank left anything out; which repeats and steps the figures leave out, llmprof digest says"]
    = "left_out",
  ["nothing was run without the profiler: overhead=before does"] = "overhead",
} do
  for name in names:gmatch "%S+" do empty[name] = reason end
end

-- Tables of sums, over the repeats that count and over the whole capture.
local SUMS = lists.set { "kernels", "transfers", "operators", "timeline_operators",
  "operator_stages", "operator_kernels", "lines", "modules", "marked_layers", "marked_operators" }
local OF_ALL = lists.set { "ranks", "collectives", "late", "layers", "rank_kernels" }

local by_name = {}
for _, section in ipairs(list) do
  section.name, section.title = section[1], section[2]
  section.empty = empty[section.name]
  section.columns = section.columns or columns[section.name]
  section.rows = section.rows or rows[section.name]
  by_name[section.name] = section
end


-- All of them, in the order of the reports.
function sections.all() return list end


-- A section by its name; an unknown one is an error.
function sections.find(name)
  if by_name[name] then return by_name[name] end
  local known = lists.map(list, "name")
  errors.raise("usage", ("no section '%s'%s"):format(name, keys.suggestion(name, known)),
    { hint = "llmprof show RUN lists the sections" })
end


-- What the figures of a section are of, where there are several repeats: a sentence, else nil.
function sections.scope(results, section)
  local repeats = results.repeats
  if not repeats or repeats.whole_run or repeats.count < 2 then return nil end
  if OF_ALL[section.name] then return "Sums over the whole capture." end
  return SUMS[section.name] and repeats.used > 1
    and ("Sums over the %d repeats that count."):format(repeats.used) or nil
end


-- ---- what columns mean ----

local function name_of(column) return column.key .. "\0" .. column.title end


-- By key and title what columns say that they mean; false where some differ.
local known = {}
for _, declared in pairs(columns) do
  for _, column in ipairs(declared) do
    local name, said = name_of(column), column.meaning
    if said then known[name] = (known[name] == nil or known[name] == said) and said end
  end
end


-- What a column means, by itself or as others of its key and title; nil where nothing says so.
function sections.meaning(column) return column.meaning or known[name_of(column)] or nil end


-- The tables, those of `llmprof show` first: { title, columns }, a column that several show in the
-- first of them.
function sections.explained()
  local tables, listed = lists.first(list), {}
  for _, name in ipairs(keys.sorted(columns)) do
    if not by_name[name] then
      tables[#tables + 1] = { title = "Table " .. name, columns = columns[name] }
    end
  end
  return lists.map(tables, function(one)
    local own = lists.filtered(one.columns, function(column)
      local is_new = column.meaning and not listed[column]
      listed[column] = true
      return is_new
    end)
    return #own > 0 and { title = one.title, columns = own } or nil
  end)
end


-- ---- as blocks ----

-- A table of records; name: of the columns.
function sections.table(name, records)
  return blocks.table { name = name, columns = columns[name], rows = records,
    title = by_name[name] and by_name[name].title }
end


-- The table, or the sentence where there is no row.
function sections.either(name, records, otherwise)
  return #records > 0 and sections.table(name, records) or blocks.say(otherwise)
end


-- A declared table under its title, of at most `most` rows; nothing without rows.
-- options: most, filter (a page can search in it), bare (no title), note (a sentence above),
-- columns (those of another table).
function sections.blocks(results, name, options)
  options = options or {}
  local section = sections.find(name)
  local records = section.rows(results)
  local most = options.most or #records
  if #records == 0 then return nil end
  return blocks.join(not options.bare and blocks.title(section.title), blocks.note(options.note),
    blocks.table { name = name, columns = columns[options.columns] or section.columns,
      filter = options.filter, rows = lists.first(records, most), title = section.title },
    #records > most and blocks.say(("%d more: llmprof show RUN %s."):format(#records - most, name)))
end


return sections
