-- What hardware samples say of each stage: how busy the GPU's units were, and the bytes
-- that went over the bus of its memory, measured over time and without replay.
--
-- Samples are percents over intervals, so a sample that a stage has a part of counts for
-- that part. Bytes are the share of the bus times its theoretical bandwidth. A stage that
-- samples cover for less than COVERED of its time gets nothing; of others bytes are
-- scaled to all of it.
local efficiency = require "llmprof.analysis.stages.efficiency"
local errors = require "llmprof.process.errors"
local frame = require "llmprof.frame"
local lists = require "llmprof.tables.lists"
local spans = require "llmprof.spans"

local sampled = { where = { "trace" },
  reads = { "ranks", "found", "stages", "kernels", "hardware", "overhead", "repeats" },
  gives = { ["stages.sampled"] = "what samples of the hardware say of a stage" } }

local COVERED = 0.9

local NAMES = { "gpu", "sm", "tensor", "dram_read", "dram_write" }


-- ---- samples ----

-- When any of some instances ran, as intervals.
local function time_of(instances)
  return frame.new(#instances, {
    { name = "start", type = "integer", values = lists.map(instances, "start") },
    { name = "end", type = "integer", values = lists.map(instances, "stop") } }):union()
end


-- What samples of a GPU say of a time, by name: { amount, covered }, in percent ns and ns.
local function sums_of(gpu, time)
  local view = errors.check(gpu.samples:where {})
  spans.cover(view, { start = "start", ["end"] = "end" }, { time }, "inside")
  local amounts, covered = view:weigh(NAMES, "inside")
  local sums = {}
  for i, name in ipairs(NAMES) do sums[name] = { amount = amounts[i], covered = covered[i] } end
  return sums
end


-- ---- a stage ----

-- How much of the instances samples cover, on these GPUs: of one value.
local function covered_by(gpus, name)
  return lists.sum(gpus, function(gpu) return gpu.sums[name].covered end)
end


-- Mean share of one value over the instances on these GPUs, where samples cover all of this time.
local function share(gpus, name, time)
  local covered = covered_by(gpus, name)
  if covered == 0 or covered < COVERED * time:covered() * #gpus then return nil end
  return lists.sum(gpus, function(gpu) return gpu.sums[name].amount end) / covered / 100
end


-- Bytes of one instance, of this length, on all GPUs; nil where a bandwidth is not known.
local function bytes_of(gpus, name, time, length)
  local total = 0
  for _, gpu in ipairs(gpus) do
    local mean = share({ gpu }, name, time)
    if not mean or not gpu.bandwidth then return nil end
    total = total + mean * gpu.bandwidth * length / 1e9
  end
  return total
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
  local time = time_of(instances)
  if time:covered() == 0 then return nil end
  local length = lists.sum(instances, function(one) return one.stop - one.start end) / #instances
  local gpus, made = lists.map(given.gpus, function(gpu)
    return { bandwidth = gpu.bandwidth, sums = sums_of(gpu, time) }
  end), {}
  for _, name in ipairs { "gpu", "sm", "tensor" } do made[name] = share(gpus, name, time) end
  made.dram_read_bytes = bytes_of(gpus, "dram_read", time, length)
  made.dram_write_bytes = bytes_of(gpus, "dram_write", time, length)
  if not next(made) then return nil end
  local _, covered = lists.largest(NAMES, function(name) return covered_by(gpus, name) end)
  made.covered = covered / (time:covered() * #gpus)
  local bytes, counted = efficiency.counted(stage, given.kernels, "dram_bytes_per_launch")
  if counted > 0 then made.counted_bytes, made.counted_share = bytes, counted end
  add_quantities(made, results, stage, length)
  return made
end


-- Gives stages what samples of the trace say of them: stage.sampled. kernels: the list
-- with counters.
function sampled.add(results, trace, found, kernels)
  local samples = errors.check(trace:frame "samples")
  local given = { kernels = kernels, gpus = lists.map(trace:devices(), function(device)
    local own = errors.check(samples:where { device = device.id })
    return #own > 0 and { bandwidth = device.bandwidth, samples = own } or nil
  end) }
  for _, stage in ipairs(#given.gpus > 0 and results.stages or {}) do
    local used = lists.filtered(found.instances, function(instance)
      return instance.used and instance.stage == stage.name
    end)
    stage.sampled = record(results, stage, used, given)
  end
end


function sampled.run(state) sampled.add(state, state.trace, state.found, state.kernels or {}) end


return sampled
