-- The prompt at a terminal: the lines typed there, which are kept (llmprof/history in the folder
-- for state of the XDG base directories), answers longer than a screen, and what Tab completes.
local columns = require "llmprof.query.columns"
local errors = require "llmprof.process.errors"
local fs = require "llmprof.fs"
local group = require "llmprof.query.group"
local lists = require "llmprof.tables.lists"
local out = require "llmprof.io.output"
local folders = require "llmprof.io.files"
local query = require "llmprof.query"
local session_globals = require("llmprof.query.session").globals
local sorted_keys = require("llmprof.tables.keys").sorted
local source = require "llmprof.query.session.source"
local sys = require "llmprof.sys"
local text = require "llmprof.text"

local terminal = {}

local LINES = 1000 -- that are kept at least


function terminal.path()
  local folder = folders.folder "state"
  return folder and folder .. "/history"
end


-- What went wrong is said once, and nothing is kept from then on; and the line kept last.
local broken, latest = false, nil

local function try(act)
  local path = terminal.path()
  if not path or broken then return end
  local ok, err = pcall(act, path)
  if ok then return end
  broken = true
  out.complain("history: " .. (errors.is(err) and err.message or tostring(err)))
end


-- Read it into an editor; of a long one the end is left.
function terminal.load(editor)
  try(function(path)
    local contents, message, code = fs.read(path)
    contents = errors.check(contents or code == "notfound" and "", message, code)
    local list = {}
    for line in contents:gmatch "[^\n]+" do
      list[#list + 1] = line
      editor:remember(line)
    end
    latest = list[#list]
    if #list > 2 * LINES then
      errors.check(fs.write_soon(path, table.concat(list, "\n", #list - LINES + 1) .. "\n"))
    end
  end)
end


-- Add a line, behind those of other prompts. Only its owner may read it.
function terminal.keep(line)
  if line == latest then return end
  latest = line
  try(function(path)
    errors.check(fs.mkdirs(path:match "^(.*)/"))
    local is_there = fs.stat(path)
    local file <close> = errors.check(io.open(path, "a"))
    if not is_there then errors.check(fs.chmod(path, tonumber("600", 8))) end
    errors.check(file:write(line, "\n"))
  end)
end


-- ---- long answers ----

local PROMPT = "-- %d more lines: any key, or q --"


local function wants_more(editor, left)
  out.write(PROMPT:format(left))
  out.flush()
  local key = editor:key()
  out.write(out.trusted "\r\27[K")
  return key ~= nil and key ~= "q" and key ~= "Q"
end


-- Print text that ends in a newline; the editor reads the keys.
function terminal.print(answer, editor)
  local height, lines = sys.lines(), {}
  for line in answer:gmatch "([^\n]*)\n" do lines[#lines + 1] = line end
  if not height or #lines < height then
    out.write(answer)
    out.flush()
    return
  end
  local at, page = 1, height - 1
  while at <= #lines do
    out.write(table.concat(lines, "\n", at, math.min(at + page - 1, #lines)), "\n")
    at = at + page
    if at <= #lines and not wants_more(editor, #lines - at + 1) then return end
  end
  out.flush()
end


-- ---- what Tab completes ----

-- Globals, fields and methods after "." and ":", and inside quotes the names of columns and
-- stages.


-- The value of "a.b.c" without calling anything but the session's loading.
local function value_of(path, environment)
  local value = environment
  for name in path:gmatch "[%w_]+" do
    if type(value) ~= "table" then return nil end
    local ok, found = pcall(function() return value[name] end)
    if not ok then return nil end
    value = found
  end
  return value
end


-- Fields of a value after "."; methods after ":".
local function field_names(value, is_method)
  if query.is(value) then return is_method and query.methods or query.column_names(value) end
  local meta = getmetatable(value)
  return lists.joined(type(value) == "table" and sorted_keys(value) or {},
    meta and type(meta.__index) == "table" and sorted_keys(meta.__index) or {})
end


-- Inside quotes: columns of the frame that the line starts with, or of all
-- that are loaded, and stages.
local function quoted_names(before, environment, globals)
  local head = value_of(before:match "([%a_][%w_.]*)%s*:" or "", environment)
  local loaded = lists.map(sorted_keys(globals), function(name) return rawget(globals, name) end)
  local frames = lists.filtered(query.is(head) and { head } or loaded, query.is)
  return lists.joined(sorted_keys(columns.aliases), lists.flat(frames, query.column_names),
    lists.flat(globals.files, source.stage_names))
end


-- Names that are offered: in quotes those that do not end them. A file may have chosen any.
local IN_QUOTES, BARE = "^[^%c\"'\\]*$", "^%a[%w_]*$"

-- The word before the cursor, what it could be, and of what form that has to be. After a call, as
-- in kernels:group("name"):, what it gives is not known without calling it: methods of frames and
-- of groups.
local function candidates(before, environment, globals)
  local in_quotes = before:match "[\"']([^\"']*)$"
  local _, quotes = before:gsub("[\"']", "")
  if in_quotes and quotes % 2 == 1 then
    return in_quotes:match "^%-?(.*)$", quoted_names(before, environment, globals), IN_QUOTES
  end
  local path, mark, word = before:match "([%a_][%w_.]*)([.:])([%w_]*)$"
  if path then return word, field_names(value_of(path, environment), mark == ":"), BARE end
  word = before:match "[)%]}\"]:([%w_]*)$"
  if word then return word, lists.joined(query.methods, sorted_keys(group.class)), BARE end
  word = before:match "([%a_][%w_]*)$" or ""
  if before:match "{%s*[%w_]*$" or before:match "{[^}]*,%s*[%w_]*$" then -- where { stage
    return word, quoted_names(before, environment, globals), BARE
  end
  local globals_of = lists.map(session_globals, function(global) return global[1] end)
  return word, lists.joined(globals_of, sorted_keys(environment), sorted_keys(_G)), BARE
end


-- What Tab does after this text: what to insert or nil, what to list or nil.
function terminal.complete(before, environment, globals)
  local word, names, form = candidates(before, environment, globals)
  local found = sorted_keys(lists.set(lists.filtered(names, function(name)
    return type(name) == "string" and name:sub(1, #word) == word and name:find(form)
      and text.clean(name) == name
  end)))
  if #found == 0 then return nil, nil end
  local first, last, size = found[1], found[#found], #word -- the most different ones
  while size < #first and first:byte(size + 1) == last:byte(size + 1) do size = size + 1 end
  local insert = first:sub(#word + 1, size)
  if #found == 1 or insert ~= "" then return insert ~= "" and insert or nil, nil end
  return nil, table.concat(text.wrap(table.concat(found, "  "), sys.columns() or 80), "\n")
end


return terminal
