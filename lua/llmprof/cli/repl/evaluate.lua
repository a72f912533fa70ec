-- Code as people type it: expressions need no return, results are printed.
local errors = require "llmprof.process.errors"
local failure = require "llmprof.error"
local interrupt = require "llmprof.interrupt"
local lists = require "llmprof.tables.lists"

local evaluate = {}

-- ---- the words of errors ----

local CALLED = "a method or function is called with ()"
local METHODS = 'methods come after a colon and have (): kernels:where { stage = "decode" }:head(5)'


-- "input:3: text" as where ("line 3: ", nothing on the first line) and text.
local function split(message)
  local line, text = message:match "^[^:\n]*:(%d+): (.*)$"
  if not line then return "", message end
  return line == "1" and "" or ("line %s: "):format(line), text
end


-- ---- code that cannot be read ----

-- Tried in this order: a pattern of Lua's message, what the prompt says instead, and a hint, both
-- with %s for what it captures; or a function of that and of the code that gives both, or nil.
local syntax = {
  { "^unfinished string", "a text is not closed", "it ends with the quote that it began with" },
  { "^function arguments expected near", CALLED, METHODS },
  { "^unexpected symbol near <eof>", function() return "unfinished: something is missing" end },
  { "^(.-) near <eof>", "unfinished: %s", "an operand, a bracket or an `end` is missing" },
  { "near '(%a+)'$", function(word, code)
    local is_keyword = load(("local %s"):format(word)) == nil
    if not is_keyword or not (code:find("[.:]%s*" .. word) or code:find(word .. "%s*=")) then
      return nil
    end
    return ("'%s' is a word of the language"):format(word),
      ('as a name it stands in brackets: r["%s"], where { ["%s"] = ... }'):format(word, word)
  end },
  { "^'%)' expected near '='", function(_, code)
    local name = code:match "%(%s*([%a_][%w_]*)%s*=" or "stage"
    return "conditions stand in braces, not in ()",
      ('for example: where { %s = "..." }'):format(name)
  end },
  { "^.- near '(.-)'$", "not understood at '%s'", METHODS },
}


-- What the first of these rules that fits says of Lua's message, behind where it is; and the hint.
local function say(rules, message, code)
  local place, text = split(message)
  for _, rule in ipairs(rules) do
    local found = text:match(rule[1])
    local said, hint = rule[2], rule[3]
    if found and type(said) == "function" then
      said, hint = said(found, code)
    elseif found then
      local function filled() return found end -- a "%" in it is itself
      said, hint = said:gsub("%%s", filled), hint:gsub("%%s", filled)
    end
    if found and said then return place .. said, hint end
  end
  return place .. text
end


local ABSENT = "absent values are nil in Lua: write (r.%s or 0), or leave such rows out: "
  .. "where { %s = true }"

local runtime = {
  { "^attempt to call a nil value %(method '(.-)'%)", "there is no method '%s'",
    'help "methods" lists what frames do' },
  { "^attempt to call a nil value %(.- '(.-)'%)", "there is no function '%s'",
    "help() says what there is" },
  { "^attempt to index a number value", "a number ends a chain: it has no methods and fields",
    'sum("dur") of a frame is a number, group("name"):sum("dur") a frame' },
  { "^attempt to index a nil value %(.- '([^?].-)'%)", "'%s' is nothing here",
    "help() says what there is" },
  { "^attempt to index a nil value", "nothing is there to look into",
    "#f is how many rows a frame f has" },
  { "^attempt to call a %a+ value", "what is called is no function", METHODS },
  { "^attempt to .* a nil value %(field '(.-)'%)", "'%s' has no value in a row", ABSENT },
  { "^attempt to .*nil", "a value is absent", ABSENT:format("dur", "dur") },
}


-- ---- values as text ----

-- Levels of tables that are shown, and items of one.
local DEPTH, ITEMS = 3, 50

local describe -- of what is nested


local function key_text(key)
  if type(key) == "string" and key:find "^[%a_][%w_]*$" then return key end
  return "[" .. (type(key) == "string" and ("%q"):format(key) or tostring(key)) .. "]"
end


-- The list's items, then those of other keys, numbers first, then by name.
local function items_of(value, indent, depth)
  local items, others = {}, {}
  for i = 1, rawlen(value) do items[i] = describe(value[i], indent .. "  ", depth - 1) end
  for key in pairs(value) do
    if math.type(key) ~= "integer" or not items[key] then others[#others + 1] = key end
  end
  lists.sort(others, type, function(key) return type(key) == "number" and key or tostring(key) end)
  for _, key in ipairs(others) do
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
function evaluate.value_text(value)
  if type(value) == "string" then return value end
  return describe(value, "", DEPTH)
end


-- ---- evaluation ----

-- Could more code make it right? A method without its () could, but nobody types on; a
-- text ends on its line.
local function is_open(message)
  return message:find("near <eof>", 1, true) ~= nil
    and not message:find("function arguments expected", 1, true)
    and not message:find("unfinished string", 1, true)
end


-- Of two readings the one that was meant: an expression, unless the code begins like a
-- statement or goes on after an expression.
local function meant(code, as_expression, as_statement)
  local word = code:match "^%s*(%a+)"
  local is_statement = (word and load("local " .. word) == nil)
    or code:find "^[%s%w_.,%[%]]*=[^=]" or as_expression:find("<eof> expected", 1, true)
  return is_statement and as_statement or as_expression
end


-- A function over the environment; nil and the error { message, hint } when the code is
-- wrong, with true as third result when more of it could make it right.
function evaluate.compile(code, name, environment)
  local chunk, as_expression = load("return " .. code, name, "t", environment)
  if chunk then return chunk end
  local as_statement
  chunk, as_statement = load(code, name, "t", environment)
  if chunk then return chunk end
  local is_more = is_open(as_expression) or is_open(as_statement)
  local message = is_open(as_expression) and as_expression
    or is_open(as_statement) and as_statement or meant(code, as_expression, as_statement)
  local said, hint = say(syntax, message, code)
  return nil, { message = said, hint = hint, kind = "usage" }, is_more
end


-- Words that end a session, as people type them.
function evaluate.leaves(code)
  local word = code:match "^%s*(%a+)%s*%(?%s*%)?%s*;?%s*$"
  return word == "quit" or word == "exit"
end


-- What a person needs of an error: ours as they are, Lua's without a traceback,
-- which would be that of the program around the code.
local function plain_error(value)
  if errors.is(value) then return value end
  if value == "not enough memory" then return failure.nomem() end
  local ok, message = pcall(evaluate.value_text, value) -- __tostring may fail, too
  if not ok then message = "an error that cannot be shown: " .. type(value) end
  local said, hint = say(runtime, message)
  return { message = said, hint = hint, kind = "usage" }
end


-- Run a chunk: the text of its results, or nil and the error (message, hint,
-- kind). Results are turned into text inside, where an error is still theirs.
function evaluate.run(chunk)
  local ok, result = interrupt.protect(function()
    local values, texts = table.pack(chunk()), {}
    for i = 1, values.n do
      local text = evaluate.value_text(values[i])
      texts[i] = text:sub(-1) == "\n" and text or text .. "\n"
    end
    return table.concat(texts)
  end)
  if ok then return result end
  return nil, plain_error(result)
end


-- The text of what code gives; raises its errors.
function evaluate.answer(code, name, environment)
  local chunk, err = evaluate.compile(code, name, environment)
  local said
  if chunk then said, err = evaluate.run(chunk) end
  if not said then errors.raise(err.kind, err.message, { hint = err.hint }) end
  return said
end


return evaluate
