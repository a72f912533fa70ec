-- What each kernel could give back at most: its time less the least time that
-- its operations and bytes take on this GPU.
--
-- kernel.floor_ns and kernel.headroom_ns are for all calls together, as
-- kernel.total_ns. The floor of a launch is max(FLOP / peak, DRAM bytes /
-- bandwidth), of each shape from ncu; launches of shapes that were not measured have a floor
-- of 0, and a kernel with such launches has an upper bound for headroom.
local categories = require "llmprof.analysis.kernels.categories"
local json = require "llmprof.json"
local quantisation = require "llmprof.model.quantisation"
local lists = require "llmprof.tables.lists"
local range_name = require "llmprof.trace.nvtx_names"

local limits = { where = { "trace" },
  reads = { "stages", "stages.cost", "kernels", "hardware", "metrics", "workload" },
  gives = { headroom = "what kernels could give back at most",
    roofline = "roofs of the GPU, points of kernels and stages" } }


-- ---- tiles ----

-- Matrix products that fill tiles: a product of one token with a matrix is done in
-- tiles of 8 to 64 tokens, and the tensor cores count all of them. Such a kernel's
-- FLOP, and its intensity, are those of its tiles.
--
-- Each byte of a matrix that comes from L2 serves one pass: 2 FLOP for every token
-- of the pass and every number in it. A product that issues PADDED times as many
-- FLOP per byte fills the rest of its tiles with nothing. Parts of a stage have the tokens
-- of their own description, experts those that are routed to each. Bytes are read more than
-- once, so that tiles are filled at least this many times over.

-- Several tokens of a prefill, and numbers of fewer bits than are multiplied, are not
-- known kernel by kernel: less than this says nothing.
local PADDED = 4


-- FLOP that each byte of the weights of a described stage serves, at most: of its own products, and
-- of its experts by themselves, each of which has a part of the tokens. nil where it has none.
local function described(stage)
  local function most(pattern)
    return select(2, lists.largest(stage.cost and stage.cost.parts or {}, function(part)
      local encoder, name = part.name:match "^(.-): (.*)$"
      local own = stage.parent or not encoder or encoder == "decoder"
      return own and (name or part.name):find(pattern) and part.flops > 0
        and part.weight_bytes > 0 and part.flops / part.weight_bytes or nil
    end))
  end
  return most "", most "^experts$"
end


-- How many times as many FLOP per byte of L2 as the tokens can need; nil where that
-- is not known or not much.
local function padding_of(kernel, needs)
  local counted = kernel.counters
  if not needs or not counted then return nil end
  local bytes, flop = counted.l2_bytes_per_launch, counted.tensor_flop_per_launch
  local width = counted.tensor_format and quantisation.bytes(counted.tensor_format)
  if not (bytes and flop and width) or bytes <= 0 then return nil end
  local most = kernel.category == "moe" and needs.experts -- FLOP per byte
    or kernel.category == "gemm" and (needs.product or needs.tokens and 2 * needs.tokens / width)
  local times = most and flop / bytes / most
  return times and times >= PADDED and times or nil
end


-- Give the counters of kernels that fill tiles their `padding`. stages, kernels: of
-- results; run: what the run did { batch, prompt_tokens }, or nil.
function limits.add_padding(stages, kernels, run)
  local needs = {}
  for _, stage in ipairs(stages) do
    local role, batch = range_name.role(stage.name), not stage.parent and run and run.batch
    local product, experts = described(stage)
    -- tokens that one pass has at most: one of each sequence, or those of the prompts
    local tokens = batch and (role == "decode" and batch
      or role == "prefill" and run.prompt_tokens and batch * run.prompt_tokens) or nil
    needs[stage.name] = { product = product, experts = experts, tokens = tokens }
  end
  for _, kernel in ipairs(kernels) do
    local times = padding_of(kernel, needs[kernel.part or kernel.stage])
    if times then kernel.counters.padding = times end
  end
end


-- ---- headroom ----

-- Shapes that make up less than the rest of a kernel's calls may go unmeasured.
local ALL = 0.999


local function per_s(peak) return peak and peak.per_s end


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


-- Give each kernel its floor and headroom; results.headroom ranks them by what
-- one instance of their stage could get back. While the GPU waits for the CPU,
-- faster kernels only make it wait longer: stage.bound says where.
function limits.add(results, kernels)
  local list = json.list(lists.map(kernels, function(kernel)
    add(kernel, results.hardware)
    return kernel.headroom_ns and row_of(kernel, lists.find(results.stages, "name", kernel.stage))
      or nil
  end))
  results.headroom = lists.sort(list, "-per_instance_ns", "kernel")
end


-- ---- the roofline ----

