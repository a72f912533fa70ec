-- Kernels of two sides by stage: the same by name, and of the rest those that do
-- the same work under another name.
--
-- A kernel that is gone and one that is new are taken for one another when they
-- agree in enough of: the shape of their launches, the calls per step, the category,
-- and the kernels just before and after them in the stage's sequence (where the
-- traces are at hand). The best agreements are taken first.
local errors = require "llmprof.process.errors"
local metrics = require "llmprof.compare.metrics"
local stages = require "llmprof.analysis.stages.find"
local trace_file = require "llmprof.trace.file"
local keys = require "llmprof.tables.keys"
local lists = require "llmprof.tables.lists"
local verdict = require "llmprof.compare.verdict"

local kernels = {}


-- ---- the order of launches ----

-- The kernels of the last used instance of each stage, in their order.
local function kernels_of(trace, found, results)
  local frame = errors.check(trace:frame "kernels")
  stages.label(trace, frame, found)
  if not found.whole then
    local last, ranges = {}, {}
    for _, instance in ipairs(found.instances) do
      if instance.used and not instance.parent then last[instance.stage] = instance.range end
    end
    for _, stage in ipairs(results.stages) do ranges[#ranges + 1] = last[stage.name] end
    frame = frame:where { stage_range = ranges }
  end
  return frame:sort { { "start" } }
end


local function key_of(stage, part, name)
  return keys.tuple(stage or stages.WHOLE_RUN, part, name or "")
end


local function count(counts, key, neighbour, times)
  counts[key] = counts[key] or {}
  counts[key][neighbour] = (counts[key][neighbour] or 0) + times
end


-- places: key -> its values as one text, by which equals are told apart.
local function most_often(counts, places)
  local best
  for name, times in pairs(counts or {}) do
    local more = times - (best and counts[best] or 0)
    if more > 0 or (more == 0 and places[name] < places[best]) then best = name end
  end
  return best
end


-- Of the kernels of a side, by keys.tuple(stage, part, name): { previous, next }, the keys
-- of the kernels around it (absent at an end of the stage). Empty without a trace.
function kernels.neighbours(side)
  if not side.trace then return {} end
  local trace = trace_file.open(side.trace)
  local found = stages.find(trace, side.results.stages, side.results.repeats)
  local list = kernels_of(trace, found, side.results)
  local previous, following, around, places = {}, {}, {}, {}
  for _, kernel in ipairs(list:group { by = { "stage", "part", "name" } }) do
    local key = key_of(kernel.stage, kernel.part, kernel.name)
    around[key] = {}
    places[key] = ("%s/%s/%s"):format(kernel.stage or "", kernel.part or "", kernel.name or "")
  end
  for _, column in ipairs { "stage", "part", "name" } do
    list:lag { column = column, offset = -1, name = "next_" .. column }
  end
  for _, pair in ipairs(list:slice(1, #list - 1):group {
    by = { "stage", "part", "name", "next_stage", "next_part", "next_name" } }) do
    if pair.stage == pair.next_stage then
      local key = key_of(pair.stage, pair.part, pair.name)
      local next_key = key_of(pair.next_stage, pair.next_part, pair.next_name)
      count(previous, next_key, key, pair.count)
      count(following, key, next_key, pair.count)
    end
  end
  for key, entry in pairs(around) do
    entry.previous, entry.next = most_often(previous[key], places),
      most_often(following[key], places)
  end
  return around
end


-- Points of an agreement, and how many make two kernels one.
local POINTS = { shape = 2, calls = 1, category = 1, neighbour = 2 }
local ENOUGH = 4


-- ---- one side ----

-- By stage: { count (instances), steps (of one; 1 where it has none) }.
local function extents_of(results)
  local extents = {}
  for _, stage in ipairs(results.stages) do
    extents[stage.name] = stage.wall and { count = stage.wall.count,
      steps = stage.steps and stage.steps > 0 and stage.steps or 1 } or nil
  end
  return extents
end


local function add_shapes(entry, kernel, extent)
  for _, shape in ipairs(kernel.shapes or {}) do
    local text = ("%s/%s"):format(table.concat(shape.grid, ","), table.concat(shape.block, ","))
    entry.shapes[text] = (entry.shapes[text] or 0) + shape.calls / extent.count / extent.steps
  end
end


-- Kernels of a run by stage, part and name, several GPUs together: list of { key,
-- stage, part, name, label, category, calls and ns (per instance of the stage),
-- rate (calls per step), shapes (text -> calls per step) }.
local function gather(results)
  local extents, list, by_key = extents_of(results), {}, {}
  for _, kernel in ipairs(results.kernels) do
    local extent, key = extents[kernel.stage], keys.tuple(kernel.stage, kernel.part, kernel.name)
    if extent then
      local entry = lists.entry(list, by_key, key, { key = key, stage = kernel.stage,
        part = kernel.part, name = kernel.name, label = kernel.label or kernel.short_name,
        category = kernel.category, calls = 0, ns = 0, shapes = {} })
      entry.calls = entry.calls + kernel.calls / extent.count
      entry.ns = entry.ns + kernel.total_ns / extent.count
      entry.rate = entry.calls / extent.steps
      add_shapes(entry, kernel, extent)
    end
  end
  return list, by_key
end


-- The kernels that any run of a side has, as gather gives them, calls and ns being the
-- means of the runs; samples: the ns in each run, a process's group each.
local function gather_side(side, wanted)
  local list, by_key, runs = {}, {}, {}
  for i, run in ipairs(side.runs) do
    local own
    own, runs[i] = gather(run.results)
    for _, entry in ipairs(own) do
      if wanted[entry.stage] then lists.entry(list, by_key, entry.key, entry) end
    end
  end
  for _, entry in ipairs(list) do
    local samples, calls = {}, 0
    for i, run in ipairs(runs) do
      local found = run[entry.key]
      samples[i], calls = { found and found.ns or 0 }, calls + (found and found.calls or 0)
    end
    entry.samples, entry.ns, entry.calls = samples, verdict.mean(samples), calls / #runs
  end
  return list, by_key
end


-- ---- the same work under another name ----

-- Share of the calls that were launched in the same shapes.
local function shared_shapes(old, new)
  local shared = 0
  for text, calls in pairs(old.shapes) do
    shared = shared + math.min(calls, new.shapes[text] or 0)
  end
  local rate = math.max(old.rate, new.rate)
  return rate > 0 and shared / rate or 0
end


-- Points for two kernels of the same stage and part.
local function agreement(old, new, around)
  local points = POINTS.shape * shared_shapes(old, new)
    + (old.rate == new.rate and POINTS.calls or 0)
    + (old.category == new.category and POINTS.category or 0)
  local before, after = around.before[old.key], around.after[new.key]
  if not (before and after) then return points end
  return points + (before.previous == after.previous and POINTS.neighbour or 0)
    + (before.next == after.next and POINTS.neighbour or 0)
end


local function place_of(kernel)
  return ("%s/%s/%s"):format(kernel.stage, kernel.part or "", kernel.name)
end


local function candidates(gone, new, around)
  local list = {}
  for _, old in ipairs(gone) do
    for _, other in ipairs(new) do
      if old.stage == other.stage and old.part == other.part then
        local points = agreement(old, other, around)
        if points >= ENOUGH then
          list[#list + 1] = { old = old, new = other, points = points }
        end
      end
    end
  end
  table.sort(list, lists.by("-points", function(pair) return place_of(pair.old) end,
    function(pair) return place_of(pair.new) end))
  return list
end


-- By key of the kernel that is gone the new one; and by key of the new one, true.
local function match_renamed(gone, new, around)
  local renamed, taken = {}, {}
  for _, candidate in ipairs(candidates(gone, new, around)) do
    if not renamed[candidate.old.key] and not taken[candidate.new.key] then
      renamed[candidate.old.key], taken[candidate.new.key] = candidate.new, true
    end
  end
  return renamed, taken
end


local function row_of(status, old, new)
  local one, last = old or new, new or old
  return {
    status = status, name = last.name, label = last.label,
    was = status == "renamed" and old.name or nil, category = one.category,
    where = one.part and one.stage .. "/" .. one.part or one.stage,
    calls_before = old and old.calls, calls_after = new and new.calls,
    before_ns = old and old.ns, after_ns = new and new.ns,
    difference_ns = (new and new.ns or 0) - (old and old.ns or 0),
    old = old, new = new,
  }
end


-- Noise of a stage's kernels in ns, where each side has one run.
local function noise_of(stage, before, after)
  local noise = metrics.noise_of(metrics.parse(stage .. ".gpu_ms"), before, after)
  return noise and { before = noise.before * 1e6, after = noise.after * 1e6, df = noise.df,
    from = noise.from }
end


local judged_fields = { "low", "high", "p", "verdict", "noise" }

-- Whether the kernels that both sides have changed, all of them tested together.
local function add_verdicts(rows, before, after)
  local tested, rows_of, noise = {}, {}, {}
  for _, row in ipairs(rows) do
    if row.old and row.new then
      local stage = row.old.stage
      if noise[stage] == nil then noise[stage] = noise_of(stage, before, after) or false end
      local judged = verdict.judge(row.old.samples, row.new.samples,
        { better = "neither", noise = noise[stage] or nil, assumed = before.assumed })
      local why = metrics.incomparable(stage, before, after)
      if why then metrics.leave_open(judged, why) end
      tested[#tested + 1], rows_of[judged] = judged, row
    end
  end
  verdict.correct(tested)
  for _, judged in ipairs(tested) do
    local row = rows_of[judged]
    for _, field in ipairs(judged_fields) do row[field] = judged[field] end
    row.holm_p, row.verdict_why = judged.holm_p, judged.why
  end
  for _, row in ipairs(rows) do row.old, row.new = nil, nil end
end


local function without(list, other)
  return lists.filtered(list, function(entry) return not other[entry.key] end)
end


local function matched_rows(old, new, old_by_key, new_by_key, around)
  local gone, fresh = without(old, new_by_key), without(new, old_by_key)
  local renamed, taken = match_renamed(gone, fresh, around(gone, fresh))
  local rows = lists.map(old, function(entry)
    local match, same = renamed[entry.key], new_by_key[entry.key]
    return row_of(same and "same" or match and "renamed" or "gone", entry, same or match)
  end)
  return lists.add(rows, lists.map(fresh, function(entry)
    return not taken[entry.key] and row_of("new", nil, entry) or nil
  end))
end


-- Sides of llmprof.compare.side; wanted: the names of the stages to compare, a set.
-- Rows, the largest difference first: status ("same", "renamed", "new", "gone"), name, was (its
-- old name), where,
-- calls and ns of both sides per instance of the stage, difference_ns and share (of
-- all differences, without their signs). Where both sides have the kernel, verdict,
-- verdict_why, low and high (the interval of the difference in ns), p and holm_p: see
-- llmprof.compare.verdict.
function kernels.compare(before, after, wanted)
  local old, old_by_key = gather_side(before, wanted)
  local new, new_by_key = gather_side(after, wanted)
  local rows = matched_rows(old, new, old_by_key, new_by_key, function(gone, fresh)
    if #gone == 0 or #fresh == 0 then return { before = {}, after = {} } end
    return { before = kernels.neighbours(before), after = kernels.neighbours(after) }
  end)
  add_verdicts(rows, before, after)
  return verdict.by_change(rows, "where", "name")
end


return kernels
