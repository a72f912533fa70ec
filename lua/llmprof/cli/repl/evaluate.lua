-- Code as people type it: expressions need no return, results are printed.
local errors = require "llmprof.base.errors"
local inspect = require "llmprof.cli.repl.inspect"
local interrupt = require "llmprof.interrupt"

local evaluate = {}


local function is_open(message)
  return message:find("near <eof>", 1, true) ~= nil
end


-- A function over the environment; nil and a message when the code is wrong,
-- with true as third result when more of it could make it right.
function evaluate.compile(code, name, environment)
  local chunk, as_expression = load("return " .. code, name, "t", environment)
  if chunk then return chunk end
  local as_statement
  chunk, as_statement = load(code, name, "t", environment)
  if chunk then return chunk end
  local message = is_open(as_expression) and as_expression or as_statement
  return nil, message, is_open(message)
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
  return { message = message, kind = "usage" }
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
