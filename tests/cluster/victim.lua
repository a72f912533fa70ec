-- A process of a job that comes to harm: killed, or silent. Without a step it does when it has
-- its files, else when it is asked to take that step of llmprof.ranks.partition.
-- llmprof exec tests/cluster/victim.lua kill|sleep [STEP]
local rank_workers = require "llmprof.run.rank_workers"
local rank_view = require "llmprof.analysis.serving.ranks"
local partition = require "llmprof.ranks.partition"
local spawn = require "llmprof.spawn"

local function harm()
  if arg[1] == "kill" then
    local pid = assert(io.open("/proc/self/stat")):read "n"
    assert(spawn.run({ "kill", "-KILL", tostring(pid) }, {}))
  end
  while true do os.execute "sleep 1" end
end


local own = assert(rank_workers.job())
if arg[2] then
  getmetatable(partition.new {}).__index[arg[2]] = harm
  rank_workers.run(own, nil, rank_view.knowledge())
end
assert(own.line:receive(0))
harm()
