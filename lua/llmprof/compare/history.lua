-- A figure over runs of the same recipe in the order they were made, and where it changed: the
-- place that divides them best by the statistics of comparisons, corrected for all places that
-- were tried (Holm), then the same on both sides of it.
local differences = require "llmprof.compare.differences"
local metrics = require "llmprof.compare.metrics"
local verdict = require "llmprof.compare.verdict"

local history = {}

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
  local tested, best = {}, nil
  for place = first + 1, last do tested[#tested + 1] = judge(metric, runs, first, place, last) end
  verdict.correct(tested)
  for _, judged in ipairs(tested) do
    if is_change(judged) and (not best or judged.p < best.p) then best = judged end
  end
  if not best then return end
  find(metric, runs, first, best.place - 1, places)
  places[#places + 1] = best.place
  find(metric, runs, best.place, last, places)
end


local function differences_text(before, after)
  local list, said = differences.list(before, after), {}
  for i = 1, math.min(#list, DIFFERENCES) do
    said[i] = ("%s %s -> %s"):format(list[i].name, list[i].before or "(none)",
      list[i].after or "(none)")
  end
  if #list > #said then said[#said + 1] = ("%d more"):format(#list - #said) end
  return #said > 0 and table.concat(said, ", ") or nil
end


-- Lay the changes over the rows at whose runs they begin: each stretch against the one before.
local function add_changes(rows, metric, runs, places)
  for i, place in ipairs(places) do
    local judged = judge(metric, runs, places[i - 1] or 1, place, (places[i + 1] or #runs + 1) - 1)
    if judged and is_change(judged) then
      local row, base = rows[place], math.abs(judged.before)
      row.verdict, row.share = judged.verdict, judged.share
      if judged.low and base > 0 then row.low, row.high = judged.low / base, judged.high
        and judged.high / base end
      row.because = differences_text(runs[place - 1], runs[place])
    end
  end
end


-- runs: of llmprof.compare.side, of one recipe, the oldest first. Rows { run, commit, started,
-- value, basis, processes } of those that have the figure, and where it changed verdict, share,
-- low, high (shares of the value before), because (what else differs from the run before).
function history.rows(metric, runs)
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


return history
