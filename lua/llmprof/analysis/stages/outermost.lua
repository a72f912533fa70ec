-- Stages of a trace that no recipe declares: the outermost NVTX push/pop ranges of
-- its main domain.
local engines = require "llmprof.engines"
local errors = require "llmprof.process.errors"
local named = require "llmprof.analysis.kernels.range_texts"

local outermost = {}

local PUSH_POP = 0 -- style of a range

local OPERATORS = "PyTorch" -- domain

-- More texts than this at the top are numbered requests or steps, not stages.
local MOST_STAGES = 32


-- The outermost push/pop ranges by domain ("" is the default one).
local function by_domain(ranges)
  local domains = {}
  for _, row in ipairs(ranges:where { style = PUSH_POP, level = 0 }
    :group { by = { "domain", "tag" }, total = { "start", "duration" } }) do
    local name = row.domain or ""
    local domain = domains[name] or { name = name, total = 0, tags = {} }
    domains[name] = domain
    domain.total = domain.total + row.duration.total
    if row.tag then table.insert(domain.tags, { tag = row.tag, first = row.start.min }) end
  end
  return domains
end


-- The default domain where it has any range, else the one that covers most. What readers of
-- PyTorch's traces call OPERATORS is none.
local function main_domain(domains)
  local main = domains[""]
  if main then return main end
  for name, domain in pairs(domains) do
    if name == OPERATORS then goto continue end
    if not main or domain.total > main.total
      or (domain.total == main.total and domain.name < main.name) then
      main = domain
    end
    ::continue::
  end
  return main
end


-- What PyTorch marks of its own: compiled graphs, collectives, optimizers, data loaders.
local OF_PYTORCH = { "^## ", "^nccl:", "^gloo:", "^Optimizer%.", "^enumerate%(DataLoader" }

-- Is a tag one of a step, an operator, a module, or PyTorch's own?
local function is_no_stage(tag)
  for _, pattern in ipairs(OF_PYTORCH) do
    if tag:find(pattern) then return true end
  end
  for _, engine in ipairs(engines.all()) do
    if engine.step(tag) then return true end
  end
  return named.read(tag) ~= nil
end


-- Those that can be stages: no two of them differ in their numbers alone, as ProfilerStep#3
-- and ProfilerStep#4 do, which are steps.
local function without_steps(tags)
  local counts, kept = {}, {}
  local function text_of(tag) return (tag:gsub("%d+", "#")) end
  for _, entry in ipairs(tags) do
    local text = text_of(entry.tag)
    counts[text] = (counts[text] or 0) + 1
  end
  for _, entry in ipairs(tags) do
    if counts[text_of(entry.tag)] == 1 and not is_no_stage(entry.tag) then
      kept[#kept + 1] = entry
    end
  end
  return kept
end


-- Stages as a recipe would declare them, in the order in which they first begin;
-- empty where there are no such ranges, or more texts than stages could have.
function outermost.stages(trace)
  local ranges = errors.check(trace:frame "ranges")
  local domain = main_domain(by_domain(ranges))
  local tags = domain and without_steps(domain.tags) or {}
  if #tags > MOST_STAGES then return {} end
  table.sort(tags, function(a, b)
    if a.first ~= b.first then return a.first < b.first end
    return a.tag < b.tag
  end)
  local declared = {}
  for i, entry in ipairs(tags) do declared[i] = { name = entry.tag } end
  return declared
end


-- The same; without any, those that can be inferred.
function outermost.or_inferred(trace)
  local declared = outermost.stages(trace)
  return #declared > 0 and declared or { { name = "prefill" }, { name = "decode" } }
end


return outermost
