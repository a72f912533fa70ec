-- Advice: rules over results. A rule is a file in lua/llmprof/advice. docs/advice.md says how one
-- is written, which flags it may have, what is in a finding and how findings are ranked.
--
-- A gain is what a replay with the changes gives back of one instance of the stage. Where the CPU
-- limits the stage, faster kernels give back nothing: their gain is that with a CPU that takes no
-- time, and they have behind = "waiting": it comes back only once the GPU no longer waits.
local document = require "llmprof.io.document"
local errors = require "llmprof.process.errors"
local evidence = require "llmprof.advice.evidence"
local json = require "llmprof.json"
local files = require "llmprof.io.files"
local recipe = require "llmprof.recipe"
local keys = require "llmprof.tables.keys"
local lists = require "llmprof.tables.lists"
local text = require "llmprof.text"

local advice = {}

local confidences = { high = 1, medium = 2, low = 3 }

-- ---- the contract ----

-- What a finding lacks, or nil: what the schema of results says of it, but for `after`, which are
-- names of rules until the findings are ranked.
local function fault_of(finding)
  if type(finding.after or {}) ~= "table" then return "after: a list of rules" end
  local plain = keys.merged(finding)
  plain.after = nil
  local fault = document.check("results", plain, "finding")
  if fault then return (fault:gsub("^%$%.?:? ?", "")) end
  if not finding.changes or finding.assumption and finding.stage then return nil end
  return "changes: what is changed wants a stage and an assumption"
end


local function refuse(rule, fault)
  errors.raise("usage", ("%sadvice rule '%s': %s"):format(rule.where and rule.where .. ": " or "",
    rule.name, fault), { hint = "docs/advice.md describes a finding" })
end


-- ---- gains ----

-- Faster kernels that gain less than this part of what they would with a CPU that takes no time
-- are held up by it.
local HELD_BACK = 0.5

-- Where a gain is taken from: from "waiting", or from work of the "gpu" that is done `behind` it.
local function source_of(results, stage, made)
  if not evidence.is_held_up(results, stage) then return "gpu", nil end
  if made.gain >= HELD_BACK * made.hidden then return "waiting", nil end
  return "gpu", "waiting"
end


-- What the kernels took that a finding makes faster, in ns over the stage; nil where it changes
-- anything else: launches that it saves are the CPU's.
local function own_work(results, finding)
  for _, change in ipairs(finding.changes) do
    if not (finding.kernels and change:find "^scale%(kernels:") then return nil end
  end
  return lists.sum(finding.kernels, function(id)
    return (results.kernels[id] or {}).total_ns -- another check says that there is no such kernel
  end)
end


-- The upper bound of a gain in a stage whose replay cannot be trusted: what faster GPU work gives
-- back with a CPU that takes no time, else all of it, else all that such a CPU gives back. What it
-- is taken from, and what it is behind.
local function at_most(results, stage, made, finding)
  local own = own_work(results, finding)
  if made.hidden > 0 or own then
    return made.hidden > 0 and made.hidden or own, "gpu",
      evidence.is_held_up(results, stage) and "waiting" or nil
  end
  return made.idle, "waiting", nil
end


-- The limit of a replayed gain, in ns of an instance, without the time between steps: of kernels
-- and copies alone their time in which a GPU works, and the stage's waiting; of another change that
-- is taken from waiting that, and the time of collectives; others have none here.
local function most_of(results, stage, finding, is_plain)
  local waiting, ns = evidence.waiting(results, stage, not is_plain), 0
  for _, change in ipairs(finding.changes) do
    local of_copies = change:find "^%a+%(transfers:"
    if not (of_copies or finding.kernels and change:find "^%a+%(kernels:") then
      return finding.spends == "waiting" and waiting + evidence.in_collectives(stage) or math.huge
    end
    for _, row in ipairs(of_copies and results.transfers or {}) do
      if row.stage == stage.name then ns = ns + row.gpu_time_ns end
    end
  end
  for _, id in ipairs(finding.kernels or {}) do ns = ns + results.kernels[id].total_ns end
  return waiting + ns / stage.wall.count
    * math.min(stage.gpu_busy_ns / math.max(stage.gpu_time_ns, 1), 1)
end


