-- llmprof exec tests/trust/infer.lua FILE...: the steps that are inferred in each
-- capture: "period ns<TAB>confidence<TAB>layers", or "declines".
local infer = require "llmprof.analysis.stages.infer"
local trace_file = require "llmprof.trace.file"

for _, path in ipairs(arg) do
  local found = infer.stages(trace_file.open(path), { { name = "prefill" }, { name = "decode" } })
  print(found and ("%d\t%.2f\t%s"):format(found.period_ns // 1, found.confidence,
    tostring(found.layers)) or "declines")
end
