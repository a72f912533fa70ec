-- results.json of a bundle, which anybody may have edited: what comes out of here
-- fits docs/results.schema.json, and what it points at is there.
local process = require "llmprof.process.child"
local document = require "llmprof.io.document"
local errors = require "llmprof.process.errors"
local keys = require "llmprof.tables.keys"
local layout = require "llmprof.bundle.layout"

local results_file = {}


-- What is wrong first with what results point at: kernels by their ids, which are their places,
-- findings by their ranks, and functions of a tree, each below the one that called it; or nil.
local function check_pointers(results)
  local wrong
  local function refuse(...) wrong = wrong or ("$." .. (...)):format(select(2, ...)) end
  -- The items of a list, or a field of each, are places in `targets`. what: these are called.
  local function check(targets, what, path, list, field)
    for i, item in ipairs(list or {}) do
      local place = item
      if field then place = item[field] end
      if not place then
        refuse("%s[%d]: no '%s'", path, i, field)
      elseif not targets[place] then
        refuse("%s[%d]%s: no %s %d", path, i, field and "." .. field or "", what, place)
      end
    end
  end
  local function check_kernels(path, list, field)
    check(results.kernels, "kernel has the id", path, list, field)
  end
  local selection, findings = results.selection or {}, results.advice.findings
  for i, kernel in ipairs(results.kernels) do
    if kernel.id ~= i then refuse("kernels[%d].id: %d expected, got %d", i, i, kernel.id) end
  end
  check_kernels("headroom", results.headroom, "kernel")
  check_kernels("roofline.kernels", keys.at(results, "roofline.kernels"), "kernel")
  check_kernels("selection.kernels", selection.kernels)
  for i, group in ipairs(selection.groups or {}) do
    check_kernels(("selection.groups[%d].kernels"):format(i), group.kernels)
  end
  check_kernels("selection.dropped", selection.dropped, "kernel")
  for i, finding in ipairs(findings) do
    local path = ("advice.findings[%d]."):format(i)
    check_kernels(path .. "kernels", finding.kernels)
    check(findings, "finding has the rank", path .. "after", finding.after)
    check(findings, "finding has the rank", path .. "unlocks", finding.unlocks)
  end
  for i, stage in ipairs(keys.at(results, "cpu_samples.stages") or {}) do
    local most = 0
    for k, frame in ipairs(stage.tree) do
      if frame.depth > most then
        refuse("cpu_samples.stages[%d].tree[%d].depth: at most %d expected, got %d", i, k, most,
          frame.depth)
      end
      most = frame.depth + 1
    end
  end
  return wrong
end


-- The results of a run into its folder. What `read` would refuse raises instead.
function results_file.write(run, results)
  local wrong = check_pointers(results)
  if wrong then error(wrong, 0) end
  run:write_document(layout.results, "results", results)
end


-- The results of a file; nil, a message with the path and the first offence, and a code.
function results_file.read(path)
  local results, message, code = document.read(path, "results")
  if not results then return nil, message, code end
  local wrong = check_pointers(results)
  if wrong then return nil, ("%s: %s"):format(path, wrong), "syntax" end
  return results
end


-- The same where results have to be. hint: what mends them, unless running the bundle's recipe
-- again does; compared: they are for a comparison, which reads tables that results may lack
-- without asking.
function results_file.load(path, hint, compared)
  local results, message, code = results_file.read(path)
  if not results then
    errors.raise_systems(message, code)
    errors.raise("failed", message, { hint = hint
      or "make it again: " .. process.shown { "llmprof", "RECIPE.lua", "--resume",
        path:match "^(.+)/[^/]*$" or "." } })
  end
  local lacks = compared and (not results.model and "model" or not results.repeats and "repeats")
  if lacks then
    errors.raise("failed", ("%s: no '%s': it has no times"):format(path, lacks),
      { hint = "a run whose timeline was not read cannot be compared" })
  end
  return results
end


-- Those of a run (llmprof.bundle.artifacts), which has to be analysed.
function results_file.of_run(run, compared)
  if not run:has(layout.results) then
    errors.raise("failed", ("%s: no %s: the run was not analysed"):format(run.dir, layout.results),
      { hint = run:continuation() .. "; llmprof ls lists the others" })
  end
  return results_file.load(run:path(layout.results), nil, compared)
end


return results_file
