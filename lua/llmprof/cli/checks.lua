-- What a look at something found: a list of checks, each { name, level = "ok" |
-- "warning" | "problem", text, fix }, and how they are shown.
local out = require "llmprof.io.output"
local tables = require "llmprof.tables"
local text = require "llmprof.text"

local checks = {}

local columns = {
  { key = "name", title = "check", type = "text" },
  { key = "level", title = "level", type = "text" },
  { key = "text", title = "seen", type = "text" },
  { key = "fix", title = "fix", type = "text" },
}

local colors = { ok = "green", warning = "yellow", problem = "red" }


function checks.ok(name, said)
  return { name = name, level = "ok", text = said }
end


function checks.warning(name, said, fix)
  return { name = name, level = "warning", text = said, fix = fix }
end


function checks.problem(name, said, fix)
  return { name = name, level = "problem", text = said, fix = fix }
end


function checks.has_problem(list)
  for _, check in ipairs(list) do
    if check.level == "problem" then return true end
  end
  return false
end


local function print_lines(list)
  local screen = out.terminal(io.stdout, 1)
  for _, check in ipairs(list) do
    screen.line(screen.style(colors[check.level], ("%-8s"):format(check.level))
      .. (" %-12s %s"):format(check.name, text.clean(check.text)))
    if check.level ~= "ok" and check.fix then
      screen.line((" "):rep(22) .. screen.style("dim", text.clean(check.fix)))
    end
  end
end


-- Print the list: a line each for people, or the table in the format that was asked for.
-- given: options of the command.
function checks.print(list, given)
  local format = given.json and "json" or given.format
  if format == "table" then
    print_lines(list)
  else
    out.write(tables.render(format, columns, list))
  end
end


return checks
