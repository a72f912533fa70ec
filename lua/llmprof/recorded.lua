-- Recorded captures: folders with what a run on a GPU left behind.
--
--   run.sqlite       the timeline, as nsys export wrote it
--   ncu/raw.csv      counters, the raw page (optional)
--   operators.json   the operators pass (optional)
--   metrics.json     the workload's own numbers (optional)
--   capture.json     how, where and when it was recorded:
--                    { tool, counters_tool, date, command, environment,
--                      workload }
local errors = require "llmprof.errors"
local files = require "llmprof.files"
local fs = require "llmprof.fs"
local json = require "llmprof.json"

local recorded = {}


-- The folder of a recipe's recorded capture.
function recorded.folder(cfg, recipe_name)
  local wanted = cfg.recorded or "recipes/recorded/" .. recipe_name
  local folder = files.find_folder(wanted)
  if not folder then
    errors.raise("usage", ("no recorded capture in %s"):format(wanted),
      { hint = "recorded=FOLDER names another; it holds run.sqlite and capture.json" })
  end
  return folder
end


-- What capture.json says; an empty table when there is none.
function recorded.about(folder)
  local path = folder .. "/capture.json"
  if not fs.stat(path) then return {} end
  return errors.check("usage", json.load(path))
end


-- Copy a file of the capture into the run; false when the capture lacks it.
function recorded.take(folder, name, run, target)
  local from = folder .. "/" .. name
  if not fs.stat(from) then return false end
  errors.check("failed", fs.copy(from, run:path(target)))
  return true
end


return recorded
