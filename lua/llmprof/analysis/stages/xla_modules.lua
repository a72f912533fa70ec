-- Stages of a JAX program: the modules that XLA ran, each execution a range
--   XlaModule:#prefix=...,hlo_module=jit_step,program_id=148200#
-- in its domain TSL. A function that was compiled for several shapes is several programs of
-- one module name: "jit_step.1", "jit_step.2", in the order in which they first ran. Modules
-- without a program are what the autotuner tries.
local errors = require "llmprof.process.errors"

local xla_modules = {}

local AUTOTUNING = "autotuning"

-- Programs that take less than this share of the GPU time of all of them are no stages.
local LEAST_SHARE = 0.01

local check = errors.check


-- The module and the program (nil of the autotuner's) that a tag is an execution of.
local function read(tag)
  local inside = tag:match "^TSL:XlaModule:#(.*)#$"
  local module = inside and inside:match "%f[%w_]hlo_module=([^,#]+)"
  return module, inside and inside:match "%f[%w_]program_id=(%d+)"
end


-- Programs in the order in which they first ran: { key, module, tags, first (ns) }; and the tags
-- of the autotuner.
local function programs_of(trace)
  local list, by_key, tuned = {}, {}, {}
  for _, row in ipairs(check(trace:frame "ranges"):where { domain = "TSL" }
    :group { by = { "tag" }, total = { "start" } }) do
    local module, program = read(row.tag or "")
    if module and not program then
      tuned[#tuned + 1] = row.tag
    elseif module then
      local key = module .. " " .. program
      local made = by_key[key] or { key = key, module = module, tags = {}, first = row.start.min }
      if not by_key[key] then by_key[key], list[#list + 1] = made, made end
      made.tags[#made.tags + 1] = row.tag
      made.first = math.min(made.first, row.start.min)
    end
  end
  table.sort(list, function(a, b)
    if a.first ~= b.first then return a.first < b.first end
    return a.key < b.key
  end)
  return list, tuned
end


-- Give programs the names of their stages.
local function name(programs)
  local count, number = {}, {}
  for _, one in ipairs(programs) do count[one.module] = (count[one.module] or 0) + 1 end
  for _, one in ipairs(programs) do
    number[one.module] = (number[one.module] or 0) + 1
    one.name = count[one.module] == 1 and one.module
      or ("%s.%d"):format(one.module, number[one.module])
  end
end


-- GPU time of programs by key, and of all of them.
local function gpu_times(trace, programs)
  local labels = {}
  for _, one in ipairs(programs) do
    for _, tag in ipairs(one.tags) do labels[#labels + 1] = { tag, one.key } end
  end
  local ops = check(trace:frame "gpu")
  check(trace:label(ops, "program", labels))
  local times, all = {}, 0
  for _, row in ipairs(ops:group { by = { "program" }, total = { "duration" } }) do
    if row.program then
      times[row.program], all = row.duration.total, all + row.duration.total
    end
  end
  return times, all
end


-- Stages, { name, tags (of the ranges that are its executions), once (nothing of it counts) }: the
-- programs that take most of the GPU in the order in which they first ran, and what the autotuner
-- tried; empty where XLA ran nothing.
function xla_modules.stages(trace)
  local programs, tuned = programs_of(trace)
  if #programs == 0 then return {} end
  name(programs)
  local times, all = gpu_times(trace, programs)
  local list = {}
  for _, one in ipairs(programs) do
    if (times[one.key] or 0) >= LEAST_SHARE * all then
      list[#list + 1] = { name = one.name, tags = one.tags }
    end
  end
  if #tuned > 0 then list[#list + 1] = { name = AUTOTUNING, tags = tuned, once = true } end
  return list
end


-- Declared stages, those that are called like XLA's with the tags of these.
function xla_modules.resolve(trace, declared)
  local list, known = {}, nil
  for i, stage in ipairs(declared) do
    list[i] = stage
    if not stage.tags and not stage.parent then
      if not known then
        known = {}
        for _, one in ipairs(xla_modules.stages(trace)) do known[one.name] = one end
      end
      list[i] = known[stage.name] or stage
    end
  end
  return list
end


return xla_modules
