-- What was found and what to do about it, from results.advice and nothing else.
local blocks = require "llmprof.report.blocks"
local layout = require "llmprof.bundle.layout"
local lists = require "llmprof.tables.lists"
local overhead = require "llmprof.analysis.latency.overhead"
local range_name = require "llmprof.trace.nvtx_names"
local ranks = require "llmprof.report.ranks"
local rows = require "llmprof.report.rows"
local sections = require "llmprof.report.sections"
local text = require "llmprof.text"
local words = require "llmprof.report.words"

local findings = {}

-- A gain of less than this part of its stage's time is on no first screen: llmprof.advice ranks
-- it last.
local SMALL = 0.01

-- All of them, ranked.
function findings.list(results) return results.advice and results.advice.findings or {} end


-- Those that are worth a first screen, and how many are not.
function findings.first(results)
  local list, all = {}, findings.list(results)
  for i, finding in ipairs(all) do
    if (finding.gain_share or 1) < SMALL then break end
    list[i] = finding
  end
  return list, #all - #list
end


-- ---- gains ----

-- "12.30 ms (11.90 ms to 12.80 ms) of 350.31 ms per decode, 0.82 ms per token, if ...".
function findings.gain(results, finding)
  local why = finding.no_gain and (" (not replayed: %s)"):format(finding.no_gain) or ""
  if not finding.gain_ns then return "not known from this capture" .. why end
  local stage = lists.find(results.stages, "name", finding.stage)
  local timed = stage and stage.ns_per_token and (stage.wall or stage.own)
  local between = rows.between(finding, text.duration)
  local is_longer = stage and stage.wall and finding.of_ns > (finding.of == "plain runs"
    and overhead.plain_ns(results, stage) or stage.wall.mean_ns)
  return ("%s%s of %s per %s%s%s%s, if %s%s"):format(
    (finding.no_gain and "at most " or "") .. text.duration(finding.gain_ns),
    finding.no_gain and why or between and (" (%s)"):format(between) or "",
    text.duration(finding.of_ns), finding.stage, is_longer and (stage.wall.count > 1
      and " from step to step" or " until its GPU work ends") or "",
    finding.of == "plain runs" and " without the profiler" or "",
    timed and timed.mean_ns > 0 and (", %s per %s"):format(
      text.duration(finding.gain_ns * stage.ns_per_token / timed.mean_ns),
      range_name.step(stage.name)) or "",
    finding.assumption,
    finding.behind and ("; it comes back only once %s no longer waits for its launches")
      :format(finding.stage) or "")
end


-- What has to be dealt with before a finding, and what it unlocks: "needs 2 and 3, needed for 4:
-- 26.80 ms"; nil without any.
function findings.order(results, finding)
  local said, list = {}, findings.list(results)
  if finding.after then
    said[1] = "needs " .. table.concat(finding.after, ", "):gsub(", (%d+)$", " and %1")
  end
  for i, rank in ipairs(finding.unlocks or {}) do
    local gain = list[rank] and list[rank].gain_ns
    said[#said + 1] = ("%s%d%s"):format(i == 1 and "needed for " or "", rank,
      gain and ": " .. text.duration(gain) or "")
  end
  return #said > 0 and table.concat(said, ", ") or nil
end


-- ---- lists ----

-- Said where there is none.
findings.nothing = "No rule found anything to change; the largest kernels come first."


-- What moves take, by the rule; of others nothing is said.
local effort_of = {}
for effort, names in pairs {
  ["a setting"] = "batch_room capture_trust expert_imbalance first_repeat graph_sizes kv_room "
    .. "older_attention other_program_on_the_gpu prefill_stalls throttling",
  ["another number format"] = "fewer_bytes gemm_precision kv_growth memory_roof",
  ["other kernels"] = "bank_conflicts low_occupancy small_all_reduces tail_effect uncoalesced",
  ["another division of ranks"] = "collective_bound pipeline_bubbles",
  code = "allocations attention_unfused casts cat_cache collectives_in_a_row "
    .. "experts_one_by_one exposed_collectives fused_projections graph_missing host_copies "
    .. "large_elementwise launch_bound layout_copies long_gaps other_stream_in_the_way "
    .. "pageable_copies slow_steps small_elementwise step_gaps steps_idle sync_per_token "
    .. "token_choice uneven_steps",
} do
  for name in names:gmatch "%S+" do effort_of[name] = effort end
