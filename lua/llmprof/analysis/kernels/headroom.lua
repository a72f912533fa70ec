-- What each kernel could give back at most: its time less the least time that
-- its operations and bytes take on this GPU.
--
-- kernel.floor_ns and kernel.headroom_ns are for all calls together, as
-- kernel.total_ns. The floor of a launch is max(FLOP / peak, DRAM bytes /
-- bandwidth), of each shape from ncu; launches of shapes that were not measured have a floor
-- of 0, and a kernel with such launches has an upper bound for headroom.
local json = require "llmprof.json"

local headroom = {}

-- Shapes that make up less than the rest of a kernel's calls may go unmeasured.
local ALL = 0.999


local function per_s(peak)
  return peak and peak.per_s
end


-- Seconds of one launch; nil when what it did, or what the GPU can do, is not
-- known.
local function launch_floor(counters, gpu)
  local bytes, bandwidth = counters.dram_bytes_per_launch, per_s(gpu.memory)
  if not (bytes and bandwidth) then return nil end
  local floor = bytes / bandwidth
  local tensor, vector = counters.tensor_flop_per_launch, counters.fp32_flop_per_launch
  local tensor_peak, vector_peak = per_s(gpu.peaks[counters.tensor_format]),
    per_s(gpu.peaks.fp32)
  if tensor and tensor_peak then floor = math.max(floor, tensor / tensor_peak) end
  if vector and vector_peak then floor = math.max(floor, vector / vector_peak) end
  return floor
end


-- Floor of all calls in ns and how sure it is.
local function kernel_floor(kernel, gpu)
  local counters = kernel.counters
  if not counters then return nil, "upper bound: no counters" end
  if counters.match == "stage" then
    return nil, "upper bound: measured in another stage"
  elseif counters.match ~= "exact" then
    return nil, "upper bound: measured with other shapes"
  end
  local floor = 0
  for _, shape in ipairs(counters.shapes) do
    local seconds = launch_floor(shape, gpu)
    if not seconds then return nil, "upper bound: bytes or bandwidth are not known" end
    floor = floor + seconds * 1e9 * shape.calls
  end
  local share = counters.measured_calls / kernel.calls
  return floor, share >= ALL and "measured"
    or ("upper bound: counters for %d of %d calls"):format(counters.measured_calls, kernel.calls)
end


local function add(kernel, gpu)
  local floor, kind = kernel_floor(kernel, gpu)
  kernel.floor_ns, kernel.headroom_kind = floor, kind
  if floor and floor > kernel.total_ns then
    kernel.headroom_kind = ("contradiction: by its counters it takes %.0f ns at least, the "
      .. "timeline has %.0f ns"):format(floor, kernel.total_ns)
    return
  end
  kernel.headroom_ns = kernel.total_ns - (floor or 0)
end


local function row_of(kernel, stage)
  local instances = stage and stage.wall and stage.wall.count or 1
  local per_instance = kernel.headroom_ns / instances
  local steps = stage and stage.steps
  return { kernel = kernel.id, stage = kernel.stage, part = kernel.part,
    kind = kernel.headroom_kind, headroom_ns = kernel.headroom_ns,
    per_instance_ns = per_instance,
    per_token_ns = steps and steps > 0 and per_instance / steps or nil,
    stage_share = stage and stage.gpu_time_ns and stage.gpu_time_ns > 0
      and per_instance / stage.gpu_time_ns or nil }
end


local function ranked(left, right)
  if left.per_instance_ns ~= right.per_instance_ns then
    return left.per_instance_ns > right.per_instance_ns
  end
  return left.kernel < right.kernel
end


-- Give each kernel its floor and headroom; results.headroom ranks them by what
-- one instance of their stage could get back. While the GPU waits for the CPU,
-- faster kernels only make it wait longer: stage.bound says where.
function headroom.add(results, kernels)
  local stages, list = {}, json.list {}
  for _, stage in ipairs(results.stages) do stages[stage.name] = stage end
  for _, kernel in ipairs(kernels) do
    add(kernel, results.hardware)
    if kernel.headroom_ns then list[#list + 1] = row_of(kernel, stages[kernel.stage]) end
  end
  table.sort(list, ranked)
  results.headroom = list
end


return headroom
