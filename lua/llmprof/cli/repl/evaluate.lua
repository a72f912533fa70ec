-- Code as people type it: expressions need no return, results are printed.
local errors = require "llmprof.process.errors"
local inspect = require "llmprof.cli.repl.inspect"
local interrupt = require "llmprof.interrupt"
local wording = require "llmprof.cli.repl.wording"

local evaluate = {}


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
  local said, hint = wording.syntax(message, code)
  return nil, { message = said, hint = hint, kind = "usage" }, is_more
end


-- Words that end a session, as people type them.
function evaluate.leaves(code)
  local word = code:match "^%s*(%a+)%s*%(?%s*%)?%s*;?%s*$"
  return word == "quit" or word == "exit"
end


-- What to print for the values of a chunk: one after the other; "" for none.
function evaluate.text(values)
  local out = {}
  for i = 1, values.n do
    local text = inspect.text(values[i])
    out[i] = text:sub(-1) == "\n" and text or text .. "\n"
  end
  return table.concat(out)
end


-- What a person needs of an error: ours as they are, Lua's without a traceback,
-- which would be that of the program around the code.
local function plain_error(value)
  if errors.is(value) then return value end
  local ok, message = pcall(inspect.text, value) -- __tostring may fail, too
  if not ok then message = "an error that cannot be shown: " .. type(value) end
  local said, hint = wording.runtime(message)
  return { message = said, hint = hint, kind = "usage" }
end


-- Run a chunk: the text of its results, or nil and the error (message, hint,
-- kind). Results are turned into text inside, where an error is still theirs.
function evaluate.run(chunk)
  local ok, result = interrupt.protect(function()
    return evaluate.text(table.pack(chunk()))
  end)
  if ok then return result end
  return nil, plain_error(result)
end


return evaluate
