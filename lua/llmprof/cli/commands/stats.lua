-- llmprof stats TRACE: NVIDIA's summary tables.
local errors = require "llmprof.process.errors"
local interrupt = require "llmprof.interrupt"
local lazy = require "llmprof.io.lazy"
local out = require "llmprof.io.output"
local stats = lazy "llmprof.trace.stats"
local sys = require "llmprof.sys"
local table_options = lazy "llmprof.cli.table_options"
local tables = lazy "llmprof.tables"
local argument = lazy "llmprof.cli.arguments"
local user = require "llmprof.recipe.user"

local command = {
  name = "stats",
  usage = "stats [OPTION...] TRACE | RUN_ID | FOLDER | latest",
  details = "Reports: " .. table.concat(stats.names, " ") .. [[.
A name may be followed by :base (short kernel names), and the names from before
2023 are known too. Figures and CSV headers are those of `nsys stats`.]],
  options = {
    { "report", short = "r", arg = "A,B", type = "list", help = "which reports",
      values = function() return stats.names end },
    table_options.format,
    table_options.exact_safe,
    { "output", short = "o", arg = "BASE", help = "write BASE_<report>.csv and the like instead" },
    table_options.rows,
    user.root_option,
    { "names", arg = "YEAR", default = "2025", choices = { "2023", "2025" },
      help = "default-domain ranges as decode (2023) or :decode (2025)" },
  },
  completes = "run",
}


-- Print or write one report. What it was made of need not outlive it.
local function give_report(trace, name, given, first)
  local report = stats.report(trace, name, { names = given.names, limit = given.rows })
  if report.reason then out.complain(("%s is empty: %s"):format(report.name, report.reason)) end
  local format = tables.format(given.format)
  -- programs compare CSV with that of nsys, byte for byte; people see what is in it
  local whom = { keep_invisible = not given.safe and (given.output ~= nil or not sys.isatty(1)) }
  if given.output then
    local path = ("%s_%s.%s"):format(given.output, report.name, format.extension)
    errors.check(table_options.save(given, path, report.columns, report.rows, whom))
    out.warn(path, "\n")
    return
  elseif format.heading then
    out.write(first and "" or "\n", format.heading, report.title, " (", report.name, ")\n\n")
  end
  table_options.print(given, report.columns, report.rows, whom)
end


function command.run(given, words)
  local trace_file = require "llmprof.trace.file"
  local word = argument.only(words, "trace", "llmprof stats run.sqlite")
  for _, name in ipairs(given.report or {}) do stats.find(name) end
  local trace = trace_file.open(argument.path(word, given.root))
  for i, name in ipairs(given.report or stats.default) do
    give_report(trace, name, given, i == 1)
    interrupt.collect()
  end
  argument.warn(trace)
  return 0
end


return command