-- What a replayed step of an engine takes beyond its range, in ns: it lasts from the end of the one
-- before to its own end, and waits for the CPU in all of that.
local function between_steps(results, ns, made)
  local is_engine = results.ranks and results.ranks.source == "labels"
  return is_engine and made.now and math.max(made.now / made.units - ns, 0) or 0
end


-- The ranks on which a stage gets shorter, as a part of those that a replay's gain is a mean over:
-- all of a trace, or one that waits, where each has a trace of its own.
local function part_of(results, of_others)
  local here, all = evidence.ranks_in_trace(results), #(results.ranks and results.ranks.ranks or {})
  if of_others and here > 1 then return (here - 1) / here end
  return of_others == false and here == 1 and all > 1 and all / (all - 1) or 1
end


-- Replay the changes of a finding; where that cannot be done it says why. replay: see
-- advice.examine.
local function replay_changes(results, finding, replay, of_others)
  local stage = evidence.find(results, finding.stage)
  if not (stage and stage.wall) then
    finding.changes, finding.assumption = nil, nil
    return
  end
  local made, why = replay(finding.changes, stage.parent or stage.name)
  if not made then
    finding.no_gain = why
    return
  end
  if made.replayed then
    finding.assumption = ("%s, and all %s steps are like the %s that were replayed"):format(
      finding.assumption, text.count(made.units), text.count(made.replayed))
  end
  local gain, low, high = made.gain, made.low, made.high
  if made.bound then
    finding.no_gain = made.bound
    local most, spends, behind = at_most(results, stage, made, finding)
    finding.behind = behind
    if most <= 0 then return end -- nothing is known of it
    gain, finding.spends, low, high = most, spends, 0, most
  else
    finding.spends, finding.behind = source_of(results, stage, made)
    if finding.behind then gain, high = made.hidden, math.max(made.hidden, high) end
  end
  finding.of_ns, finding.of = stage.wall.mean_ns, evidence.TIMELINE
  if made.plain then finding.of_ns, finding.of = evidence.stage_time(results, stage) end
  local between = between_steps(results, finding.of_ns, made)
  finding.of_ns = finding.of_ns + between
  local count = stage.wall.count * part_of(results, of_others)
  local most = (most_of(results, stage, finding, made.plain) + between) * count
  gain, high = math.min(gain, most), math.min(high, most)
  local function of_instance(ns) return math.min(math.max(ns / count, 0), finding.of_ns) end
  finding.gain_ns, finding.low_ns = of_instance(gain), of_instance(math.min(low, gain))
  finding.high_ns = math.max(of_instance(high), finding.gain_ns)
  finding.gain_share = finding.of_ns > 0 and finding.gain_ns / finding.of_ns or nil
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


-- What causes this part of a stage's waiting comes before what tells of all of it.
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
  local whole = {}
  for _, finding in ipairs(list) do
    local is_general = by_name[finding.rule].general
    local cause = is_general and causes[finding.stage] or 0
    if cause >= MOST * worths[finding] and cause > 0 then
      worths[finding] = math.min(worths[finding], cause * (1 - 1e-9))
    end
    if is_general then
      whole[finding.stage] = math.max(whole[finding.stage] or 0, worths[finding])
    end
  end
  for _, finding in ipairs(list) do
    local most = by_name[finding.rule].fewer_launches and whole[finding.stage]
    if most and most > 0 then worths[finding] = math.min(worths[finding], most * (1 - 1e-9)) end
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


-- By finding what it could give in the whole run, ns; behind the waiting of its stage no more than
-- what most of that is taken away by. An unknown part of waiting counts as all of it.
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


-- Put findings in the order in which they are reported.
local function in_order(list, worths)
  return lists.sort(list, function(one) return class_of(one, worths[one]) end,
    function(one) return -worths[one] end, function(one) return one.behind and 1 or 0 end,
    function(one) return confidences[one.confidence] end, "rule", "stage", "title")
end


