-- Counters joined to the timeline: which measured launches stand for which
-- kernel, and what they say about it.
--
-- The two tools spell a kernel differently (nsys keeps namespaces and casts of
-- template arguments that ncu drops), so names meet in a plain form: without
-- qualifiers, casts and spaces. Launches are taken in this
-- order of preference, which is the match's confidence:
--   exact   same stage and plain name, and grid and block that the timeline has
--   stage   the same, but launched in another stage: ncu counts the launches of
--           a configuration over all stages, so the first stage has them
--   name    same stage and plain name, another launch shape
-- Whole ranges stand for no kernel: llmprof.analysis.ranges has them.
-- Times always come from the timeline; of counters only ratios, bytes and
-- operations are used.
local bound = require "llmprof.nvidia.ncu.bound"
local ncu = require "llmprof.nvidia.ncu"
local ranges = require "llmprof.analysis.ranges"
local stages = require "llmprof.analysis.stages"

local counters = {}


-- "void at::native::f<(int)4, at::A>(T1)" -> "voidf<4,A>(T1)"
local function plain(name)
  name = name:gsub("%(unsigned %l+%)", ""):gsub("%(%l+ %l+%)", ""):gsub("%(%l+%)", "")
  name = name:gsub("<unnamed>::", ""):gsub("%f[%w_][%w_]+::", "")
  return (name:gsub("%s+", ""))
end

counters.plain = plain


-- One that an export does not say is 0, which no launch has.
local function shape_key(grid, block)
  grid, block = grid or {}, block or {}
  return ("%d,%d,%d/%d,%d,%d"):format(grid[1] or grid.x or 0, grid[2] or grid.y or 0,
    grid[3] or grid.z or 0, block[1] or block.x or 0, block[2] or block.y or 0,
    block[3] or block.z or 0)
end


counters.shape_key = shape_key


-- A function that gives the stage of a launch: the outermost of its ranges that
-- is a declared one. Without NVTX columns the file cannot say, and it gives nil.
local function stage_finder(found)
  local tops = {}
  for _, stage in ipairs(found.declared) do
    if not stage.parent then tops[stage.name] = true end
  end
  return function(launch)
    if found.whole then return stages.WHOLE_RUN end
    for _, range in ipairs(launch.stages or {}) do
      local tag = ranges.tag(range)
      if tops[tag] then return tag end
    end
    return nil
  end
end


counters.stage_finder = stage_finder


