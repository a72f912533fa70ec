-- A trace without a bundle, analysed on the fly: its stages are the outermost
-- NVTX push/pop ranges of its main domain; without any, the whole run is one.
local analysis = require "llmprof.analysis"
local breakdown = require "llmprof.analysis.breakdown"
local errors = require "llmprof.errors"
local kernels = require "llmprof.analysis.kernels"
local stages = require "llmprof.analysis.stages"
local trace_file = require "llmprof.trace_file"

local bare = {}

local PUSH_POP = 0 -- style of a range

-- More texts than this at the top are numbered requests or steps, not stages.
local MOST_STAGES = 32


-- The outermost push/pop ranges by domain ("" is the default one).
local function by_domain(ranges)
  local domains = {}
  for _, row in ipairs(ranges:where { style = PUSH_POP, level = 0 }
    :group { by = { "domain", "tag" }, sum = { "start", "duration" } }) do
    local name = row.domain or ""
    local domain = domains[name] or { name = name, total = 0, tags = {} }
    domains[name] = domain
    domain.total = domain.total + row.duration.total
    if row.tag then table.insert(domain.tags, { tag = row.tag, first = row.start.min }) end
  end
  return domains
end


-- The default domain where it has any range, else the one that covers most.
local function main_domain(domains)
  local main = domains[""]
  if main then return main end
  for _, domain in pairs(domains) do
    if not main or domain.total > main.total
      or (domain.total == main.total and domain.name < main.name) then
      main = domain
    end
  end
  return main
end


-- Stages as a recipe would declare them, in the order in which they first begin.
function bare.stages(trace)
  local ranges = errors.check("failed", trace:frame "ranges")
  local domain = main_domain(by_domain(ranges))
  if not domain or #domain.tags > MOST_STAGES then return {} end
  table.sort(domain.tags, function(a, b)
    if a.first ~= b.first then return a.first < b.first end
    return a.tag < b.tag
  end)
  local declared = {}
  for i, entry in ipairs(domain.tags) do declared[i] = { name = entry.tag } end
  return declared
end


-- Results of a trace, as llmprof.analysis makes them.
function bare.results(path)
  local trace = trace_file.open(path)
  local found = stages.find(trace, bare.stages(trace), "auto")
  if #found.instances == 0 then
    errors.raise("nothing", path .. ": no GPU operation and no NVTX range: nothing to compare")
  end
  local list, info = kernels.list(trace, found), trace:info()
  breakdown.categorize(list)
  return analysis.results { run_id = path:match "([^/]+)$", recipe = "none", model = {},
    source = { timeline = { from = "trace", file = path, export_schema = info.schema,
      export_product = info.product } },
    trace = trace, found = found, kernels = list, gpu = {} }
end


return bare
