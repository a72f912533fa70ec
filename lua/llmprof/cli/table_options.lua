-- The options of commands that print tables, declared once; and the tables of checks.
local errors = require "llmprof.process.errors"
local lists = require "llmprof.tables.lists"
local out = require "llmprof.io.output"
local tables = require "llmprof.tables"
local text = require "llmprof.text"

local table_options = {}

table_options.format = { "format", short = "f", arg = "FORMAT", default = "table",
  choices = lists.map(tables.formats(), "name"), help = "output format" }

table_options.json = { "json", help = "as -f json" }

-- Of a command that prints several tables and text as one document.
table_options.document_format = { "format", short = "f", arg = "FORMAT", default = "table",
  choices = lists.map(tables.formats(), function(format)
    return (format.heading or format.name == "json") and format.name or nil
  end), help = "output format" }

table_options.safe = { "safe", help = "with -f csv: guard texts that look like formulas" }

-- Of a command whose CSV is that of another program, byte for byte.
table_options.exact_safe = { "safe",
  help = "with -f csv: guard texts that look like formulas, show unseen characters" }

table_options.wide = { "wide", help = "print all of a table, however narrow the terminal is" }

-- Of commands that hold a comparison against limits (llmprof.compare.limits).
table_options.fail_on = { "fail-on", arg = "LIMITS",
  help = "'decode.ms>+3%, prefill.kernels>+0': fail beyond these" }
table_options.strict = { "strict", help = "a limit that may be broken is broken" }
table_options.allow_undecided = { "allow-undecided",
  help = "a limit that may be broken is kept" }

table_options.rows = { "rows", short = "n", arg = "N", type = "integer", min = 1,
  help = "print the first N rows only" }


local function complete(given, options)
  if given.safe and given.format ~= "csv" then
    errors.raise("usage", "--safe is for CSV: -f csv --safe")
  end
  options = options or {}
  options.safe = given.safe
  options.columns = not (given.output or given.wide) and out.columns(1) or nil
  return options
end


-- The table in the format that was asked for. options: of tables.render.
function table_options.render(given, columns, rows, options)
  return tables.render(given.format, columns, rows, complete(given, options))
end


-- The same of a frame, on standard output.
function table_options.print(given, columns, frame, options)
  tables.print(given.format, columns, frame, complete(given, options))
end


-- Write the same into a file.
function table_options.save(given, path, columns, frame, options)
  return tables.save(path, given.format, columns, frame, complete(given, options))
end


-- What a look at something found: a list of checks, each { name, level = "ok" |
-- "warning" | "problem", text, fix }, and how they are shown.

local check_columns = {
  { key = "name", title = "check", type = "text" },
  { key = "level", title = "level", type = "text" },
  { key = "text", title = "seen", type = "text" },
  { key = "fix", title = "fix", type = "text" },
}

local colors = { ok = "green", warning = "yellow", problem = "red" }


for level in pairs(colors) do
  table_options[level] = function(name, said, fix)
    return { name = name, level = level, text = said, fix = fix }
  end
end


function table_options.has_problem(list) return lists.find(list, "level", "problem") ~= nil end


local function print_check_lines(list)
  local screen = out.terminal(io.stdout, 1)
  for _, check in ipairs(list) do
    screen.line(screen.style(colors[check.level], ("%-8s"):format(check.level))
      .. (" %-12s %s"):format(check.name, text.clean(check.text)))
    if check.level ~= "ok" and check.fix then
      screen.line((" "):rep(22) .. screen.style("dim", text.clean(check.fix)))
    end
  end
end


-- Print the list: a line each for people, or the table in the format that was asked for.
-- given: options of the command.
function table_options.print_checks(list, given)
  local format = given.json and "json" or given.format
  if format == "table" then
    print_check_lines(list)
  else
    out.write(tables.render(format, check_columns, list))
  end
end


return table_options
