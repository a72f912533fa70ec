-- llmprof exec tests/trust/judge.lua FILE...: the verdict on each capture, and its
-- checks that are not ok: "verdict<TAB>check: text; check: text".
local errors = require "llmprof.process.errors"
local integrity = require "llmprof.analysis.timeline.integrity"
local stages = require "llmprof.analysis.stages.find"
local trace_file = require "llmprof.trace.file"

local DECLARED = { { name = "prefill" }, { name = "decode", step = "decode_step" } }


local function judge(path)
  local trace = trace_file.open(path)
  local found = stages.find(trace, DECLARED, "auto")
  local judged, said = integrity.judge { trace = trace, found = found }, {}
  for _, check in ipairs(judged.checks) do
    if check.level ~= "ok" then said[#said + 1] = check.name .. ": " .. check.text end
  end
  return judged.verdict, table.concat(said, "; ")
end


for _, path in ipairs(arg) do
  local ok, verdict, said = pcall(judge, path)
  if not ok then
    if not errors.is(verdict) then error(verdict, 0) end
    verdict, said = "refused", verdict.message
  end
  print(("%s\t%s"):format(verdict, said or ""))
end
