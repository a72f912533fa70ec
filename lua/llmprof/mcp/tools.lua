-- The tools of the server: what each is called, takes (a JSON schema), and gives.
local artifacts = require "llmprof.bundle.artifacts"
local errors = require "llmprof.process.errors"
local fs = require "llmprof.fs"
local json = require "llmprof.json"
local layout = require "llmprof.bundle.layout"
local lazy = require "llmprof.io.lazy"
local lists = require "llmprof.tables.lists"
local process = require "llmprof.process.child"
local reference = require "llmprof.query.reference"
local source = lazy "llmprof.query.session.source"
local sorted_keys = require("llmprof.tables.keys").sorted
local sys = require "llmprof.sys"
local text = require "llmprof.text"
local user = require "llmprof.recipe.user"

local tools = {}

-- Bytes of an answer; of a longer table rows are left out, of other text its end.
local MOST = 60000


-- ---- schemas ----

local function object(properties, required)
  return { type = "object", properties = properties, required = json.list(required),
    additionalProperties = false }
end


local function text_of(description) return { type = "string", description = description } end


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
    local line = errors.check(json.encode(row))
    bytes = bytes + #line + 1
    if i > most or bytes > MOST then break end
    kept[i] = line
  end
  return ('{"rows":[%s],"left_out":%d}'):format(table.concat(kept, ","), #rows - #kept)
end


-- Rows that have what is asked of their columns: a number that is equal, a text that contains the
-- text, whatever the case. Raises where a column is named that no row has.
local function filtered(rows, wanted)
  for column in pairs(wanted) do
    local known = #rows == 0 or lists.any(rows, function(row) return row[column] ~= nil end)
    if not known then
      errors.raise("usage", ("filter: no column '%s'; there are %s"):format(column,
        table.concat(sorted_keys(rows[1]), ", ")))
    end
  end
  return lists.filtered(rows, function(row)
    for column, value in pairs(wanted) do
      local here = row[column]
      local is_text = type(value) == "string" and type(here) == "string"
      if not (is_text and here:lower():find(value:lower(), 1, true) or here == value) then
        return false
      end
    end
    return true
  end)
end


local function decoded(said) return errors.check(json.decode(said)) end


-- ---- the tools ----

-- A command that answers in JSON, about the runs of a server: its name, then its words.
local function asking(server, name, ...)
  return lists.joined({ name, "-f", "json" }, server.root and { "--root", server.root } or {},
    { ... })
end


-- A comparison with no more than this many kernels of each, those that took as long as
-- before none of them; it says how many are left out.
local function compared(said, most)
  local made = decoded(said)
  for _, one in ipairs(made.comparisons) do
    local changed = lists.filtered(one.kernels, function(kernel)
      return kernel.difference_ns ~= 0
    end)
    local kept = json.list(lists.first(changed, most))
    one.kernels_left_out, one.kernels = #one.kernels - #kept, kept
  end
  return cut(errors.check(json.encode(made)))
end


local list = {
  { name = "runs", description = "The runs there are, newest first: model, TTFT, TPOT, status. "
    .. "Times are ns.",
    schema = object { top = whole("Rows at most (20)", 1) },
    call = function(given, server, run)
      return encode_rows(decoded(run(asking(server, "ls"))), given.top or 20)
    end },
  { name = "digest", description = "One run in a few lines: model, GPU, speed, verdict, the moves "
    .. "with most to gain, top kernels, how far to trust it. Ask this first; null: not measured.",
    schema = object({ run = RUN, bytes = whole("Answer at most so long (4000)", 600) }, { "run" }),
    call = function(given, server, run)
      return run(asking(server, "digest", "--bytes", tostring(given.bytes or 4000),
        tools.check_word(given.run, "run")))
    end },
  { name = "table", description = "A table of a run's results, unrounded: ns, bytes, shares from "
    .. "0 to 1. Without a section: which there are (stages, kernels, findings, operators, "
    .. "latency, headroom, ranks, ...).",
    schema = object({ run = RUN, section = text_of "Name of the table",
      filter = { type = "object", description = "Column to value: equal for numbers, contained "
        .. "for texts", additionalProperties = { type = json.list { "string", "number" } } },
      top = whole("Rows at most (50)", 1) }, { "run" }),
    call = function(given, server, run)
      local words = asking(server, "show", tools.check_word(given.run, "run"))
      if given.section then words[#words + 1] = tools.check_word(given.section, "section") end
      return encode_rows(filtered(decoded(run(words)), given.filter or {}), given.top or 50)
    end },
  { name = "query", description = "Ask a run's timeline in Lua, read only: kernels, ops, "
    .. "transfers, api, ranges, stages, steps, layers, gaps, collectives, cpu_samples are frames "
    .. "with :where{stage=\"decode\"}, :group(\"label\"), :sum(\"dur\"), "
    .. ":agg(\"count\", \"p99 dur\"), :sort(\"-dur\"), :top(10), :join(other, \"step\"); "
    .. "durations are ns. help(kernels) lists columns, help \"methods\" methods. For example "
    .. "kernels:where{stage=\"decode\"}:group(\"category\"):sum(\"dur\"):sort(\"-dur\"). "
    .. "whatif(1, 3) replays the trace with the changes of findings 1 and 3: the gain of both, its "
    .. "interval, what limits a step then; whatif 'dtype \"fp8\"' with a change in words "
    .. "(graphs, scale, remove, gpu, bandwidth, dtype, tp, tokens)",
    schema = object({ run = RUN, code = text_of "One expression or chunk of Lua" },
      { "run", "code" }),
    call = function(given, server, run)
      local name = tools.check_word(given.run, "run")
      return cut(run { "ask", given.code, source.locate(name, server.root) or name })
    end },
  { name = "compare", description = "What changed from one run to another, with 95 % intervals; "
    .. "several runs of one side with commas between them. Kernels: those that changed most.",
    schema = object({ before = RUN, after = RUN, top = whole("Kernels at most (20)", 1) },
      { "before", "after" }),
    call = function(given, server, run)
      return compared(run(asking(server, "compare", tools.check_word(given.before, "before"),
        tools.check_word(given.after, "after"))), given.top or 20)
    end },
  { name = "capture", capture = true, description = "Run a recipe: profile its workload on this "
    .. "machine, write a bundle, tell its digest. Takes minutes.",
    schema = object({ recipe = text_of "A recipe's file or name", settings = { type = "array",
      items = { type = "string", pattern = "^[%w_.]+=" }, description = "KEY=VALUE" },
      seconds = whole("End it after so long (1800)", 1) }, { "recipe" }),
    call = function(given, server, run)
      local settings = lists.map(given.settings or {}, function(setting)
        return tools.check_word(setting, "settings")
      end)
      run(lists.joined({ "run", "-q", tools.check_word(given.recipe, "recipe") }, settings,
        server.root and { "run.root=" .. server.root } or {}), given.seconds or 1800)
      return run(asking(server, "digest", "latest"))
    end },
}

local function is_offered(tool, server) return not tool.capture or server.allow_capture end


-- Those that a server offers, as the protocol lists them. server: { root, allow_capture }.
function tools.list(server)
  return json.list(lists.map(list, function(tool)
    return is_offered(tool, server) and { name = tool.name, description = tool.description,
      inputSchema = tool.schema, annotations = { readOnlyHint = not tool.capture } } or nil
  end))
end


function tools.find(name, server)
  local tool = lists.find(list, "name", name)
  return tool and is_offered(tool, server) and tool or nil
end


-- What a tool says to arguments. run: commands.run with its options bound. What is wrong
-- with them, and what the command complains about, raises.
function tools.call(tool, arguments, server, run)
  local schemas <close> = json.schemas()
  errors.check(schemas:add(tool.name, json.encode(tool.schema)))
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

-- Runs whose reports are listed; any run can be read.
local NEWEST = 20

-- Bytes of a report that are read; those of a run with all tables have less than 1 MB.
local MOST_BYTES = 16 << 20

local RUNS, DOCS = "llmprof://runs/", "llmprof://docs/"

-- Of a bundle, by what they are called there: those that are text to read.
local REPORTS = lists.filtered(layout.best_reports, function(file)
  return file ~= layout.reports.page
end)


local function entry(uri, name) return { uri = uri, name = name, mimeType = "text/markdown" } end


function tools.list_resources(root)
  local made, runs = {}, artifacts.list(root or user.root())
  for i = #runs, math.max(1, #runs - NEWEST + 1), -1 do
    lists.add(made, lists.map(REPORTS, function(file)
      return fs.stat(runs[i].dir .. "/" .. file)
        and entry(RUNS .. runs[i].id .. "/" .. file, runs[i].id .. ": " .. file)
    end))
  end
  return json.list(lists.add(made, lists.map(reference.topics(), function(topic)
    local name = topic.path and topic.path:match "[^/]+$" or topic.name
    return entry(DOCS .. name, "manual: " .. name)
  end)))
end


function tools.resource_templates()
  return json.list {
    { uriTemplate = RUNS .. "{run}/{file}", name = "a report of a run", mimeType = "text/markdown",
      description = "file: " .. table.concat(REPORTS, ", ") },
    { uriTemplate = DOCS .. "{page}", name = "a page of the manual", mimeType = "text/markdown" },
  }
end


local function report(root, id, file)
  local run = lists.has(REPORTS, file)
    and lists.find(artifacts.list(root or user.root()), "id", id)
  if not run then return nil end
  artifacts.check_links(run.dir)
  local path = run.dir .. "/" .. file
  local info = fs.stat(path)
  if not info then return nil end
  if info.type ~= "file" then errors.raise("failed", path .. ": not a regular file") end
  return errors.check(fs.read(path, MOST_BYTES))
end


-- The text of a resource; nil when there is none, and what is none that can be read raises.
function tools.read_resource(root, uri)
  local id, file = uri:match "^llmprof://runs/([^/]+)/([^/]+)$"
  if id then return report(root, id, file) end
  local page = uri:match "^llmprof://docs/([%w_.-]+)$"
  return page and reference.page((page:gsub("%.md$", "")))
end


-- ---- llmprof as a child ----

-- What a question may cost: seconds, bytes of memory, bytes of answer that are read.
local SECONDS, MEMORY, MOST_READ = 60, 4 << 30, 32 << 20


-- A signal that we got went to the child: it is ours as well.
local function raise_signal(result)
  if result and result.interrupted then errors.raise("interrupted", "interrupted") end
end


-- Why a child gave no answer, where it does not say so itself.
local function why_not(said, result)
  if said.too_long then
    return ("the answer is longer than %s; ask for less"):format(text.bytes(MOST_READ))
  elseif result.timed_out then
    return "no answer within its time; ask for less"
  end
  local why = table.concat(said.stderr, "\n")
  if why ~= "" then return why end
  return result.signal and ("the answer was ended by %s, as the system does when memory is short; "
    .. "ask for less"):format(result.signal)
    or ("llmprof ended without a word (status %s)"):format(result.code)
end


-- Standard output of llmprof with these words. What it complains about raises, in its
-- words. options: seconds and memory (nil: SECONDS, MEMORY), is_cancelled(child) (asked
-- while it runs; when true, an error of kind "closed").
function tools.run(words, options)
  local said, bytes = { stdout = {}, stderr = {} }, 0
  local function on_line(line, stream) -- reading ends where it is too much
    bytes = bytes + #line + 1
    said.too_long = bytes > MOST_READ
    if not said.too_long then table.insert(said[stream], line) end
    return not said.too_long
  end
  local seconds, memory = options.seconds or SECONDS, options.memory or MEMORY
  local result = errors.check(process.run(
    { errors.check(sys.executable()), table.unpack(words) },
    { on_line = on_line, timeout = seconds, helper = true,
      env = { NO_COLOR = "1", LLMPROF_LIMITS = ("bytes=%d,seconds=%d"):format(memory, seconds) } },
    function(child)
      if not options.is_cancelled or not options.is_cancelled(child) then return end
      raise_signal(child:stop())
      child:close()
      errors.raise("closed", "cancelled")
    end))
  raise_signal(result)
  if result.ok and not said.too_long then return table.concat(said.stdout, "\n") .. "\n" end
  errors.raise("failed", text.clean_lines(why_not(said, result)))
end


-- Is a path there, or the name of a run? Words that begin like options are neither.
function tools.check_word(word, what)
  if type(word) ~= "string" or word == "" or word:find "^[-~+]" or word:find "[%z\n]" then
    errors.raise("usage", ("%s: the id of a run, a folder or a file is expected"):format(what))
  end
  return word
end


return tools
