-- Small pictures of one scale side by side: the steps of each stage and rank in their
-- order, and the layers of a step. As blocks.
local blocks = require "llmprof.report.blocks"
local text = require "llmprof.text"
local tuple = require("llmprof.tables.keys").tuple

local small_multiples = {}

-- Bars of a panel: where there are more values, each is the mean of several; panels.
local BARS, PANELS = 120, 24


-- A few values as one: the means of their fields.
local function mean_of(list, first, last)
  local made, count = { whole = 0, work = 0, wait = 0 }, last - first + 1
  for i = first, last do
    for key in pairs(made) do made[key] = made[key] + list[i][key] / count end
  end
  return made
end


-- At most BARS bars of a list of values in their order.
local function bars_of(list)
  local made, size = {}, math.ceil(#list / BARS)
  for first = 1, #list, size do
    made[#made + 1] = mean_of(list, first, math.min(first + size - 1, #list))
  end
  return made
end


-- A panel of values, each { whole, work, wait } in ns, the last two 0 where they are not
-- known of all, and split is false; one: what a value is.
local function panel(title, list, one)
  local least, most, split = math.huge, 0, true
  for _, value in ipairs(list) do
    least, most = math.min(least, value.whole), math.max(most, value.whole)
    split = split and value.work ~= nil
  end
  for _, value in ipairs(split and {} or list) do value.work, value.wait = 0, 0 end
  return { title = title, bars = bars_of(list), count = #list, least = least, most = most,
    split = split,
    each = #list > BARS and ("each bar %d %ss"):format(math.ceil(#list / BARS), one) or nil }
end


-- nil where nobody knows how long the step took.
local function value_of(step)
  local whole = step.length_ns or step.start_ns and step.end_ns and step.end_ns - step.start_ns
  if not whole then return nil end
  if not step.busy_ns then return { whole = whole } end
  local busy = math.min(step.busy_ns, whole)
  local wait = math.min(step.waiting_ns or 0, busy)
  return { whole = whole, work = busy - wait, wait = wait }
end


-- Steps by stage and rank, in the order of their first.
local function groups_of(results)
  local list, by_key = {}, {}
  for _, step in ipairs(results.ranks and results.ranks.step_rows or {}) do
    local key, value = tuple(step.phase, step.rank), value_of(step)
    if value and not by_key[key] then
      by_key[key] = { phase = step.phase or "", rank = step.rank, values = {}, place = #list }
      list[#list + 1] = by_key[key]
    end
    if value then table.insert(by_key[key].values, value) end
  end
  local first = {}
  for _, group in ipairs(list) do first[group.phase] = first[group.phase] or group.place end
  table.sort(list, function(a, b)
    if a.phase ~= b.phase then return first[a.phase] < first[b.phase] end
    return (a.rank or -1) < (b.rank or -1)
  end)
  return list
end


-- Steps of each stage and rank, one scale for a stage; nil without more than one of any.
function small_multiples.steps(results)
  local panels, ranks = {}, results.ranks and #results.ranks.ranks or 0
  for _, group in ipairs(groups_of(results)) do
    if #group.values > 1 and #panels < PANELS then
      local made = panel(ranks > 1 and ("%s, rank %d"):format(group.phase, group.rank)
        or group.phase, group.values, "step")
      made.scale = group.phase
      panels[#panels + 1] = made
    end
  end
  return #panels > 0 and blocks.multiples { what = "step", panels = panels,
    label = "Steps in their order: how long each took, and what the GPU did" } or nil
end


-- The layers of a decode step; nil without.
function small_multiples.layers(results)
  local values = {}
  for i, row in ipairs(results.layers and results.layers.rows or {}) do
    values[i] = { whole = row.mean_ns }
  end
  return #values > 1 and blocks.multiples { what = "layer", panels = { panel("decode", values,
    "layer") }, label = "Layers of a decode step in their order: how long each took" } or nil
end


-- ---- for every writer ----

local LEVELS = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" }

-- The longest value of the panels that share a scale.
function small_multiples.scale_of(block, made)
  local most = 0
  for _, other in ipairs(block.panels) do
    if other.scale == made.scale then most = math.max(most, other.most) end
  end
  return most
end


-- The bars of a panel as text.
function small_multiples.line(block, made)
  local values = {}
  for i, bar in ipairs(made.bars) do values[i] = bar.whole end
  return small_multiples.spark(values, 0, small_multiples.scale_of(block, made))
end


-- Values as blocks of eight heights, from `least` to `most`.
function small_multiples.spark(values, least, most)
  local out = {}
  for i, value in ipairs(values) do
    local level = most > least and math.ceil((value - least) / (most - least) * #LEVELS) or 1
    out[i] = LEVELS[math.max(1, math.min(level, #LEVELS))]
  end
  return table.concat(out)
end


-- "94 steps, 3.12 ms to 5.46 ms".
function small_multiples.extent(block, made)
  return ("%s %ss, %s to %s%s"):format(text.count(made.count), block.what,
    text.duration(made.least), text.duration(made.most), made.each and ", " .. made.each or "")
end


return small_multiples
