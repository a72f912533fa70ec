-- capture=auto: llmprof's own collector where it can take what is asked for, so that the
-- model is loaded once, else Nsight Systems. Which it is, and why, is said before anything runs.
local errors = require "llmprof.process.errors"
local gpu = require "llmprof.gpu"
local at = require("llmprof.tables.keys").at
local lists = require "llmprof.tables.lists"
local workload = require "llmprof.run.workload"
local collector = require "llmprof.collector"
local live = require "llmprof.run.capture.live"
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
  local found, problem = errors.call(find_nsys, ctx)
  if found then return end
  local lack = ctx.cfg.capture == "auto" and problem.kind == "tool" and lack_of_gpus()
  if not lack or automatic.why_nsys(ctx.cfg) ~= lack then error(problem, 0) end
  errors.raise("tool", "there is no GPU to profile: " .. lack,
    { hint = "capture=recorded analyses a recorded capture; llmprof doctor says what is missing" })
end


automatic.nsys = with_nsys

return automatic
