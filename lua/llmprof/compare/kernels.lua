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

-- Of the kernels of a side in the last used instance of each stage, by keys.tuple(stage, part,
-- name): { previous, next }, the keys of the kernels that are mostly around it, of several the
-- first by name (absent at an end of the stage). Empty without a trace.
function kernels.neighbours(side)
  if not side.trace then return {} end
  local trace = trace_file.open(side.trace)
  local found = stages.find(trace, side.results.stages, side.results.repeats)
  local list, last, by = errors.check(trace:frame "kernels"), {}, { "stage", "part", "name" }
  stages.label(trace, list, found)
  for _, instance in ipairs(found.instances) do
    if instance.used and not instance.parent then last[instance.stage] = instance.range end
  end
  if not found.whole then
    list = list:where { stage_range = lists.map(side.results.stages, function(stage)
      return last[stage.name]
    end) }
  end
  list = list:sort { { "start" } }
  for _, column in ipairs(by) do
    list:lag { column = column, offset = -1, name = "next_" .. column }
  end
  local function key_of(row, prefix)
    return keys.tuple(row[prefix .. "stage"] or stages.WHOLE_RUN, row[prefix .. "part"],
      row[prefix .. "name"] or "")
  end
  local around = {}
  for _, kernel in ipairs(list:group { by = by }) do around[key_of(kernel, "")] = {} end
  local pairs_of = list:slice(1, #list - 1):group {
    by = { "stage", "part", "name", "next_stage", "next_part", "next_name" } }
  for _, pair in ipairs(lists.sort(pairs_of, "-count", "stage", "part", "name", "next_part",
    "next_name")) do
    if pair.stage == pair.next_stage then
      local key, next_key = key_of(pair, ""), key_of(pair, "next_")
      around[key].next = around[key].next or next_key
      around[next_key].previous = around[next_key].previous or key
    end
  end
  return around
end


-- ---- what two sides have ----

-- What any run of a side has, a list and by key, the fields being the means of the runs; nil where
-- no run has anything. Entries get `runs`, those of each run, {} where it has none.
local function gather(side, what)
  local list, by_key, count = {}, {}, 0
  for _, run in ipairs(side.runs) do
    local own = what.gather(run)
    if own then count = count + 1 end
    for _, entry in ipairs(own or {}) do
      local all = lists.entry(list, by_key, entry.key, keys.merged(entry, { runs = {} }))
      all.runs[count] = entry
    end
  end
  for _, entry in ipairs(list) do
    for i = 1, count do entry.runs[i] = entry.runs[i] or {} end
    for _, field in ipairs(what.fields) do
      entry[field] = lists.sum(entry.runs, field) / count
    end
  end
  if count == 0 then return nil end
  return list, by_key
end


-- Rows of what two sides have, those of before first; nil unless both have such. what:
-- gather(run), a list of entries with a key, or nil; fields, those that are numbers; row(old, new);
-- match(gone, fresh) gives, by key of an entry that is gone, the new one that it has become.
function kernels.pairs(before, after, what)
  local old, old_by_key = gather(before, what)
  local new, new_by_key = gather(after, what)
  if not (old and new) then return nil end
  local function without(list, other)
    return lists.filtered(list, function(entry) return not other[entry.key] end)
  end
  local matched, taken = keys.merged(new_by_key), {}
  if what.match then
    matched = keys.merged(matched, what.match(without(old, new_by_key), without(new, old_by_key)))
  end
  local rows = lists.map(old, function(one)
    local same = matched[one.key]
    if same then taken[same.key] = true end
    return what.row(one, same)
  end)
  return lists.add(rows, lists.map(new, function(one)
    return not taken[one.key] and what.row(nil, one) or nil
  end))
end


-- ---- one side ----

-- Kernels of a run by stage, part and name, several GPUs together: list of { key,
-- stage, part, name, label, category, calls and ns (per instance of the stage),
-- rate (calls per step), shapes (text -> calls per step) }. wanted: names of stages, a set.
local function kernels_of(run, wanted)
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
      for _, shape in ipairs(kernel.shapes or {}) do
        local text = ("%s/%s"):format(table.concat(shape.grid, ","), table.concat(shape.block, ","))
        entry.shapes[text] = (entry.shapes[text] or 0) + shape.calls / count / steps
      end
    end
  end
  return list
end


-- ---- the same work under another name ----

-- Points of an agreement, and how many make two kernels one.
local POINTS = { shape = 2, calls = 1, category = 1, neighbour = 2 }
local ENOUGH = 4


-- Points for two kernels of the same stage and part: for shapes the share of the calls that were
-- launched in the same ones.
local function agreement(old, new, around)
  local shared, rate = 0, math.max(old.rate, new.rate)
  for text, calls in pairs(old.shapes) do
    shared = shared + math.min(calls, new.shapes[text] or 0)
  end
  local points = POINTS.shape * (rate > 0 and shared / rate or 0)
    + (old.rate == new.rate and POINTS.calls or 0)
    + (old.category == new.category and POINTS.category or 0)
  local before, after = around.before[old.key], around.after[new.key]
  if not (before and after) then return points end
  return points + (before.previous == after.previous and POINTS.neighbour or 0)
    + (before.next == after.next and POINTS.neighbour or 0)
end


-- By key of the kernel that is gone the new one.
local function match_renamed(gone, fresh, around)
  local candidates, renamed, taken = {}, {}, {}
  for _, old in ipairs(gone) do
    for _, new in ipairs(fresh) do
      local is_near = old.stage == new.stage and old.part == new.part
      local points = is_near and agreement(old, new, around) or 0
      if points >= ENOUGH then
        candidates[#candidates + 1] = { old = old, new = new, points = points,
          stage = old.stage, part = old.part or "", was = old.name, name = new.name }
      end
    end
  end
  for _, one in ipairs(lists.sort(candidates, "-points", "stage", "part", "was", "name")) do
    if not renamed[one.old.key] and not taken[one.new.key] then
      renamed[one.old.key], taken[one.new.key] = one.new, true
    end
  end
  return renamed
end


-- ---- rows ----

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
    local row = judged.row
    row.low, row.high, row.p, row.holm_p = judged.low, judged.high, judged.p, judged.holm_p
    row.verdict, row.verdict_why = judged.verdict, judged.why
  end
end


-- Sides of llmprof.compare.side; wanted: the names of the stages to compare, a set.
-- Rows, the largest difference first: status ("same", "renamed", "new", "gone"), name, was (its
-- old name), where,
-- calls and ns of both sides per instance of the stage, difference_ns and share (of
-- all differences, without their signs). Where both sides have the kernel, verdict,
-- verdict_why, low and high (the interval of the difference in ns), p and holm_p: see
-- llmprof.compare.verdict.
function kernels.compare(before, after, wanted)
  local rows = kernels.pairs(before, after, { fields = { "ns", "calls" }, row = row_of,
    gather = function(run) return kernels_of(run, wanted) end,
    match = function(gone, fresh)
      return #gone > 0 and #fresh > 0 and match_renamed(gone, fresh,
        { before = kernels.neighbours(before), after = kernels.neighbours(after) }) or {}
    end })
  add_verdicts(rows, before, after)
  return verdict.by_change(rows, "where", "name")
end


return kernels
