-- The capture lost something, or slowed down what it measured: numbers drawn from
-- it may be wrong.
local evidence = require "llmprof.advice.evidence"
local integrity = require "llmprof.analysis.timeline.integrity"

local rule = { name = "capture_trust" }

-- Another rule's, or said of all stages below.
local elsewhere = { clocks = true, inflation = true }


-- What the checks saw, and what they say to do about it.
local function doubts(results)
  local notes, fixes = {}, {}
  for _, check in ipairs(results.integrity.checks) do
    if check.level ~= "ok" and not elsewhere[check.name] then
      notes[#notes + 1] = evidence.note("integrity check " .. check.name, "%s", check.text)
      fixes[#fixes + 1] = check.fix
    end
  end
  return notes, fixes
end


local function add_inflation(results, notes, fixes)
  local inflated = false
  for _, stage in ipairs(results.overhead and results.overhead.stages or {}) do
    if stage.inflation >= integrity.INFLATED and stage.certain ~= false then
      inflated = true
      notes[#notes + 1] = evidence.note("plain runs", "%s is %P slower under the profiler",
        stage.name, stage.inflation)
    end
  end
  if inflated then
    local timeline = results.source and results.source.timeline
    fixes[#fixes + 1] = "take times from the plain runs, as reports do; what the CPU did and how "
      .. "long the GPU was idle are the profiled run's: "
      .. integrity.trace_less(timeline and timeline.tool) .. " to see them as they are"
  end
end


function rule.examine(results, report)
  if not results.integrity then
    report.abstain "the capture was not checked: there is no timeline"
    return
  end
  local notes, fixes = doubts(results)
  add_inflation(results, notes, fixes)
  if #notes == 0 then return "all checks of the capture passed" end
  local poor = results.integrity.verdict == "poor"
  report.finding {
    title = poor and "the capture cannot be taken at face value"
      or "some figures of the capture need a second look",
    evidence = notes,
    try = table.concat(fixes, "; "),
    confidence = poor and "high" or "medium",
    blocking = poor or nil,
  }
end


return rule
