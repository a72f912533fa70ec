-- A process of a job that comes to harm when it has its files: killed, or silent.
-- llmprof exec tests/cluster/victim.lua kill|sleep
local rank_workers = require "llmprof.run.rank_workers"
local spawn = require "llmprof.spawn"

local own = assert(rank_workers.job())
assert(own.line:receive(0))
if arg[1] == "kill" then
  local pid = assert(io.open("/proc/self/stat")):read "n"
  assert(spawn.run({ "kill", "-KILL", tostring(pid) }, {}))
end
while true do os.execute "sleep 1" end
