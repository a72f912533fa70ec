-- Rows of the tables about a load and the engine's own numbers.
local text = require "llmprof.text"

local served_rows = {}


-- "poisson, 4/s", or what is known where nobody says so: who sent it.
local function label_of(given)
  if given.kind == "command" or not given.arrivals then return "load." .. given.kind end
  return ("%s, %s/s"):format(given.arrivals, text.number(given.rate_per_s, 2))
end


function served_rows.load(results)
  local given = results.load
  if not given then return {} end
  local slo = given.slo or {}
  return { setmetatable({ label = label_of(given), good_share = slo.share, good_per_s = slo.per_s },
    { __index = given }) }
end


local SEEN = { { "ttft", "TTFT" }, { "tpot", "TPOT" }, { "answer", "whole answer" } }

function served_rows.times(results)
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

function served_rows.engine(results)
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


return served_rows
