-- What hardware samples say of each stage: how busy the GPU's units were, and the bytes
-- that went over the bus of its memory, measured over time and without replay.
--
-- Samples are percents over intervals, so a sample that a stage has a part of counts for
-- that part. Bytes are the share of the bus times its theoretical bandwidth. A stage that
-- samples cover for less than COVERED of its time gets nothing; of others bytes are
-- scaled to all of it.
local statistics = require "llmprof.statistics"
local efficiency = require "llmprof.analysis.stages.efficiency"
local errors = require "llmprof.process.errors"
local lists = require "llmprof.tables.lists"

local sampled = { where = { "trace" },
  reads = { "ranks", "found", "stages", "kernels", "hardware", "overhead", "repeats" },
  gives = { ["stages.sampled"] = "what samples of the hardware say of a stage" } }

local COVERED = 0.9

local NAMES = { "gpu", "sm", "tensor", "dram_read", "dram_write" }


-- ---- samples ----

-- Of each GPU: starts and ends of its samples, and lists of values by name.
local function by_device(frame, devices)
  local list = {}
  for _, device in ipairs(devices) do
    local rows = errors.check(frame:where { device = device.id })
    if #rows > 0 then
      local made = { bandwidth = device.bandwidth, starts = rows:values "start",
        ends = rows:values "end", values = {} }
      for _, name in ipairs(NAMES) do made.values[name] = rows:values(name) end
      list[#list + 1] = made
    end
  end
  return list
end


-- What samples of a GPU say of instances, by name: { amount, covered }, in percent ns and ns.
local function sums_of(gpu, instances)
  local sums, starts, ends = {}, gpu.starts, gpu.ends
  for _, name in ipairs(NAMES) do sums[name] = { amount = 0, covered = 0 } end
  for _, instance in ipairs(instances) do
    local start, stop = instance.start, instance.stop
    for i = statistics.first_above(ends, start), statistics.first_above(starts, stop - 1) - 1 do
      local length = math.min(ends[i], stop) - math.max(starts[i], start)
      for name, values in pairs(gpu.values) do
        local sum, value = sums[name], values[i]
        if value then
          sum.amount, sum.covered = sum.amount + value * length, sum.covered + length
        end
      end
    end
  end
  return sums
end


-- ---- a stage ----

-- How much of the instances samples cover, on these GPUs: of one value.
local function covered_by(gpus, name)
  return lists.sum(gpus, function(gpu) return gpu.sums[name].covered end)
end


-- Mean share of one value over the instances on these GPUs, where samples cover them for `length`.
local function share(gpus, name, length)
  local covered = covered_by(gpus, name)
  if covered == 0 or covered < COVERED * length * #gpus then return nil end
  return lists.sum(gpus, function(gpu) return gpu.sums[name].amount end) / covered / 100
end


-- Bytes of one instance on all GPUs; nil where a bandwidth is not known.
local function bytes_of(gpus, name, count, length)
  local total = 0
  for _, gpu in ipairs(gpus) do
    local mean = share({ gpu }, name, length)
    if not mean or not gpu.bandwidth then return nil end
    total = total + mean * gpu.bandwidth * length / 1e9
  end
  return total / count
end


-- Shares of the stage's own time, plain where that is known: what the units did does not
-- get less when a profiler makes the stage longer.
local function add_quantities(made, results, stage, length)
  local time_ns = efficiency.time_of(results, stage)
  local gpu = results.hardware
  local known = { time_s = time_ns and time_ns / 1e9,
    sampled_bytes = made.dram_read_bytes and made.dram_write_bytes
      and made.dram_read_bytes + made.dram_write_bytes,
    tensor_s = made.tensor and made.tensor * length / 1e9,
    bandwidth_byte_per_s = gpu and gpu.memory and gpu.memory.per_s * gpu.count }
  made.mbu = efficiency.quantity("mbu_sampled", known)
  made.hfu = efficiency.quantity("hfu_sampled", known)
end


local function record(results, stage, instances, given)
  local length = lists.sum(instances, function(one) return one.stop - one.start end)
  if length == 0 then return nil end
  local gpus, made = lists.map(given.gpus, function(gpu)
    return { bandwidth = gpu.bandwidth, sums = sums_of(gpu, instances) }
  end), {}
  for _, name in ipairs { "gpu", "sm", "tensor" } do made[name] = share(gpus, name, length) end
  made.dram_read_bytes = bytes_of(gpus, "dram_read", #instances, length)
  made.dram_write_bytes = bytes_of(gpus, "dram_write", #instances, length)
  if not next(made) then return nil end
  local _, covered = lists.largest(NAMES, function(name) return covered_by(gpus, name) end)
  made.covered = covered / (length * #gpus)
  local bytes, counted = efficiency.counted(stage, given.kernels, "dram_bytes_per_launch")
  if counted > 0 then made.counted_bytes, made.counted_share = bytes, counted end
  add_quantities(made, results, stage, length / #instances)
  return made
end


-- Gives stages what samples of the trace say of them: stage.sampled. kernels: the list
-- with counters.
function sampled.add(results, trace, found, kernels)
  local frame = errors.check(trace:frame "samples")
  if #frame == 0 then return end
  local given = { gpus = by_device(frame, trace:devices()), kernels = kernels }
  for _, stage in ipairs(#given.gpus > 0 and results.stages or {}) do
    local used = lists.filtered(found.instances, function(instance)
      return instance.used and instance.stage == stage.name
    end)
    stage.sampled = record(results, stage, used, given)
  end
end


function sampled.run(state) sampled.add(state, state.trace, state.found, state.kernels or {}) end


return sampled
