-- What the program of docs/c_api.md prints of a trace, by the bindings.
local trace = require "llmprof.trace"

local groups = assert(assert(trace.open(arg[1])):frame "kernels"):group { by = { "short_name" },
  columns = { { "calls", "count" }, { "total", "sum", "duration" } } }
local top = groups:sort({ { "total", true } }, 5)
for row = 1, #top do
  print(("%9.3f ms %6d x %s"):format(top:get(row, "total") / 1e6, top:get(row, "calls"),
    top:get(row, "short_name")))
end
