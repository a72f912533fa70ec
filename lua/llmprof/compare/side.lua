-- One side of a comparison: a run, a bundle, a baseline or a bare trace, or several
-- runs of the same thing, by the name that it was called on the command line.
local analysis = require "llmprof.analysis"
local artifacts = require "llmprof.bundle.artifacts"
local baselines = require "llmprof.compare.baselines"
local breakdown = require "llmprof.analysis.stages.breakdown"
local process = require "llmprof.process.child"
local config = require "llmprof.recipe.config"
local document = require "llmprof.io.document"
local errors = require "llmprof.process.errors"
local files = require "llmprof.io.files"
local fs = require "llmprof.fs"
local interrupt = require "llmprof.interrupt"
local kernels = require "llmprof.analysis.kernels.table"
local layout = require "llmprof.bundle.layout"
local keys = require "llmprof.tables.keys"
local lists = require "llmprof.tables.lists"
local outermost = require "llmprof.analysis.stages.outermost"
local process_pool = require "llmprof.process.pool"
local recorded = require "llmprof.run.capture.recorded"
local reports = require "llmprof.run.reports"
local results_file = require "llmprof.bundle.results_file"
local stages = require "llmprof.analysis.stages.find"
local trace_file = require "llmprof.trace.file"
local yaml = require "llmprof.yaml"

local side = {}

-- ---- a trace ----

-- A trace without a bundle, analysed on the fly: its stages are its outermost
-- ranges; without any, prefill and decode as far as they can be inferred, else the
-- whole run.

-- What recorded a trace, by its format; an export of nsys says it itself.
local TOOLS = { spool = "collector", torch = "torch.profiler", xplane = "jax.profiler" }

-- For process_pool.map. Tests change these.
side.shares = { least = 64 << 20, weight = 1.5 }


-- Results of a trace, as llmprof.analysis makes them. What they were made of is given back
-- before another trace is read.
function side.trace_results(path)
  local trace = trace_file.open(path)
  local found = stages.find(trace, outermost.or_inferred(trace), "auto")
  if #found.instances == 0 then
    errors.raise("nothing", path .. ": no GPU operation and no NVTX range: nothing to compare")
  end
  local list, info = kernels.list(trace, found), trace:info()
  breakdown.categorize(list)
  local results = analysis.results { run_id = path:match "([^/]+)$", recipe = "none", model = {},
    source = { timeline = { from = "trace", tool = TOOLS[info.reader], file = path,
      export_schema = info.schema, export_product = info.product } },
    trace = trace, found = found, kernels = list, gpu = {} }
  trace:close()
  interrupt.collect()
  return results
end


-- A function from a path to results, for these paths above all, which are analysed by several
-- processes. What is asked for twice is the same table.
function side.read_traces(paths)
  local made = {}
  local read = process_pool.map(process_pool.sizes(paths), side.shares, function(number)
    local ok, results = errors.call(side.trace_results, paths[number])
    if not ok and errors.is_interrupt(results) then error(results, 0) end
    return ok and results or nil
  end)
  for number, results in pairs(read) do made[paths[number]] = results end
  return function(path)
    made[path] = made[path] or side.trace_results(path)
    return made[path]
  end
end


-- ---- a folder with results.json ----

-- What load(path) gives of a file, or nil where there is none.
local function load_file(path, load)
  return files.is_file(path) and errors.check(load(path)) or nil
end


-- The workload's own numbers.
local function load_metrics(folder, ran)
  return load_file(folder .. "/" .. layout.metrics_in(ran),
    function(path) return document.read(path, "metrics") end)
end


local function is_group(value)
  return type(value) == "table" and #value == 0 and next(value) ~= nil
end


-- The configuration of a recorded capture: what that was made with, as far as it says; what is
-- asked when it is analysed holds for the analysis alone. nil where nothing is known.
local function of_capture(tree, made_with, prefix)
  local made = {}
  for name in pairs(keys.merged(made_with, tree)) do
    local key, was, is = prefix .. tostring(name), made_with[name], tree[name]
    if is_group(was) or is_group(is) then
      made[name] = of_capture(is_group(is) and is or {}, is_group(was) and was or {}, key .. ".")
    elseif is ~= nil and recorded.heeds(key) then
      made[name] = is
    elseif was ~= process.HIDDEN then
      made[name] = was
    end
  end
  return next(made) and made or nil
end


local function config_of(tree, results)
  if type(tree) ~= "table" then return nil end
  local made_with = tree[config.CAPTURED_WITH]
  tree[config.CAPTURED_WITH] = nil
  if (results.source.timeline or {}).from ~= "recorded" then return tree end
  return of_capture(tree, type(made_with) == "table" and made_with or {}, "") or {}
end


