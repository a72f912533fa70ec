-- Stages of a trace that no recipe declares: the outermost NVTX push/pop ranges of
-- its main domain.
local errors = require "llmprof.process.errors"

local outermost = {}

local PUSH_POP = 0 -- style of a range

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


-- Stages as a recipe would declare them, in the order in which they first begin;
-- empty where there are no such ranges, or more texts than stages could have.
function outermost.stages(trace)
  local ranges = errors.check(trace:frame "ranges")
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


return outermost
