-- llmprof ls: the runs and their key numbers.
local lazy = require "llmprof.io.lazy"
local artifacts = lazy "llmprof.bundle.artifacts"
local clock = require "llmprof.io.clock"
local command_line = require "llmprof.process.command_line"
local errors = require "llmprof.process.errors"
local evidence = lazy "llmprof.advice.evidence"
local overhead = lazy "llmprof.analysis.latency.overhead"
local layout = lazy "llmprof.bundle.layout"
local out = require "llmprof.io.output"
local results_file = lazy "llmprof.bundle.results_file"
local sys = require "llmprof.sys"
local table_options = lazy "llmprof.cli.table_options"
local tables = lazy "llmprof.tables"
local user = require "llmprof.recipe.user"

local command = {
  name = "ls",
  summary = "the runs with model, TTFT, TPOT, status and age",
  usage = "ls [OPTION...]",
  details = [[
The newest run is first. A number that was not measured is empty; times are those
without the profiler where they were measured, else those under it. `llmprof artifacts`
lists files and sizes, `llmprof show RUN` the tables of a run.]],
  options = {
    user.root_option,
    table_options.format,
    table_options.safe,
    table_options.rows,
  },
  completes = {},
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


local function columns_for(format)
  local list = table.move(columns, 1, #columns, 1, {})
  list[#list + 1] = tables.format(format).programs and started or age
  return list
end


-- What results.json of a run says; an empty table when there is none to read.
local function results_of(run)
  local path = run.manifest and layout.find(run.dir, "results")
  if not path then return {} end
  local results, message = results_file.read(path)
  if not results then out.complain(message) end
  return results or {}
end


local function mean(figure)
  return figure and figure.first.mean_ns
end


local function row_of(run, now)
  local manifest, results = run.manifest or { status = "unreadable" }, results_of(run)
  local latency, began = overhead.latency_of(results), clock.seconds(manifest.started)
  local decode = results.stages and evidence.find(results, "decode")
  return {
    id = run.id, recipe = manifest.recipe, model = results.model and results.model.name,
    ttft_ns = mean(latency.ttft), tpot_ns = mean(latency.tpot),
    decode_ns = decode and overhead.time_of(results, decode) or nil, status = manifest.status,
    started = manifest.started, age = began and clock.age(now - began),
  }
end


function command.run(given, words)
  if #words > 0 then
    errors.raise("usage", "ls takes no run",
      { hint = command_line.show { "llmprof", "show", words[1] } })
  end
  table_options.check_rows(given)
  local runs, now, list = artifacts.list(given.root), sys.realtime() // 1000000000, {}
  for i = #runs, 1, -1 do
    if runs[i].message then out.complain(runs[i].message) end
    list[#list + 1] = row_of(runs[i], now)
  end
  if #runs == 0 then out.complain("no runs in " .. given.root) end
  out.write(table_options.render(given, columns_for(given.format),
    table_options.first(list, given)))
  return 0
end


return command