-- Say by rank which findings of its stage each needs first, and what it unlocks.
local function link(list)
  local unlocks = {}
  for rank, finding in ipairs(list) do
    local needed = json.list {}
    for i, other in ipairs(list) do
      if other.stage == finding.stage and lists.has(finding.after or {}, other.rule) then
        needed[#needed + 1] = i
        unlocks[i] = unlocks[i] or json.list {}
        table.insert(unlocks[i], rank)
      end
    end
    finding.after = #needed > 0 and needed or nil
  end
  for rank, finding in ipairs(list) do finding.unlocks = unlocks[rank] end
end


-- ---- one budget ----

-- Ranks of the findings with a gain that is not small by stage, that of parts in the stage that
-- they are in: list of { stage, ranks }.
local function gains_by_stage(results, list)
  local groups, order = {}, {}
  for rank, finding in ipairs(list) do
    local stage = (finding.gain_share or 0) >= SMALL and evidence.find(results, finding.stage)
    local top = stage and (stage.parent and evidence.find(results, stage.parent) or stage)
    local group = top and lists.entry(order, groups, top, { stage = top, ranks = {} })
    if group then table.insert(group.ranks, rank) end
  end
  return order
end


-- Gains of a stage that are replayed together: the largest.
local MOST_PAIRED = 3

-- A pair that gives back this part of the sum of both adds up.
local ADDS_UP = 0.97

-- Add pairs of a group's findings, replayed: { ranks, gain_ns, sum_ns } each. A replay of several
-- ranks in a trace gives means over all, which are not held against what some of them gain.
local function add_pairs(made, results, list, group, replay, by_name)
  local stage, in_one = group.stage, evidence.ranks_in_trace(results) > 1
  local first = lists.first(lists.filtered(group.ranks, function(rank)
    local one, rule = list[rank], by_name[list[rank].rule]
    return one.stage == stage.name and not one.no_gain and not rule.is_bound
      and not (in_one and rule.of_ranks)
  end), MOST_PAIRED)
  for i, a in ipairs(first) do
    for k = i + 1, #first do
      local b = first[k]
      local both = replay(lists.joined(list[a].changes, list[b].changes), stage.name, true)
      made[#made + 1] = both and { ranks = json.list { a, b },
        gain_ns = math.max(both.gain, 0) / stage.wall.count,
        sum_ns = list[a].gain_ns + list[b].gain_ns } or nil
    end
  end
end


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


-- What of the gains must not be added up: pairs as of add_pairs, and a sentence; nil where no stage
-- has several gains.
local function overlaps_of(results, list, replay, by_name)
  local made, shared, said = json.list {}, {}, {}
  for _, group in ipairs(gains_by_stage(results, list)) do
    local name = group.stage.name
    if #group.ranks > 1 then
      add_pairs(made, results, list, group, replay, by_name)
      local _, longest = lists.largest(group.ranks, function(rank)
        return list[rank].stage == name and list[rank].of_ns
      end)
      shared[#shared + 1] = evidence.say("%s (%s, %T)", joined(group.ranks), name,
        math.max(evidence.stage_time(results, group.stage), longest or 0))
      local less = lists.filtered(made, function(pair)
        return list[pair.ranks[1]].stage == name and pair.gain_ns < ADDS_UP * pair.sum_ns
      end)[1]
      said[#said + 1] = less and evidence.say("%d and %d of %s give back %T together, not %T",
        less.ranks[1], less.ranks[2], name, less.gain_ns, less.sum_ns) or nil
    end
  end
  if #shared == 0 then return nil, nil end
  return made, ("Gains of one stage must not be added up: %s%s."):format(table.concat(shared, "; "),
    #said > 0 and ". Replayed, " .. table.concat(said, "; ") or "")
end


-- ---- together ----

-- Say which lines launched the kernels that a finding is about, where stacks are known.
local function add_lines(results, finding)
  local stage = finding.kernels and evidence.find(results, finding.stage)
  local note = stage and stage.wall and evidence.lines(results, stage, finding.kernels)
  if note then table.insert(finding.evidence, note) end
end


-- What one rule says goes to the lists; report.count is that of its findings.
local function reporter(rule, results, into, replay)
  local report = { count = 0, abstained = false }
  function report.finding(finding)
    if type(finding) ~= "table" then refuse(rule, "a finding is a table") end
    local of_others = finding.of_others
    finding.rule, finding.of_others = rule.name, nil
    finding.stage = finding.stage or report.stage
    finding.confidence = finding.confidence or "medium"
    finding.blocking = finding.blocking and true or nil
    for _, key in ipairs { "evidence", "kernels", "changes" } do
      if type(finding[key]) == "table" then finding[key] = json.list(finding[key]) end
    end
    local fault = fault_of(finding)
    if fault then refuse(rule, fault) end
    add_lines(results, finding)
    if finding.changes then replay_changes(results, finding, replay, of_others) end
    into.findings[#into.findings + 1] = finding
    report.count = report.count + 1
  end
  function report.abstain(why)
    if report.abstained then return end -- of another stage
    into.abstained[#into.abstained + 1] = { rule = rule.name, why = why }
    report.abstained = true
  end
  return report
end


-- Note why a rule is silent that neither abstained nor found more than `count`.
local function note_silence(rule, report, count, stage, why, into)
  if report.count > count or report.abstained then return end
  into.silent[#into.silent + 1] = { rule = rule.name, stage = stage,
    why = type(why) == "string" and why or "it found nothing" }
end


-- Ask a rule about one stage; whether it found something.
local function examine_one(rule, results, stage, report, into)
  local count = report.count
  report.stage = stage.name
  local why = rule.examine_stage(results, stage, report)
  note_silence(rule, report, count, stage.name, why, into)
  return report.count > count
end


local function examine_stages(rule, results, report, into)
  local stages, within = (rule.of_decode and evidence.decodes or evidence.stages)(results), {}
  if #stages == 0 then
    return report.abstain(rule.without_decode or rule.of_decode and evidence.UNCOUNTED
      or "no stage was measured")
  end
  for _, stage in ipairs(rule.children and evidence.working_children(results) or {}) do
    if examine_one(rule, results, stage, report, into) then within[stage.parent] = stage.name end
  end
  for _, stage in ipairs(stages) do
    local part = within[stage.name]
    if part then
      note_silence(rule, report, report.count, stage.name, ("see %s, which is in it"):format(part),
        into)
    else
      examine_one(rule, results, stage, report, into)
    end
  end
end


local function ask(rule, results, into, replay)
  local report = reporter(rule, results, into, replay)
  if rule.of_ranks and not results.ranks then
    return report.abstain "no steps and no second rank were found"
  elseif not rule.examine then
    return examine_stages(rule, results, report, into)
  end
  note_silence(rule, report, 0, nil, rule.examine(results, report), into)
end


-- Stands for a replay where there is none.
local function not_replayed() return nil, "there is no trace to replay" end


-- Apply one rule. What it finds in code that is the engine's is a reason for silence.
local function apply(rule, results, into, replay)
  local engine = rule.own_code and evidence.engine(results)
  if not engine then return ask(rule, results, into, replay) end
  local found = {}
  ask(rule, results, { findings = found, abstained = into.abstained, silent = into.silent },
    not_replayed)
  for _, finding in ipairs(found) do
    into.silent[#into.silent + 1] = { rule = finding.rule, stage = finding.stage,
      why = ("%s, but that is the code of %s"):format(finding.title, engine) }
  end
end


-- Names of the rules, sorted: every module here but what they share.
function advice.names()
  return lists.filtered(files.module_names "advice", function(name) return name ~= "evidence" end)
end


local function all_rules()
  return lists.map(advice.names(), function(name) return require("llmprof.advice." .. name) end)
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


-- Rules over results: { findings (ranked; `after` are ranks then, and `unlocks`), pairs (list
-- of { ranks, gain_ns, sum_ns }: what two give back together, replayed) and note (which gains must
-- not be added up; both nil where none overlap), abstained (list of { rule, why }), silent
-- (list of { rule, stage, why }) }. replay: see advice.examine.
function advice.apply(rules, results, replay)
  local into = { findings = json.list {}, abstained = json.list {}, silent = json.list {} }
  local by_name = {}
  for _, rule in ipairs(rules) do
    by_name[rule.name] = rule
    if not rule.about or results[rule.about] then
      apply(rule, results, into, replay or not_replayed)
    end
  end
  link(in_order(into.findings, worths_of(results, into.findings, by_name)))
  into.pairs, into.note = overlaps_of(results, into.findings, replay or not_replayed, by_name)
  return into
end


-- The same for all rules, and those in extra: with `where` (file:line), for
-- errors in what they find. replay(changes, stage [, alone]) gives what the changes give back of a
-- stage, as whatif's `gain`, or nil and why it cannot be said.
function advice.examine(results, extra, replay)
  return advice.apply(lists.joined(all_rules(), extra or {}), results, replay)
end


-- The same for the rules that ask for nothing but ranks: of results without a timeline.
function advice.examine_ranks(results)
  return advice.apply(lists.filtered(all_rules(), function(rule) return rule.of_ranks end), results)
end


return advice
