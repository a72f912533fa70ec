-- llmprof baseline save RUN NAME | add RUN NAME | list | use NAME | remove NAME: names
-- for runs.
local lazy = require "llmprof.io.lazy"
local artifacts = lazy "llmprof.bundle.artifacts"
local baselines = lazy "llmprof.compare.baselines"
local columns = lazy "llmprof.report.columns"
local errors = require "llmprof.process.errors"
local nearest = require "llmprof.tables.keys"
local out = require "llmprof.io.output"
local sorted_keys = require("llmprof.tables.keys").sorted
local table_options = lazy "llmprof.cli.table_options"
local user = require "llmprof.recipe.user"

local command = {
  name = "baseline",
  usage = "baseline [OPTION...] save RUN NAME | add RUN NAME | list | use NAME | remove NAME",
  details = [[
save keeps what a comparison needs of a run under a name; it stays when the run is
removed. add keeps another run of the same thing there: how much they differ is what a
change is held against. use makes it what `llmprof compare RUN` compares with.]],
  completes = { { "add", "list", "remove", "save", "use" }, "side" },
  options = {
    user.root_option,
    table_options.format,
    table_options.safe,
  },
}

-- By action: its arguments, and what it does.
local actions = {
  save = { "RUN NAME", function(given, words)
    local run = artifacts.open(words[1], given.root)
    baselines.save(run, words[2], given.root)
    out.write(("%s is run %s\n"):format(words[2], run.id))
  end },
  add = { "RUN NAME", function(given, words)
    local run = artifacts.open(words[1], given.root)
    baselines.add(run, words[2], given.root)
    out.write(("%s has run %s, too\n"):format(words[2], run.id))
  end },
  list = { "", function(given)
    local list = baselines.list(given.root)
    for _, entry in ipairs(list) do entry.state = entry.current and "in use" or nil end
    if #list == 0 then out.complain("no baselines in " .. given.root) end
    out.write(table_options.render(given, columns.baselines, list))
  end },
  use = { "NAME", function(given, words)
    baselines.use(words[1], given.root)
    out.write(("%s is what single runs are now compared with\n"):format(words[1]))
  end },
  remove = { "NAME", function(given, words)
    baselines.remove(words[1], given.root)
    out.write(("%s is removed\n"):format(words[1]))
  end },
}


function command.run(given, words)
  local name = words[1]
  local action = name and actions[name]
  if not action then
    local known = sorted_keys(actions)
    errors.raise("usage", name and ("baseline: no action '%s'%s"):format(name,
      nearest.suggestion(name, known)) or "baseline: what is to be done?",
      { hint = "llmprof baseline " .. table.concat(known, " | ") })
  end
  local _, expected = action[1]:gsub("%S+", "")
  if #words - 1 ~= expected then
    errors.raise("usage", ("baseline %s takes %s"):format(name,
      expected == 0 and "no arguments" or action[1]))
  end
  action[2](given, table.move(words, 2, #words, 1, {}))
  return 0
end


return command
