-- The counters of a spool as ncu's raw page, for truth.py: llmprof exec page.lua SPOOL
local launches = require "llmprof.nvidia.ncu.launches"
local page = require "llmprof.nvidia.ncu.page"

io.write(page.text(launches.recorded(assert(arg[1], "which spool?"))))
