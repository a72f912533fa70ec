-- What goes around the capture of a timeline, whatever takes it: runs of the workload
-- without any profiler, and what the GPUs did meanwhile.
local fs = require "llmprof.fs"
local layout = require "llmprof.bundle.layout"
local workload = require "llmprof.run.workload"

local around = {}


-- What the GPUs did meanwhile; nothing without NVML.
function around.keep_samples(ctx, samples)
  if #samples == 0 then
    fs.remove(ctx.run:path(layout.gpu_samples)) -- of an earlier attempt
    return
  end
  ctx.run:write_document(layout.gpu_samples, "gpu_samples", samples)
  ctx.outputs[#ctx.outputs + 1] = layout.gpu_samples
end


-- Is there one before the timeline, and one after it?
function around.runs_before(ctx) return ctx.cfg.overhead ~= "off" end
function around.runs_after(ctx) return ctx.cfg.overhead == "measure" end


-- One run without any profiler, if it is wanted; its metrics are read with the
-- timeline.
local function measure_plain(ctx, spec, folder, wanted)
  if not wanted then
    fs.remove(ctx.run:path(layout.metrics_in(folder))) -- of an earlier attempt
    return
  end
  ctx.progress("plain run, " .. folder)
  local result = workload.run(ctx, { argv = spec.argv, spec = spec, folder = folder,
    log = layout.log_in(folder) })
  local metrics, message = workload.metrics(ctx.run, folder)
  if metrics then
    ctx.outputs[#ctx.outputs + 1] = layout.metrics_in(folder)
  else
    ctx.note(("%s: %s"):format(folder, message or workload.complaint(result)
      or "it wrote no metrics.json"))
  end
end


function around.before(ctx, spec)
  measure_plain(ctx, spec, layout.workload.before, around.runs_before(ctx))
end


function around.after(ctx, spec)
  measure_plain(ctx, spec, layout.workload.after, around.runs_after(ctx))
end


return around
