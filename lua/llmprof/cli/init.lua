-- The command line: finds the subcommand, and turns errors into one line and
-- an exit status. A subcommand is a file in lua/llmprof/cli/commands: a table with
-- name, summary, usage, options (see llmprof.options) and run(given, words).
local commands = require "llmprof.cli.commands"
local errors = require "llmprof.base.errors"
local files = require "llmprof.base.files"
local help = require "llmprof.cli.help"
local limits = require "llmprof.base.limits"
local nearest = require "llmprof.base.nearest"
local options = require "llmprof.cli.options"
local out = require "llmprof.base.out"
local private = require "llmprof.bundle.private"

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
    out.write(help.of_command(command, words))
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
    out.warn(help.general())
    return errors.status.usage
  elseif first == "--help" or first == "-h" then
    out.write(help.general())
    return 0
  elseif first == "--version" then
    if argv[2] then errors.raise("usage", "--version stands alone") end
    out.write("llmprof ", require("llmprof.version").version, "\n")
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
  if err.kind == "closed" then return end
  if err.detail then out.warn((tostring(err.detail):gsub("\n*$", "\n"))) end
  out.complain(err.message)
  if err.bug then
    out.warn "this is a bug in llmprof; the lines above say where\n"
    return
  end
  local hint = err.hint or next_step(err)
  if hint then out.warn("  ", hint, "\n") end
end


-- A command's exit status, once all that it printed is written.
local function run_all(argv)
  limits.start()
  private.sweep()
  local status = dispatch(argv)
  out.finish()
  return status
end


-- Run the command line and return the exit status.
function cli.main(argv)
  print = out.print -- luacheck: ignore 121
  local ok, result = errors.call(run_all, argv)
  if ok then return result end
  report(result)
  return errors.status[result.kind] or errors.status.failed
end


return cli
