-- Captures by llmprof's own collector: timeline and counters from one run of the
-- workload; the counters from ncu where that is asked for.
local collected = require "llmprof.run.capture.collected"
local live = require "llmprof.run.capture.live"
local tool = require "llmprof.run.capture.tool"
local under_collector = require "llmprof.run.capture.under_collector"
local under_ncu = require "llmprof.run.capture.under_ncu"

local builtin = live.new(under_collector, under_ncu)


local function by_ncu(ctx) return ctx.cfg.counters == "ncu" end


function builtin.find(ctx)
  if not builtin.untimed(ctx) then tool.of(ctx, under_collector.vendor) end
  if by_ncu(ctx) or ctx.cfg.timeline == "off" then tool.of(ctx, under_ncu.vendor) end
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


function builtin.counters(ctx)
  if ctx.cfg.counters == "off" then return false, "counters=off" end
  if collected.wanted(ctx.cfg) then return collected.keep(ctx) end
  return under_ncu.capture(ctx)
end


local about = builtin.about

function builtin.about(ctx)
  local said = about(ctx)
  if collected.wanted(ctx.cfg) then said.counters_tool = said.tool end
  return said
end


local preview = builtin.preview

function builtin.preview(ctx)
  local list = preview(ctx)
  if collected.wanted(ctx.cfg) then list.counters = { "in the same run of the workload" } end
  return list
end


return builtin
