-- Advice: rules over results. A rule is a file in lua/llmprof/advice:
--
--   return {
--     name = "launch_bound",
--     examine = function(results, report) ... end,
--   }
--
-- or, for a rule that looks at each measured stage without a parent by itself,
-- examine_stage = function(results, stage, report) ... end, which is not asked
-- when no stage was measured: the rule abstains.
--
-- examine calls report.finding{...} for what it finds and
-- report.abstain(why) when it lacks the data to tell. A finding:
--   title       what is wrong, one line
--   stage       the stage it is about (optional)
--   evidence    list of { text, source }: numbers and where they come from
--   try         what to do about it
--   gain_ns     at most this much time of one instance of the stage could come
--               back; absent when it cannot be said
--   spends      the part of the stage's time that the gain is taken from:
--               "waiting" (the GPU has nothing to do) or "gpu" (with gain_ns)
--   assumption  what the gain takes for granted (with gain_ns)
--   confidence  "high", "medium" or "low"
--   kernels     ids of kernels it is about (optional)
--   blocking    true: the other findings cannot be relied on before this is
--               dealt with (optional)
--
-- A gain is cut to the part of the stage's time that it is taken from, of_ns is
-- that time, of its source, and gain_share the gain's share of it. A gain in GPU
-- time of a stage that is held up has behind = "waiting": it comes back only once
-- the GPU no longer waits. Findings are ranked: blocking ones, gains by size,
-- those behind others, those without a gain.
local document = require "llmprof.base.document"
local errors = require "llmprof.base.errors"
local evidence = require "llmprof.analysis.evidence"
local json = require "llmprof.json"
local modules = require "llmprof.base.modules"
local recipe = require "llmprof.recipe"

local advice = {}

local confidences = { high = 1, medium = 2, low = 3 }
local parts = { waiting = true, gpu = true }


-- ---- the contract ----

local function is_evidence(list)
  if type(list) ~= "table" or #list == 0 then return false end
  for _, item in ipairs(list) do
    if type(item) ~= "table" or type(item.text) ~= "string" or type(item.source) ~= "string" then
      return false
    end
  end
  return true
end


local function is_gain(finding)
  if finding.gain_ns == nil then return true end
  return math.type(finding.gain_ns) ~= nil and finding.gain_ns == finding.gain_ns
    and type(finding.assumption) == "string" and parts[finding.spends] ~= nil
    and type(finding.stage) == "string"
end


-- What a finding lacks, or nil.
local function fault_of(finding)
  if type(finding) ~= "table" then return "a finding is a table" end
  if type(finding.title) ~= "string" then return "title: a line of text is missing" end
  if type(finding.try) ~= "string" then return "try: what to do about it is missing" end
  if not is_evidence(finding.evidence) then
    return "evidence: a list of { text, source } is missing"
  end
  if not confidences[finding.confidence] then return 'confidence: "high", "medium" or "low"' end
  if finding.stage ~= nil and type(finding.stage) ~= "string" then return "stage: a name" end
  if finding.kernels ~= nil and type(finding.kernels) ~= "table" then
    return "kernels: a list of ids"
  end
  if not is_gain(finding) then
    return 'gain_ns: a number, with stage, assumption, and spends = "waiting" or "gpu"'
  end
  return nil
end


local function refuse(rule, fault)
  errors.raise("usage", ("%sadvice rule '%s': %s"):format(rule.where and rule.where .. ": " or "",
    rule.name, fault), { hint = "docs/advice.md describes a finding" })
end


local function check_finding(rule, finding)
  local fault = fault_of(finding)
  if fault then refuse(rule, fault) end
end


-- A complete finding goes into the results: their schema has the last word.
local function check_fields(rule, finding)
  local fault = document.check("results", finding, "finding")
  if fault then refuse(rule, fault) end
end


-- ---- gains ----

