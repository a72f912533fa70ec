-- Kernels by stage: every distinct kernel of each stage in the used repeats,
-- with its times, its share of the GPU time there, and the launch shapes that
-- make it up.
local categories = require "llmprof.analysis.kernels.categories"
local errors = require "llmprof.process.errors"
local json = require "llmprof.json"
local labels = require "llmprof.analysis.kernels.labels"
local lists = require "llmprof.tables.lists"
local occupancy = require "llmprof.analysis.kernels.occupancy"
local rows = require "llmprof.ranks.rows"
local stages = require "llmprof.analysis.stages.find"
local tuple = require("llmprof.tables.keys").tuple

local kernels = {}

local UNNAMED = "(unnamed kernel)" -- the export does not have its string

-- Names that are listed, by the time of all stages; the others are summed up by what they
-- are. Tests change it.
kernels.LISTED = 10000


local function known(name) return name ~= "" and name or nil end


-- Which kernel of the list a row is of. A damaged file may have several short names for one.
local function key_of(row)
  return tuple(known(row.name), row.stage, row.part, known(row.short_name))
end


local SHAPE = { "grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z", "registers",
  "static_shared", "dynamic_shared" }

-- As far as recorded, distinct grid and block per kernel, by key_of: { grid, block, calls,
-- total_ns }. all: the kernels of the trace, of which the frame has some.
local function shapes_of(frame, all)
  local _, by_key = lists.grouped(frame:group { by = { "stage", "part", "name", "short_name",
    "shape" }, total = { "duration", "op" } }, key_of)
  for key, own in pairs(by_key) do
    by_key[key] = lists.sort(lists.map(own, function(row)
      local shape = occupancy.shape(rows.get(all, row.op.min + 1, SHAPE))
      if shape then shape.calls, shape.total_ns = row.count, row.duration.total end
      return shape
    end), "-total_ns", function(shape) return table.concat(shape.grid, ",") end)
  end
  return by_key
end


-- Shares within each stage, cumulated in the order of the list.
local function add_shares(list)
  local totals, sums, all, sum = {}, {}, 0, 0
  for _, kernel in ipairs(lists.joined(list, list.others or {})) do
    totals[kernel.stage] = (totals[kernel.stage] or 0) + kernel.total_ns
    all = all + kernel.total_ns
  end
  for _, kernel in ipairs(list) do
    local stage = kernel.stage
    sums[stage], sum = (sums[stage] or 0) + kernel.total_ns, sum + kernel.total_ns
    if totals[stage] > 0 then
      kernel.stage_share = kernel.total_ns / totals[stage]
      kernel.stage_cumulative = sums[stage] / totals[stage]
    end
    if all > 0 then kernel.share, kernel.cumulative = kernel.total_ns / all, sum / all end
  end
end


-- By demangled name: the mangled one. Functions of the same name in different
-- files (anonymous namespaces) have several; those are left out.
local function mangled_names(frame)
  local mangled, _, by_name = {}, lists.grouped(frame:group { by = { "name", "mangled_name" } },
    function(row) return known(row.name) or UNNAMED end)
  for name, own in pairs(by_name) do mangled[name] = not own[2] and known(own[1].mangled_name) end
  return mangled
end


-- Sorted by total time, each with its id, its label and its shares.
function kernels.rank(list)
  lists.sort(list, "-total_ns", "name", "stage", "part")
  -- a label for each name, by the largest; that of any more is the function's name
  local names = lists.map(lists.grouped(lists.first(list, kernels.LISTED), "name"),
    function(own) return own[1].name end)
  local made = labels.unique(names)
  for i, kernel in ipairs(list) do
    kernel.id, kernel.label = i, made[kernel.name] or kernel.short_name
  end
  add_shares(list)
  return list
end


-- ---- where there are many names ----

-- What kernels are, summed up by stage and category: list of { stage, part, category, names
-- (how many), calls, total_ns }.
local function summed(frame, rules)
  local classify = categories.classifier(rules)
  rows.extend(frame, { "name", "mangled_name" }, { { name = "category", type = "string",
    get = function(key) return classify(key.name or "", key.mangled_name) end } })
  local groups = frame:group { by = { "stage", "part", "category" }, total = { "duration" },
    distinct = { "name" } }
  local list = json.list(lists.map(groups, function(row)
    return { stage = row.stage or stages.WHOLE_RUN, part = row.part, category = row.category,
      names = row.distinct.name, calls = row.count, total_ns = row.duration.total }
  end))
  return lists.sort(list, "-total_ns", "stage", "part", "category")
end


-- The rows of the kernels that are listed, and what the others are; nil where all are.
local function divided(frame, rules)
  if #frame <= kernels.LISTED
    or #frame:group { by = { "name" }, columns = {} } <= kernels.LISTED then return frame end
  local sums = errors.check(frame:group { by = { "name" },
    columns = { { "time", "sum", "duration" } } })
  local largest = errors.check(sums:sort({ { "time", true }, { "name" } }, kernels.LISTED))
  local names = lists.add(largest:values "name", { false }) -- what has none is one of them
  local others = errors.check(frame:where { { "name", "~=", names } })
  return errors.check(frame:where { name = names }), summed(others, rules)
end


-- ---- together ----

-- The list, by total time, a kernel once for all GPUs (device: the one, devices: how
-- many, where there are several). mangled_name is nil where the export has none or a
-- name stands for several functions. Times in ns; share of the kernel time of all stages,
-- stage_share of that of its stage. `others` of the list is what is not in it, where there
-- are more names than LISTED. rules: the recipe's categories.
function kernels.list(trace, found, rules)
  local frame, others = divided(stages.used_kernels(trace, found), rules)
  local list = { others = others }
  local shapes = shapes_of(frame, errors.check(trace:frame "kernels"))
  local mangled = mangled_names(frame)
  for i, row in ipairs(frame:group { by = { "stage", "part", "name", "short_name" },
    sum = { "duration" }, total = { "device" }, distinct = { "device" } }) do
    local times, name, gpus = row.duration, known(row.name) or UNNAMED, row.distinct.device
    list[i] = {
      name = name, short_name = known(row.short_name) or name,
      mangled_name = mangled[name] or nil,
      stage = row.stage or stages.WHOLE_RUN, part = row.part,
      device = gpus == 1 and row.device.min or nil, devices = gpus > 1 and gpus or nil,
      calls = row.count, total_ns = times.total, mean_ns = times.mean,
      median_ns = times.median, min_ns = times.min, max_ns = times.max,
      std_ns = row.count > 1 and times.stddev or nil,
      shapes = shapes[key_of(row)] or {},
    }
  end
  return kernels.rank(list)
end


return kernels
