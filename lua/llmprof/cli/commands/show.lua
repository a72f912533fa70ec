-- llmprof show RUN [SECTION]: the tables of the results of a run, or of traces.
local lazy = require "llmprof.io.lazy"
local errors = require "llmprof.process.errors"
local out = require "llmprof.io.output"
local results_file = lazy "llmprof.bundle.results_file"
local argument = lazy "llmprof.cli.arguments"
local sections = lazy "llmprof.report.sections"
local table_options = lazy "llmprof.cli.table_options"
local text = require "llmprof.text"
local words = lazy "llmprof.report.words"
local user = require "llmprof.recipe.user"

local command = {
  name = "show",
  summary = "a table of a run's results, or which there are",
  usage = "show [OPTION...] RUN_ID | FOLDER | latest | TRACE [SECTION]",
  details = [[
Sections are the tables of the reports: stages, kernels, operators and so on. CSV and
JSON have the unrounded values of results.json: ns, bytes, shares from 0 to 1.]],
  options = {
    user.root_option,
    table_options.format,
    table_options.safe,
    table_options.rows,
  },
  completes = "section",
}

local list_columns = {
  { key = "name", title = "section", type = "text" },
  { key = "title", title = "table", type = "text" }, { key = "rows", title = "rows", digits = 0 },
}


local function list_sections(results)
  local list = {}
  for i, section in ipairs(sections.all()) do
    list[i] = { name = section.name, title = section.title, rows = #section.rows(results) }
  end
  return list
end


function command.run(given, asked)
  if #asked == 0 or #asked > 2 then
    errors.raise("usage", #asked == 0 and "which run?" or "one run and one section at a time",
      { hint = "llmprof show latest stages" })
  end
  table_options.check_rows(given)
  local section = asked[2] and sections.find(asked[2])
  local results = results_file.of_run(argument.open_run(asked[1], given.root))
  local columns = section and section.columns or list_columns
  local rows = section and section.rows(results) or list_sections(results)
  if section and #rows == 0 then
    local reason = section.subject and words.reason(results, section.subject)
    out.warn(("llmprof: %s is empty\n"):format(section.name),
      reason and ("  %s\n"):format(text.clean(reason)) or "")
  end
  out.write(table_options.render(given, columns, table_options.first(rows, given)))
  return 0
end


return command
