-- Captures by llmprof's own collector: timeline and counters from one run of the
-- workload; the counters from ncu where that is asked for.
local collector_counters = require "llmprof.run.capture.collector_counters"
local fs = require "llmprof.fs"
local layout = require "llmprof.bundle.layout"
local live = require "llmprof.run.capture.live"
local marked_operators = require "llmprof.run.marked_operators"
local under_collector = require "llmprof.run.capture.under_collector"
local under_ncu = require "llmprof.run.capture.under_ncu"

local builtin = live.new(under_collector, under_ncu)


local function by_ncu(ctx) return ctx.cfg.counters.by == "ncu" end


function builtin.find(ctx)
  if not builtin.untimed(ctx) then live.tool(ctx, under_collector.vendor) end
  if by_ncu(ctx) or ctx.cfg.timeline == "off" then live.tool(ctx, under_ncu.vendor) end
end


function builtin.note(ctx)
  local found = ctx.state.tools[under_collector.vendor.name]
  return found and "collector " .. found.version or "no collector"
end


-- Nothing of the workload is left out for the counters: they cost its other launches
-- little.
function builtin.room(ctx)
  return by_ncu(ctx) and under_ncu.room(ctx) or nil
end


-- Does it cost little to measure a kernel?
function builtin.cheap(ctx) return collector_counters.wanted(ctx.cfg) end


function builtin.counters(ctx)
  if ctx.cfg.counters.by == "off" then return false, "counters=off" end
  if collector_counters.wanted(ctx.cfg) then return collector_counters.keep(ctx) end
  return under_ncu.capture(ctx)
end


local in_a_run_of_its_own = builtin.operators

-- From the run of the timeline where its workload marked them, else in one of its own.
function builtin.operators(ctx)
  if not under_collector.marks_operators(ctx) then return in_a_run_of_its_own(ctx) end
  local spool = ctx.run:path(layout.collector.spool)
  local made = fs.stat(spool) and marked_operators.read(spool, ctx.recipe.stages)
  if not made then
    ctx.note "the workload marked no operators: they take a run of its own"
    return in_a_run_of_its_own(ctx)
  end
  fs.remove(ctx.run:path(layout.operators_in(layout.workload.operators_pass))) -- of before
  ctx.run:write_document(layout.workload.operators, "operators", made)
  return true
end


local about = builtin.about

function builtin.about(ctx)
  local said = about(ctx)
  if collector_counters.wanted(ctx.cfg) then said.counters_tool = said.tool end
  return said
end


local preview = builtin.preview

function builtin.preview(ctx)
  local list = preview(ctx)
  if collector_counters.wanted(ctx.cfg) then
    list.counters = { "in the same run of the workload" }
  end
  if under_collector.marks_operators(ctx) then
    table.insert(list.operators, 1, "in the same run of the workload, where it marks them; else")
  end
  return list
end


return builtin
