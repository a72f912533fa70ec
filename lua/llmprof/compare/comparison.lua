-- Two sides beside each other: rows for every table of a comparison.
local differences = require "llmprof.compare.differences"
local errors = require "llmprof.process.errors"
local kernels = require "llmprof.compare.kernels"
local keys = require "llmprof.tables.keys"
local lists = require "llmprof.tables.lists"
local metrics = require "llmprof.compare.metrics"
local statistics = require "llmprof.statistics"
local text = require "llmprof.text"
local verdict = require "llmprof.compare.verdict"

local comparison = {}


-- ---- stages ----

-- Names in the order of the side before, then those that only after has; one is in both.
local function all_stages(before, after)
  local list, by_name, is_common = {}, {}, false
  for _, stage in ipairs(lists.joined(before.results.stages, after.results.stages)) do
    local old, new = metrics.stage(before, stage.name), metrics.stage(after, stage.name)
    is_common = is_common or old and new
    lists.entry(list, by_name, stage.name, { name = stage.name, parent = stage.parent,
      label = (stage.parent and "· " or "") .. stage.name, before = old, after = new })
  end
  if is_common then return list end
  local function names_of(side)
    local names = table.concat(lists.map(side.results.stages, "name"), " ")
    return names ~= "" and names or "none"
  end
  errors.raise("usage", ("no stage in common: %s has %s, %s has %s"):format(before.name,
    names_of(before), after.name, names_of(after)),
    { hint = "compare runs of one recipe, or traces whose NVTX ranges have the same names" })
end


-- ---- times ----

-- A metric as a row; of one that a side lacks, its stage is gone or new, or nobody can tell. nil
-- where both lack it.
local function time_row(label, metric, before, after)
  local row, judged, why = { label = label, path = metric.path }, metrics.judge(metric, before,
    after)
  if judged then
    row = keys.merged(judged, row)
    row.low, row.high = judged.low_share, judged.high_share
    return row
  end
  local basis
  row.unit, row.verdict, row.why = metric.unit, verdict.UNKNOWN, why
  row.before, row.basis = metrics.value(metric, before)
  row.after, basis = metrics.value(metric, after)
  row.basis = row.basis or basis
  if not row.before and not row.after then return nil end
  if metric.stage and not metrics.stage(row.before and after or before, metric.stage) then
    row.verdict, row.why = row.before and "gone" or "new", nil
  end
  return row
end


-- A change of slope is told from chance at this many standard errors.
local ERRORS = 3

-- How much longer each step is than the one before, where both sides are one run and it changed. By
-- itself a slope holds what the machine did meanwhile; the change has nothing that both sides have
-- in common.
local function slope_row(before, after)
  local old, new = before.runs[1].results.latency, after.runs[1].results.latency
  old, new = old and old.tpot or {}, new and new.tpot or {}
  if #before.runs + #after.runs > 2 or not (old.slope_error_ns and new.slope_error_ns)
    or old.source ~= new.source then
    return nil
  end
  local difference = (new.slope_ns_per_token - old.slope_ns_per_token) / 1e3
  local most = ERRORS * math.sqrt(old.slope_error_ns ^ 2 + new.slope_error_ns ^ 2) / 1e3
  if math.abs(difference) <= most then return nil end
  return { label = "growth of steps", path = "tpot.slope", unit = "µs/token", basis = "profiled",
    before = old.slope_ns_per_token / 1e3, after = new.slope_ns_per_token / 1e3,
    difference = difference, verdict = difference > 0 and "slower" or "faster",
    why = ("standard errors of %s and %s"):format(text.duration(old.slope_error_ns),
      text.duration(new.slope_error_ns)) }
end


local latencies = { { "TTFT", "ttft" }, { "TPOT", "tpot" }, { "throughput", "tokens_per_s" },
  { "cost", "cost" }, { "energy", "energy" } }

