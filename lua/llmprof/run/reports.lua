-- Bundles of traces that come without a recipe: made where somebody asks for one, or in the
-- cache for commands that take runs, where the next such command finds it.
local artifacts = require "llmprof.bundle.artifacts"
local generators = require "llmprof.analysis.serving.generators"
local lists = require "llmprof.tables.lists"
local trace_file = require "llmprof.trace.file"
local digest = require "llmprof.digest"
local errors = require "llmprof.process.errors"
local nsys = require "llmprof.nvidia.nsys"
local folders = require "llmprof.io.files"
local fs = require "llmprof.fs"
local handed = require "llmprof.trace.handed"
local json = require "llmprof.json"
local layout = require "llmprof.bundle.layout"
local private = require "llmprof.bundle.private"
local recipe = require "llmprof.recipe"
local results_file = require "llmprof.bundle.results_file"
local start = require "llmprof.run.start"
local version = require "llmprof.version"

local reports = {}

-- ---- a recipe for traces ----

local ENDINGS = { "gz", "json", "trace", "pt", "sqlite", "spool", "nsys%-rep", "qdrep",
  "pb", "xplane" }

-- What a run of a trace is called: the file's or the folder's name without its endings; of
-- ".../my_model/run.sqlite" the folder's, since that file is called so everywhere.
local function name_of(path)
  path = path:gsub("([^/.][^/]*)/run%.%l+$", "%1")
  local name = path:match "([^/]*)/*$"
  for _, ending in ipairs(ENDINGS) do name = name:gsub("%." .. ending .. "$", "") end
  name = name:gsub("[^%w_.-]", "_"):gsub("^[_.-]+", "")
  return name ~= "" and name ~= "latest" and name or "trace"
end


-- Reports that the cache keeps.
local MOST_KEPT = 50


-- ---- one ----

-- Make the bundle of traces. given: paths (files and folders), settings (KEY=VALUE), out
-- (its folder) or root (where runs are kept), stages (names), recipe (of llmprof.recipe), resume
-- (a run that goes on), quiet, verbose; all but the first two may be nil. Returns the run, its
-- results and how many things were left out; raises where there is nothing to analyse.
function reports.make(given)
  local made = given.recipe
  if not made then -- one that is called like the trace
    made = recipe.recipe { name = name_of(given.paths[1]), stages = given.stages,
      workload = function() return recipe.fail "a trace cannot be run" end }
    -- without stages those of the trace: llmprof.analysis.stages.outermost
    made.file, made.called, made.unwritten = "report", "report", not given.stages
  end
  local settings = { "capture=files",
    "files=" .. errors.check(json.encode(json.list(given.paths))) }
  if given.out then settings[3] = "out=" .. given.out end
  if given.root then settings[#settings + 1] = "run.root=" .. given.root end
  local wanted = { recipe = made, settings = lists.add(settings, given.settings),
    -- as people would type it
    command = lists.joined({ "llmprof", "report" }, given.paths, given.settings,
      given.stages and { "--stages", table.concat(given.stages, ",") } or {},
      given.recipe and { "--recipe", given.recipe.file } or {}),
    quiet = given.quiet, resume = given.resume, verbose = given.verbose,
    brief = not given.verbose }
  local left_out, run = start.run(wanted, start.compose(wanted))
  return run, results_file.of_run(run), left_out
end


-- ---- in the cache ----

-- What tells these files, as they are now, from others.
local function key_of(paths)
  local said = { version.version }
  local function add(path)
    local info = errors.check(fs.stat(path))
    said[#said + 1] = ("%s %d %d"):format(errors.check(fs.realpath(path)), info.size,
      info.mtime_ns)
  end
  local found = handed.look(paths, nsys.exported, generators.document_of)
  for _, path in ipairs(lists.joined(found.traces, found:others())) do add(path) end
  return digest.base64(digest.sha256(table.concat(said, "\n"))):gsub("[^%w]", "_")
end


-- The folders of the reports that are kept.
function reports.kept()
  local folder = folders.folder("cache", "reports")
  return lists.map(folder and folders.list(folder) or {}, function(name)
    local path = folder .. "/" .. name
    return fs.stat(path .. "/" .. layout.manifest) and path or nil
  end)
end


-- The run of traces, called like the first, made now unless it is kept. It has results and
-- reports, and no timeline.
function reports.of(paths)
  local folder = folders.folder("cache", "reports")
  if not folder then
    errors.raise("usage", paths[1] .. ": HOME is not set, so its report has no place",
      { hint = "llmprof report --out DIR writes it where you say" })
  end
  local dir = folder .. "/" .. key_of(paths)
  if fs.stat(dir .. "/" .. layout.results) and trace_file.cache_most() > 0 then
    return artifacts.open(dir, dir)
  end
  errors.check(fs.mkdirs(folder))
  local kept = lists.sort(lists.map(reports.kept(), function(one)
    local info = fs.stat(one .. "/" .. layout.manifest) -- which another process may remove
    return { dir = one, time = info and info.mtime_ns or 0 }
  end), "-time")
  for i = MOST_KEPT, #kept do artifacts.remove(kept[i].dir) end -- the oldest
  local made <close> = private.folder(folder)
  local run = reports.make { paths = paths,
    settings = { "run.id=" .. name_of(paths[1]) },
    out = made.path .. "/run", quiet = true }
  -- the timeline lies where it was, and its summaries are `llmprof stats`
  for _, name in ipairs { layout.nsys.folder, layout.collector.folder } do
    if fs.stat(run:path(name)) then errors.check(fs.remove_tree(run:path(name))) end
  end
  if fs.stat(dir) then artifacts.remove(dir) end
  errors.check(fs.rename(run.dir, dir))
  return artifacts.open(dir, dir)
end


return reports
