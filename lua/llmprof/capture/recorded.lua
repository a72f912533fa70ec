-- Captures that were recorded before: folders with what a run on a GPU left
-- behind.
--
--   run.sqlite       the timeline, as nsys export wrote it
--   ncu/raw.csv      counters, the raw page (optional)
--   operators.json   the operators pass (optional)
--   metrics.json     the workload's own numbers (optional)
--   capture.json     how, where and when it was recorded:
--                    { tool, counters_tool, date, command, environment,
--                      workload }
--
-- A capture, this kind or llmprof.capture.live, has: open(ctx), which leaves
-- what is known in ctx.state; and timeline, counters, operators (ctx), each of
-- which puts its files into the run and returns true, or false and why not;
-- preview(recipe, cfg): step name -> argv lists that it would start.
local errors = require "llmprof.errors"
local files = require "llmprof.files"
local fs = require "llmprof.fs"
local json = require "llmprof.json"

local recorded = { name = "recorded" }

-- File of the capture -> file of the run.
local timeline_files = { ["run.sqlite"] = "nsys/run.sqlite" }


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
local function about(folder)
  local path = folder .. "/capture.json"
  if not fs.stat(path) then return {} end
  return errors.check("usage", json.load(path))
end


function recorded.open(ctx)
  ctx.state.folder = recorded.folder(ctx.cfg, ctx.recipe.name)
  ctx.state.about = about(ctx.state.folder)
end


-- Nothing is started.
function recorded.preview(made, cfg)
  recorded.folder(cfg, made.name)
  return {}
end


-- Copy a file of the capture into the run; false when the capture lacks it.
local function take(ctx, name, target)
  local from = ctx.state.folder .. "/" .. name
  if not fs.stat(from) then return false end
  errors.check("failed", fs.copy(from, ctx.run:path(target)))
  return true
end


-- Names, with sizes, of the files that are there.
function recorded.inputs(ctx)
  local inputs = {}
  for _, name in ipairs { "capture.json", "metrics.json", "ncu/details.csv", "ncu/raw.csv",
    "operators.json", "run.sqlite" } do
    local info = fs.stat(ctx.state.folder .. "/" .. name)
    if info then inputs[#inputs + 1] = { file = name, bytes = info.size } end
  end
  return { source = ctx.state.folder, files = inputs }
end


function recorded.timeline(ctx)
  for name, target in pairs(timeline_files) do
    if not take(ctx, name, target) then
      errors.raise("usage", ("%s/%s: no such file"):format(ctx.state.folder, name))
    end
  end
  take(ctx, "metrics.json", "workload/metrics.json")
  return true
end


function recorded.counters(ctx)
  if not take(ctx, "ncu/raw.csv", "ncu/raw.csv") then
    return false, "the recorded capture has no ncu/raw.csv"
  end
  take(ctx, "ncu/details.csv", "ncu/details.csv")
  return true
end


function recorded.operators(ctx)
  if take(ctx, "operators.json", "workload/operators.json") then return true end
  return false, "the recorded capture has no operators.json"
end


return recorded
