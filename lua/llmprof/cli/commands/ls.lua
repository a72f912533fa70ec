-- llmprof ls [RUN]: the runs and their key numbers, or the files of one.
local lazy = require "llmprof.io.lazy"
local artifacts = lazy "llmprof.bundle.artifacts"
local baselines = lazy "llmprof.compare.baselines"
local clock = require "llmprof.io.clock"
local errors = require "llmprof.process.errors"
local evidence = lazy "llmprof.advice.evidence"
local comparison = lazy "llmprof.compare.comparison"
local metrics = lazy "llmprof.compare.metrics"
local overhead = lazy "llmprof.analysis.latency.overhead"
local lists = require "llmprof.tables.lists"
local layout = lazy "llmprof.bundle.layout"
local out = require "llmprof.io.output"
local results_file = lazy "llmprof.bundle.results_file"
local side = lazy "llmprof.compare.side"
local pictures = lazy "llmprof.report.pictures"
local sys = require "llmprof.sys"
local table_options = lazy "llmprof.cli.table_options"
local tables = lazy "llmprof.tables"
local text = require "llmprof.text"
local user = require "llmprof.recipe.user"

local command = {
  name = "ls",
  usage = "ls [OPTION...] [RUN_ID | FOLDER | latest]",
  details = [[
The newest run is first. A number that was not measured is empty; times are those
without the profiler where they were measured, else those under it. With a run it
lists its files and their sizes; `llmprof show RUN` has its tables.
--metric tpot shows that figure of the runs of each recipe, the oldest first,
and where it changed by more than noise, with what else did; figures are those
of compare --fail-on.]],
  options = {
    user.root_option,
    { "metric", arg = "FIGURE", help = "its history: tpot, decode.ms, prefill.kernels, cost" },
    table_options.format,
    table_options.safe,
    table_options.rows,
  },
  completes = "run",
}

local file_columns = {
  { key = "bytes", title = "bytes", digits = 0 }, { key = "path", title = "file", type = "text" },
  { key = "replaces", title = "in place of", type = "text", data = true },
}

local columns = {
  { key = "id", title = "run", type = "text" }, { key = "recipe", title = "recipe", type = "text" },
  { key = "model", title = "model", type = "text", max = 24 },
  { key = "ttft_ns", title = "TTFT ms", scale = 1e-6, digits = 2 },
  { key = "tpot_ns", title = "TPOT ms", scale = 1e-6, digits = 3 },
  { key = "decode_ns", title = "decode ms", scale = 1e-6, digits = 2 },
  { key = "status", title = "status", type = "text" },
}

-- When it was: for people how long ago, for programs when.
local age = { key = "age", title = "age", type = "text" }
local started = { key = "started", title = "started (UTC)", type = "text" }


local function row_of(run, now)
  local manifest, results = run.manifest or { status = "unreadable" }, {}
  local path = run.manifest and layout.find(run.dir, "results")
  if path then
    local read, message = results_file.read(path)
    if not read then out.complain(message) end
    results = read or {}
  end
  local latency, began = overhead.latency_of(results), clock.seconds(manifest.started)
  local decode = results.stages and evidence.find(results, "decode")
  return {
    id = run.id, recipe = manifest.recipe, model = results.model and results.model.name,
    ttft_ns = latency.ttft and latency.ttft.first.mean_ns,
    tpot_ns = latency.tpot and latency.tpot.first.mean_ns,
    decode_ns = decode and overhead.time_of(results, decode) or nil, status = manifest.status,
    started = manifest.started, age = began and clock.age(now - began),
  }
end


