-- Advice: rules over results. A rule is a file in lua/llmprof/advice:
--
--   return {
--     name = "launch_bound",
--     examine = function(results, report) ... end,
--   }
--
-- or, for a rule that looks at each measured stage by itself, examine_stage =
-- function(results, stage, report) ... end, which is not asked when no stage was
-- measured: the rule abstains. Stages within others are asked about first where
-- children = true and the GPU works through most of them; where the rule finds
-- something there, it is not asked about the stage that they are in.
--
-- Where own_code = true the remedy is a change of the program's own code. In a
-- capture of a serving engine such findings become reasons for silence, as the
-- engine's loop and model are not the reader's.
--
-- Where general = true its findings tell of a stage's waiting as a whole: a finding that causes
-- half of it comes before them. Where fewer_launches = true its remedy saves launches: what it
-- gives back of the waiting is no cause of it.
--
-- Where in_waiting = true the GPU time that its findings could give back is waiting, too, that
-- for other ranks: it comes back at once, also in a stage that is held up. Other findings have no
-- part in that time.
--
-- Where in_busy_time = true its gains in GPU time are time in which a GPU works, and no sum over
-- several.
--
-- Where of_ranks = true it asks results.ranks alone: it is asked of ranks that were put
-- together without a timeline, too.
--
-- Where about = "engine_metrics", say, it is asked of results that have that field alone,
-- and else is not spoken of.
--
-- examine calls report.finding{...} for what it finds and
-- report.abstain(why) when it lacks the data to tell. When it finds nothing it
-- returns the reason, one line, which the reports list. A finding:
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
--   after       names of rules: what they find in this stage has to be dealt with
--               first (optional)
--
-- A gain is cut to the part of the stage's time that it is taken from, of_ns is
-- that time, of its source, and gain_share the gain's share of it. A gain in GPU
-- time of a stage that is held up has behind = "waiting": it comes back only once
-- the GPU no longer waits. Findings are ranked: blocking ones, gains by what they give in
-- the run, those behind the waiting no earlier than what takes it away, launches and graphs after
-- a cause of half of the same waiting, one rank's after what several gain in the stage, those
-- without a gain, gains of less than a hundredth of their stage. What must go first stays where
-- its own gain puts it, and says what it unlocks.
local document = require "llmprof.io.document"
local errors = require "llmprof.process.errors"
local evidence = require "llmprof.advice.evidence"
local json = require "llmprof.json"
local files = require "llmprof.io.files"
local recipe = require "llmprof.recipe"
local text = require "llmprof.text"

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
  for _, key in ipairs { "kernels", "after" } do
    if finding[key] ~= nil and type(finding[key]) ~= "table" then
      return key .. ": a list of " .. (key == "kernels" and "ids" or "rules")
    end
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


-- A complete finding goes into the results: their schema has the last word, but for
-- `after`, which are names of rules until the findings are ranked.
local function check_fields(rule, finding)
  local after = finding.after
  finding.after = nil
  local fault = document.check("results", finding, "finding")
  finding.after = after
  if fault then refuse(rule, fault) end
end


-- ---- gains ----

-- The most that a gain can be: the waiting, or what the GPU worked; of that the waiting in
-- collectives is another's.
local function most_of(results, rule, finding, stage, time)
  if finding.spends ~= "gpu" then return evidence.waiting(results, stage) end
  local busy, idle = math.min(stage.gpu_busy_ns, time), evidence.in_collectives(results, stage)
  if not rule.in_waiting then return busy - math.min(idle, busy) end
  return idle > 0 and math.min(busy, idle) or busy
end


-- A gain in GPU time as time in which a GPU works: several GPUs, or streams, that work at once
-- are done sooner by their part of it.
local function in_busy_time(gain, stage)
  if stage.gpu_time_ns <= stage.gpu_busy_ns then return gain end
  return gain * stage.gpu_busy_ns / stage.gpu_time_ns
end


