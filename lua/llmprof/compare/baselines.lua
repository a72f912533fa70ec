-- Names for runs: <root>/baselines/NAME holds copies of what a comparison needs,
-- laid out as in a bundle, so that it outlives the run; further runs of the same
-- thing lie in NAME/runs/RUN, likewise. <root>/baselines/current is a link to the one
-- in use.
local clock = require "llmprof.io.clock"
local document = require "llmprof.io.document"
local errors = require "llmprof.process.errors"
local files = require "llmprof.io.files"
local fs = require "llmprof.fs"
local private = require "llmprof.bundle.private"
local layout = require "llmprof.bundle.layout"
local lists = require "llmprof.tables.lists"
local nearest = require "llmprof.tables.keys"
local results_file = require "llmprof.bundle.results_file"

local baselines = {}

local ABOUT, CURRENT, MORE = "baseline.json", "current", "runs"

-- What is copied, if it is there; the first has to be.
local kept = { layout.results, layout.config, layout.workload.metrics,
  layout.metrics_in(layout.workload.before), layout.metrics_in(layout.workload.after) }


local check = errors.check


local function folder_of(root) return root .. "/baselines" end

local function path_of(name, root) return folder_of(root) .. "/" .. name end


-- ---- finding ----

-- The folder of a baseline, or nil.
function baselines.find(name, root)
  if name == "" or name == CURRENT or name:find "/" then return nil end
  local path = path_of(name, root)
  return fs.stat(path .. "/" .. ABOUT) and path or nil
end


-- The name of the baseline in use, or nil.
function baselines.current(root)
  local name = fs.readlink(path_of(CURRENT, root))
  return name and baselines.find(name, root) and name or nil
end


-- The value, or the error of a baseline that cannot be read.
local function whole(value, message)
  return value or errors.raise("failed", message,
    { hint = "remove the folder, and save the run again" })
end


-- A name inside of a baseline's folder, where it leads nowhere else.
local function inside(path, name) return whole(fs.beneath(path, name)) end


local function read_about(path) return whole(document.read(inside(path, ABOUT), "baseline")) end


-- The folders of a baseline's runs, that of the first first.
function baselines.folders(path)
  return lists.joined({ path }, lists.map(files.list(inside(path, MORE)), function(id)
    local folder = inside(path, ("%s/%s"):format(MORE, id))
    return fs.stat(folder .. "/" .. ABOUT) and not id:find "~$" and folder or nil
  end))
end


-- All of them by name: { name, run (id of the first), runs (how many), recipe, saved
-- (UTC), current }.
function baselines.list(root)
  local current = baselines.current(root)
  return lists.map(files.list(folder_of(root)), function(name)
    local path = baselines.find(name, root)
    if not path then return nil end
    local about = read_about(path)
    return { name = name, run = about.run, runs = #baselines.folders(path),
      recipe = about.recipe, saved = about.saved, current = name == current }
  end)
end


-- The same; one that is not there is an error.
function baselines.must_find(name, root)
  local path = baselines.find(name, root)
  if path then return path end
  local names = lists.map(baselines.list(root), "name")
  errors.raise("usage", ("no baseline '%s' in %s%s"):format(name, folder_of(root),
    nearest.suggestion(name, names)), { hint = "llmprof baseline list shows them" })
end

-- ---- changing ----

-- Calls what() while no other process changes the baselines of a root.
local function alone(root, what)
  check(fs.mkdirs(folder_of(root)))
  local lock, message, code = fs.lock(folder_of(root), { wait = true })
  if code == "interrupted" then errors.raise("interrupted", "interrupted") end
  if not lock and code ~= "unsupported" then errors.raise("failed", message) end
  local held <close> = lock -- luacheck: ignore 211
  what()
end


local function remove(path)
  if fs.lstat(path) then check(fs.remove_tree(path)) end
end


-- Keep what is needed of a run in a folder, in place of what is there: when the copy is whole.
local function keep(run, folder, name)
  local fresh = folder .. ".new~"
  remove(fresh)
  for _, file in ipairs(kept) do
    local target = fresh .. "/" .. file
    if run:has(file) then
      check(fs.mkdirs(target:match "^(.*)/"))
      check(fs.copy(run:path(file), target))
    end
  end
  -- a run goes out of sight as a whole: one that is there was there before
  results_file.of_run(run, true)
  check(fs.write(fresh .. "/" .. ABOUT, document.encode("baseline", { name = name, run = run.id,
    recipe = run.manifest.recipe, saved = clock.timestamp() })))
  remove(folder)
  check(fs.rename(fresh, folder))
end


-- Keep a run (of artifacts) under a name; one of that name is replaced.
function baselines.save(run, name, root)
  if not name:find "^[%w_][%w_.-]*$" or name == CURRENT or name == "latest" then
    errors.raise("usage", ("'%s' cannot name a baseline"):format(name),
      { hint = "letters, digits, '_', '.' and '-' can, and it begins with a letter or digit" })
  end
  results_file.of_run(run, true)
  alone(root, function() keep(run, path_of(name, root), name) end)
end


-- Keep another run of the same thing under a name that there is: how much they
-- differ is what a comparison holds a change against.
function baselines.add(run, name, root)
  baselines.must_find(name, root)
  results_file.of_run(run, true)
  alone(root, function()
    local path = baselines.must_find(name, root)
    local recipe = read_about(path).recipe
    if recipe ~= run.manifest.recipe then
      errors.raise("usage", ("baseline '%s' is of recipe %s, %s of %s"):format(name,
        tostring(recipe), run.id, tostring(run.manifest.recipe)),
        { hint = "a baseline's runs are of the same thing" })
    elseif lists.any(baselines.folders(path), function(folder)
      return read_about(folder).run == run.id
    end) then
      errors.raise("usage", ("baseline '%s' has run %s already"):format(name, run.id))
    end
    keep(run, ("%s/%s/%s"):format(path, MORE, run.id), name)
  end)
end


-- Compare with this one where only one run is named.
function baselines.use(name, root)
  baselines.must_find(name, root)
  check(private.link(name, path_of(CURRENT, root)))
end


function baselines.remove(name, root)
  baselines.must_find(name, root)
  alone(root, function()
    local path, current = baselines.must_find(name, root), baselines.current(root)
    remove(path)
    if current == name then check(fs.remove(path_of(CURRENT, root))) end
  end)
end


return baselines
