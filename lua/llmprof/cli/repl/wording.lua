-- What Lua says of code that people typed, in the words of the prompt: what is wrong, and
-- what to write.
local wording = {}

local METHODS = 'methods come after a colon and have (): kernels:where { stage = "decode" }:head(5)'


-- "input:3: text" as where ("line 3: ", nothing on the first line of what was typed) and
-- text; a script's place is kept as it is.
local function split(message)
  local name, line, text = message:match "^([^:\n]*):(%d+): (.*)$"
  if not name then return "", message end
  if name ~= "stdin" then return line == "1" and "" or ("line %s: "):format(line), text end
  return ("%s:%s: "):format(name, line), text
end


local function is_keyword(word)
  return not word:find "[^%a]" and load(("local %s"):format(word)) == nil
end


-- ---- code that cannot be read ----

-- Words that something is missing at the end.
local function unfinished(text)
  local wanted = text:match "^(.-) expected"
  if wanted == "function arguments" then return nil end
  local first, line = text:match "%(to close '(.-)' at line (%d+)%)"
  if first then
    return ("unfinished: %s is missing, which closes '%s' of line %s"):format(wanted, first, line)
  end
  wanted = wanted and wanted:find "^'" and wanted
  return wanted and ("unfinished: %s is missing at the end"):format(wanted)
    or "unfinished: something is missing at the end"
end


-- In the order in which they are tried: a pattern of Lua's message, and a function of what
-- it captures and of the code that gives message and hint, or nil.
local syntax = {
  { "^unfinished string", function()
    return "a text is not closed", "it ends with the quote that it began with"
  end },
  { "near <eof>", function(_, _, text)
    local said = unfinished(text)
    if said then return said end
    return "a method or function is called with ()", METHODS
  end },
  { "near '(%a+)'$", function(word, code)
    if not is_keyword(word) or not (code:find("[.:]%s*" .. word) or code:find(word .. "%s*=")) then
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
  { "^function arguments expected near", function()
    return "a method or function is called with ()", METHODS
  end },
  { "^.- near '(.-)'$", function(token)
    return ("not understood at '%s'"):format(token), METHODS
  end },
}


-- The message and hint of a syntax error.
function wording.syntax(message, code)
  local place, text = split(message)
  for _, rule in ipairs(syntax) do
    local found = text:match(rule[1])
    if found then
      local said, hint = rule[2](found, code, text)
      if said then return place .. said, hint end
    end
  end
  return place .. text
end


-- ---- code that fails ----

local ABSENT = "absent values are nil in Lua: write (r.%s or 0), or leave such rows out: "
  .. "where { %s = true }"

local function absent()
  return "a value is absent", ABSENT:format("dur", "dur")
end


local runtime = {
  { "^attempt to perform arithmetic on a nil value %(field '(.-)'%)", function(name)
    return ("'%s' has no value in a row"):format(name), ABSENT:format(name, name)
  end },
  { "^attempt to concatenate a nil value %(field '(.-)'%)", function(name)
    return ("'%s' has no value in a row"):format(name), ABSENT:format(name, name)
  end },
  { "^attempt to compare .*nil", absent },
  { "^attempt to perform arithmetic on a nil value", absent },
  { "^attempt to concatenate a nil value", absent },
  { "^attempt to call a nil value %(method '(.-)'%)", function(name)
    return ("there is no method '%s'"):format(name), 'help "methods" lists what frames do'
  end },
  { "^attempt to call a nil value %(.- '(.-)'%)", function(name)
    return ("there is no function '%s'"):format(name), "help() says what there is"
  end },
  { "^attempt to index a number value", function()
    return "a number ends a chain: it has no methods and fields",
      'sum("dur") of a frame is a number, group("name"):sum("dur") a frame'
  end },
  { "^attempt to index a nil value %(.- '([^?].-)'%)", function(name)
    return ("'%s' is nothing here"):format(name), "help() says what there is"
  end },
  { "^attempt to index a nil value", function()
    return "nothing is there to look into", "#f is how many rows a frame f has"
  end },
  { "^attempt to call a %a+ value", function()
    return "what is called is no function", METHODS
  end },
}


-- The message and hint of what Lua raised.
function wording.runtime(message)
  local place, text = split(message)
  for _, rule in ipairs(runtime) do
    local found = text:match(rule[1])
    if found then
      local said, hint = rule[2](found)
      return place .. said, hint
    end
  end
  return place .. text
end


return wording