-- Cut a gain to what there is to gain; a gain in a stage that was not measured
-- cannot be said.
local function bound_gain(results, rule, finding)
  local stage = evidence.find(results, finding.stage)
  if not (stage and stage.wall) then
    finding.gain_ns, finding.assumption, finding.spends = nil, nil, nil
    return
  end
  local time, source = evidence.stage_time(results, stage)
  if finding.spends == "gpu" and not rule.in_waiting and not rule.in_busy_time then
    finding.gain_ns = in_busy_time(finding.gain_ns, stage)
  end
  finding.gain_ns = math.max(math.min(finding.gain_ns,
    most_of(results, rule, finding, stage, time)), 0)
  finding.of_ns, finding.of = time, source
  finding.gain_share = time > 0 and finding.gain_ns / time or nil
  if finding.spends == "gpu" and not rule.in_waiting and evidence.is_held_up(results, stage) then
    finding.behind = "waiting"
  end
end


-- ---- ranking ----

-- A gain of less than this part of its stage's time comes last, and on no first screen
-- (llmprof.report.findings).
local SMALL = 0.01

local function class_of(finding, worth)
  if finding.blocking then return 0 end
  if (finding.gain_share or 1) < SMALL then return 3 end
  return (finding.gain_ns or worth > 0) and 1 or 2
end


-- What causes this part of a stage's waiting comes before what tells of it as a whole.
local MOST = 0.5

-- by_name: the rules.
local function yield_to_causes(list, worths, by_name)
  local causes = {}
  for _, finding in ipairs(list) do
    local rule = by_name[finding.rule]
    if finding.spends == "waiting" and not rule.general and not rule.fewer_launches then
      causes[finding.stage] = math.max(causes[finding.stage] or 0, worths[finding])
    end
  end
  for _, finding in ipairs(list) do
    local cause = by_name[finding.rule].general and causes[finding.stage] or 0
    if cause >= MOST * worths[finding] and cause > 0 then
      worths[finding] = math.min(worths[finding], cause * (1 - 1e-9))
    end
  end
end


-- Of ranks with a file each the timeline is that of the first: how long its GPU waits depends on
-- which that is, what ranks gain together does not and comes before it in its stage.
local function yield_to_ranks(results, list, worths, by_name)
  local ranks, most, largest = results.ranks and results.ranks.ranks or {}, {}, 0
  if #ranks <= evidence.ranks_in_trace(results) then return end
  for _, finding in ipairs(list) do
    largest = math.max(largest, worths[finding])
    if by_name[finding.rule].of_ranks and finding.gain_ns then
      most[finding.stage] = math.max(most[finding.stage] or 0, worths[finding])
    end
  end
  for _, finding in ipairs(list) do
    local shared = not by_name[finding.rule].of_ranks and most[finding.stage] or 0
    if shared > 0 and worths[finding] >= shared then
      worths[finding] = shared * (1 - 1e-9 * (2 - worths[finding] / largest)) -- in their order
    end
  end
end


-- What each finding could give in the whole run: stages of a server's steps come more or
-- less often. By finding, ns; of one behind the waiting of its stage no more than what most of
-- that is taken away by. Waiting that gives an unknown part back, as that of a whole run with
-- its start, comes where all of it would.
local function worths_of(results, list, by_name)
  local worths, first = {}, {}
  for _, finding in ipairs(list) do
    local stage = evidence.find(results, finding.stage)
    local is_waiting = finding.spends == "waiting" or finding.rule == "launch_bound"
    local ns = finding.gain_ns or stage and is_waiting and evidence.waiting(results, stage) or 0
    worths[finding] = stage and ns * math.max(stage.wall and stage.wall.count or 1, 1) or 0
    if stage and is_waiting then
      first[finding.stage] = math.max(first[finding.stage] or 0, worths[finding])
    end
  end
  for _, finding in ipairs(list) do
    if finding.behind and first[finding.stage] then
      worths[finding] = math.min(worths[finding], first[finding.stage])
    end
  end
  yield_to_causes(list, worths, by_name)
  yield_to_ranks(results, list, worths, by_name)
  return worths
end


