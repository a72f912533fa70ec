-- A workload of several ranks: recipes/workloads/launch.py starts them, each with a log of
-- its own, and sees them to their end.
local layout = require "llmprof.bundle.layout"

local launch = {}

launch.NAME = "recipes/workloads/launch.py"

-- Stands for a rank's number in the words of its program.
launch.RANK = "{rank}"

-- Why a kernel of one of several ranks is not measured by replaying it.
launch.UNCOUNTED = "launch.ranks: a collective cannot be replayed on one rank alone"


-- Are there several ranks?
function launch.wanted(cfg) return cfg.launch.ranks > 1 end


-- The words that start argv as all ranks. program: where launch.py lies; logs: the folder
-- for what each rank prints.
function launch.argv(cfg, program, logs, argv)
  local given = cfg.launch
  local words = { cfg.python, program, "--ranks", tostring(given.ranks), "--with", given.with,
    "--gpus", given.gpus, "--grace", tostring(given.grace_s), "--logs", logs }
  for _, word in ipairs(given.args) do words[#words + 1] = "--args=" .. word end
  words[#words + 1] = "--"
  return table.move(argv, 1, #argv, #words + 1, words)
end


-- What a line of launch.py's output has for whoever reads the run, or nil.
function launch.note(line) return line:match "^launch%.py: note: (.+)" end


-- By rank, from 0, which reports nsys left: list of { rank, name }; and which are not there.
function launch.reports(run, count)
  local list, missing = {}, {}
  for rank = 0, count - 1 do
    local name = layout.rank_report(rank)
    if run:has(name) then
      list[#list + 1] = { rank = rank, name = name }
    else
      missing[#missing + 1] = tostring(rank)
    end
  end
  return list, missing
end


return launch
