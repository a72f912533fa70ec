-- A process of a job that takes its files and then comes to harm: killed, or silent.
-- llmprof exec tests/cluster/victim.lua kill|sleep
local job = require "llmprof.run.job"
local spawn = require "llmprof.spawn"

local own = assert(job.open())
assert(own.line:receive(0))
if arg[1] == "kill" then
  local pid = assert(io.open("/proc/self/stat")):read "n"
  assert(spawn.run({ "kill", "-KILL", tostring(pid) }, {}))
end
while true do os.execute "sleep 1" end
