-- The counters of a spool as ncu's raw page, for truth.py: llmprof exec page.lua SPOOL
local launches = require "llmprof.nvidia.ncu.launches"
io.write(launches.page_text(launches.recorded(assert(arg[1], "which spool?"))))
