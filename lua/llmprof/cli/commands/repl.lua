-- llmprof repl [FILE...]: ask questions of a run, a trace or counters: a prompt on a terminal, code
-- where input is none. And llmprof -e CODE.
local lazy = require "llmprof.io.lazy"
local argument = lazy "llmprof.cli.arguments"
local errors = require "llmprof.process.errors"
local evaluate = require "llmprof.cli.repl.evaluate"
local terminal = lazy "llmprof.cli.repl.terminal"
local interrupt = require "llmprof.interrupt"
local lineedit = require "llmprof.lineedit"
local out = require "llmprof.io.output"
local session = require "llmprof.query.session"
local whatif = lazy "llmprof.whatif"
local sys = require "llmprof.sys"
local version = require "llmprof.version"

local command = {
  name = "repl",
  usage = "repl [RUN_ID | FOLDER | latest | TRACE | NCU.csv]...",
  details = [[
A prompt for Lua with the globals kernels, ops, ranges, stages, results and more;
help() lists them, and docs/repl.md shows what to ask. Where standard input is no
terminal it is code as that of -e.]],
  options = {},
  completes = "run",
}

local PROMPT, MORE = "> ", ">> "


local function print_error(err)
  out.warn(err.message, "\n")
  if err.hint then out.warn("  ", err.hint, "\n") end
end


-- A chunk, read line by line until it is whole: chunk, or nil and why not.
-- Nothing at all at the end of input, or of who wants to leave.
local function read_chunk(editor, environment)
  local code
  while true do
    local line, message, reason = editor:read(code and MORE or PROMPT)
    if not line then return nil, reason and { message = message, kind = reason } end
    if not code and evaluate.leaves(line) then return nil end
    if line:find "%S" then
      editor:remember(line)
      terminal.keep(line)
    end
    code = code and code .. "\n" .. line or line
    local chunk, wrong, is_open = evaluate.compile(code, "=input", environment)
    if chunk then return chunk end
    if not is_open then return nil, wrong end
  end
end


-- One chunk: false at the end.
local function turn(editor, environment)
  local chunk, problem = read_chunk(editor, environment)
  if chunk then
    local text, err = evaluate.run(chunk)
    if text then terminal.print(text, editor) else print_error(err) end
  elseif not problem or interrupt.terminated() then
    return false
  elseif problem.kind ~= "interrupted" then
    print_error(problem)
  end
  return true
end


-- The session, and whatif().
local function environment_of(paths)
  local environment, globals = session.environment(paths)
  environment.whatif = function(...)
    return whatif.asker(function() return globals.files end)(...)
  end
  return environment, globals
end


local function interact(paths)
  local environment, globals = environment_of(paths)
  local editor <close> = errors.check(lineedit.open "llmprof")
  editor:complete(function(before) return terminal.complete(before, environment, globals) end)
  terminal.load(editor)
  out.print(("llmprof %s; help says what there is, quit leaves"):format(version.version))
  for _, file in ipairs(globals.files) do out.print(file) end
  interrupt.session(true)
  local going = true
  while going do
    -- an interrupt between two chunks ends neither
    local ok, result = pcall(turn, editor, environment)
    if not ok and not errors.is_interrupt(result) then error(result, 0) end
    going = (not ok or result) and not interrupt.terminated()
  end
  interrupt.session(false)
  return 0
end


-- Run code and print what it returns, and what the traces lack; its errors are raised.
function command.evaluate(code, name, paths)
  local environment, globals = environment_of(paths)
  out.write(evaluate.answer(code, name, environment))
  for _, trace in ipairs(session.traces(globals)) do argument.warn(trace, true) end
end


-- Without a terminal what comes in is code, as that of -e.
function command.run(_, paths)
  if sys.isatty(0) and sys.isatty(1) then return interact(paths) end
  command.evaluate(io.stdin:read "a" or "", "=stdin", paths)
  return 0
end


return command
