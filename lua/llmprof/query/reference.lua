-- The manual by topic: the pages of docs/, built in, and those that are made when they are asked
-- for: the fields of a JSON file, from its schema in docs/, the configuration keys, the columns
-- of tables, the sets of counters, and the modules that are written in C.
local lazy = require "llmprof.io.lazy"

local annotations = lazy "llmprof.query.annotations"
local config = lazy "llmprof.recipe.config"
local metrics = lazy "llmprof.nvidia.metrics"
local resources = require "llmprof.resources"
local key_sets = require "llmprof.tables.keys"
local lists = require "llmprof.tables.lists"

local reference = {}


-- ---- fields of a JSON file ----

local function cell(text) return (text:gsub("|", "\\|"):gsub("<", "&lt;")) end


-- A table of Markdown: titles, and a list of rows, which are lists of cells.
local function table_of(titles, rows)
  local function line(cells) return "| " .. table.concat(cells, " | ") .. " |\n" end
  return line(titles) .. "|" .. ("---|"):rep(#titles) .. "\n"
    .. table.concat(lists.map(rows, line))
end


-- The Markdown page of the fields of NAME.json, those of each object below a heading of its own.
function reference.fields(name)
  local pieces = {}
  for i, class in ipairs(annotations.classes(name, "", {})) do
    local about = class.about and class.about .. (i > 1 and ".\n" or "\n") or ""
    pieces[#pieces + 1] = i > 1 and ("\n## %s\n\n%s"):format(class.name, about)
      or ("# Fields of %s.json\n\n%sdocs/%s.schema.json has the same for programs.\n"
        .. "Times are ns where the name ends in `_ns`, shares 0 to 1; what was not measured is\n"
        .. "absent, never 0.\n"):format(name, about, name)
    pieces[#pieces + 1] = table_of({ "field", "type", "meaning" },
      lists.map(class.fields, function(field)
        return { ("`%s`"):format(field.name),
          cell(field.type) .. (field.required and "" or ", or absent"), cell(field.about or "") }
      end))
  end
  return table.concat(pieces, "\n")
end


-- ---- configuration keys ----

local function code(value) return "`" .. tostring(value) .. "`" end


local function meaning(declaration)
  local choices = declaration.choices
  local text = declaration[1]:gsub("<", "&lt;")
  if not choices then return text end
  return text .. ": " .. table.concat(lists.map(choices, code), " ")
end


-- The Markdown page of llmprof's own configuration keys.
function reference.keys()
  local defaults = require "llmprof.recipe.defaults"
  return "# Configuration keys\n\n"
    .. "A type without a default means that the key has no value unless one is set.\n\n"
    .. table_of({ "key", "type", "default", "meaning" },
      lists.map(key_sets.sorted(defaults), function(key)
        local declaration, default = defaults[key], defaults[key][2]
        if type(default) == "table" then default = "[" .. table.concat(default, ",") .. "]" end
        return { code(key), config.type_of(declaration), default ~= nil and code(default) or "",
          meaning(declaration) }
      end))
end


-- The Markdown page of what each column of the reports' tables means.
function reference.columns()
  local out = { "# Columns of tables\n\n"
    .. "Times are on the GPU's clock; those of the CPU, of its calls and of runs without the\n"
    .. "profiler are on the CPU's. An empty cell was not measured. The field is what JSON and\n"
    .. "CSV call the column.\n" }
  for _, one in ipairs(require("llmprof.report.sections").explained()) do
    out[#out + 1] = ("\n## %s\n\n"):format(one.title) .. table_of({ "column", "meaning", "field" },
      lists.map(one.columns, function(column)
        return { column.title, column.meaning, code(column.key) }
      end))
  end
  return table.concat(out)
end


-- ---- sets of counters ----

-- The Markdown page of the sets of counters.
function reference.counters()
  local out = { [[
# Sets of counters

`counters.set=light|roofline|full` says what is measured, by llmprof's collector and by ncu alike:
the names are NVIDIA's, and ncu's value of a launch is what the collector's is to equal
(`llmprof help collector` says how far that was compared). Each set has those before it. Of
several names the first counts that the chip has. A file takes the place of a set: a metric a
line, names with `|` between them. Names are what CUPTI 13.0 says of each compute capability;
only 9.0 was tried on a GPU (`llmprof help capture` has the passes of a set there). The busiest of
its parts is what NVIDIA calls the throughput of a unit; those parts replace `sm__throughput` and
the like, which take 5 to 8 passes each. Metrics marked with * are taken in one pass after a flush
of the caches, too.
]] }
  for _, set in ipairs(metrics.sets) do
    out[#out + 1] = ("\n## %s\n"):format(set)
    out[#out + 1] = table_of({ "metric", "unit", "tells", "not on" },
      lists.map(metrics.list[set], function(row)
        local mark = (row.beside or set == "light") and " *" or ""
        return { table.concat(lists.map(row[1], code), ", else ") .. mark, row[2], cell(row[3]),
          row.lacks or "" }
      end))
  end
  out[#out + 1] = "FLOP are instructions of vector units, a fused multiply-add as two and FP16 "
    .. "as two values, and operations of tensor cores. The share of a stall is its number over "
    .. "the sum of all. Theoretical occupancy, its limiter and waves come from the launch "
    .. "configuration, without a counter."
  return table.concat(out, "\n") .. "\n"
end


-- ---- modules written in C ----

function reference.module_names() return key_sets.sorted(annotations.modules()) end


-- Lines of text as paragraphs, and what is indented as code; returns the code, too.
local function prose(lines)
  local shown = lists.map(lines, function(line) return line:match "^  (.*)" end)
  return ("\n" .. table.concat(lines, "\n")):gsub("\n  ", "\n    "):sub(2),
    table.concat(shown, "\n")
end


local function module_page(name, module)
  local about = prose(module.about):gsub("^%l", string.upper)
  local out = { ("# llmprof.%s\n\n%s\n"):format(name, about) }
  local lines = lists.map(module.entries, function(entry)
    return table.concat(entry.text, "\n    "):gsub("\n +\n", "\n\n")
  end)
  if #lines > 0 then out[2] = ("```\n%s\n```\n"):format(table.concat(lines, "\n")) end
  return table.concat(out, "\n")
end


-- The Markdown page of a module that is written in C, by its name with or without "llmprof.",
-- and its example; nil where there is none of that name.
function reference.module(name)
  name = name:gsub("^llmprof%.", "")
  local module = annotations.modules()[name]
  if not module then return nil end
  return module_page(name, module), select(2, prose(module.about))
end


-- The Markdown page of all of them.
function reference.modules()
  local modules = annotations.modules()
  local out = { [[
# Lua modules written in C

What a recipe, a script or the prompt gets by `require "llmprof.NAME"`. Each example takes the
module as a local of its name; `-->` is what a line prints. Arguments in brackets may be left out.
Wrong arguments raise. Where the world fails (a file, a program, a broken input) a function
returns nil, a message and a code: busy, denied, empty, interrupted, io, limit, nomem, notfound,
range, syntax, truncated or unsupported; `assert` raises the message. What computes on frames
raises its failures. Times are ns and sizes bytes unless a name says otherwise. What was opened has
`close()` and can be a variable with `<close>`.
]] }
  for _, name in ipairs(key_sets.sorted(modules)) do
    out[#out + 1] = (module_page(name, modules[name]):gsub("^#", "##"))
  end
  return table.concat(out, "\n")
end


-- ---- topics ----

local FOLDER = "docs/"


-- All topics, sorted: { name, title, path }, or in place of path kind and schema: which
-- function here makes the page, of which JSON file.
function reference.topics()
  local topics = { { name = "keys", title = "Configuration keys", kind = "keys" },
    { name = "modules", title = "Lua modules written in C", kind = "modules" },
    { name = "columns", title = "Columns of tables", kind = "columns" },
    { name = "counters", title = "Sets of counters", kind = "counters" } }
  for _, path in ipairs(resources.list(FOLDER)) do
    local name, schema = path:match "([^/]+)%.md$", path:match "([^/]+)%.schema%.json$"
    if name then
      topics[#topics + 1] = { name = name:lower(), path = path,
        title = resources.get(path):match "^# ([^\n]*)" or name }
    elseif schema then
      topics[#topics + 1] = { name = schema .. ".json", kind = "fields", schema = schema,
        title = ("Fields of %s.json"):format(schema) }
    end
  end
  table.sort(topics, lists.by "name")
  return topics
end


-- The Markdown of a topic, or of a module that is written in C, or nil.
function reference.page(name)
  for _, topic in ipairs(reference.topics()) do
    if topic.name == name:lower() then
      return topic.path and resources.get(topic.path)
        or reference[topic.kind](topic.schema)
    end
  end
  return reference.module(name)
end


return reference
