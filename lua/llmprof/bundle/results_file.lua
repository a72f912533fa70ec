-- results.json of a bundle, which anybody may have edited: what comes out of here
-- fits docs/results.schema.json, and what it points at is there.
local process = require "llmprof.process.child"
local document = require "llmprof.io.document"
local errors = require "llmprof.process.errors"
local keys = require "llmprof.tables.keys"
local layout = require "llmprof.bundle.layout"

local results_file = {}


-- Lists whose items are ids of kernels, their places in results.kernels, or have one in `field`; or
-- of which each has a list of such in `kernels`.
local KERNELS = { { "headroom", field = "kernel" }, { "roofline.kernels", field = "kernel" },
  { "selection.kernels" }, { "selection.groups", lists = true },
  { "selection.dropped", field = "kernel" }, { "advice.findings", lists = true } }


-- What is wrong with ids of kernels, or nil.
local function check_ids(results, where, list, field)
  for i, item in ipairs(list) do
    local id = item
    if field then id = item[field] end
    if not id then return ("$.%s[%d]: no '%s'"):format(where, i, field) end
    if not results.kernels[id] then
      return ("$.%s[%d]%s: no kernel has the id %d"):format(where, i,
        field and "." .. field or "", id)
    end
  end
  return nil
end


local function check_kernels(results)
  for i, kernel in ipairs(results.kernels) do
    if kernel.id ~= i then
      return ("$.kernels[%d].id: %d expected, got %d"):format(i, i, kernel.id)
    end
  end
  for _, of in ipairs(KERNELS) do
    local path, list = of[1], keys.at(results, of[1]) or {}
    local wrong = not of.lists and check_ids(results, path, list, of.field) or nil
    for i, item in ipairs(of.lists and list or {}) do
      wrong = wrong
        or check_ids(results, ("%s[%d].kernels"):format(path, i), item.kernels or {})
    end
    if wrong then return wrong end
  end
  return nil
end


-- Findings name others by their rank.
local function check_ranks(findings)
  for i, finding in ipairs(findings) do
    for _, key in ipairs { "after", "unlocks" } do
      for k, rank in ipairs(finding[key] or {}) do
        if not findings[rank] then
          return ("$.advice.findings[%d].%s[%d]: no finding has the rank %d"):format(i, key, k,
            rank)
        end
      end
    end
  end
  return nil
end


-- Each function of a tree stands below the one that called it.
local function check_trees(results)
  for i, stage in ipairs(keys.at(results, "cpu_samples.stages") or {}) do
    local most = 0
    for k, frame in ipairs(stage.tree) do
      if frame.depth > most then
        return ("$.cpu_samples.stages[%d].tree[%d].depth: at most %d expected, got %d"):format(i, k,
          most, frame.depth)
      end
      most = frame.depth + 1
    end
  end
  return nil
end


local function check_pointers(results)
  return check_kernels(results) or check_ranks(results.advice.findings) or check_trees(results)
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


-- The same where results have to be. hint: what mends them, unless running the
-- bundle's recipe again does.
function results_file.load(path, hint)
  local results, message, code = results_file.read(path)
  if results then return results end
  errors.raise_systems(message, code)
  errors.raise("failed", message, { hint = hint
    or "make it again: " .. process.shown { "llmprof", "RECIPE.lua", "--resume",
      path:match "^(.+)/[^/]*$" or "." } })
end


-- The same for what a comparison is of, which reads tables that results may lack without asking.
function results_file.load_comparable(path, hint)
  local results = results_file.load(path, hint)
  for _, name in ipairs { "model", "repeats" } do
    if not results[name] then
      errors.raise("failed", ("%s: no '%s': it has no times"):format(path, name),
        { hint = "a run whose timeline was not read cannot be compared" })
    end
  end
  return results
end


-- Those of a run (llmprof.bundle.artifacts), which has to be analysed.
function results_file.of_run(run)
  if not run:has(layout.results) then
    errors.raise("failed", ("%s: no %s: the run was not analysed"):format(run.dir, layout.results),
      { hint = run:continuation() .. "; llmprof ls lists the others" })
  end
  return results_file.load(run:path(layout.results))
end


return results_file
