-- llmprof open RUN: its report, or that of traces, in the browser where there is a desktop.
local lazy = require "llmprof.io.lazy"
local errors = require "llmprof.process.errors"
local layout = require "llmprof.bundle.layout"
local out = require "llmprof.io.output"
local argument = lazy "llmprof.cli.arguments"
local spawn = require "llmprof.spawn"
local text = require "llmprof.text"
local user = require "llmprof.recipe.user"

local command = {
  name = "open",
  usage = "open [OPTION...] RUN_ID | FOLDER | latest | TRACE",
  summary = "the best report of a run: its path, or the browser",
  details = "Prints the path; where there is a desktop xdg-open shows it.",
  options = {
    user.root_option,
    { "print", help = "print the path and open nothing" },
  },
  completes = "run",
}

-- xdg-open hands over and returns; more than this and it hangs, in seconds.
local PATIENCE = 20


local function best_report(run)
  for _, name in ipairs(layout.best_reports) do
    if run:has(name) then return run:path(name) end
  end
  errors.raise("failed", ("%s: no report: its status is '%s'"):format(run.dir,
    run.manifest.status), { hint = run:continuation() .. "; llmprof ls lists the others" })
end


local function has_desktop()
  return (os.getenv "DISPLAY" or "") ~= "" or (os.getenv "WAYLAND_DISPLAY" or "") ~= ""
end


local function show(path)
  local opener = spawn.which "xdg-open"
  if not opener then return nil, "xdg-open was not found" end
  local result, message = spawn.run({ opener, path }, { timeout = PATIENCE })
  if result and result.interrupted then errors.raise("interrupted", "interrupted") end
  return result and result.ok, message or "xdg-open could not show it"
end


function command.run(given, words)
  local word = argument.only(words, "run", "llmprof open latest")
  local path = best_report(argument.open_run(word, given.root))
  out.write(text.clean(path), "\n")
  if given.print or not has_desktop() then return 0 end
  local shown, why = show(path)
  if not shown then errors.raise("failed", why, { hint = "open it by hand: " .. path }) end
  return 0
end


return command
