-- What the charts of the page draw: plain tables that become its JSON. Units are
-- those of the axes, so that the script only draws.
local overhead = require "llmprof.analysis.latency.overhead"
local json = require "llmprof.json"
local rows = require "llmprof.report.rows"

local charts = {}

-- Categories with a colour of their own; the rest are one, with the category that is
-- called so.
local CATEGORIES, REST = 8, "other"

-- Points of the roofline; the largest kernels come first.
local POINTS = 300

local FEWEST_BINS, MOST_BINS = 5, 40


-- ---- where each stage's time goes ----

-- The categories with the most time over all stages, largest first.
local function leading(stages)
  local totals, names = {}, {}
  for _, stage in ipairs(stages) do
    for _, row in ipairs(not stage.parent and stage.categories or {}) do
      if not totals[row.category] and row.category ~= REST then
        names[#names + 1] = row.category
      end
      totals[row.category] = (totals[row.category] or 0) + row.gpu_time_ns
    end
  end
  table.sort(names, function(a, b)
    if totals[a] ~= totals[b] then return totals[a] > totals[b] end
    return a < b
  end)
  return table.move(names, 1, math.min(#names, CATEGORIES), 1, {})
end


local function add(series, name, column, count, ns)
  local values = series[name]
  if not values then
    values = {}
    for i = 1, count do values[i] = 0 end
    series[name] = values
  end
  values[column] = values[column] + ns / 1e6
end


-- { stages, series = { { name, ms = one per stage } } }, or nil: one instance of
-- each stage, by category of kernel, what else the GPU did, and idle.
function charts.categories(results)
  local stages, known, series = {}, {}, {}
  for _, stage in ipairs(results.stages) do
    if stage.categories and stage.gpu_idle_ns then stages[#stages + 1] = stage end
  end
  if #stages == 0 then return nil end
  local order = leading(stages)
  for _, name in ipairs(order) do known[name] = true end
  local labels = {}
  for i, stage in ipairs(stages) do
    labels[i] = stage.name
    for _, row in ipairs(stage.categories) do
      add(series, known[row.category] and row.category or REST, i, #stages, row.gpu_time_ns)
    end
    add(series, "GPU idle", i, #stages, (overhead.idle_of(results, stage)))
  end
  order[#order + 1] = REST
  order[#order + 1] = "GPU idle"
  local list = {}
  for _, name in ipairs(order) do
    if series[name] then list[#list + 1] = { name = name, ms = json.list(series[name]) } end
  end
  return { stages = json.list(labels), series = json.list(list) }
end


-- ---- roofline ----

local function point(name, given)
  if not given.intensity or not given.rate or given.intensity <= 0 or given.rate <= 0 then
    return nil
  end
  local l2 = given.l2_intensity
  return { name = name, stage = given.stage, part = given.part, x = given.intensity,
    l2 = l2 and l2 > 0 and l2 or nil, y = given.rate / 1e12, unit = given.unit,
    share = given.share }
end


local function points(results, list, name_of)
  local made = {}
  for _, given in ipairs(list) do
    local shown = #made < POINTS and point(name_of(results, given), given)
    if shown then made[#made + 1] = shown end
  end
  return json.list(made)
end


local function kernel_name(results, given)
  return rows.label(results.kernels[given.kernel])
end


local function stage_name(_, given)
  return given.stage
end


-- { kernels, stages, roofs in TFLOP/s, dram and l2 in TB/s }, or nil where nothing
-- was measured. x is FLOP per byte of DRAM, l2 of L2, y TFLOP/s.
function charts.roofline(results)
  local given = results.roofline
  if not given then return nil end
  local roofs, shown = given.roofs, {}
  for _, key in ipairs { "tensor", "vector", "dram", "l2" } do
    shown[key] = roofs[key] and roofs[key].per_s / 1e12
  end
  local made = { kernels = points(results, given.kernels, kernel_name),
    stages = points(results, given.stages, stage_name), roofs = shown,
    tensor_format = roofs.tensor_format }
  return (#made.kernels > 0 or #made.stages > 0) and made or nil
end


-- ---- TPOT ----

local function extremes(values)
  local low, high = values[1], values[1]
  for _, value in ipairs(values) do low, high = math.min(low, value), math.max(high, value) end
  return low, high
end


-- { counts, edges in ms }, or nil with fewer than two values: bins of one width,
-- as many as the square root of the values.
function charts.tpot(results)
  local tpot = results.latency and results.latency.tpot
  local values = tpot and tpot.values_ns or {}
  if #values < 2 then return nil end
  local count = math.min(math.max(math.ceil(math.sqrt(#values)), FEWEST_BINS), MOST_BINS)
  local low, high = extremes(values)
  local width = (high - low) / count
  if width == 0 then count = 1 end
  local counts, edges = {}, {}
  for i = 1, count do counts[i], edges[i] = 0, (low + (i - 1) * width) / 1e6 end
  edges[count + 1] = high / 1e6
  for _, value in ipairs(values) do
    local bin = width == 0 and 1 or math.min(math.floor((value - low) / width) + 1, count)
    counts[bin] = counts[bin] + 1
  end
  return { counts = json.list(counts), edges = json.list(edges) }
end


return charts
