-- How collectives lie among the other kernels of a stage: one after the other with nothing between
-- them, or on streams of their own with nothing beside them.
local errors = require "llmprof.process.errors"
local statistics = require "llmprof.statistics"

local collectives = {}

local check = errors.check


-- Those that follow another of their name, with no other kernel between.
local function in_a_row(moved, computing)
  moved:beside { column = "start", other = computing, there = "start", before = true,
    name = "behind" }
  local made = { calls = #moved, in_row = 0 }
  for _, group in ipairs(moved:group { by = { "behind", "short_name" } }) do
    made.in_row = made.in_row + group.count - 1
  end
  for _, group in ipairs(moved:group { sum = { "duration" }, percentiles = { 50 } }) do
    made.p50_ns = group.duration.median
  end
  return made
end


-- Of those on streams on which nothing else runs: { ns, alone_ns (while nothing is computed),
-- calls, blocks (on the median) }; nil without. Sends and receives wait by themselves.
local function on_own_streams(moved, computing)
  local streams, own = {}, {}
  for _, group in ipairs(computing:group { by = { "stream" } }) do streams[group.stream] = true end
  for _, group in ipairs(moved:group { by = { "stream", "short_name" } }) do
    if not streams[group.stream] and not group.short_name:find "SendRecv" then
      own[#own + 1] = group.stream
    end
  end
  if #own == 0 then return nil end
  local there = check(moved:where { stream = own })
  local set, blocks = there:union(), there:values "grid_x"
  return { calls = #there, ns = set:covered(),
    alone_ns = set:covered() - set:overlap(computing:union()),
    blocks = #blocks > 0 and statistics.median(blocks) or nil }
end


-- Of the kernels of a stage, with is_collective, as means over its instances: { calls, in_row,
-- p50_ns, own (of on_own_streams, of the GPU that waits least in them) }; nil without collectives.
function collectives.of(kernels, instances)
  local made, gpus = nil, 0
  for _, gpu in ipairs(kernels:where { is_collective = 1 }:group { by = { "pid", "device" } }) do
    local all = check(kernels:where { pid = gpu.pid, device = gpu.device })
    local moved, computing = check(all:where { is_collective = 1 }), check(all:where {
      is_collective = 0 })
    local row, own = in_a_row(moved, computing), on_own_streams(moved, computing)
    gpus, made = gpus + 1, made or { calls = 0, in_row = 0, p50_ns = row.p50_ns }
    made.calls, made.in_row = made.calls + row.calls, made.in_row + row.in_row
    made.p50_ns = math.min(made.p50_ns, row.p50_ns)
    if own and not (made.own and made.own.alone_ns <= own.alone_ns) then made.own = own end
  end
  if not made then return nil end
  local each = instances / gpus
  made.calls, made.in_row = made.calls / instances, made.in_row / instances
  for _, key in ipairs { "calls", "ns", "alone_ns" } do
    if made.own then made.own[key] = made.own[key] / each end
  end
  return made
end


return collectives
