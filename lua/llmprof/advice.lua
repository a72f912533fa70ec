-- Advice: rules over results. A rule is a file in lua/llmprof/advice:
--
--   return {
--     name = "launch_bound",
--     examine = function(results, report) ... end,
--   }
--
-- examine calls report.finding{...} for what it finds and
-- report.abstain(why) when it lacks the data to tell. A finding:
--   title       what is wrong, one line
--   stage       the stage it is about (optional)
--   evidence    list of { text, source }: numbers and where they come from
--   try         what to do about it
--   gain_ns     at most this much time of one instance of the stage could come
--               back; absent when it cannot be said
--   assumption  what the gain takes for granted (with gain_ns)
--   confidence  "high", "medium" or "low"
--   kernels     ids of kernels it is about (optional)
-- Findings are ranked by gain, those without one last.
local errors = require "llmprof.errors"
local json = require "llmprof.json"
local resources = require "llmprof.resources"

local advice = {}

local FOLDER = "lua/llmprof/advice/"

local confidences = { high = 1, medium = 2, low = 3 }


local function rule_names()
  local names = {}
  for _, path in ipairs(resources.list(FOLDER)) do
    names[#names + 1] = path:sub(#FOLDER + 1):match "^([%w_]+)%.lua$"
  end
  return names
end


local function check_finding(rule, finding)
  local complete = type(finding.title) == "string" and type(finding.try) == "string"
    and type(finding.evidence) == "table" and #finding.evidence > 0
    and confidences[finding.confidence] ~= nil
    and (finding.gain_ns == nil or type(finding.assumption) == "string")
  if not complete then
    errors.raise("usage", ("advice rule '%s': an incomplete finding"):format(rule),
      { hint = "title, evidence, try, confidence, and an assumption for every gain" })
  end
  return finding
end


local finding_keys = { "rule", "stage", "title", "evidence", "try", "gain_ns", "gain_share",
  "assumption", "confidence", "kernels" }


-- Apply one rule; its findings and abstentions go to the lists.
local function apply(rule, results, findings, abstained)
  local report = {}
  function report.finding(finding)
    check_finding(rule.name, finding)
    finding.rule, finding.evidence = rule.name, json.list(finding.evidence)
    if finding.kernels then finding.kernels = json.list(finding.kernels) end
    findings[#findings + 1] = json.ordered(finding, finding_keys)
  end
  function report.abstain(why)
    abstained[#abstained + 1] = { rule = rule.name, why = why }
  end
  rule.examine(results, report)
end


local function by_gain(a, b)
  local left, right = a.gain_ns or -1, b.gain_ns or -1
  if left ~= right then return left > right end
  if a.confidence ~= b.confidence then
    return confidences[a.confidence] < confidences[b.confidence]
  end
  if a.rule ~= b.rule then return a.rule < b.rule end
  return (a.stage or "") < (b.stage or "")
end


-- All rules over results: { findings, abstained }. extra: more rules (a
-- recipe's own advise function as { name, examine }).
function advice.examine(results, extra)
  local findings, abstained = json.list {}, json.list {}
  for _, name in ipairs(rule_names()) do
    apply(require("llmprof.advice." .. name), results, findings, abstained)
  end
  for _, rule in ipairs(extra or {}) do apply(rule, results, findings, abstained) end
  table.sort(findings, by_gain)
  return { findings = findings, abstained = abstained }
end


return advice
