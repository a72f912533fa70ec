-- help(x): what a method, a column or a global is for.
local columns = require "llmprof.query.columns"
local errors = require "llmprof.process.errors"
local fields = require "llmprof.query.session.fields"
local globals = require("llmprof.query.session").globals
local methods = require("llmprof.query.session").methods
local nearest = require "llmprof.tables.suggest"
local plain = require "llmprof.report.plain"
local query = require "llmprof.query"
local reference = require "llmprof.query.reference"
local sys = require "llmprof.sys"
local tables = require "llmprof.tables"

local help = {}


local function list_table(titles, rows)
  local declared, list = {}, {}
  for i, title in ipairs(titles) do declared[i] = { key = i, title = title, type = "text" } end
  for i, row in ipairs(rows) do list[i] = row end
  declared[#declared].wraps = true
  return tables.render("table", declared, list,
    { columns = sys.isatty(1) and sys.columns() or nil })
end


local function overview(offered)
  local rows = {}
  for _, global in ipairs(globals) do
    if offered[global[1]] then rows[#rows + 1] = global end
  end
  return list_table({ "global", "what it is" }, rows)
    .. '\nhelp "methods" lists what frames do, help(kernels) their columns, help "spawn" a '
    .. 'module;\nhelp "where" says more of one.\n'
end


local function all_methods()
  local rows = {}
  for i, method in ipairs(methods) do rows[i] = { method[2], (method[3]:gsub(";.*", "")) } end
  return list_table({ "method", "what it gives" }, rows)
    .. "\n#f is how many rows a frame f has.\n"
end


local function find(list, name)
  for _, entry in ipairs(list) do
    if entry[1] == name then return entry end
  end
  return nil
end


-- Help on a column of a global, or of any frame.
local function field(name, global)
  return global and find(fields, global .. "." .. name) or find(fields, name)
end


-- The name of the global that a frame is, or nil.
local function name_of(frame, opened)
  for _, global in ipairs(globals) do
    if rawequal(rawget(opened, global[1]), frame) then return global[1] end
  end
  return nil
end


local function about_frame(frame, opened)
  local rows, global = {}, name_of(frame, opened)
  for row in frame:columns():rows() do
    local said = field(row.name, global)
    rows[#rows + 1] = { row.name, row.type, row.unit or "", said and said[2] or "" }
  end
  return list_table({ "column", "type", "unit", "what it is" }, rows)
    .. '\nhelp "NAME" has an example of each; help "methods" lists what frames do.\n'
end


local function example(code)
  return code and ("  for example: %s\n"):format(code) or ""
end


-- All that a name is: a column may mean something else in another frame.
local function about_column(name)
  local lines = {}
  for _, one in ipairs(fields) do
    local global, bare = one[1]:match "^([%w_]+)%.(.*)$"
    if (bare or one[1]) == name then
      lines[#lines + 1] = ("column %s%s: %s\n%s"):format(name, global and " of " .. global or "",
        one[2], example(one[3]))
    end
  end
  return table.concat(lines)
end


local function unknown(name, offered)
  local known = { "methods" }
  for _, list in ipairs { methods, fields } do
    for _, entry in ipairs(list) do known[#known + 1] = entry[1]:match "[^.]*$" end
  end
  for global in pairs(offered) do known[#known + 1] = global end
  table.move(reference.module_names(), 1, #reference.module_names(), #known + 1, known)
  errors.raise("usage",
    ("help: nothing about '%s'%s"):format(name, nearest.suggestion(name, known)),
    { hint = "help() lists the globals, help \"methods\" the methods" })
end


-- What require "llmprof.NAME" gives; where the name is something else as well, that there is.
local function about_module(name, is_other)
  local page = reference.module(name)
  if not page then return nil end
  return is_other and ('module: help(require "llmprof.%s")\n'):format(name)
    or plain.render(page, tostring)
end


-- The name of a module that is loaded, by what it is.
local function module_of(value)
  for _, name in ipairs(reference.module_names()) do
    if rawequal(package.loaded["llmprof." .. name], value) then return name end
  end
  return nil
end


local function about_name(name, offered)
  if name == "methods" then return all_methods() end
  local method, global = find(methods, name), offered[name] and find(globals, name)
  local said = {}
  if global then said[1] = ("%s: %s\n%s"):format(global[1], global[2], example(global[3])) end
  if method then
    said[#said + 1] = ("%s\n  %s\n%s"):format(method[2], method[3], example(method[4]))
  end
  said[#said + 1] = about_column(name)
  if columns.aliases[name] then said[#said + 1] = about_column(columns.aliases[name]) end
  said[#said + 1] = about_module(name, table.concat(said) ~= "")
  local text = table.concat(said)
  return text ~= "" and text or unknown(name, offered)
end


local function about(x, opened, offered)
  if x == nil then return overview(offered) end
  if type(x) == "string" then return about_name(x, offered) end
  if query.is(x) then return about_frame(x, opened) end
  local global, module = name_of(x, opened), module_of(x)
  return global and about_name(global, offered) or module and about_module(module)
    or ("a %s\n"):format(type(x))
end


-- help(x) over a session, of which the set of names is offered; printed as it is, it is
-- help().
function help.new(opened, offered)
  return setmetatable({}, { __metatable = false,
    __tostring = function() return overview(offered) end,
    __call = function(_, x) return about(x, opened, offered) end })
end


return help
