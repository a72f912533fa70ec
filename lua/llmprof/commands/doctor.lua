-- llmprof doctor: is this machine ready to profile?
local config = require "llmprof.config"
local doctor = require "llmprof.doctor"
local errors = require "llmprof.errors"
local tables = require "llmprof.tables"
local term = require "llmprof.term"

local command = {
  name = "doctor",
  summary = "check tools, GPU, permissions and Python, and say how to mend them",
  usage = "doctor [OPTION...] [KEY=VALUE...]",
  details = "Exit status 3 when something that profiling needs is missing.",
  options = { { "json", help = "print the checks as JSON" } },
}

local columns = {
  { key = "name", title = "check", type = "text" },
  { key = "level", title = "level", type = "text" },
  { key = "text", title = "seen", type = "text" },
  { key = "fix", title = "fix", type = "text" },
}

local colors = { ok = "green", warning = "yellow", problem = "red" }


local function print_checks(list)
  local out = term.new(io.stdout, 1)
  for _, check in ipairs(list) do
    out.line(("%s %-12s %s"):format(out.style(colors[check.level], ("%-8s"):format(check.level)),
      check.name, check.text))
    if check.level ~= "ok" and check.fix then
      out.line(("%-22s%s"):format("", out.style("dim", check.fix)))
    end
  end
end


function command.run(given, words)
  local composed = config.compose { overrides = config.parse_overrides(words) }
  local list = doctor.examine(composed.tree)
  if given.json then
    io.stdout:write(tables.render("json", columns, list))
  else
    print_checks(list)
  end
  for _, check in ipairs(list) do
    if check.level == "problem" then return errors.status.tool end
  end
  return 0
end


return command