-- The runs that were analysed, and those that baselines keep, the oldest first. One capture that
-- was analysed again is no other run.
local function analysed_runs(root)
  local list, seen, again = {}, {}, 0
  local function add(folder, name)
    local run = side.run_in(folder, root)
    local capture = side.capture_of(run)
    run.name, run.started = name or run.name, run.results.run.created
    if not seen[capture] then
      seen[capture], list[#list + 1] = true, run
    elseif not name then
      again = again + 1
    end
  end
  for _, run in ipairs(artifacts.list(root)) do
    if run.manifest and layout.find(run.dir, "results") then add(run.dir) end
  end
  for _, baseline in ipairs(baselines.list(root)) do
    for _, folder in ipairs(baselines.folders(baselines.find(baseline.name, root))) do
      add(folder, "baseline:" .. baseline.name)
    end
  end
  if again > 0 then
    out.complain(("%d analysed a capture again that is here already"):format(again))
  end
  table.sort(list, lists.by("started", "name"))
  return list
end


local function history_columns(title)
  return { { key = "run", title = "run", type = "text" },
    { key = "recipe", title = "recipe", type = "text" },
    { key = "commit", title = "commit", type = "text" },
    { key = "started", title = "started (UTC)", type = "text" },
    { key = "value", title = title, digits = 3 }, { key = "basis", title = "times", type = "text" },
    { key = "processes", title = "processes", digits = 0 },
    { key = "verdict", title = "is", type = "text" },
    { key = "share", title = "by %", scale = 100, digits = 1 },
    { key = "low", title = "from %", scale = 100, digits = 1 },
    { key = "high", title = "to %", scale = 100, digits = 1 },
    { key = "because", title = "what else differs", type = "text", wraps = true } }
end


-- Before the rows a line of each recipe: "bench, tpot ms: ▂▂▂█ 20.000 to 24.120, 1 change".
local function print_history(given)
  local metric, all, lines = metrics.parse(given.metric), {}, {}
  local title = metric.path .. (metric.unit and " " .. metric.unit or "")
  local function recipe_of(run) return run.results.run.recipe end
  for _, runs in ipairs((lists.grouped(analysed_runs(given.root), recipe_of))) do
    local rows, recipe = comparison.history(metric, runs), recipe_of(runs[1])
    for _, row in ipairs(rows) do row.recipe = recipe end
    if #rows > 0 then
      local values, changes = lists.map(rows, "value"), #lists.filtered(rows, "verdict")
      local least, most = math.min(table.unpack(values)), math.max(table.unpack(values))
      lines[#lines + 1] = ("%s, %s: %s %s to %s, %d change%s\n"):format(recipe, title,
        pictures.spark(values, least, most), text.number(least, 3), text.number(most, 3), changes,
        changes == 1 and "" or "s")
    end
    lists.add(all, rows)
  end
  if #all == 0 then out.complain(("no run in %s has %s"):format(given.root, metric.path)) end
  if not tables.format(given.format).programs then out.write(table.concat(lines), "\n") end
  out.write(table_options.render(given, history_columns(title), lists.first(all, given.rows)))
end


function command.run(given, words)
  if #words > 1 then errors.raise("usage", "one run at a time") end
  if given.metric then
    if words[1] then errors.raise("usage", "--metric takes no run: it shows all runs") end
    print_history(given)
    return 0
  elseif words[1] then
    local run = artifacts.open(words[1], given.root)
    local list = lists.map(artifacts.files(run.dir), function(file)
      return { path = run:path(file.name), bytes = file.bytes,
        replaces = layout.replaces[file.name] }
    end)
    out.write(table_options.render(given, file_columns, lists.first(list, given.rows)))
    return 0
  end
  local runs, now, list = artifacts.list(given.root), sys.realtime() // 1000000000, {}
  for i = #runs, 1, -1 do
    if runs[i].message then out.complain(runs[i].message) end
    list[#list + 1] = row_of(runs[i], now)
  end
  if #runs == 0 then out.complain("no runs in " .. given.root) end
  local shown = lists.joined(columns, { tables.format(given.format).programs and started or age })
  out.write(table_options.render(given, shown, lists.first(list, given.rows)))
  return 0
end


return command
