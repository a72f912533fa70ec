-- llmprof show RUN [SECTION]: the tables of the results of a run, or of traces.
local lazy = require "llmprof.io.lazy"
local errors = require "llmprof.process.errors"
local lists = require "llmprof.tables.lists"
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
  usage = "show [OPTION...] RUN_ID | FOLDER | latest | TRACE [SECTION]",
  details = [[
Sections are the tables of the reports: stages, kernels, operators and so on. CSV and
JSON have the values of results.json: ns, bytes, shares from 0 to 1; JSON unrounded.]],
  options = {
    user.root_option,
    table_options.format,
    table_options.safe,
    table_options.rows,
    table_options.wide,
  },
  completes = { "run", "section" },
}

local list_columns = {
  { key = "name", title = "section", type = "text" },
  { key = "title", title = "table", type = "text" }, { key = "rows", title = "rows", digits = 0 },
}


-- Sections with rows whose names have that of the empty one in them may be what was meant.
local function warn_empty(section, results)
  local reason = section.subject and words.reason(results, section.subject) or section.empty
  local others = lists.map(sections.all(), function(other)
    return other ~= section and other.name:find(section.name, 1, true) and #other.rows(results) > 0
      and ("%s (%s)"):format(other.name, other.title) or nil
  end)
  out.warn(("llmprof: %s (%s) is empty\n"):format(section.name, section.title),
    reason and ("  %s\n"):format(text.clean(reason)) or "",
    #others > 0 and ("  there is %s\n"):format(table.concat(others, ", ")) or "")
end


function command.run(given, asked)
  if #asked == 0 or #asked > 2 then
    errors.raise("usage", #asked == 0 and "which run?" or "one run and one section at a time",
      { hint = "llmprof show latest stages" })
  end
  local section = asked[2] and sections.find(asked[2])
  local results = results_file.of_run(argument.open_run(asked[1], given.root))
  local columns = section and section.columns or list_columns
  local rows = section and section.rows(results) or lists.map(sections.all(), function(one)
    return { name = one.name, title = one.title, rows = #one.rows(results) }
  end)
  if section and #rows == 0 then warn_empty(section, results) end
  out.write(table_options.render(given, columns, lists.first(rows, given.rows),
    { more = "--wide prints all." }))
  local scope = section and #rows > 0 and sections.scope(results, section)
  local is_read = given.format == "table" or given.format == "md"
  if scope and is_read then out.write((given.format == "md" and "\n" or "") .. scope .. "\n") end
  return 0
end


return command