-- Cut a gain to what there is to gain; a gain in a stage that was not measured
-- cannot be said.
local function bound_gain(results, finding)
  local stage = evidence.find(results, finding.stage)
  if not (stage and stage.wall) then
    finding.gain_ns, finding.assumption, finding.spends = nil, nil, nil
    return
  end
  local time, source = evidence.stage_time(results, stage)
  local most = finding.spends == "gpu" and math.min(stage.gpu_busy_ns, time)
    or evidence.waiting(results, stage)
  finding.gain_ns = math.max(math.min(finding.gain_ns, most), 0)
  finding.of_ns, finding.of = time, source
  finding.gain_share = time > 0 and finding.gain_ns / time or nil
  if finding.spends == "gpu" and evidence.is_held_up(results, stage) then
    finding.behind = "waiting"
  end
end


-- ---- ranking ----

local function class_of(finding)
  if finding.blocking then return 0 end
  if finding.gain_ns == nil then return 3 end
  return finding.behind and 2 or 1
end


local function by_worth(a, b)
  local left, right = class_of(a), class_of(b)
  if left ~= right then return left < right end
  left, right = a.gain_ns or 0, b.gain_ns or 0
  if left ~= right then return left > right end
  if a.confidence ~= b.confidence then
    return confidences[a.confidence] < confidences[b.confidence]
  end
  if a.rule ~= b.rule then return a.rule < b.rule end
  left, right = a.stage or "", b.stage or ""
  if left ~= right then return left < right end
  return a.title < b.title
end


-- ---- together ----

local function examine(rule, results, report)
  if rule.examine then return rule.examine(results, report) end
  local stages = evidence.stages(results)
  if #stages == 0 then report.abstain "no stage was measured" end
  for _, stage in ipairs(stages) do rule.examine_stage(results, stage, report) end
end


-- Apply one rule; its findings and abstentions go to the lists.
local function apply(rule, results, findings, abstained)
  local report = {}
  function report.finding(finding)
    check_finding(rule, finding)
    finding.rule, finding.evidence = rule.name, json.list(finding.evidence)
    finding.kernels = finding.kernels and json.list(finding.kernels)
    finding.blocking = finding.blocking and true or nil
    if finding.gain_ns then bound_gain(results, finding) end
    check_fields(rule, finding)
    findings[#findings + 1] = finding
  end
  function report.abstain(why)
    abstained[#abstained + 1] = { rule = rule.name, why = why }
  end
  examine(rule, results, report)
end


-- Names of the rules, sorted.
function advice.names()
  return modules.names "advice"
end


-- A recipe's advise(results) as a rule: what it returns is a list of findings,
-- or nothing. Errors name its file and line.
function advice.of_recipe(advise)
  local info = debug.getinfo(advise, "S")
  local where = ("%s:%d"):format(info.source:gsub("^@", ""), info.linedefined)
  return { name = "recipe", where = where, examine = function(results, report)
    local list = recipe.call("advise", advise, results)
    if list ~= nil and type(list) ~= "table" then
      errors.raise("usage", ("%s: advise: a list of findings is expected, got %s"):format(where,
        type(list)))
    end
    for _, finding in ipairs(list or {}) do report.finding(finding) end
  end }
end


-- Rules over results: { findings (ranked), abstained (list of { rule, why }) }.
function advice.apply(rules, results)
  local findings, abstained = json.list {}, json.list {}
  for _, rule in ipairs(rules) do apply(rule, results, findings, abstained) end
  table.sort(findings, by_worth)
  return { findings = findings, abstained = abstained }
end


-- The same for all rules, and those in extra: with `where` (file:line), for
-- errors in what they find.
function advice.examine(results, extra)
  local rules = {}
  for i, name in ipairs(advice.names()) do rules[i] = require("llmprof.advice." .. name) end
  return advice.apply(table.move(extra or {}, 1, #(extra or {}), #rules + 1, rules), results)
end


return advice
