-- Rows of a table as bytes, and back as they were: numbers to the last bit, integers as
-- integers. What keeps the bytes knows the keys.
local packed_rows = {}

-- A value is a letter and what follows it.
local FORMS = { i = "<i8", d = "<d", s = "<s4" }
local TRUE, FALSE, NIL = "t", "f", "n"


local function letter_of(value)
  if value == nil then return NIL end
  if value == true then return TRUE elseif value == false then return FALSE end
  if type(value) == "string" then return "s" end
  return math.type(value) == "integer" and "i" or "d"
end


-- The bytes of rows, of which these fields are kept: booleans, numbers and texts.
function packed_rows.pack(rows, keys)
  local parts = { ("<I4"):pack(#rows) }
  for _, row in ipairs(rows) do
    for _, key in ipairs(keys) do
      local value = row[key]
      local letter = letter_of(value)
      parts[#parts + 1] = letter
      if FORMS[letter] then parts[#parts + 1] = FORMS[letter]:pack(value) end
    end
  end
  return table.concat(parts)
end


local plain = { [TRUE] = true, [FALSE] = false }

local function read_value(bytes, at)
  local letter = bytes:sub(at, at)
  if FORMS[letter] then return FORMS[letter]:unpack(bytes, at + 1) end
  if plain[letter] == nil and letter ~= NIL then error "no value" end
  return plain[letter], at + 1
end


local function read_rows(bytes, keys)
  local count, at = ("<I4"):unpack(bytes)
  local rows = {}
  for i = 1, count do
    local row = {}
    for _, key in ipairs(keys) do row[key], at = read_value(bytes, at) end
    rows[i] = row
  end
  if at ~= #bytes + 1 then error "more than the rows" end
  return rows
end


-- The rows; nil where the bytes are not those of rows with so many fields.
function packed_rows.unpack(bytes, keys)
  local ok, rows = pcall(read_rows, bytes, keys)
  return ok and rows or nil
end


return packed_rows
