-- llmprof operators TRACE | RUN: the framework's operators as a table.
local lazy = require "llmprof.io.lazy"
local argument = lazy "llmprof.cli.arguments"
local artifacts = lazy "llmprof.bundle.artifacts"
local columns = lazy "llmprof.report.columns"
local errors = require "llmprof.process.errors"
local fs = require "llmprof.fs"
local handed = lazy "llmprof.trace.handed"
local layout = lazy "llmprof.bundle.layout"
local operators = lazy "llmprof.run.operators"
local lists = require "llmprof.tables.lists"
local out = require "llmprof.io.output"
local rows = lazy "llmprof.report.rows"
local table_options = lazy "llmprof.cli.table_options"
local text = require "llmprof.text"
local trace = lazy "llmprof.trace"
local user = require "llmprof.recipe.user"

local command = {
  name = "operators",
  usage = "operators [OPTION...] FILE | RUN_ID | FOLDER | latest",
  details = [[
FILE is a Chrome trace of torch.profiler (Kineto), plain or gzip, or a workload's
operators.json. Self times are without the operators that an operator called; an
operator's device time is that of the kernels it launched.]],
  options = {
    { "kernels", short = "k", help = "the kernels that each operator launched, instead" },
    table_options.format,
    table_options.safe,
    table_options.rows,
    user.root_option,
  },
}


-- What the table does not show, on standard error.
local function remark(found)
  if found.left_out_events then
    out.complain(("events without a start or a duration, left out: %s"):format(
      text.count(found.left_out_events)))
  end
  local rest = found.unattributed_device_ns
  if rest and rest > 0 then
    out.complain(("no operator launched %s of the device time"):format(text.duration(rest)))
  end
end


function command.run(given, words)
  local word = argument.only(words, "trace", "llmprof operators run.pt.trace.json.gz")
  local info, path, folder = fs.stat(word), word, nil
  if info and info.type == "directory" then
    folder = word
  elseif not info and not word:find "[./]" then
    folder = artifacts.open(word, given.root).dir
  end
  -- of a run or a recorded capture its operators, of another folder its trace
  if folder then path = layout.find_operators(folder) or argument.path(folder) end
  local found, message, code = operators.load(path)
  if not found then -- it is something else, or broken
    local reader = code == "syntax" and trace.reader(path)
    if handed.TITLES[reader] and reader ~= "torch" then
      message = ("%s: %s names no operators"):format(path, handed.TITLES[reader])
    end
    errors.raise_systems(message, code)
    errors.raise("usage", message, { hint = code ~= "notfound"
      and "a Chrome trace of torch.profiler or an operators.json is expected" or nil })
  end
  remark(found)
  local name = given.kernels and "operator_kernels" or "operators"
  out.write(table_options.render(given, columns[name],
    lists.first(rows[name] { operators = found }, given.rows)))
  return 0
end


return command