-- Those that are launches of a kernel.
local function of_kernels(launches)
  local list = {}
  for _, launch in ipairs(launches) do
    if not launch.whole_range then list[#list + 1] = launch end
  end
  return list
end


-- Launches by their kernel's plain name; one without a name stands for none.
local function by_name(launches, stage_of)
  local index = {}
  for _, launch in ipairs(launches) do
    local name = launch.kernel and plain(launch.kernel)
    if name then
      index[name] = index[name] or {}
      table.insert(index[name], { launch = launch, stage = stage_of(launch),
        shape = shape_key(launch.grid, launch.block) })
    end
  end
  return index
end


-- ---- what the launches of a kernel say together ----

local function add(sums, key, value, weight)
  if value == nil then return end
  sums[key] = (sums[key] or 0) + value * weight
  sums[key .. "_weight"] = (sums[key .. "_weight"] or 0) + weight
end


local function weighted(sums, key)
  local weight = sums[key .. "_weight"]
  return weight and weight > 0 and sums[key] / weight or nil
end


-- What each of ncu's block limits stands for.
local LIMITS = { { "registers", "registers" }, { "shared_mem", "shared memory" },
  { "warps", "the block's size" }, { "blocks", "blocks per SM" }, { "barriers", "barriers" } }

-- What keeps a launch from having more warps on an SM: a grid of less than one
-- wave, else the smallest limit. nil when it was not measured.
local function limiter_of(launch)
  if launch.waves and launch.waves < bound.FULL_WAVE then return "the grid's size" end
  local limits, least, name = launch.occupancy.limits or {}, math.huge, nil
  for _, limit in ipairs(LIMITS) do
    local blocks = limits[limit[1]]
    if blocks and blocks < least then least, name = blocks, limit[2] end
  end
  return name
end


-- The number format that most tensor operations of the launches are in.
local function tensor_format(launches)
  local best, most = nil, 0
  for _, launch in ipairs(launches) do
    for format, operations in pairs(launch.tensor) do
      if operations > most or (operations == most and operations > 0 and format < best) then
        best, most = format, operations
      end
    end
  end
  return best
end


-- Percentages are means weighted by measured time; operations and bytes are
-- sums, so that intensity is that of the launches together.
local function summarize(launches)
  local sums = {}
  for _, launch in ipairs(launches) do
    local time = launch.duration or 1
    add(sums, "sm", launch.throughput.sm, time)
    add(sums, "dram", launch.throughput.dram, time)
    add(sums, "memory", launch.throughput.memory, time)
    add(sums, "tensor_pipe", launch.throughput.tensor, time)
    add(sums, "occupancy", launch.occupancy.achieved, time)
    add(sums, "waves", launch.waves, time)
    add(sums, "flop", launch.flop.total, 1)
    add(sums, "tensor_flop", launch.flop.tensor, 1)
    add(sums, "fp32_flop", launch.flop.fp32, 1)
    add(sums, "bytes", launch.bytes.dram, 1)
    add(sums, "l2_bytes", launch.bytes.l2, 1)
    add(sums, "duration", launch.duration, 1)
  end
  local n = #launches
  local function per_launch(key)
    return sums[key .. "_weight"] == n and sums[key] / n or nil
  end
  local all_flop, all_bytes = sums.flop_weight == n, sums.bytes_weight == n
  return {
    launches = n,
    sm_percent = weighted(sums, "sm"),
    dram_percent = weighted(sums, "dram"),
    memory_percent = weighted(sums, "memory"),
    tensor_percent = weighted(sums, "tensor_pipe"),
    occupancy_percent = weighted(sums, "occupancy"),
    waves = weighted(sums, "waves"),
    occupancy_limiter = limiter_of(launches[1]),
    flop_per_launch = per_launch "flop",
    tensor_flop_per_launch = per_launch "tensor_flop",
    tensor_format = tensor_format(launches),
    fp32_flop_per_launch = per_launch "fp32_flop",
    dram_bytes_per_launch = per_launch "bytes",
    l2_bytes_per_launch = per_launch "l2_bytes",
    measured_ns = sums.duration_weight == n and sums.duration / n * 1e9 or nil,
    intensity = all_flop and all_bytes and sums.bytes > 0 and sums.flop / sums.bytes or nil,
  }
end


-- ---- the join ----

local function choose(candidates, stage, shapes)
  local exact, elsewhere, named = {}, {}, {}
  for _, candidate in ipairs(candidates) do
    local here = candidate.stage == nil or candidate.stage == stage
    if shapes[candidate.shape] then
      table.insert(here and exact or elsewhere, candidate)
    elseif here then
      named[#named + 1] = candidate
    end
  end
  if #exact > 0 then return exact, "exact" end
  if #elsewhere > 0 then return elsewhere, "stage" end
  if #named > 0 then return named, "name" end
  return nil
end


-- The kernel's calls whose launch shapes were measured, and their time in ns.
local function measured_calls(kernel, chosen)
  local seen, time, calls = {}, 0, 0
  for _, candidate in ipairs(chosen) do seen[candidate.shape] = true end
  for _, shape in ipairs(kernel.shapes) do
    if seen[shape_key(shape.grid, shape.block)] then
      time, calls = time + shape.total_ns, calls + shape.calls
    end
  end
  return calls, time
end


-- ncu.bound over the averaged percentages.
local function bound_of(summary)
  return ncu.bound {
    throughput = { sm = summary.sm_percent, memory = summary.memory_percent,
      dram = summary.dram_percent, tensor = summary.tensor_percent },
    occupancy = {}, waves = summary.waves,
  }
end


-- Give each kernel of the list its `counters`, as far as launches were measured.
-- Returns { launches, matched (launches), kernels (with counters), time_share
-- (of all GPU time, the share whose kernels have counters), ranges (those of
-- llmprof.analysis.ranges; nil without) }. results: of llmprof.ncu.
function counters.join(list, results, found)
  local stage_of, launches = stage_finder(found), of_kernels(results)
  local index, matched, with = by_name(launches, stage_of), {}, 0
  local time, all = 0, 0
  for _, kernel in ipairs(list) do
    all = all + kernel.total_ns
    local shapes = {}
    for _, shape in ipairs(kernel.shapes) do shapes[shape_key(shape.grid, shape.block)] = true end
    local chosen, confidence = choose(index[plain(kernel.name)] or {}, kernel.stage, shapes)
    if chosen then
      local measured = {}
      for i, candidate in ipairs(chosen) do
        measured[i] = candidate.launch
        matched[candidate.launch] = true
      end
      kernel.counters = summarize(measured)
      kernel.counters.match = confidence
      kernel.counters.measured_in = confidence == "stage" and chosen[1].stage or nil
      if confidence ~= "name" then
        local calls, ns = measured_calls(kernel, chosen)
        kernel.counters.measured_calls = calls
        kernel.counters.timeline_ns = calls > 0 and ns / calls or nil
        kernel.counters.shape_share = kernel.total_ns > 0 and ns / kernel.total_ns or nil
      end
      kernel.counters.bound, kernel.counters.bound_reason = bound_of(kernel.counters)
      with, time = with + 1, time + kernel.total_ns
    end
  end
  local count = 0
  for _ in pairs(matched) do count = count + 1 end
  local whole = ranges.list(results, stage_of)
  return { launches = #launches, matched = count, kernels = with,
    time_share = all > 0 and time / all or nil, ranges = #whole > 0 and whole or nil }
end


return counters