local function is_before(a, b, worths)
  local left, right = class_of(a, worths[a]), class_of(b, worths[b])
  if left ~= right then return left < right end
  left, right = worths[a], worths[b]
  if left ~= right then return left > right end
  if a.behind ~= b.behind then return b.behind ~= nil end
  if a.confidence ~= b.confidence then
    return confidences[a.confidence] < confidences[b.confidence]
  end
  if a.rule ~= b.rule then return a.rule < b.rule end
  left, right = a.stage or "", b.stage or ""
  if left ~= right then return left < right end
  return a.title < b.title
end


-- A function that gives the ranks of the findings of a stage that must be dealt with before
-- one of it, ascending; nil without any.
local function needs_of(list)
  local ranks = {} -- by rule
  for rank, finding in ipairs(list) do
    ranks[finding.rule] = ranks[finding.rule] or {}
    table.insert(ranks[finding.rule], rank)
  end
  return function(finding)
    local needed = json.list {}
    for _, rule in ipairs(finding.after or {}) do
      for _, rank in ipairs(ranks[rule] or {}) do
        if list[rank].stage == finding.stage then needed[#needed + 1] = rank end
      end
    end
    table.sort(needed)
    return #needed > 0 and needed or nil
  end
end


-- Say by rank what each finding needs, and what it unlocks.
local function link(list)
  local needed_by, unlocks = needs_of(list), {}
  for rank, finding in ipairs(list) do
    finding.after = needed_by(finding)
    for _, needed in ipairs(finding.after or {}) do
      unlocks[needed] = unlocks[needed] or json.list {}
      table.insert(unlocks[needed], rank)
    end
  end
  for rank, finding in ipairs(list) do finding.unlocks = unlocks[rank] end
end


-- ---- one budget ----

-- Ascending numbers: "1 to 4, 7 and 9".
local function joined(numbers)
  local said, i = {}, 1
  while i <= #numbers do
    local last = i
    while numbers[last + 1] == numbers[last] + 1 do last = last + 1 end
    if last < i + 2 then last = i end
    said[#said + 1] = last > i and ("%d to %d"):format(numbers[i], numbers[last])
      or tostring(numbers[i])
    i = last + 1
  end
  if #said == 1 then return said[1] end
  return table.concat(said, ", ", 1, #said - 1) .. " and " .. said[#said]
end


-- Ranks of the findings with a gain by stage, that of parts in the stage that they are in:
-- list of { stage, ranks }.
local function gains_by_stage(results, list)
  local groups, order = {}, {}
  for rank, finding in ipairs(list) do
    local stage = finding.gain_ns and evidence.find(results, finding.stage)
    local top = stage and (stage.parent and evidence.find(results, stage.parent) or stage)
    if top and not groups[top] then
      groups[top] = { stage = top, ranks = {} }
      order[#order + 1] = groups[top]
    end
    if top then table.insert(groups[top].ranks, rank) end
  end
  return order
end


-- A stage's time is given back once, whichever move takes it: a sentence; nil where no stage has
-- several gains.
local function note_of(results, list)
  local said = {}
  for _, group in ipairs(gains_by_stage(results, list)) do
    if #group.ranks > 1 then
      said[#said + 1] = ("%s (%s, %s)"):format(joined(group.ranks), group.stage.name,
        text.duration((evidence.stage_time(results, group.stage))))
    end
  end
  if #said == 0 then return nil end
  return ("Each gain is that of one move alone; those of one stage share its time, whether the GPU "
    .. "works or waits, and must not be added up: %s."):format(table.concat(said, "; "))
end


-- ---- together ----

-- Say which lines launched the kernels that a finding is about, where stacks are known.
local function add_lines(results, finding)
  local stage = finding.kernels and evidence.find(results, finding.stage)
  local note = stage and stage.wall and evidence.lines(results, stage, finding.kernels)
  if note then table.insert(finding.evidence, note) end
end


-- What one rule says goes to the lists; report.count is that of its findings.
local function reporter(rule, results, lists)
  local report = { count = 0, abstained = false }
  function report.finding(finding)
    check_finding(rule, finding)
    finding.rule, finding.evidence = rule.name, json.list(finding.evidence)
    finding.kernels = finding.kernels and json.list(finding.kernels)
    finding.blocking = finding.blocking and true or nil
    add_lines(results, finding)
    if finding.gain_ns then bound_gain(results, rule, finding) end
    check_fields(rule, finding)
    lists.findings[#lists.findings + 1] = finding
    report.count = report.count + 1
  end
  function report.abstain(why)
    lists.abstained[#lists.abstained + 1] = { rule = rule.name, why = why }
    report.abstained = true
  end
  return report
end


-- Note why a rule is silent: what it returned when it neither found anything nor
-- abstained. count: of its findings before it was asked.
local function note_silence(rule, report, count, stage, why, lists)
  if report.count > count or report.abstained then return end
  lists.silent[#lists.silent + 1] = { rule = rule.name, stage = stage,
    why = type(why) == "string" and why or "it found nothing" }
end


-- Ask a rule about one stage; whether it found something.
local function examine_one(rule, results, stage, report, lists)
  local count = report.count
  local why = rule.examine_stage(results, stage, report)
  note_silence(rule, report, count, stage.name, why, lists)
  return report.count > count
end


local function examine_stages(rule, results, report, lists)
  local stages, within = evidence.stages(results), {}
  if #stages == 0 then return report.abstain "no stage was measured" end
  for _, stage in ipairs(rule.children and evidence.working_children(results) or {}) do
    if examine_one(rule, results, stage, report, lists) then within[stage.parent] = stage.name end
  end
  for _, stage in ipairs(stages) do
    local part = within[stage.name]
    if part then
      note_silence(rule, report, report.count, stage.name, ("see %s, which is in it"):format(part),
        lists)
    else
      examine_one(rule, results, stage, report, lists)
    end
  end
end


local function ask(rule, results, lists)
  local report = reporter(rule, results, lists)
  if not rule.examine then return examine_stages(rule, results, report, lists) end
  note_silence(rule, report, 0, nil, rule.examine(results, report), lists)
end


-- What a rule finds in code that is the engine's is a reason, and no finding.
local function excuse(list, engine, lists)
  for _, finding in ipairs(list) do
    lists.silent[#lists.silent + 1] = { rule = finding.rule, stage = finding.stage,
      why = ("%s, but that is the code of %s"):format(finding.title, engine) }
  end
end


-- Apply one rule; its findings, abstentions and reasons go to the lists.
local function apply(rule, results, lists)
  local engine = rule.own_code and evidence.engine(results)
  if not engine then return ask(rule, results, lists) end
  local found = {}
  ask(rule, results, { findings = found, abstained = lists.abstained, silent = lists.silent })
  excuse(found, engine, lists)
end


-- Names of the rules, sorted: every module here but what they share.
function advice.names()
  local names = files.module_names "advice"
  for i = #names, 1, -1 do
    if names[i] == "evidence" then table.remove(names, i) end
  end
  return names
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
    return "the recipe's advise() found nothing"
  end }
end


-- Rules over results: { findings (ranked; `after` are ranks then, and `unlocks`), note (which
-- gains must not be added up; nil where none overlap), abstained (list of { rule, why }), silent
-- (list of { rule, stage, why }) }.
function advice.apply(rules, results)
  local lists = { findings = json.list {}, abstained = json.list {}, silent = json.list {} }
  local by_name = {}
  for _, rule in ipairs(rules) do
    by_name[rule.name] = rule
    if not rule.about or results[rule.about] then apply(rule, results, lists) end
  end
  local worths = worths_of(results, lists.findings, by_name)
  table.sort(lists.findings, function(a, b) return is_before(a, b, worths) end)
  link(lists.findings)
  lists.note = note_of(results, lists.findings)
  return lists
end


-- The same for all rules, and those in extra: with `where` (file:line), for
-- errors in what they find.
function advice.examine(results, extra)
  local rules = {}
  for i, name in ipairs(advice.names()) do rules[i] = require("llmprof.advice." .. name) end
  return advice.apply(table.move(extra or {}, 1, #(extra or {}), #rules + 1, rules), results)
end


-- The same for the rules that ask for nothing but ranks: of results without a timeline.
function advice.examine_ranks(results)
  local rules = {}
  for _, name in ipairs(advice.names()) do
    local rule = require("llmprof.advice." .. name)
    if rule.of_ranks then rules[#rules + 1] = rule end
  end
  return advice.apply(rules, results)
end


return advice