end


-- An engine's code is its own: what it takes there is a setting.
local function effort(results, finding)
  local said = effort_of[finding.rule]
  return said == "code" and results.engine and "a setting" or said
end


-- A finding as a move: what blocks of moves hold.
local function move(results, finding)
  local kernels = lists.map(finding.kernels or {}, function(id)
    return { id = id, name = rows.label(results.kernels[id]) }
  end)
  local gap = finding.rule == "long_gaps" -- the longest comes first
    and lists.find(results.gaps or {}, "stage", finding.stage)
  return setmetatable({ kernels = kernels, is_bound = finding.no_gain ~= nil,
    effort = effort(results, finding), order = findings.order(results, finding),
    gain = findings.gain(results, finding),
    gap = gap and { from = gap.start_ns, ["until"] = gap.start_ns + gap.ns } or nil },
    { __index = finding })
end


local function moves_of(results, list, most)
  return lists.map(lists.first(list, most), function(finding) return move(results, finding) end)
end


-- The same in short: what is to be tried for several, or why no gain is known, is said once.
local function brief_moves(results, list, most)
  local made, said = moves_of(results, list, most), {}
  for i, one in ipairs(made) do
    local try, why = said[one.try], not one.gain_ns and said[one.gain]
    said[one.try], said[one.gain] = try or i, why or i
    if try then one.try = ("as for %d"):format(try) end
    if why then one.gain = ("not known, as for %d"):format(why) end
  end
  return made
end


-- A reader must not add up gains that are one and the same time: the note, nil where none are.
local function caution(results) return blocks.note(results.advice and results.advice.note) end


-- The first findings as a block of moves, `most` of them, each in short, and the note.
function findings.moves(results, most)
  return blocks.join(blocks.moves { list = brief_moves(results, findings.first(results), most),
    brief = true }, most > 0 and caution(results))
end


