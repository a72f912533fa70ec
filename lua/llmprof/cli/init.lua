-- The command line: finds the subcommand, and turns errors into one line and
-- an exit status. A subcommand is a file in lua/llmprof/cli/commands: a table with
-- name, usage, options (see llmprof.options) and run(given, words).
local commands = require "llmprof.cli.commands"
local errors = require "llmprof.process.errors"
local files = require "llmprof.io.files"
local fs = require "llmprof.fs"
local lazy = require "llmprof.io.lazy"
local limits = require "llmprof.process.limits"
local lists = require "llmprof.tables.lists"
local nearest = require "llmprof.tables.keys"
local options = require "llmprof.cli.options"
local out = require "llmprof.io.output"
local private = require "llmprof.bundle.private"
local process = require "llmprof.process.child"
local recipe = lazy "llmprof.recipe"
local text = require "llmprof.text"
local user = lazy "llmprof.recipe.user"

local cli = {}


local running -- the command, once there is one


-- Commands that read their own words (exec passes them on) say raw = true. One whose work
-- is a file that is now whole returns true behind its status.
local function run_command(name, argv)
  local command = commands.load(name)
  running = command
  local is_asked = argv[1] == "--help" or argv[1] == "-h"
  if command.raw and not is_asked then return command.run(argv) end
  local given, words = options.parse(commands.options_of(command), argv)
  if given.help then
    out.write(commands.help_of(command, words))
    return 0
  end
  return command.run(given, words)
end


-- What people call commands that have another name.
local other_words = {
  artifacts = "the runs: llmprof ls; the files of one: llmprof ls RUN",
  diff = "what changed between runs: llmprof compare BEFORE AFTER",
  version = "llmprof --version",
}

local function no_command(name)
  if name:find "^[^-].*%.%w+$" then
    errors.raise("usage", name .. ": no such file",
      { hint = "traces, folders of them and recipes (.lua) can be named" })
  end
  local known = lists.joined(commands.names(), files.names("recipes", ".lua"))
  local begun = lists.map(#name > 2 and known or {}, function(other)
    return other:sub(1, #name) == name and "'" .. other .. "'" or nil
  end)
  errors.raise("usage", ("no command '%s'%s"):format(name, #begun > 0
      and (" (did you mean %s?)"):format(table.concat(begun, " or "))
      or nearest.suggestion(name, known)),
    { hint = other_words[name]
      or "llmprof --help lists the commands; a recipe of your own ends in .lua" })
end


-- llmprof -e CODE [FILE...]: one line for the prompt; files may be called anything.
local function evaluate(words)
  if not words[1] then
    errors.raise("usage", "-e: which code?",
      { hint = [[for example: llmprof -e 'kernels:top(10, "dur")' run.sqlite]] })
  end
  local files_of = table.move(words, 2, #words, 1, {})
  require("llmprof.cli.commands.repl").evaluate(words[1], "=-e", files_of)
  return 0
end


local function dispatch(argv)
  local first = argv[1]
  if first == nil then
    out.warn(commands.load("help").general())
    return errors.status.usage
  elseif first == "--help" or first == "-h" then
    out.write(commands.load("help").general())
    return 0
  elseif first == "--version" or first == "-V" then
    if argv[2] then errors.raise("usage", first .. " takes no arguments") end
    out.write("llmprof ", require("llmprof.version").version, "\n")
    return 0
  elseif first == "-e" then
    return evaluate(table.move(argv, 2, #argv, 1, {}))
  elseif commands.has(first) then
    return run_command(first, table.move(argv, 2, #argv, 1, {}))
  elseif fs.stat(first) and not first:find "%.lua$" and not recipe.has(first) then
    return run_command("report", argv)
  elseif first:find "%.lua$" or first:find("/", 1, true) or first:sub(1, 1) == "-"
    or recipe.has(first) then
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


-- What a terminal could show of a text, line by line: UTF-8, whatever a file held.
local function clean(value) return value and (tostring(value):gsub("[^\n]+", text.clean)) end


-- The same for programs: one line of JSON on standard error. What does not apply is null.
local function report_json(err, status)
  local json = require "llmprof.json"
  local keys = { "error", "hint", "exit", "kind", "detail" }
  local said = { error = clean(err.message), hint = clean(err.hint or next_step(err)),
    exit = status, kind = err.bug and "bug" or err.kind, detail = clean(err.detail) }
  for _, key in ipairs(keys) do said[key] = said[key] or json.null end
  out.warn(errors.check(json.encode(json.ordered(said, keys))), "\n")
end


local function report(err)
  if err.detail then out.warn((tostring(err.detail):gsub("\n*$", "\n"))) end
  if err.bug then
    out.complain(err.message)
    out.warn "this is a bug in llmprof; the lines above say where\n"
    return
  end
  local first = { message = err.message, hint = err.hint or next_step(err) }
  for _, one in ipairs(lists.joined({ first }, err.more or {})) do
    out.complain(one.message)
    if one.hint then out.warn("  ", one.hint, "\n") end
  end
end


-- A command's exit status, once all that it printed is written.
local function run_all(argv)
  for _, line in ipairs(process.left(private.sweep(), "a run that was killed")) do
    out.complain(line)
  end
  local status, is_made = dispatch(argv)
  out.finish(is_made)
  return status
end


local function command_of(name) return name and commands.has(name) and commands.load(name) or {} end


-- The exit status of an error. Statuses of a command that ends as the program does that it
-- starts (launches = true) are that program's.
local function status_of(err, name)
  local status = errors.status[err.kind] or errors.status.failed
  local taken = command_of(name).launches and status < errors.status.launcher
  return taken and errors.status.launcher or status
end


local JSON_ERRORS, NO_CACHE = "--json-errors", "--no-cache"

-- The words without those that any command takes and that may stand anywhere before "--",
-- and what these say: { as_json, no_cache (were they there?), threads (the word of -j) }.
local function take_common(argv)
  local words, common, i = {}, {}, 1
  while i <= #argv do
    local word, ours = argv[i], argv[i] ~= "--" and not command_of(words[1]).raw
    if not ours then return table.move(argv, i, #argv, #words + 1, words), common end
    if word == JSON_ERRORS then
      common.as_json = true
    elseif word == NO_CACHE then
      common.no_cache = true
    elseif word == "-j" then
      i, common.threads = i + 1, argv[i + 1] or ""
    elseif word:find "^%-j%d+$" then
      common.threads = word:sub(3)
    else
      words[#words + 1] = word
    end
    i = i + 1
  end
  return words, common
end


-- Run the command line and return the exit status.
function cli.main(argv)
  print = out.print -- luacheck: ignore 121
  local words, common = take_common(argv)
  local ok, result = errors.call(function()
    limits.start(common.threads)
    function limits.cache_bytes() return user.value "cache.bytes" end
    if common.no_cache then require("llmprof.trace.file").use_no_cache() end
    return run_all(words)
  end)
  if ok then return result end
  local status = status_of(result, words[1])
  if result.kind ~= "closed" then (common.as_json and report_json or report)(result, status) end
  return status
end


return cli
