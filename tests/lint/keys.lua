-- Does the manual's table of configuration keys say what the program does? Run
-- by llmprof exec, in the source tree; --update writes the table.
local defaults = require "llmprof.recipe.defaults"
local fs = require "llmprof.fs"

local PAGE = "docs/recipes.md"
local START, STOP = "<!-- keys -->\n", "<!-- end of keys -->\n"


local function code(value)
  return "`" .. tostring(value) .. "`"
end


local function type_text(declaration)
  local default = declaration[2]
  local kind = declaration.type or (type(default) == "table" and "list") or math.type(default)
    or type(default)
  local low, high = declaration.min, declaration.max
  if low and high then return ("%s, %s to %s"):format(kind, low, high) end
  return low and ("%s, %s or more"):format(kind, low) or kind
end


local function default_text(value)
  if type(value) == "table" then return code("[" .. table.concat(value, ",") .. "]") end
  return value ~= nil and code(value) or ""
end


local function meaning(declaration)
  local choices = declaration.choices
  local text = declaration[1]:gsub("<", "&lt;")
  if not choices then return text end
  local shown = {}
  for i, choice in ipairs(choices) do shown[i] = code(choice) end
  return text .. ": " .. table.concat(shown, " ")
end


local function table_text()
  local keys, lines = {}, { "| key | type | default | meaning |", "|---|---|---|---|" }
  for key in pairs(defaults) do keys[#keys + 1] = key end
  table.sort(keys)
  for _, key in ipairs(keys) do
    local declaration = defaults[key]
    lines[#lines + 1] = ("| %s | %s | %s | %s |"):format(code(key), type_text(declaration),
      default_text(declaration[2]), meaning(declaration))
  end
  return "\n" .. table.concat(lines, "\n") .. "\n\n"
end


local page = assert(fs.read(PAGE))
local _, first = page:find(START, 1, true)
local last = page:find(STOP, 1, true)
if page:sub(first + 1, last - 1) == table_text() then return 0 end
if ... ~= "--update" then
  io.stderr:write(PAGE, ": the table of keys is not the program's: ",
    "llmprof exec tests/lint/keys.lua --update\n")
  return 1
end
assert(fs.write(PAGE, page:sub(1, first) .. table_text() .. page:sub(last)))
return 0