-- The roofline's data: roofs of the GPU, a point per measured kernel and per
-- stage with a cost. Renderers draw it; nothing is rounded here.
--
-- Roofs: tensor and vector in FLOP/s, dram and l2 in byte/s, each { per_s,
-- source }, absent when not known. A point: intensity (FLOP per byte of DRAM,
-- of L2 as l2_intensity), rate (FLOP/s), dram_rate (byte/s), share (of the GPU time),
-- bound: "memory" left of where its roof and that of the DRAM meet, else "compute".
-- A stage's point is that of the model's work, a kernel's of what it issued; of one
-- whose FLOP were not measured only dram_rate says how near it is to the DRAM's roof.

local function ratio(above, below) return above and below and below > 0 and above / below or nil end


local function bound_of(intensity, roof, memory)
  if not (intensity and roof and memory) then return nil end
  return intensity < roof.per_s / memory.per_s and "memory" or "compute"
end


-- The point of a measured kernel; nil when it was not measured with its shapes or did no floating
-- point operation, which a logarithmic axis has no place for.
local function kernel_point(kernel, gpu)
  local counters = kernel.counters
  if counters.match ~= "exact" or not counters.timeline_ns then return nil end
  local flop, bytes = counters.flop_per_launch, counters.dram_bytes_per_launch
  if flop == 0 or not (flop or bytes) then return nil end
  local point = { kernel = kernel.id, stage = kernel.stage, part = kernel.part,
    share = kernel.share, dram_rate = bytes and ratio(bytes * 1e9, counters.timeline_ns) }
  if flop then
    local tensor = (counters.tensor_flop_per_launch or 0) * 2 >= flop
    local roof = gpu.peaks[tensor and counters.tensor_format or "fp32"]
    point.intensity = ratio(flop, bytes)
    point.l2_intensity = ratio(flop, counters.l2_bytes_per_launch)
    point.rate = ratio(flop * 1e9, counters.timeline_ns)
    point.unit = tensor and "tensor" or "vector"
    point.bound = bound_of(point.intensity, roof, gpu.memory)
  elseif counters.bound == "DRAM" then
    point.bound = "memory"
  end
  return point
end


local function stage_point(stage, gpu)
  local made = stage.efficiency
  local intensity = made and made.intensity and made.intensity.value
  if not intensity or not made.time_ns then return nil end
  return { stage = stage.name, intensity = intensity,
    rate = stage.cost.flops / (made.time_ns / 1e9),
    bound = bound_of(intensity, gpu.peaks[gpu.format], gpu.memory) }
end


-- The ceilings of tensor cores for floats: list of { format, per_s }, the highest first, at the
-- clock that was held where that is known.
local function ceilings(gpu)
  local list = json.list {}
  for format, peak in pairs(gpu.peaks) do
    if not format:find "^int" and format ~= "fp32" and format ~= "fp64" then
      list[#list + 1] = { format = format, per_s = peak.at_held_clock_per_s or peak.per_s }
    end
  end
  return lists.sort(list, "-per_s", "format")
end


-- Why a measured kernel is no dot of the picture; nil where it is one.
local function why_left_out(kernel, point)
  local counters = kernel.counters
  if counters.match ~= "exact" then return "measured with other shapes or in another stage" end
  if counters.flop_per_launch == 0 then return "no floating point operation" end
  if not counters.flop_per_launch then return "FLOP were not measured" end
  if not counters.dram_bytes_per_launch then return "bytes of DRAM were not measured" end
  if not (point and point.intensity and point.rate) then
    return "no byte of DRAM, or no time on the timeline"
  end
  return nil
end


-- results.roofline; left_out counts measured kernels without a point, without_dot names those
-- without a dot: list of { why, kernels (ids) }.
function limits.add_roofline(results, kernels)
  local gpu = results.hardware
  if not gpu then return end
  local drawn, without, by_why, left_out = json.list {}, json.list {}, {}, 0
  for _, kernel in ipairs(lists.filtered(kernels, "counters")) do
    local point = kernel_point(kernel, gpu)
    drawn[#drawn + 1], left_out = point, left_out + (point and 0 or 1)
    local why = why_left_out(kernel, point)
    if why then
      local one = lists.entry(without, by_why, why, { why = why, kernels = json.list {} })
      table.insert(one.kernels, kernel.id)
    end
  end
  results.roofline = {
    roofs = { tensor = gpu.peaks[gpu.format], tensor_format = gpu.format, tensors = ceilings(gpu),
      vector = gpu.peaks.fp32, dram = gpu.memory, l2 = gpu.l2 },
    kernels = drawn, left_out = left_out, without_dot = without,
    stages = json.list(lists.map(results.stages, function(stage)
      return stage_point(stage, gpu)
    end)),
  }
end


function limits.run(state)
  local kernels = state.kernels or {}
  -- one that communicates waits for other ranks, however busy its units are
  for _, kernel in ipairs(kernels) do
    if kernel.counters and kernel.category == categories.COMMUNICATION then
      kernel.counters.bound = "waiting"
    end
  end
  limits.add_padding(state.stages, kernels, state.metrics or state.workload)
  limits.add(state, kernels)
  limits.add_roofline(state, kernels)
end


return limits
