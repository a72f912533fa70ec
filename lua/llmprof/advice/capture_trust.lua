-- Checks of the capture that are not ok: what is drawn from it may be wrong.
local evidence = require "llmprof.advice.evidence"

local rule = { name = "capture_trust" }


function rule.examine(results, report)
  if not results.integrity then
    report.abstain "the capture was not checked: there is no timeline"
    return
  end
  local notes, fixes = {}, {}
  for _, check in ipairs(results.integrity.checks) do
    if check.level ~= "ok" and check.name ~= "clocks" then -- which have a rule of their own
      notes[#notes + 1] = evidence.note("integrity check " .. check.name, "%s", check.text)
      fixes[#fixes + 1] = check.fix
    end
  end
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
