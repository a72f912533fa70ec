-- The command line: finds the subcommand, and turns errors into one line and
-- an exit status. A subcommand is a file in lua/llmprof/cli/commands: a table with
-- name, summary, usage, options (see llmprof.options) and run(given, words).
local commands = require "llmprof.cli.commands"
local errors = require "llmprof.base.errors"
local files = require "llmprof.base.files"
local help = require "llmprof.cli.help"
local nearest = require "llmprof.base.nearest"
local options = require "llmprof.cli.options"
local term = require "llmprof.base.term"
local text = require "llmprof.text"

local cli = {}


-- ---- dispatch ----

local running -- the command, once there is one


-- Commands that read their own words (exec passes them on) say raw = true.
local function run_command(name, argv)
  local command = commands.load(name)
  running = command
  if command.raw then return command.run(argv) end
  local given, words = options.parse(help.options(command), argv)
  if given.help then
    io.stdout:write(help.of_command(command, words))
    return 0
  end
  return command.run(given, words)
end


local function no_command(name)
  local known = commands.names()
  for _, recipe in ipairs(files.names("recipes", ".lua")) do
    known[#known + 1] = "recipes/" .. recipe .. ".lua"
  end
  errors.raise("usage", ("no command '%s'%s"):format(name, nearest.suggestion(name, known)),
    { hint = "llmprof --help lists the commands; a recipe's name ends in .lua" })
end


local function dispatch(argv)
  local first = argv[1]
  if first == nil then
    io.stderr:write(help.general())
    return errors.status.usage
  elseif first == "--help" or first == "-h" then
    io.stdout:write(help.general())
    return 0
  elseif first == "--version" then
    if argv[2] then errors.raise("usage", "--version stands alone") end
    io.stdout:write("llmprof ", require("llmprof.version").version, "\n")
    return 0
  elseif first == "-e" then
    return run_command("eval", table.move(argv, 2, #argv, 1, {}))
  elseif commands.has(first) then
    return run_command(first, table.move(argv, 2, #argv, 1, {}))
  elseif first:find "%.lua$" or first:sub(1, 1) == "-" then
    return run_command("run", argv)
  end
  no_command(first)
end


-- What to do about an error that does not say it itself.
local function next_step(err)
  if err.kind == "tool" then return "llmprof doctor says what this machine lacks" end
  if err.kind ~= "usage" or not running or running.raw then return nil end
  if running.name == "run" then return "llmprof help recipes has every field and key" end
  return ("llmprof %s --help says what it takes"):format(running.name)
end


local function report(err)
  if err.detail then io.stderr:write((tostring(err.detail):gsub("\n*$", "\n"))) end
  io.stderr:write("llmprof: ", text.clean(err.message), "\n") -- it may hold a path
  if err.bug then
    io.stderr:write "this is a bug in llmprof; the lines above say where\n"
    return
  end
  local hint = err.hint or next_step(err)
  if hint then io.stderr:write("  ", hint, "\n") end
end


-- Run the command line and return the exit status.
function cli.main(argv)
  local ok, result = xpcall(dispatch, errors.handler, argv)
  if not ok then
    report(result)
    return errors.status[result.kind] or errors.status.failed
  end
  local _, message = io.stdout:flush()
  message = term.failure or message
  if message then
    local closed = message:find "Broken pipe" -- `llmprof stats ... | head`
    if not closed then io.stderr:write("llmprof: standard output: ", message, "\n") end
    return errors.status.failed
  end
  return result
end


return cli
