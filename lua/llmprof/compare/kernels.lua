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


-- Of the kernels of a side, by keys.tuple(stage, part, name): { previous, next }, the keys of the
-- kernels that are mostly around it, of several the first by name (absent at an end of the stage).
-- Empty without a trace.
function kernels.neighbours(side)
  if not side.trace then return {} end
  local trace = trace_file.open(side.trace)
  local found = stages.find(trace, side.results.stages, side.results.repeats)
  local list, around, by = kernels_of(trace, found, side.results), {}, { "stage", "part", "name" }
  for _, kernel in ipairs(list:group { by = by }) do
    around[key_of(kernel.stage, kernel.part, kernel.name)] = {}
  end
  for _, column in ipairs(by) do
    list:lag { column = column, offset = -1, name = "next_" .. column }
  end
  local pairs_of = list:slice(1, #list - 1):group {
    by = { "stage", "part", "name", "next_stage", "next_part", "next_name" } }
  lists.sort(pairs_of, "-count", "stage", "part", "name", "next_part", "next_name")
  for _, pair in ipairs(pairs_of) do
    if pair.stage == pair.next_stage then
      local key = key_of(pair.stage, pair.part, pair.name)
      local next_key = key_of(pair.next_stage, pair.next_part, pair.next_name)
      around[key].next = around[key].next or next_key
      around[next_key].previous = around[next_key].previous or key
    end
  end
  return around
end


-- Points of an agreement, and how many make two kernels one.
local POINTS = { shape = 2, calls = 1, category = 1, neighbour = 2 }
local ENOUGH = 4


-- ---- one side ----

local function add_shapes(entry, kernel, count, steps)
  for _, shape in ipairs(kernel.shapes or {}) do
    local text = ("%s/%s"):format(table.concat(shape.grid, ","), table.concat(shape.block, ","))
    entry.shapes[text] = (entry.shapes[text] or 0) + shape.calls / count / steps
  end
end


-- Kernels of a run by stage, part and name, several GPUs together: list of { key,
-- stage, part, name, label, category, calls and ns (per instance of the stage),
-- rate (calls per step), shapes (text -> calls per step) }, and these by key. wanted: names of
-- stages, a set.
local function gather(run, wanted)
  local list, by_key = {}, {}
  for _, kernel in ipairs(run.results.kernels) do
    local stage = wanted[kernel.stage] and metrics.stage(run, kernel.stage)
    if stage and stage.wall then
      local key = keys.tuple(kernel.stage, kernel.part, kernel.name)
      local count, steps = stage.wall.count, (stage.steps or 0) > 0 and stage.steps or 1
      local entry = lists.entry(list, by_key, key, { key = key, stage = kernel.stage,
        part = kernel.part, name = kernel.name, label = kernel.label or kernel.short_name,
        category = kernel.category, calls = 0, ns = 0, shapes = {} })
      entry.calls = entry.calls + kernel.calls / count
      entry.ns = entry.ns + kernel.total_ns / count
      entry.rate = entry.calls / steps
      add_shapes(entry, kernel, count, steps)
    end
  end
  return list, by_key
end


-- What any run of a side has, the fields being the means of the runs, a list and by key; nil where
-- no run has anything. gather(run): a list of entries with a key and these by key, or nil. Entries
-- get `runs`, those of each run, {} where it has none.
function kernels.gather_side(side, gather_run, fields)
  local list, by_key, runs = {}, {}, {}
  for _, run in ipairs(side.runs) do
    local own, own_by_key = gather_run(run)
    for _, entry in ipairs(own or {}) do lists.entry(list, by_key, entry.key, entry) end
    if own then runs[#runs + 1] = own_by_key end
  end
  for i, first in ipairs(list) do
    local entry = keys.merged(first)
    entry.runs = {}
    for k, run in ipairs(runs) do entry.runs[k] = run[entry.key] or {} end
    for _, field in ipairs(fields) do entry[field] = lists.sum(entry.runs, field) / #runs end
    list[i], by_key[entry.key] = entry, entry
  end
  if #runs == 0 then return nil end
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


-- By key of the kernel that is gone the new one.
local function match_renamed(gone, new, around)
  local renamed, taken = {}, {}
  for _, candidate in ipairs(candidates(gone, new, around)) do
    if not renamed[candidate.old.key] and not taken[candidate.new.key] then
      renamed[candidate.old.key], taken[candidate.new.key] = candidate.new, true
    end
  end
  return renamed
end


local function row_of(old, new)
  local one, last = old or new, new or old
  local status = not new and "gone" or not old and "new" or old.key == new.key and "same"
    or "renamed"
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

-- A process's group of samples of each run: ns of a kernel.
local function samples_of(entry)
  return lists.map(entry.runs, function(own) return { own.ns or 0 } end)
end


-- Whether the kernels that both sides have changed, all of them tested together.
local function add_verdicts(rows, before, after)
  local tested, noise = {}, {}
  for _, row in ipairs(rows) do
    if row.old and row.new then
      local stage = row.old.stage
      if noise[stage] == nil then noise[stage] = noise_of(stage, before, after) or false end
      local judged = verdict.judge(samples_of(row.old), samples_of(row.new),
        { better = "neither", noise = noise[stage] or nil, assumed = before.assumed })
      local why = metrics.incomparable(stage, before, after)
      if why then metrics.leave_open(judged, why) end
      judged.row, tested[#tested + 1] = row, judged
    end
    row.old, row.new = nil, nil
  end
  verdict.correct(tested)
  for _, judged in ipairs(tested) do
    for _, field in ipairs(judged_fields) do judged.row[field] = judged[field] end
    judged.row.holm_p, judged.row.verdict_why = judged.holm_p, judged.why
  end
end


-- Entries whose key another side does not have.
function kernels.without(list, other)
  return lists.filtered(list, function(entry) return not other[entry.key] end)
end


-- Rows of both lists, make(old, new) each; matched: by key of an old one the new one.
function kernels.paired(old, new, matched, make)
  local taken = {}
  local rows = lists.map(old, function(one)
    local same = matched[one.key]
    if same then taken[same.key] = true end
    return make(one, same)
  end)
  return lists.add(rows, lists.map(new, function(one)
    return not taken[one.key] and make(nil, one) or nil
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
  local function of(side)
    return kernels.gather_side(side, function(run) return gather(run, wanted) end,
      { "ns", "calls" })
  end
  local old, old_by_key = of(before)
  local new, new_by_key = of(after)
  local gone, fresh = kernels.without(old, new_by_key), kernels.without(new, old_by_key)
  local renamed = #gone > 0 and #fresh > 0 and match_renamed(gone, fresh,
    { before = kernels.neighbours(before), after = kernels.neighbours(after) }) or {}
  local rows = kernels.paired(old, new, keys.merged(new_by_key, renamed), row_of)
  add_verdicts(rows, before, after)
  return verdict.by_change(rows, "where", "name")
end


return kernels
