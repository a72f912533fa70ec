-- One side of a comparison: a run, a bundle, a baseline or a bare trace, by the
-- name that it was called on the command line.
local artifacts = require "llmprof.bundle.artifacts"
local bare = require "llmprof.compare.bare"
local baselines = require "llmprof.compare.baselines"
local errors = require "llmprof.base.errors"
local fs = require "llmprof.fs"
local layout = require "llmprof.bundle.layout"
local nearest = require "llmprof.base.nearest"
local results_file = require "llmprof.bundle.results_file"
local workload = require "llmprof.run.workload"
local yaml = require "llmprof.yaml"

local side = {}


-- ---- a folder with results.json ----

local function is_file(path)
  local info = fs.stat(path)
  return info ~= nil and info.type == "file"
end


-- What load(path) gives of a file, or nil where there is none.
local function load_file(path, load)
  if not is_file(path) then return nil end
  return errors.check("failed", load(path))
end


local function load_yaml(path)
  local contents, message = fs.read(path)
  if not contents then return nil, message end
  return yaml.decode(contents, { name = path })
end


local function load_metrics(folder, ran)
  return load_file(folder .. "/" .. layout.metrics_in(ran), workload.load_metrics)
end


-- Why a run's folder has no results.json, and what would mend it.
local function unfinished(folder, root)
  local hint = "a bundle, a run, a baseline or the export of a trace is expected"
  if layout.find(folder, "manifest") then
    local run = artifacts.open(folder, root)
    hint = ("the run is '%s': continue it with --resume %s"):format(
      tostring(run.manifest.status), run.id)
  end
  errors.raise("usage", folder .. ": no results.json: there is nothing to compare",
    { hint = hint })
end


-- Tables that results may lack, and that a comparison reads without asking.
local needed = { "model", "repeats" }

local function load_results(path, hint)
  local results = results_file.load(path, hint)
  for _, name in ipairs(needed) do
    if not results[name] then
      errors.raise("failed", ("%s: $: no '%s'"):format(path, name),
        { hint = "a run whose timeline was not read cannot be compared" })
    end
  end
  return results
end


local function from_folder(kind, folder, name, root)
  local path = layout.find(folder, "results") or unfinished(folder, root)
  local results = load_results(path, kind == "baseline"
    and "save it again: llmprof baseline save RUN " .. name or nil)
  local plain = {}
  for _, ran in ipairs { layout.workload.before, layout.workload.after } do
    plain[#plain + 1] = load_metrics(folder, ran)
  end
  return { kind = kind, name = name, folder = folder, results = results,
    plain = plain,
    metrics = load_metrics(folder, layout.workload.folder),
    config = load_file(folder .. "/" .. layout.config, load_yaml),
    trace = layout.find(folder, "timeline") }
end


-- ---- by name ----

local function not_found(word, root)
  local names = {}
  for _, run in ipairs(artifacts.list(root)) do names[#names + 1] = run.id end
  for _, entry in ipairs(baselines.list(root)) do names[#names + 1] = entry.name end
  errors.raise("usage", ("nothing to compare is called '%s'%s"):format(word,
    nearest.suggestion(word, names)), { hint = ("a run or a baseline in %s, a bundle's folder or "
      .. "the export of a trace; llmprof artifacts lists the runs"):format(root) })
end


local function is_folder(path)
  local info = fs.stat(path)
  return info ~= nil and info.type == "directory"
end


-- word: "baseline:NAME", a file (a trace), a folder (a bundle), a run's id or
-- "latest" below root, or the name of a baseline. Returns { name, kind ("run",
-- "baseline" or "trace"), results, config (a tree or nil), metrics (the
-- workload's own or nil), plain (those of its runs without profiler, maybe none),
-- trace (path of the export or nil) }.
function side.open(word, root)
  local chosen = word:match "^baseline:(.*)$"
  if chosen then
    return from_folder("baseline", baselines.must_find(chosen, root), chosen, root)
  elseif word == "" then
    not_found(word, root)
  elseif is_file(word) then
    return { kind = "trace", name = word, results = bare.results(word), plain = {}, trace = word }
  elseif is_folder(word) then
    return from_folder("run", word, word, root)
  elseif layout.find(root .. "/" .. word, "manifest") then
    local run = artifacts.open(word, root)
    return from_folder("run", run.dir, run.id, root)
  end
  local folder = baselines.find(word, root) or not_found(word, root)
  return from_folder("baseline", folder, word, root)
end


return side
