-- The tools of the server: what each is called, takes (a JSON schema), and gives.
local artifacts = require "llmprof.bundle.artifacts"
local commands = require "llmprof.mcp.commands"
local errors = require "llmprof.process.errors"
local fs = require "llmprof.fs"
local json = require "llmprof.json"
local layout = require "llmprof.bundle.layout"
local reference = require "llmprof.query.reference"

local tools = {}

-- Bytes of an answer; of a longer table rows are left out, of other text its end.
local MOST = 60000


-- ---- schemas ----

local function object(properties, required)
  return { type = "object", properties = properties, required = json.list(required),
    additionalProperties = false }
end


local function text_of(description)
  return { type = "string", description = description }
end


local function whole(description, least)
  return { type = "integer", minimum = least, description = description }
end


local RUN = text_of("A run: its id, `latest`, or the folder of a bundle; or a trace: a file "
  .. "of nsys, llmprof collect or torch.profiler, or a folder of them")


-- ---- answers ----

-- Text that is cut says so.
local function cut(said)
  if #said <= MOST then return said end
  local kept = said:sub(1, utf8.offset(said, 0, MOST) - 1)
  return ("%s\n[%d bytes more are left out]\n"):format(kept, #said - #kept)
end


-- Rows as JSON, as many as fit; how many are left out.
local function encode_rows(rows, most)
  local kept = {}
  local bytes = 0
  for i, row in ipairs(rows) do
    local line = assert(json.encode(row))
    bytes = bytes + #line + 1
    if i > most or bytes > MOST then break end
    kept[i] = line
  end
  return ('{"rows":[%s],"left_out":%d}'):format(table.concat(kept, ","), #rows - #kept)
end


-- Does a row have what is asked of its columns: a number that is equal, a text that
-- contains the text, whatever the case?
local function fits(row, wanted)
  for column, value in pairs(wanted) do
    local here = row[column]
    local equal = here == value
    if type(value) == "string" and type(here) == "string" then
      equal = here:lower():find(value:lower(), 1, true) ~= nil
    end
    if not equal then return false end
  end
  return true
end


-- Raise where a filter names a column that no row has.
local function check_filter(rows, wanted)
  for column in pairs(wanted) do
    local known = #rows == 0
    for _, row in ipairs(rows) do known = known or row[column] ~= nil end
    if not known then
      local names = {}
      for name in pairs(rows[1]) do names[#names + 1] = name end
      table.sort(names)
      errors.raise("usage", ("filter: no column '%s'; there are %s"):format(column,
        table.concat(names, ", ")))
    end
  end
end


local function rows_of(said)
  local rows = errors.check(json.decode(said))
  return rows.rows or rows
end


-- ---- the tools ----

-- A command that answers in JSON, about the runs of a server: its name, then its words.
local function asking(server, name, ...)
  local words = { name, "-f", "json" }
  if server.root then table.move({ "--root", server.root }, 1, 2, #words + 1, words) end
  return table.move({ ... }, 1, select("#", ...), #words + 1, words)
end


-- A comparison with no more than this many kernels of each, those that took as long as
-- before none of them; it says how many are left out.
local function compared(said, most)
  local made = errors.check(json.decode(said))
  for _, one in ipairs(made.comparisons) do
    local kept = json.list {}
    for _, kernel in ipairs(one.kernels) do
      if #kept < most and kernel.difference_ns ~= 0 then kept[#kept + 1] = kernel end
    end
    one.kernels_left_out, one.kernels = #one.kernels - #kept, kept
  end
  return cut(assert(json.encode(made)))
end


local list = {
  { name = "runs", description = "The runs there are, newest first: model, TTFT, TPOT, status. "
    .. "Times are ns.",
    schema = object { top = whole("Rows at most (20)", 1) },
    call = function(given, server, run)
      return encode_rows(rows_of(run(asking(server, "ls"))), given.top or 20)
    end },
  { name = "digest", description = "One run in a few lines: model, GPU, speed, verdict, the moves "
    .. "with most to gain, top kernels, how far to trust it. Ask this first; null: not measured.",
    schema = object({ run = RUN, bytes = whole("Answer at most so long (4000)", 600) }, { "run" }),
    call = function(given, server, run)
      return run(asking(server, "digest", "--bytes", tostring(given.bytes or 4000),
        commands.check_word(given.run, "run")))
    end },
  { name = "table", description = "A table of a run's results, unrounded: ns, bytes, shares from "
    .. "0 to 1. Without a section: which there are (stages, kernels, findings, operators, "
    .. "latency, headroom, ranks, ...).",
    schema = object({ run = RUN, section = text_of "Name of the table",
      filter = { type = "object", description = "Column to value: equal for numbers, contained "
        .. "for texts", additionalProperties = { type = json.list { "string", "number" } } },
      top = whole("Rows at most (50)", 1) }, { "run" }),
    call = function(given, server, run)
      local words = asking(server, "show", commands.check_word(given.run, "run"))
      if given.section then
        words[#words + 1] = commands.check_word(given.section, "section")
      end
      local rows, kept = rows_of(run(words)), {}
      check_filter(rows, given.filter or {})
      for _, row in ipairs(rows) do
        if fits(row, given.filter or {}) then kept[#kept + 1] = row end
      end
      return encode_rows(kept, given.top or 50)
    end },
  { name = "query", description = "Ask a run's timeline in Lua, read only: kernels, ops, "
    .. "transfers, api, ranges, stages, steps, layers, gaps, collectives, cpu_samples are frames "
    .. "with :where{stage=\"decode\"}, :group(\"label\"), :sum(\"dur\"), "
    .. ":agg(\"count\", \"p99 dur\"), :sort(\"-dur\"), :top(10), :join(other, \"step\"); "
    .. "durations are ns. help(kernels) lists columns, help \"methods\" methods. For example "
    .. "kernels:where{stage=\"decode\"}:group(\"category\"):sum(\"dur\"):sort(\"-dur\")",
    schema = object({ run = RUN, code = text_of "One expression or chunk of Lua" },
      { "run", "code" }),
    call = function(given, server, run)
      local name = commands.check_word(given.run, "run")
      return cut(run { "ask", given.code, commands.folder(name, server.root) })
    end },
  { name = "compare", description = "What changed from one run to another, with 95 % intervals; "
    .. "several runs of one side with commas between them. Kernels: those that changed most.",
    schema = object({ before = RUN, after = RUN, top = whole("Kernels at most (20)", 1) },
      { "before", "after" }),
    call = function(given, server, run)
      return compared(run(asking(server, "compare", commands.check_word(given.before, "before"),
        commands.check_word(given.after, "after"))), given.top or 20)
    end },
  { name = "capture", capture = true, description = "Run a recipe: profile its workload on this "
    .. "machine, write a bundle, tell its digest. Takes minutes.",
    schema = object({ recipe = text_of "A recipe's file or name", settings = { type = "array",
      items = { type = "string", pattern = "^[%w_.]+=" }, description = "KEY=VALUE" },
      seconds = whole("End it after so long (1800)", 1) }, { "recipe" }),
    call = function(given, server, run)
      local words = { "run", "-q", commands.check_word(given.recipe, "recipe") }
      for _, setting in ipairs(given.settings or {}) do
        words[#words + 1] = commands.check_word(setting, "settings")
      end
      if server.root then words[#words + 1] = "run.root=" .. server.root end
      run(words, given.seconds or 1800)
      return run(asking(server, "digest", "latest"))
    end },
}

local by_name = {}
for _, tool in ipairs(list) do by_name[tool.name] = tool end


local function is_offered(tool, server)
  return not tool.capture or server.allow_capture
end


-- Those that a server offers, as the protocol lists them. server: { root, allow_capture }.
function tools.list(server)
  local shown = {}
  for _, tool in ipairs(list) do
    if is_offered(tool, server) then
      shown[#shown + 1] = { name = tool.name, description = tool.description,
        inputSchema = tool.schema, annotations = { readOnlyHint = not tool.capture } }
    end
  end
  return json.list(shown)
end


function tools.find(name, server)
  local tool = by_name[name]
  return tool and is_offered(tool, server) and tool or nil
end


-- What a tool says to arguments. run: commands.run with its options bound. What is wrong
-- with them, and what the command complains about, raises.
function tools.call(tool, arguments, server, run)
  local schemas <close> = json.schemas()
  assert(schemas:add(tool.name, json.encode(tool.schema)))
  local wrong = schemas:check(tool.name, arguments)
  if wrong then errors.raise("usage", "arguments" .. wrong:gsub("^%$", "", 1)) end
  for name, value in pairs(arguments) do
    if type(value) == "string" and value:find("\0", 1, true) then
      errors.raise("usage", name .. ": there is a NUL byte in it")
    end
  end
  return tool.call(arguments, server, run)
end


-- ---- resources ----

-- What a client may read: the digest and the reports of runs, and the manual.

-- Runs whose reports are listed; any run can be read.
local NEWEST = 20

-- Bytes of a report that are read; those of a run with all tables have less than 1 MB.
local MOST_BYTES = 16 << 20

local RUNS, DOCS = "llmprof://runs/", "llmprof://docs/"

-- Of a bundle, by what they are called there: those that are text to read.
local REPORTS = {}
for _, file in ipairs(layout.best_reports) do
  if file ~= layout.reports.page then REPORTS[#REPORTS + 1] = file end
end


local function entry(uri, name, kind)
  return { uri = uri, name = name, mimeType = kind }
end


function tools.list_resources(root)
  local made, runs = {}, artifacts.list(root)
  for i = #runs, math.max(1, #runs - NEWEST + 1), -1 do
    for _, file in ipairs(REPORTS) do
      if fs.stat(runs[i].dir .. "/" .. file) then
        made[#made + 1] = entry(RUNS .. runs[i].id .. "/" .. file, runs[i].id .. ": " .. file,
          "text/markdown")
      end
    end
  end
  for _, topic in ipairs(reference.topics()) do
    local name = topic.path and topic.path:match "[^/]+$" or topic.name
    made[#made + 1] = entry(DOCS .. name, "manual: " .. name, "text/markdown")
  end
  return json.list(made)
end


function tools.resource_templates()
  return json.list {
    { uriTemplate = RUNS .. "{run}/{file}", name = "a report of a run", mimeType = "text/markdown",
      description = "file: " .. table.concat(REPORTS, ", ") },
    { uriTemplate = DOCS .. "{page}", name = "a page of the manual", mimeType = "text/markdown" },
  }
end


local function report(root, id, wanted)
  for _, file in ipairs(REPORTS) do
    for _, run in ipairs(file == wanted and artifacts.list(root) or {}) do
      if run.id == id then
        artifacts.check_links(run.dir)
        local path = run.dir .. "/" .. file
        local info = fs.stat(path)
        if not info then return nil end
        if info.type ~= "file" then errors.raise("failed", path .. ": not a regular file") end
        return errors.check(fs.read(path, MOST_BYTES))
      end
    end
  end
  return nil
end


-- The text of a resource; nil when there is none, and what is none that can be read raises.
function tools.read_resource(root, uri)
  local id, file = uri:match "^llmprof://runs/([^/]+)/([^/]+)$"
  if id then return report(root, id, file) end
  local page = uri:match "^llmprof://docs/([%w_.-]+)$"
  return page and reference.page((page:gsub("%.md$", "")))
end


return tools
