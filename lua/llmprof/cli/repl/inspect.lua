-- Lua values as text for people: tables with their fields in order, a few
-- levels deep.
local inspect = {}

local DEPTH = 3
local ITEMS = 50

local describe -- of what is nested


local function key_text(key)
  if type(key) == "string" and key:find "^[%a_][%w_]*$" then return key end
  return "[" .. (type(key) == "string" and ("%q"):format(key) or tostring(key)) .. "]"
end


-- Keys besides those of the list, numbers first, then by name.
local function other_keys(value, length)
  local keys = {}
  for key in pairs(value) do
    local in_list = math.type(key) == "integer" and key >= 1 and key <= length
    if not in_list then keys[#keys + 1] = key end
  end
  table.sort(keys, function(a, b)
    if type(a) == "number" and type(b) == "number" then return a < b end
    if type(a) ~= type(b) then return type(a) < type(b) end
    return tostring(a) < tostring(b)
  end)
  return keys
end


local function items_of(value, indent, depth)
  local items, length = {}, rawlen(value)
  for i = 1, length do items[#items + 1] = describe(value[i], indent .. "  ", depth - 1) end
  for _, key in ipairs(other_keys(value, length)) do
    items[#items + 1] = key_text(key) .. " = " .. describe(value[key], indent .. "  ", depth - 1)
  end
  return items
end


local function table_text(value, indent, depth)
  if next(value) == nil then return "{}" end
  if depth == 0 then return "{...}" end
  local items = items_of(value, indent, depth)
  local more = #items - ITEMS
  if more > 0 then
    items = table.move(items, 1, ITEMS, 1, {})
    items[#items + 1] = ("-- and %d more"):format(more)
  end
  local line = "{ " .. table.concat(items, ", ") .. " }"
  if more <= 0 and #line + #indent <= 80 and not line:find "\n" then return line end
  return "{\n" .. indent .. "  " .. table.concat(items, ",\n" .. indent .. "  ")
    .. "\n" .. indent .. "}"
end


function describe(value, indent, depth)
  local meta = debug.getmetatable(value)
  if type(value) == "table" and not (meta and rawget(meta, "__tostring")) then
    return table_text(value, indent, depth)
  elseif type(value) == "string" then
    return ("%q"):format(value):gsub("\\\n", "\\n")
  elseif math.type(value) == "float" then
    return ("%.10g"):format(value)
  end
  return tostring(value)
end


-- The value as printed at the prompt.
function inspect.text(value)
  if type(value) == "string" then return value end
  return describe(value, "", DEPTH)
end


return inspect
