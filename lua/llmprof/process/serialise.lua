-- A value with all that is in it as bytes, and back as it was, for another process of the same
-- llmprof: numbers to the last bit, integers as integers, lists of json.list and json.null as
-- such. A table that is in it twice comes back as two.
local json = require "llmprof.json"

local packed_tree = {}

local FORMS = { i = "<i8", d = "<d", s = "<s8" }
local PLAIN = { t = true, f = false, ["0"] = json.null }
local LIST = getmetatable(json.list {})


-- ---- there ----

local function letter_of(value)
  if value == true then return "t" elseif value == false then return "f" end
  if value == json.null then return "0" elseif type(value) == "string" then return "s" end
  return math.type(value) == "integer" and "i" or math.type(value) == "float" and "d" or nil
end


local add

-- Its entries, then what ends them.
local function add_table(parts, value)
  local mark = getmetatable(value)
  if mark and mark ~= LIST then error "a table with a metatable of its own" end
  parts[#parts + 1] = mark and "l" or "m"
  for key, entry in next, value do
    add(parts, key)
    add(parts, entry)
  end
  parts[#parts + 1] = "."
end


function add(parts, value)
  if type(value) == "table" then return add_table(parts, value) end
  local letter = letter_of(value)
  if not letter then error(("a %s is no value to pack"):format(type(value))) end
  parts[#parts + 1] = letter
  if FORMS[letter] then parts[#parts + 1] = FORMS[letter]:pack(value) end
end


-- Raises where the value has functions in it, or objects.
function packed_tree.pack(value)
  local parts = {}
  add(parts, value)
  return table.concat(parts)
end


-- ---- and back ----

local take

local function take_table(bytes, at, made)
  while bytes:byte(at) ~= 46 do
    local key, value
    key, at = take(bytes, at)
    value, at = take(bytes, at)
    made[key] = value
  end
  return made, at + 1
end


function take(bytes, at)
  local letter = bytes:sub(at, at)
  if FORMS[letter] then return FORMS[letter]:unpack(bytes, at + 1) end
  if letter == "m" then return take_table(bytes, at + 1, {}) end
  if letter == "l" then return take_table(bytes, at + 1, json.list {}) end
  if PLAIN[letter] == nil then error "no packed value" end
  return PLAIN[letter], at + 1
end


-- What was packed. Raises where these are not its bytes.
function packed_tree.unpack(bytes)
  local value, at = take(bytes, 1)
  if at ~= #bytes + 1 then error "more than the packed value" end
  return value
end


return packed_tree
