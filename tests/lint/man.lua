-- Does the manual page have every command once, with exactly its options, and
-- every exit status? Run by llmprof exec, in the source tree.
local errors = require "llmprof.process.errors"
local fs = require "llmprof.fs"
local known = require "llmprof.cli.commands"

local PAGE = "docs/llmprof.1"


local faults = {}

local function expect(ok, format, ...)
  if not ok then faults[#faults + 1] = PAGE .. ": " .. format:format(...) end
end


-- What is said of each option, by command and option, as the page has them, and its
-- exit statuses.
local function read_page(text)
  local commands, statuses, current, inside, option = {}, {}, nil, false, nil
  for line in text:gmatch "[^\n]+" do
    local section = line:match "^%.Sh (.*)$"
    local name, item = line:match "^%.It Cm (%l+)", line:match "^%.It Fl (.*)"
    if section then inside = section == "COMMANDS" end
    if name and inside then
      expect(not commands[name], "%s is there twice", name)
      current, commands[name], option = name, {}, nil
    elseif item and inside then
      option = item:match "%-(%l[%l-]*)"
      commands[current][option] = ""
    elseif option and inside then
      commands[current][option] = commands[current][option] .. line .. "\n"
    end
    statuses[tonumber(line:match "^%.It (%d+)$") or -1] = true
  end
  return commands, statuses
end


-- Every choice is named between the option and the next.
local function check_choices(name, option, said)
  local words = {}
  for word in said:gmatch "[%w_-]+" do words[word] = true end
  for _, choice in ipairs(option.choices or {}) do
    expect(words[choice], "%s --%s: no word of '%s'", name, option[1], choice)
  end
end


local function check_options(name, declared, shown)
  local own = {}
  for _, option in ipairs(declared or {}) do
    own[option[1]] = true
    expect(shown[option[1]], "%s lacks --%s", name, option[1])
    check_choices(name, option, shown[option[1]] or "")
  end
  for option in pairs(shown) do
    expect(own[option], "%s has --%s, which the program has not", name, option)
  end
end


local commands, statuses = read_page(assert(fs.read(PAGE)))
for _, name in ipairs(known.names()) do
  local command = known.load(name)
  expect(known.summary(name) ~= nil, "cli/commands.lua has no line of '%s'", name)
  if known.summary(name) then
    expect(commands[command.name], "no command '%s'", command.name)
    check_options(command.name, command.options, commands[command.name] or {})
    commands[command.name] = nil
  end
end
for name in pairs(commands) do expect(false, "the program has no command '%s'", name) end
expect(statuses[0], "no exit status 0")
for kind, status in pairs(errors.status) do
  expect(statuses[status], "no exit status %d (%s)", status, kind)
end

table.sort(faults)
for _, fault in ipairs(faults) do io.stderr:write(fault, "\n") end
return #faults > 0 and 1 or 0
