-- llmprof artifacts [RUN_ID]: the runs, or the files of one.
local lazy = require "llmprof.io.lazy"
local artifacts = lazy "llmprof.bundle.artifacts"
local errors = require "llmprof.process.errors"
local layout = lazy "llmprof.bundle.layout"
local out = require "llmprof.io.output"
local table_options = lazy "llmprof.cli.table_options"
local user = require "llmprof.recipe.user"

local command = {
  name = "artifacts",
  usage = "artifacts [OPTION...] [RUN_ID | FOLDER | latest]",
  options = {
    user.root_option,
    table_options.format,
    table_options.safe,
  },
  completes = "run",
}

local run_columns = {
  { key = "id", title = "run", type = "text" }, { key = "recipe", title = "recipe", type = "text" },
  { key = "status", title = "status", type = "text" },
  { key = "started", title = "started (UTC)", type = "text" },
  { key = "files", title = "files", digits = 0 },
  { key = "bytes", title = "MB", scale = 1e-6, digits = 1 },
}

local file_columns = {
  { key = "bytes", title = "bytes", digits = 0 }, { key = "path", title = "file", type = "text" },
  { key = "replaces", title = "in place of", type = "text" },
}


local function list_runs(root)
  local list = {}
  for i, run in ipairs(artifacts.list(root)) do
    local manifest = run.manifest or { status = "unreadable" }
    if run.message then out.complain(run.message) end
    local row = { id = run.id, recipe = manifest.recipe, status = manifest.status,
      started = manifest.started, files = 0, bytes = 0 }
    for _, file in ipairs(artifacts.files(run.dir)) do
      row.files, row.bytes = row.files + 1, row.bytes + file.bytes
    end
    list[i] = row
  end
  return list
end


local function list_files(run)
  local list = {}
  for i, file in ipairs(run:files()) do
    list[i] = { path = run:path(file.name), bytes = file.bytes,
      replaces = layout.replaces[file.name] }
  end
  return list
end


function command.run(given, words)
  if #words > 1 then errors.raise("usage", "one run at a time") end
  if words[1] then
    out.write(table_options.render(given, file_columns,
      list_files(artifacts.open(words[1], given.root))))
    return 0
  end
  local runs = list_runs(given.root)
  if #runs == 0 then out.complain("no runs in " .. given.root) end
  out.write(table_options.render(given, run_columns, runs))
  return 0
end


return command
