-- Captures made now: the workload under Nsight Systems, under Nsight Compute,
-- and once more under its own profiler. Never two of them at once: a process
-- has one CUPTI subscriber.
local clock = require "llmprof.base.clock"
local errors = require "llmprof.base.errors"
local fs = require "llmprof.fs"
local layout = require "llmprof.bundle.layout"
local ncu = require "llmprof.nvidia.ncu.command"
local nsys = require "llmprof.nvidia.nsys"
local operators = require "llmprof.run.operators"
local text = require "llmprof.text"
local tools = require "llmprof.nvidia.tools"
local workload = require "llmprof.run.workload"

local live = { name = "live" }


-- Nsight Compute; or nil and what is missing, which costs the counters only.
local function find_ncu(cfg)
  local ok, found = pcall(tools.ensure_ncu, cfg)
  if ok then return found end
  if not errors.is(found) or found.kind ~= "tool" then error(found, 0) end
  return nil, found.message
end


function live.open(ctx)
  local state = ctx.state
  state.nsys = tools.ensure_nsys(ctx.cfg)
  tools.check_importer(state.nsys)
  state.ncu, state.ncu_lack = find_ncu(ctx.cfg)
  state.about = { tool = "Nsight Systems " .. state.nsys.version,
    counters_tool = state.ncu and "Nsight Compute " .. state.ncu.version or nil }
end


-- The commands of each step, as far as they are known before anything ran.
function live.preview(made, cfg)
  nsys.check(cfg.nsys)
  local argv = workload.describe(made, cfg).argv
  local timeline = {
    nsys.profile_argv(cfg.nsys, { path = cfg.tools.nsys or "nsys",
      output = "<run>/" .. layout.nsys.stem, argv = argv }),
    nsys.export_argv(cfg.tools.nsys or "nsys", "<run>/" .. layout.report(1, 1, ".nsys-rep"),
      "<run>/" .. layout.timeline),
  }
  if cfg.overhead == "measure" then
    table.insert(timeline, 1, argv)
    table.insert(timeline, argv)
  end
  return {
    timeline = timeline,
    counters = cfg.counters == "on" and { ncu.profile_argv(cfg.ncu, { path = cfg.tools.ncu or "ncu",
      output = "<run>/" .. layout.ncu.stem, metrics = cfg.ncu.metrics,
      kernels = "<the selected kernels>",
      ranges = cfg.ncu.nvtx_include or { "<their stages>" }, name_base = cfg.ncu.kernel_name_base,
      launches = cfg.top_n.launches_per_kernel,
      argv = workload.describe(made, workload.representative(cfg)).argv }) } or nil,
    operators = cfg.operators == "on"
      and { table.move(argv, 1, #argv, 2, { "LLMPROF_OPERATORS=1" }) } or nil,
  }
end


function live.inputs()
  return { source = "workload", files = {} }
end


-- What the files of a timeline that was captured now or before say of it.
function live.recall(ctx)
  local log, lines = fs.read(ctx.run:path(layout.nsys.log)) or "", {}
  for line in log:gmatch "[^\n]*" do lines[#lines + 1] = line end
  ctx.state.nsys_complaints = nsys.read_output(lines).complaints
  local command = fs.read(ctx.run:path(layout.nsys.command))
  local export = errors.check("failed", fs.stat(ctx.run:path(layout.timeline)))
  ctx.state.about.date = clock.timestamp(export.mtime_ns)
  ctx.state.about.command = command and command:gsub("\n$", "") or nil
end


live.timeline = require "llmprof.run.capture.under_nsys"
live.counters = require "llmprof.run.capture.under_ncu"


-- ---- operators ----

function live.operators(ctx)
  if ctx.cfg.operators == "off" then return false, "operators=off" end
  local spec = workload.describe(ctx.recipe, ctx.cfg, ctx.run)
  local folder = layout.workload.operators_pass
  local result, lines = workload.run(ctx, { argv = spec.argv, spec = spec, folder = folder,
    log = layout.log_in(folder), env = { LLMPROF_OPERATORS = "1" } })
  if operators.find(ctx.run:path(folder)) then return true end
  local ended = workload.complaint(result)
  return false, ended and ("the operators pass failed: %s: %s"):format(ended,
    text.clean(workload.tail(lines, 1))) or "the workload wrote neither operators.json nor a trace"
end


return live