-- Stages have their share of what changed in all that have no parent.
local function time_rows(stages, before, after)
  local rows, top = {}, {}
  for _, stage in ipairs(stages) do
    local row = time_row(stage.label, metrics.parse(stage.name .. ".ms"), before, after)
    rows[#rows + 1] = row
    if row and row.difference and not stage.parent then top[#top + 1] = row end
  end
  local function size(row) return math.abs(row.difference) end
  local all = lists.sum(top, size)
  for _, row in ipairs(all > 0 and top or {}) do row.of_change = size(row) / all end
  return lists.joined(rows, lists.map(latencies, function(entry)
    return time_row(entry[1], metrics.parse(entry[2]), before, after)
  end), { slope_row(before, after) })
end


-- ---- what the stages do ----

-- The mean over the runs that tell.
local function work_of(side, name, field)
  local values = lists.map(side.runs, function(run)
    local stage = metrics.stage(run, name)
    return stage and metrics.is_known(stage, field) and stage[field] or nil
  end)
  return #values > 0 and statistics.sum(values) / #values or nil
end


local function work_rows(stages, before, after)
  local tested = {}
  local rows = lists.map(stages, function(stage)
    local row = { label = stage.label }
    for _, field in ipairs { "kernels", "launches", "copies", "gpu_busy_ns", "gpu_idle_ns" } do
      row[field .. "_before"] = work_of(before, stage.name, field)
      row[field .. "_after"] = work_of(after, stage.name, field)
    end
    local judged = stage.before and stage.after
      and metrics.judge(metrics.parse(stage.name .. ".busy"), before, after)
    if judged then
      judged.row, tested[#tested + 1] = row, judged
    end
    return row
  end)
  verdict.correct(tested)
  for _, judged in ipairs(tested) do
    local row = judged.row
    row.busy_share, row.busy_verdict = judged.share, judged.verdict
    row.busy_why, row.busy_p = judged.why, judged.holm_p
  end
  return rows
end


-- ---- where the change is ----

local idle_labels = { launch_ns = "idle, in launching calls", sync_ns = "idle, in syncs",
  memory_ns = "idle, in allocations", other_ns = "idle, in other calls",
  host_ns = "idle, outside CUDA", graph_ns = "idle, within replays of graphs" }

-- Can the kernels of both sides be told apart?
local function both_known(stage)
  return metrics.kernels_known(stage.before) and metrics.kernels_known(stage.after)
end


-- GPU time of a stage, by category where that is known, and GPU idle time by cause: list of { key
-- (its name), ns }; nil where the run lacks the stage.
local function pieces_of(run, name, by_category)
  local stage, list = metrics.stage(run, name), {}
  if not stage then return nil end
  if not by_category and stage.gpu_time_ns then
    list[1] = { key = "all GPU work", ns = stage.gpu_time_ns }
  end
  for _, row in ipairs(by_category and stage.categories or {}) do
    list[#list + 1] = { key = row.category, ns = row.gpu_time_ns }
  end
  for field, label in pairs(idle_labels) do
    local ns = stage.waiting and stage.waiting[field]
    if ns and ns > 0 then list[#list + 1] = { key = label, ns = ns } end
  end
  return list
end


-- Stages without a parent that both sides have.
local function where_rows(stages, before, after)
  return lists.flat(stages, function(stage)
    if not (stage.before and stage.after) or stage.parent then return nil end
    local known = both_known(stage)
    return verdict.by_change(kernels.pairs(before, after, { fields = { "ns" },
      gather = function(run) return pieces_of(run, stage.name, known) end,
      row = function(was, is)
        return { stage = stage.name, what = (was or is).key, before_ns = was and was.ns,
          after_ns = is and is.ns, difference_ns = (is and is.ns or 0) - (was and was.ns or 0) }
      end }), "what")
  end)
end


-- ---- lines of the program, modules of the model ----

-- Lines of a run, or modules, as `kind` has it, per instance of the stage: list of { row, key,
-- gpu_ns, idle_ns }; nil without. wanted: names of stages, a set.
local function gather(run, wanted, kind)
  local rows, list, by_key = kind.rows(run.results), {}, {}
  for _, row in ipairs(rows or {}) do
    local stage = metrics.stage(run, row.stage)
    if wanted[row.stage] and stage and stage.wall and row[kind.time] then
      local key = kind.key(row)
      local one = lists.entry(list, by_key, key, { row = row, key = key, gpu_ns = 0, idle_ns = 0 })
      one.gpu_ns = one.gpu_ns + row[kind.time] / stage.wall.count
      one.idle_ns = one.idle_ns + (row.idle_ns or 0) / stage.wall.count
    end
  end
  return rows and list
end


-- A line that is gone and the only one of its function that is new are one: its place is without
-- its number, which moves as code around it changes.
local function match_moved(gone, fresh)
  local function place(one)
    return keys.tuple(one.row.stage, one.row.line:gsub(":%d+$", ""), one.row["function"])
  end
  local _, left = lists.grouped(gone, place)
  local _, come = lists.grouped(fresh, place)
  local matched = {}
  for where, own in pairs(left) do
    if #own == 1 and #(come[where] or {}) == 1 then matched[own[1].key] = come[where][1] end
  end
  return matched
end


-- What changed by line of the program or module, the largest first; nil unless both sides have
-- such.
local function changes(before, after, wanted, kind)
  local rows = kernels.pairs(before, after, { fields = { "gpu_ns", "idle_ns" },
    match = kind.match,
    gather = function(run) return gather(run, wanted, kind) end,
    row = function(was, is)
      local row = { before_ns = was and was.gpu_ns, after_ns = is and is.gpu_ns,
        difference_ns = (is and is.gpu_ns or 0) - (was and was.gpu_ns or 0),
        idle_ns = (is and is.idle_ns or 0) - (was and was.idle_ns or 0) }
      return keys.merged(row, kind.about((is or was).row, was and was.row))
    end })
  return rows and verdict.by_change(rows, function(row)
    return row.stage .. (row.line or row.name) .. (row["function"] or "")
  end)
end


local LINES = { time = "gpu_ns",
  rows = function(results) return results.lines and results.lines.rows end,
  key = function(line) return keys.tuple(line.stage, line.line, line["function"]) end,
  match = match_moved,
  about = function(line, was)
    return { stage = line.stage, line = line.line, ["function"] = line["function"],
      module = line.module, was = was and was.line ~= line.line and was.line or nil }
  end }

local MODULES = { time = "gpu_self_ns",
  rows = function(results)
    local list = results.modules and results.modules.modules or {}
    return #list > 0 and list or nil
  end,
  key = function(module) return keys.tuple(module.stage, module.name) end,
  about = function(module) return { stage = module.stage, name = module.name } end }


-- CUDA graphs that were traced as one row each hide their kernels; captures that lost something
-- are compared for what they are; and totals of as many steps as nobody knows are not.
local function notes_of(stages, before, after)
  local notes = differences.unknown(before, after)
  for _, stage in ipairs(stages) do
    local why = metrics.incomparable(stage.name, before, after)
    if why then notes[#notes + 1] = why .. ": its totals cannot be compared." end
  end
  for _, side in ipairs { before, after } do
    local integrity = side.results.integrity
    if integrity and integrity.verdict == "poor" then
      local seen = lists.find(integrity.checks, "level", "problem")
      notes[#notes + 1] = ("%s cannot be taken at face value, and no change in it: %s."):format(
        side.name, seen and seen.text or "see its integrity")
    end
    local totals = side.results.totals
    if totals and (totals.graphs or 0) > 0 then
      notes[#notes + 1] = ("%s traced CUDA graphs as one row: the kernels in them are not known "
        .. "(nsys.cuda_graph_trace=node)."):format(side.name)
    end
  end
  return notes
end


-- Sides of llmprof.compare.side -> { before, after, differences, notes, times,
-- work, where, lines, modules, kernels }: lists of rows for the tables of
-- llmprof.report.columns that are named compare_*.
function comparison.make(before, after)
  local stages = all_stages(before, after)
  local both, with_kernels = {}, {}
  for _, stage in ipairs(stages) do
    local is_common = stage.before and stage.after
    both[stage.name] = is_common and true or nil
    with_kernels[stage.name] = is_common and both_known(stage) or nil
  end
  return { before = before, after = after, differences = differences.list(before, after),
    notes = notes_of(stages, before, after), times = time_rows(stages, before, after),
    work = work_rows(stages, before, after), where = where_rows(stages, before, after),
    lines = changes(before, after, both, LINES), modules = changes(before, after, both, MODULES),
    kernels = kernels.compare(before, after, with_kernels) }
end


-- ---- a figure over many runs ----

-- A figure over runs of the same recipe in the order they were made, and where it changed: the
-- place that divides them best by the statistics of comparisons, corrected for all places that
-- were tried (Holm), then the same on both sides of it.

local DIFFERENCES = 3 -- that are told of a change


-- Runs from one place to another as a side of a comparison.
local function side_of(runs, first, last)
  return { name = runs[first].name, results = runs[first].results,
    runs = table.move(runs, first, last, 1, {}) }
end


-- What became of the figure from the runs before a place to those from it on; nil where nothing
-- tells how much runs differ.
local function judge(metric, runs, first, place, last)
  local judged = metrics.judge(metric, side_of(runs, first, place - 1),
    side_of(runs, place, last))
  if not judged or judged.assumed then return nil end
  judged.place, judged.p = place, judged.p or judged.difference == 0 and 1 or 0
  return judged
end


local function is_change(judged)
  return judged.verdict ~= verdict.UNKNOWN and judged.difference ~= 0
end


local function find(metric, runs, first, last, places)
  local tested = {}
  for place = first + 1, last do tested[#tested + 1] = judge(metric, runs, first, place, last) end
  verdict.correct(tested)
  local best = lists.largest(tested, function(judged) return is_change(judged) and -judged.p end)
  if not best then return end
  find(metric, runs, first, best.place - 1, places)
  places[#places + 1] = best.place
  find(metric, runs, best.place, last, places)
end


-- Lay the changes over the rows at whose runs they begin: the runs from one change to the
-- next against those before.
local function add_changes(rows, metric, runs, places)
  for i, place in ipairs(places) do
    local judged = judge(metric, runs, places[i - 1] or 1, place, (places[i + 1] or #runs + 1) - 1)
    if judged and is_change(judged) then
      local row = rows[place]
      row.verdict, row.share = judged.verdict, judged.share
      row.low, row.high = judged.low_share, judged.high_share
      local list = differences.list(runs[place - 1], runs[place])
      local said = lists.map(lists.first(list, DIFFERENCES), differences.text)
      if #list > #said then said[#said + 1] = ("%d more"):format(#list - #said) end
      row.because = #said > 0 and table.concat(said, ", ") or nil
    end
  end
end


-- runs: of llmprof.compare.side, of one recipe, the oldest first. Rows { run, commit, started,
-- value, basis, processes } of those that have the figure, and where it changed verdict, share,
-- low, high (shares of the value before), because (what else differs from the run before).
function comparison.history(metric, runs)
  local known, rows, places = {}, {}, {}
  for _, run in ipairs(runs) do
    local value, basis, processes = metrics.value(metric, side_of({ run }, 1, 1))
    if value then
      local commit = run.results.environment.commit
      known[#known + 1] = run
      rows[#rows + 1] = { run = run.name, commit = commit and commit:sub(1, 10),
        started = run.results.run.created, value = value, basis = basis, processes = processes }
    end
  end
  if #known > 1 then find(metric, known, 1, #known, places) end
  add_changes(rows, metric, known, places)
  return rows
end


return comparison
