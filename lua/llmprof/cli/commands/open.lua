-- llmprof open RUN: its report, or that of traces, in the browser where there is a desktop.
local lazy = require "llmprof.io.lazy"
local errors = require "llmprof.process.errors"
local layout = require "llmprof.bundle.layout"
local lists = require "llmprof.tables.lists"
local out = require "llmprof.io.output"
local argument = lazy "llmprof.cli.arguments"
local spawn = require "llmprof.spawn"
local text = require "llmprof.text"
local user = require "llmprof.recipe.user"

local command = {
  name = "open",
  usage = "open [OPTION...] RUN_ID | FOLDER | latest | TRACE",
  details = "Prints the path; where there is a desktop xdg-open shows it.",
  options = {
    user.root_option,
    { "print", help = "print the path and open nothing" },
  },
  completes = "run",
}

-- xdg-open hands over and returns; more than this and it hangs, in seconds.
local PATIENCE = 20


local function show(path)
  local opener = spawn.which "xdg-open"
  if not opener then return nil, "xdg-open was not found" end
  local result, message = spawn.run({ opener, path }, { timeout = PATIENCE })
  if result and result.interrupted then errors.raise("interrupted", "interrupted") end
  return result and result.ok, message or "xdg-open could not show it"
end


function command.run(given, words)
  local word = argument.only(words, "run", "llmprof open latest")
  local run = argument.open_run(word, given.root)
  local name = lists.filtered(layout.best_reports, function(one) return run:has(one) end)[1]
  if not name then
    errors.raise("failed", ("%s: no report: its status is '%s'"):format(run.dir,
      run.manifest.status), { hint = run:continuation() .. "; llmprof ls lists the others" })
  end
  local path = run:path(name)
  out.write(text.clean(path), "\n")
  local has_desktop = (os.getenv "DISPLAY" or "") ~= "" or (os.getenv "WAYLAND_DISPLAY" or "") ~= ""
  if given.print or not has_desktop then return 0 end
  local shown, why = show(path)
  if not shown then errors.raise("failed", why, { hint = "open it by hand: " .. path }) end
  return 0
end


return command