-- One run in a folder: see side.open.
local function run_in(folder, name, hint, root)
  artifacts.check_links(folder)
  local is_unfinished = layout.find(folder, "manifest") and not layout.find(folder, "results")
  local results = is_unfinished and results_file.of_run(artifacts.open(folder, root))
    or results_file.load(folder .. "/" .. layout.results, hint, true)
  local plain = lists.map({ layout.workload.before, layout.workload.after }, function(ran)
    return load_metrics(folder, ran)
  end)
  local own = load_metrics(folder, layout.workload.folder)
  if not next(results.source) then plain[#plain + 1] = own end -- no profiler ran
  return { name = name, results = results, plain = plain,
    metrics = own, folder = folder,
    config = config_of(load_file(folder .. "/" .. layout.config, yaml.load), results),
    trace = layout.find(folder, "timeline") }
end


-- What tells the capture of a run from others: a recorded one may have been analysed
-- several times.
function side.capture_of(run)
  local timeline, ran = run.results.source.timeline or {}, run.results.run
  if timeline.from == "trace" then return run.name end
  local date = timeline.from == "recorded" and timeline.recorded
  return date or ran.id .. " " .. ran.created
end


-- A side of these runs, of which the first stands for what they have in common. Runs of several
-- recipes are not runs of the same thing, and one capture that counts as several processes would
-- seem to have no noise.
local function of_runs(kind, name, runs)
  local seen, first = {}, runs[1]
  local recipe = first.results.run.recipe
  for _, run in ipairs(runs) do
    local capture = side.capture_of(run)
    if seen[capture] then
      errors.raise("usage", ("%s and %s are the same capture"):format(seen[capture].name, run.name),
        { hint = "how much runs differ, several captures tell" })
    elseif run.results.run.recipe ~= recipe then
      errors.raise("usage", ("%s is of recipe %s, %s of %s"):format(first.name, recipe, run.name,
        run.results.run.recipe), { hint = "runs on one side are of the same thing" })
    end
    seen[capture] = run
  end
  return { kind = kind, name = name, runs = runs, results = first.results,
    metrics = first.metrics, config = first.config, trace = first.trace,
    plain_runs = lists.sum(runs, function(run) return #run.plain end) }
end


local function from_baseline(folder, name, root)
  local hint = "save it again: " .. process.shown { "llmprof", "baseline", "save", "RUN", name }
  return of_runs("baseline", name, lists.map(baselines.folders(folder), function(part)
    return run_in(part, name, hint, root)
  end))
end


-- ---- by name ----

-- analyse(path): results of a bare trace.
local function open_one(word, root, analyse)
  local chosen = word:match "^baseline:(.*)$"
  local baseline = chosen and baselines.must_find(chosen, root)
  if baseline then return from_baseline(baseline, chosen, root) end
  if word ~= "" and files.is_file(word) then
    return of_runs("trace", word,
      { { name = word, results = analyse(word), plain = {}, trace = word } })
  elseif word ~= "" and files.is_folder(word) then
    local is_ours = layout.find(word, "results") or layout.find(word, "manifest")
    return of_runs("run", word,
      { run_in(is_ours and word or reports.of({ word }).dir, word, nil, root) })
  elseif word ~= "" and layout.find(root .. "/" .. word, "manifest") then
    local run = artifacts.open(word, root)
    return of_runs("run", run.id, { run_in(run.dir, run.id, nil, root) })
  end
  baseline = baselines.find(word, root)
  if baseline then return from_baseline(baseline, word, root) end
  local names = lists.joined(lists.map(artifacts.list(root), "id"),
    lists.map(baselines.list(root), "name"))
  errors.raise("usage", ("nothing to compare is called '%s'%s"):format(word,
    keys.suggestion(word, names)), { hint = ("a run or a baseline in %s, a bundle's folder or "
      .. "the export of a trace; llmprof ls lists the runs"):format(root) })
end


-- The runs that a word names, with commas between them, unless it is one thing with a comma in it.
local function pieces_of(word)
  if files.is_file(word) or files.is_folder(word) then return { word } end
  local pieces = {}
  for piece in (word .. ","):gmatch "([^,]*)," do pieces[#pieces + 1] = piece end
  return pieces
end


local function open(word, root, analyse)
  local pieces = pieces_of(word)
  if #pieces == 1 then return open_one(word, root, analyse) end
  return of_runs("runs", word, lists.flat(pieces, function(piece)
    return open_one(piece, root, analyse).runs
  end))
end


-- word: "baseline:NAME", a file (a trace), a folder (a bundle, or traces), a run's id or
-- "latest" below root, the name of a baseline, or several of these, separated by
-- commas. Returns { name, kind ("run", "runs", "baseline" or "trace"), runs, plain_runs
-- (how many they have), and of the first: results, config, metrics, trace }. A run is
-- { name, results, config (a tree or nil), metrics (the workload's own or nil), plain
-- (those of its runs without profiler, maybe none), trace (path of the export or nil),
-- folder (nil of a trace) }.
function side.open(word, root) return open(word, root, side.trace_results) end


-- The bytes of the timeline of a side's first run; nil where it has none. A trace is analysed for
-- it as `llmprof report` does, and that is kept.
function side.events(one)
  local run = one.runs[1]
  local path = (run.folder or reports.of({ run.trace }).dir) .. "/" .. layout.events
  return files.is_file(path) and errors.check(fs.read(path)) or nil
end


function side.run_in(folder, root) return run_in(folder, folder:match "[^/]+$", nil, root) end


-- A side of runs of the same thing by their folders.
function side.of_folders(name, folders, root)
  return of_runs("runs", name, lists.map(folders, function(folder)
    return side.run_in(folder, root)
  end))
end


-- The same of several words, in order, each with `assumed`, the share that single runs of the
-- same thing are taken to differ by (nil: that of llmprof.compare.verdict). Traces are analysed
-- beside each other.
function side.open_all(words, root, assumed)
  local traces, seen = {}, {}
  for _, piece in ipairs(lists.flat(words, pieces_of)) do
    if not piece:find "^baseline:" and files.is_file(piece) then
      lists.entry(traces, seen, piece, piece)
    end
  end
  local analyse = side.read_traces(traces)
  return lists.map(words, function(word)
    return keys.merged(open(word, root, analyse), { assumed = assumed })
  end)
end


return side
