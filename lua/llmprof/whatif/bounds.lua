-- What holds each kernel up, DRAM or tensor cores, and how long it takes where these give more or
-- are asked for less. Counters say it, or, of the matmuls of a described model, the bytes and
-- FLOP of their stage.
local errors = require "llmprof.process.errors"
local join = require "llmprof.analysis.counters.join"
local lists = require "llmprof.tables.lists"
local quantisation = require "llmprof.model.quantisation"
local query = require "llmprof.query"
local rows = require "llmprof.ranks.rows"

local bounds = {}

-- What products are computed in where no name says it.
local USUAL = "bf16"


-- ---- what is known of a kernel ----

-- The format that the label of a matmul names, or the model's.
local function format_of(label, results)
  for word in (label or ""):gmatch "%w+" do
    if quantisation.bytes(word) then return word end
  end
  return results and results.hardware and results.hardware.format or USUAL
end


-- By stage: the parts of their matmuls' time that DRAM and tensor cores need at least, by the
-- model's description: { dram, tensor }.
local function described(source, limits)
  local made, results = {}, source.results
  for _, stage in ipairs(results and results.stages or {}) do
    local cost = not stage.parent and stage.cost
    local products = lists.find(stage.wall and stage.categories or {}, "category", "gemm")
    local own = products and products.gpu_time_ns / 1e9
    local peak = limits[results.hardware and results.hardware.format or USUAL]
    if cost and cost.weight_bytes and own and own > 0 and limits.dram then
      made[stage.name] = { dram = cost.weight_bytes / limits.dram / own,
        tensor = peak and cost.flops / peak / own or 0 }
    end
  end
  return made
end


local function share(percent) return percent and math.min(percent / 100, 1) or nil end


-- What counters are joined by.
local KEYS = { "name", "stage", "device", "part" }

-- Kernels of a part by stage and name: list of { rows (a frame), count, ns, category, format,
-- bound ("DRAM", "tensor", another unit, "latency"; nil: not known), dram, tensor (of their peaks,
-- as shares; nil: not known), limits (of its GPU, as of llmprof.model.hardware) }. Second: by what
-- that is known: { counters, shapes }.
function bounds.kernels(part)
  local source, list, known = part.source, {}, {}
  local frame, results = query.rows(source.kernels), source.results or nil
  local counted = rows.has(frame, "bound")
  local by = lists.joined({ "name", "category", "label", "stage", "device" },
    counted and { "part", "bound", "dram_percent", "tensor_percent" } or {})
  local limits_of, by_device = join.limits(source.trace:devices(), nil, results), {}
  for _, group in ipairs(errors.check(frame:group { by = by, sum = { "duration" } })) do
    local one = { count = group.count, ns = group.duration.total, category = group.category,
      format = format_of(group.label, results), bound = group.bound, stage = group.stage,
      limits = limits_of(group.device),
      dram = share(group.dram_percent), tensor = share(group.tensor_percent) }
    if one.bound == "unknown" then one.bound = nil end
    local id = group.device or -1
    by_device[id] = by_device[id] or described(source, one.limits)
    local shape = one.category == "gemm" and not one.bound and by_device[id][group.stage]
    if shape then
      local is_held = math.max(shape.dram, shape.tensor) >= join.BUSY
      one.bound = is_held and (shape.dram >= shape.tensor and "DRAM" or "tensor") or nil
      one.dram, one.tensor = shape.dram, shape.tensor
    end
    known.counters = known.counters or one.bound ~= nil and not shape
    known.shapes = known.shapes or (shape and true)
    local where = {}
    for _, name in ipairs(counted and KEYS or { "name", "stage", "device" }) do
      where[name] = group[name] or false
    end
    one.rows = errors.check(frame:where(where))
    list[#list + 1] = one
  end
  return list, known
end


-- ---- what they take then ----

-- By what a kernel's time is multiplied where DRAM serves it `dram` times and tensor cores
-- `tensor` times as fast: if most is gained, or least.
function bounds.factor(kernel, most, dram, tensor)
  local by_dram, by_tensor = (kernel.dram or 0) / dram, (kernel.tensor or 0) / tensor
  if kernel.bound == "DRAM" then return math.max(1 / dram, by_tensor) end
  if kernel.bound == "tensor" then return math.max(1 / tensor, by_dram) end
  if kernel.bound then return math.max(1, by_dram, by_tensor) end
  return (most and math.min or math.max)(1, 1 / dram, 1 / tensor)
end


-- Of whose time how much is held up by what, in words.
function bounds.words(list, known)
  local sums, all = { DRAM = 0, tensor = 0, other = 0, unknown = 0 }, 0
  for _, one in ipairs(list) do
    local key = not one.bound and "unknown" or sums[one.bound] and one.bound or "other"
    sums[key], all = sums[key] + one.ns, all + one.ns
  end
  if all == 0 then return nil end
  if not (known.counters or known.shapes) then
    return "nothing: there are no counters and no shapes that say what limits these kernels"
  end
  local function percent(key) return ("%.0f %%"):format(100 * sums[key] / all) end
  return ("%s: DRAM holds up %s of their time, tensor cores %s, neither %s; of %s it is not known")
    :format(known.counters and known.shapes and "counters and the model's shapes"
      or known.counters and "counters" or "the model's shapes", percent "DRAM",
      percent "tensor", percent "other", percent "unknown")
end


return bounds
