-- capture=auto: llmprof's own collector where it can take what is asked for, so that the
-- model is loaded once, else Nsight Systems. Which it is, and why, is said before anything
-- runs. Where the collector then records no GPU work, nsys is tried after all.
local builtin = require "llmprof.run.capture.builtin"
local errors = require "llmprof.process.errors"
local fs = require "llmprof.fs"
local gpu = require "llmprof.gpu"
local at = require("llmprof.tables.keys").at
local lists = require "llmprof.tables.lists"
local workload = require "llmprof.run.workload"
local layout = require "llmprof.bundle.layout"
local collector = require "llmprof.collector"
local live = require "llmprof.run.capture.live"
local trace_file = require "llmprof.trace.file"
local under_ncu = require "llmprof.run.capture.under_ncu"
local under_nsys = require "llmprof.run.capture.under_nsys"

local automatic = {}

local with_nsys = live.new(under_nsys, under_ncu)


-- ---- which ----

-- What the collector records of nsys.trace; osrt is what nsys adds by default.
local TRACED = { cuda = true, nvtx = true, osrt = true }

local function is_set(value)
  return value ~= nil and value ~= false and value ~= ""
    and not (type(value) == "table" and #value == 0)
end


local function is(wanted) return function(value) return value == wanted end end


local function samples(value) return value ~= nil and value ~= "none" end


-- Keys that ask for what only nsys or ncu has: where their values are such.
local only_theirs = {
  { "tools.nsys", is_set },
  { "nsys.trace", function(trace)
    return lists.any(trace or {}, function(what) return not TRACED[what] end)
  end },
  { "nsys.sample", samples }, { "nsys.cpuctxsw", samples },
  { "nsys.capture_range_end", function(what) return (what or ""):find "^repeat" ~= nil end },
  { "nsys.nvtx_domain_include", is_set }, { "nsys.nvtx_domain_exclude", is_set },
  { "nsys.cuda_graph_trace", is "graph" },
  { "nsys.cuda_memory_usage", is_set },
  { "nsys.gpu_metrics", is "on" },
  { "nsys.kill", is_set }, { "nsys.extra_args", is_set },
  { "ncu.replay_mode", function(mode) return mode ~= "kernel" end },
  { "ncu.set", function(set, cfg) return set == "full" and not cfg.counters.set end },
  { "ncu.extra_args", is_set },
  { "server.session", is_set },
}


-- Why no GPU here can be profiled; nil where one can.
local function lack_of_gpus()
  local devices, lack = gpu.list()
  for _, device in ipairs(devices) do
    if not device.error then return nil end
  end
  return lack or "no GPU is usable"
end


-- Why the collector is not what takes the timeline; nil when it is.
function automatic.why_nsys(cfg)
  if cfg.timeline == "off" then return "timeline=off" end
  local found, why = collector.find(cfg.tools.collector)
  if not found then return why end
  if workload.has_ranks(cfg) then return "there are several ranks" end
  for _, entry in ipairs(only_theirs) do
    local key, asks = table.unpack(entry)
    if asks(at(cfg, key), cfg) then return "the collector does not support " .. key end
  end
  return lack_of_gpus()
end


local find_nsys = with_nsys.find

-- Where there is no GPU, a profiler that is installed would be a dead end.
function with_nsys.find(ctx)
  local found, problem = pcall(find_nsys, ctx)
  if found then return end
  local lack = ctx.cfg.capture == "auto" and lack_of_gpus()
  if not lack or automatic.why_nsys(ctx.cfg) ~= lack or not errors.is(problem)
    or problem.kind ~= "tool" then
    error(problem, 0)
  end
  errors.raise("tool", "there is no GPU to profile: " .. lack,
    { hint = "capture=recorded analyses a recorded capture; llmprof doctor says what is missing" })
end


-- ---- the collector, and nsys behind it ----

local source = { name = "live", untimed = builtin.untimed, preview = builtin.preview }


for _, name in ipairs { "counters", "operators", "recall", "room", "about", "cheap" } do
  source[name] = function(ctx)
    -- did the collector take the timeline, or is it still to be taken?
    local is_ours = ctx.run:has(layout.collector.spool) or not ctx.run:has(layout.timeline)
    local of = (is_ours and builtin or with_nsys)[name]
    if of then return of(ctx) end
  end
end


function source.find(ctx)
  builtin.find(ctx)
  live.try_tool(ctx, under_nsys.vendor)
end


function source.note(ctx) return builtin.note(ctx) .. ", chosen by capture=auto" end


-- Takes it with nsys; what the collector left would say that it was its.
local function fall_back(ctx, why)
  ctx.note(("capture=auto: %s; nsys takes the timeline instead"):format(why))
  for _, name in ipairs { layout.collector.spool, layout.timeline } do
    fs.remove(ctx.run:path(name))
  end
  local about = with_nsys.about(ctx)
  ctx.state.about.tool, ctx.state.about.counters_tool = about.tool, about.counters_tool
  return with_nsys.timeline(ctx)
end


-- A workload that failed fails under nsys, too: only what the collector is to blame for is
-- tried again.
function source.timeline(ctx)
  local ok, result = errors.call(builtin.timeline, ctx)
  local nsys = live.try_tool(ctx, under_nsys.vendor)
  if not ok then
    if nsys and result.kind == "nothing" then return fall_back(ctx, result.message) end
    error(result, 0)
  end
  if not nsys then return result end
  local trace = trace_file.open(ctx.run:path(layout.timeline))
  local count = #errors.check(trace:frame "gpu")
  trace:close()
  return count > 0 and result or fall_back(ctx, "the collector recorded no GPU work")
end


automatic.collector, automatic.nsys = source, with_nsys

return automatic