-- The same with where the others are, or that there are none.
function findings.in_short(results, most)
  local list, small = findings.first(results)
  if #list == 0 then
    return blocks.say(small > 0 and "No finding gives back 1 % of a stage." or findings.nothing)
  end
  local said, last = {}, #results.advice.findings
  if caution(results) then said[1] = "Gains of one stage share its time: they do not add up." end
  if last > most then
    said[#said + 1] = ("%s in %s."):format(last == most + 1 and ("Finding %d is"):format(last)
      or ("Findings %d to %d are"):format(most + 1, last), layout.reports.full)
  end
  return blocks.join(blocks.moves { list = brief_moves(results, list, most), brief = true },
    #said > 0 and blocks.note(table.concat(said, " ")))
end


-- As blocks: all of them, ranked, with their evidence. view: of llmprof.report.chapters.
function findings.blocks(results, view)
  local list = findings.list(results)
  if #list == 0 then return blocks.say(findings.nothing) end
  return blocks.join(not view.page and sections.table("findings", rows.findings(results)),
    caution(results), blocks.moves { list = moves_of(results, list, #list),
      pairs = results.advice.pairs, run = results.run and results.run.id })
end


-- ---- the verdict ----

-- "decode takes 131.1 ms (16.4 ms per token; 179.3 ms under the profiler), of
-- which the GPU works 24.0 ms". Of an engine a stage is a step, behind which time passes, too.
local function stage_time(results, stage)
  local time, profiled = overhead.time_of(results, stage)
  local details = {}
  if stage.ns_per_token and stage.wall.mean_ns > 0 then
    local tpot = overhead.latency_of(results).tpot
    local one = tpot and range_name.role(stage.name) == "decode" and tpot.first.mean_ns
      or stage.ns_per_token * time / stage.wall.mean_ns
    details[1] = results.engine and "TPOT " .. words.ms(one)
      or ("%s per %s"):format(words.ms(one), range_name.step(stage.name))
  end
  if profiled then details[#details + 1] = words.ms(profiled) .. " under the profiler" end
  return ("%s%s takes %s%s, of which the GPU works %s"):format(
    results.engine and "a step of " or "", stage.name, words.ms(time),
    #details > 0 and (" (%s)"):format(table.concat(details, "; ")) or "",
    words.ms(stage.gpu_busy_ns))
end


-- A title as a sentence begins. Names of stages with more than letters stay as they are written.
local function capital(title)
  return (title:gsub("^%l+%f[%s]", function(word)
    return word:sub(1, 1):upper() .. word:sub(2)
  end))
end


local function stage_times(results)
  local said = lists.map(results.stages, function(stage)
    return stage.wall and not stage.parent and stage_time(results, stage) or nil
  end)
  if words.is_without_gpu(results) then
    lists.add(said, lists.map(lists.filtered(results.stages, "host_ns"), function(stage)
      return ("%s takes %s on the CPU"):format(stage.name, words.ms(stage.host_ns))
    end))
  end
  if #said == 0 then return "No stage was measured." end
  local file = words.one_of(results)
  said = table.concat(said, "; ")
  return (file and ("In %s "):format(file) .. said or capital(said)) .. "."
end


local function first_move(results, first)
  if first then
    return ("%s%s. Gain: %s."):format(first.stage and first.stage .. ": " or "", first.try,
      findings.gain(results, first))
  end
  local top = results.kernels[1]
  if not top then return "none; no kernel was found." end
  return ("look at %s%s."):format(rows.label(top),
    top.share and (", %s of the %s"):format(words.percent(top.share),
      words.measured_alone(results) and "time that ncu measured" or "time of kernels") or "")
end


-- "fair: 1 of 12 NVTX ranges were still open at the end, and 1 more to check": the first problem,
-- else the first warning, but for the share of the GPU time, which is said anyway.
local function trust_words(integrity)
  local doubts = {}
  for _, level in ipairs { "problem", "warning" } do
    for _, check in ipairs(integrity.checks) do
      if check.level == level and check.name ~= "coverage" then doubts[#doubts + 1] = check.text end
    end
  end
  if #doubts == 0 then return integrity.verdict end
  return ("%s: %s%s"):format(integrity.verdict, text.truncate(doubts[1], 200, "end"),
    #doubts > 1 and (", and %d more to check"):format(#doubts - 1) or "")
end


-- Lines of plain text, { head, text } each: a list of who waits for whom, of several ranks, and of
-- what is wrong and what the stages take; then what to do first, and how far to trust it.
function findings.verdict(results)
  local worth, small = findings.first(results)
  local first = worth[1]
  local share = results.totals and results.totals.stage_share
  local title = first and first.title or "No rule found anything to change"
    .. (small > 0 and " that gives back 1 % of a stage" or "")
  local lines, between = {}, ranks.verdict(results)
  if between then lines[1] = { head = "Ranks:", text = between } end
  lines[#lines + 1] = { head = capital(title) .. ".", text = stage_times(results) }
  return lines, { head = "First move:", text = first_move(results, first) },
    { head = "Trust:", text = ("%s%s%s"):format(
      results.integrity and trust_words(results.integrity) .. ". " or "",
      share and ("%s of the GPU time lies in a stage. "):format(words.percent(share)) or "",
      words.repeats(results) or words.ranks_trust(results)
        or "Without a timeline there are no times.") }
end


-- What the GPU does for most of the longest stage, by what bounds that.
local PLAIN = {
  ranks = "The GPUs wait for each other in {stage}.",
  communication = "The GPUs spend most of {stage} in collectives.",
  launch = "The GPU waits for kernels to be launched {waits} of {stage}.",
  CPU = "The GPU waits for {program} {waits} of {stage}.",
  GPU = "The GPU works {works} of {stage}: its own work sets the pace.",
  both = "The GPU works {works} of {stage} and waits for the CPU {waits} of it.",
  unknown = "The GPU works {works} of {stage} and is idle for the rest.",
}

-- That for people who read no profile: "The GPU waits for Python 87 % of decode."; nil where it
-- was not measured.
function findings.in_plain_words(results)
  local stage = overhead.longest(results)
  local idle = stage and select(2, overhead.idle_of(results, stage))
  if not idle then return nil end
  local between = (results.ranks or {}).verdict or {}
  local bound = stage.bound or between.kind == "waiting" and "ranks" or "unknown"
  return ((PLAIN[bound] or PLAIN.both):gsub("{(%a+)}", {
    stage = (results.repeats or {}).whole_run and "the run" or stage.name,
    waits = words.percent(select(2, overhead.waits_of(results, stage))),
    works = words.percent(1 - idle),
    program = (results.framework or {}).name == "pytorch" and "Python" or "the program's own code",
  }))
end


return findings
