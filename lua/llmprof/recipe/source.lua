-- Where in its source a recipe says something. A recipe file ends in a tail call, and
-- tables do not know their lines, so the text is read: as tokens, from the constructor
-- that the file returns inwards.
local source = {}


-- ---- tokens ----

-- The long bracket that opens at a place: what is in it and where it ends; nil when
-- none opens there.
local function long_bracket(text, at)
  local level = text:match("^%[(=*)%[", at)
  if not level then return nil end
  local from = at + #level + 2
  local first, last = text:find("]" .. level .. "]", from, true)
  return text:sub(from, (first or #text + 1) - 1), last or #text
end


-- The end of a comment that begins at a place.
local function comment_end(text, at)
  local _, last = long_bracket(text, at + 2)
  return last or (text:find("\n", at, true) or #text + 1) - 1
end


local function quoted_end(text, at)
  local quote, i = text:sub(at, at), at + 1
  while i <= #text and text:sub(i, i) ~= quote do
    i = i + (text:sub(i, i) == "\\" and 2 or 1)
  end
  return math.min(i, #text)
end


local symbols = { "%.%.%.", "%.%.", "[=~<>]=", "//", "::" }

local function symbol_at(text, at)
  for _, pattern in ipairs(symbols) do
    local found = text:match("^" .. pattern, at)
    if found then return found end
  end
  return text:sub(at, at)
end


-- The token at a place: kind ("name", "string", "number", "symbol"), its text (of a
-- string what is in it) and its last byte; no kind for a comment.
local function token_at(text, at)
  local inner, last = long_bracket(text, at)
  if inner then return "string", inner, last end
  if text:find("^%-%-", at) then return nil, nil, comment_end(text, at) end
  if text:find("^[\"']", at) then
    last = quoted_end(text, at)
    return "string", text:sub(at + 1, last - 1), last
  end
  local word = text:match("^[%a_][%w_]*", at)
  if word then return "name", word, at + #word - 1 end
  local number = text:match("^%d[%w.]*", at)
  if number then return "number", number, at + #number - 1 end
  local symbol = symbol_at(text, at)
  return "symbol", symbol, at + #symbol - 1
end


local function lines_in(text, first, last)
  return select(2, text:sub(first, last):gsub("\n", ""))
end


-- All tokens: { kind, text, line }.
local function tokens_of(text)
  local list, at, line = {}, 1, 1
  while true do
    local next_at = text:find("%S", at)
    if not next_at then return list end
    line = line + lines_in(text, at, next_at - 1)
    local kind, word, last = token_at(text, next_at)
    if kind then list[#list + 1] = { kind = kind, text = word, line = line } end
    line, at = line + lines_in(text, next_at, last), last + 1
  end
end


-- ---- constructors ----

local nesting = { ["("] = 1, ["{"] = 1, ["["] = 1, ["function"] = 1, ["if"] = 1, ["do"] = 1,
  ["repeat"] = 1, [")"] = -1, ["}"] = -1, ["]"] = -1, ["end"] = -1, ["until"] = -1 }

-- Is a token this word or symbol, and not a string of it?
local function is(token, text)
  return token ~= nil and token.kind ~= "string" and token.text == text
end


-- The token behind the expression that begins at one: what separates fields, or ends
-- them.
local function behind(tokens, i)
  local depth = 0
  while tokens[i] do
    if depth == 0 and (is(tokens[i], ",") or is(tokens[i], ";") or is(tokens[i], "}")) then
      break
    end
    depth = depth + (tokens[i].kind ~= "string" and nesting[tokens[i].text] or 0)
    i = i + 1
  end
  return i
end


-- The key of the field that begins at a token, and its value's first token; no key for
-- an item of a list.
local function key_at(tokens, i)
  local token = tokens[i]
  if token.kind == "name" and is(tokens[i + 1], "=") then return token.text, i + 2 end
  if is(token, "[") and is(tokens[i + 2], "]") and is(tokens[i + 3], "=") then
    local key = tokens[i + 1]
    return key.kind == "number" and tonumber(key.text) or key.text, i + 4
  end
  return nil, i
end


-- The field of a constructor that has a key: its line, and its value's first token. Of
-- several the last counts, as in Lua.
local function field_of(tokens, open, wanted)
  local items, i, line, value = 0, open + 1, nil, nil
  while tokens[i] and not is(tokens[i], "}") do
    local key, first = key_at(tokens, i)
    if not key then
      items = items + 1
      key = items
    end
    if key == wanted then line, value = tokens[i].line, first end
    i = behind(tokens, first)
    if not is(tokens[i], "}") then i = i + 1 end
  end
  return line, value
end


-- The first constructor behind the last return that is in no function.
local function returned(tokens)
  local depth, from = 0, nil
  for i, token in ipairs(tokens) do
    if depth == 0 and is(token, "return") then from = i end
    depth = depth + (token.kind ~= "string" and nesting[token.text] or 0)
  end
  for i = from or #tokens + 1, #tokens do
    if is(tokens[i], "{") then return i end
  end
  return nil
end


-- A field of that name in any constructor, where the one returned has none.
local function anywhere(tokens, name)
  for i in ipairs(tokens) do
    local key, first = key_at(tokens, i)
    if key == name and first > i then return tokens[i].line end
  end
  return nil
end


-- The line of what a path leads to in the table that a source returns, such as
-- { "stages", 2, "children" }; of as much of the path as is written there, nil when that
-- is nothing.
function source.line(text, path)
  local tokens = tokens_of(text)
  local open, found = returned(tokens), nil
  for _, key in ipairs(path) do
    if not open then break end
    local line, value = field_of(tokens, open, key)
    if not line then break end
    found, open = line, is(tokens[value], "{") and value or nil
  end
  return found or anywhere(tokens, path[1])
end


return source
