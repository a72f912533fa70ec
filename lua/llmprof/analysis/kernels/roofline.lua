-- The roofline's data: roofs of the GPU, a point per measured kernel and per
-- stage with a cost. Renderers draw it; nothing is rounded here.
--
-- Roofs: tensor and vector in FLOP/s, dram and l2 in byte/s, each { per_s,
-- source }, absent when not known. A point: intensity (FLOP per byte of DRAM,
-- of L2 as l2_intensity), rate (FLOP/s), share (of the GPU time), bound:
-- "memory" left of where its roof and that of the DRAM meet, else "compute".
-- A stage's point is that of the model's work, a kernel's of what it issued.
local json = require "llmprof.json"

local roofline = {}


local function ratio(above, below)
  return above and below and below > 0 and above / below or nil
end


local function bound_of(intensity, roof, memory)
  if not (intensity and roof and memory) then return nil end
  return intensity < roof.per_s / memory.per_s and "memory" or "compute"
end


-- The point of a kernel; nil when it was not measured or did no floating point
-- operation, which a logarithmic axis has no place for.
local function kernel_point(kernel, gpu)
  local counters = kernel.counters
  local flop = counters and counters.match == "exact" and counters.flop_per_launch
  if not flop or flop <= 0 or not counters.timeline_ns then return nil end
  local tensor = (counters.tensor_flop_per_launch or 0) * 2 >= flop
  local roof = gpu.peaks[tensor and counters.tensor_format or "fp32"]
  local intensity = ratio(flop, counters.dram_bytes_per_launch)
  return { kernel = kernel.id, stage = kernel.stage, part = kernel.part,
    intensity = intensity, l2_intensity = ratio(flop, counters.l2_bytes_per_launch),
    rate = ratio(flop * 1e9, counters.timeline_ns), unit = tensor and "tensor" or "vector",
    share = kernel.share, bound = bound_of(intensity, roof, gpu.memory) }
end


local function stage_point(stage, gpu)
  local made = stage.efficiency
  local intensity = made and made.intensity and made.intensity.value
  if not intensity or not made.time_ns then return nil end
  return { stage = stage.name, intensity = intensity,
    rate = stage.cost.flops / (made.time_ns / 1e9),
    bound = bound_of(intensity, gpu.peaks[gpu.format], gpu.memory) }
end


local function points(list, make, gpu)
  local made = json.list {}
  for _, item in ipairs(list) do made[#made + 1] = make(item, gpu) end
  return made
end


-- results.roofline; left_out counts measured kernels without a point.
function roofline.add(results, kernels)
  local gpu = results.hardware
  if not gpu then return end
  local measured = 0
  for _, kernel in ipairs(kernels) do measured = measured + (kernel.counters and 1 or 0) end
  local drawn = points(kernels, kernel_point, gpu)
  results.roofline = {
    roofs = { tensor = gpu.peaks[gpu.format], tensor_format = gpu.format,
      vector = gpu.peaks.fp32, dram = gpu.memory, l2 = gpu.l2 },
    kernels = drawn, left_out = measured - #drawn,
    stages = points(results.stages, stage_point, gpu),
  }
end


return roofline
