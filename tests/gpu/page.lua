-- The counters of a spool as ncu's raw page, for truth.py: llmprof exec page.lua SPOOL
local collected = require "llmprof.run.capture.collected"
local trace_file = require "llmprof.trace.file"

local path = assert(arg[1], "which spool?")
io.write((collected.page(path, trace_file.open(path))))
