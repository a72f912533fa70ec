-- Rows of the tables about ranks, steps and requests, about a load and about stacks.
local text = require "llmprof.text"

local section_rows = {}


-- Stages of a pipeline, with their ranks as a text.
function section_rows.pipeline(results)
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
function section_rows.stages(results)
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
function section_rows.steps(results)
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
function section_rows.kv_transfers(results) return transfers_of(results).single or {} end


local seen_by_clients = { { "ttft", "TTFT" }, { "tpot", "TPOT" },
  { "between_tokens", "between tokens" } }

local function requests_of(results) return results.ranks and results.ranks.requests or {} end

function section_rows.requests(results)
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
function section_rows.request_rows(results)
  return requests_of(results).single or {}
end


-- The engine's own numbers beside the steps.
function section_rows.engine_looks(results)
  local list = {}
  for i, look in ipairs(results.ranks and results.ranks.engine_looks or {}) do
    list[i] = setmetatable({ kv_percent = look.kv_use and 100 * look.kv_use }, { __index = look })
  end
  return list
end


function section_rows.left_out(results)
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
  if given.kind == "command" or not given.arrivals then return "load." .. given.kind end
  return ("%s, %s/s"):format(given.arrivals, text.number(given.rate_per_s, 2))
end


function section_rows.load_rows(results)
  local given = results.load
  if not given then return {} end
  local slo = given.slo or {}
  return { setmetatable({ label = label_of(given), good_share = slo.share, good_per_s = slo.per_s },
    { __index = given }) }
end


local SEEN = { { "ttft", "TTFT" }, { "tpot", "TPOT" }, { "answer", "whole answer" } }

function section_rows.time_rows(results)
  local list = {}
  for _, entry in ipairs(SEEN) do
    local measured = results.load and results.load[entry[1]]
    if measured then
      list[#list + 1] = setmetatable({ label = entry[2] }, { __index = measured })
    end
  end
  return list
end


-- One row a figure: of levels mean, least and most, of the others the value alone.
local FIGURES = {
  { "running", "requests running" }, { "waiting", "requests waiting" },
  { "kv_use", "KV cache in use %", 100 }, { "preemptions", "preemptions" },
  { "prefix_hit_share", "prefix cache hits %", 100 },
  { "acceptance", "speculated tokens accepted %", 100 },
}

local function scaled(value, scale) return value and value * scale end

function section_rows.engine_rows(results)
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
function section_rows.stack_rows(stage, key)
  local list = {}
  for i, given in ipairs(stage[key]) do list[i] = row(stage, given) end
  return list
end


local function of_all(key)
  return function(results)
    local list = {}
    for _, stage in ipairs(results.cpu_samples and results.cpu_samples.stages or {}) do
      local rows = section_rows.stack_rows(stage, key)
      table.move(rows, 1, #rows, #list + 1, list)
    end
    return list
  end
end


-- Functions of every stage, those with most samples of their own first.
section_rows.function_rows = of_all "functions"

-- The stacks of every stage, as a tree.
section_rows.frame_rows = of_all "tree"


return section_rows
