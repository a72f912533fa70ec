-- The command line: finds the subcommand, and turns errors into one line and
-- an exit status. A subcommand is a file in lua/llmprof/commands: a table with
-- name, summary, usage, options (see llmprof.options) and run(given, words).
local errors = require "llmprof.errors"
local files = require "llmprof.files"
local nearest = require "llmprof.nearest"
local options = require "llmprof.options"
local resources = require "llmprof.resources"
local term = require "llmprof.term"
local text = require "llmprof.text"

local cli = {}


local function command_names()
  local names = {}
  for _, path in ipairs(resources.list "lua/llmprof/commands/") do
    names[#names + 1] = path:match "([^/]+)%.lua$"
  end
  return names
end


local function load_command(name)
  return require("llmprof.commands." .. name)
end


local function is_command(name)
  return name:find "^%l[%l_]*$" ~= nil
    and resources.get("lua/llmprof/commands/" .. name .. ".lua") ~= nil
end


-- ---- help ----

local global_help = [[
usage: llmprof RECIPE.lua [KEY=VALUE...]   profile a workload, write the bundle
       llmprof COMMAND [OPTION...]
       llmprof -e CODE [FILE...]           ask a run or a trace, as `repl` does

commands:
%s
`llmprof COMMAND --help` says more; `llmprof RECIPE.lua --help` lists what a
recipe lets you set. Exit status: 0 done, 1 the workload or a step failed,
2 usage or recipe error, 3 a tool is missing, 4 nothing was captured,
5 a comparison broke its limits, 130 interrupted.
]]


local function help()
  local lines = {}
  for _, name in ipairs(command_names()) do
    local command = load_command(name)
    if command.summary then lines[#lines + 1] = ("  %-10s %s\n"):format(name, command.summary) end
  end
  return global_help:format(table.concat(lines))
end


local help_option = { "help", short = "h", help = "this text" }


local function with_help(spec)
  local extended = table.move(spec or {}, 1, #(spec or {}), 1, {})
  extended[#extended + 1] = help_option
  return extended
end


local function command_help(command)
  local about = "usage: llmprof " .. command.usage .. "\n\n" .. command.summary .. "\n"
  if command.details then about = about .. "\n" .. command.details .. "\n" end
  return about .. "\noptions:\n" .. options.help(with_help(command.options))
end


-- ---- dispatch ----

-- Commands that read their own words (exec passes them on) say raw = true.
local function run_command(name, argv)
  local command = load_command(name)
  if command.raw then return command.run(argv) end
  local given, words = options.parse(with_help(command.options), argv)
  if given.help then
    io.stdout:write(command.help and command.help(words) or command_help(command))
    return 0
  end
  return command.run(given, words)
end


local function no_command(name)
  local known = command_names()
  for _, recipe in ipairs(files.names("recipes", ".lua")) do
    known[#known + 1] = "recipes/" .. recipe .. ".lua"
  end
  errors.raise("usage", ("no command '%s'%s"):format(name, nearest.suggestion(name, known)),
    { hint = "llmprof --help lists the commands; a recipe's name ends in .lua" })
end


local function dispatch(argv)
  local first = argv[1]
  if first == nil then
    io.stderr:write(help())
    return errors.status.usage
  elseif first == "--help" or first == "-h" or first == "help" and not argv[2] then
    io.stdout:write(help())
    return 0
  elseif first == "help" then
    if not is_command(argv[2]) then no_command(argv[2]) end
    return run_command(argv[2], { "--help" })
  elseif first == "--version" then
    if argv[2] then errors.raise("usage", "--version stands alone") end
    io.stdout:write("llmprof ", require("llmprof.version").version, "\n")
    return 0
  elseif first == "-e" then
    return run_command("eval", table.move(argv, 2, #argv, 1, {}))
  elseif is_command(first) then
    return run_command(first, table.move(argv, 2, #argv, 1, {}))
  elseif first:find "%.lua$" or first:sub(1, 1) == "-" then
    return run_command("run", argv)
  end
  no_command(first)
end


local function report(err)
  if err.detail then io.stderr:write((tostring(err.detail):gsub("\n*$", "\n"))) end
  io.stderr:write("llmprof: ", text.clean(err.message), "\n") -- it may hold a path
  if err.bug then
    io.stderr:write "this is a bug in llmprof; the lines above say where\n"
  elseif err.hint then
    io.stderr:write("  ", err.hint, "\n")
  end
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
