-- The sections that reports are put together from, each with its title, which stands
-- nowhere else, and what it says, as blocks.
local blocks = require "llmprof.report.blocks"
local findings = require "llmprof.report.findings"
local operators = require "llmprof.report.operators"
local overhead = require "llmprof.analysis.latency.overhead"
local parts = require "llmprof.report.parts"
local ranks = require "llmprof.report.ranks"
local sections = require "llmprof.report.sections"
local pictures = require "llmprof.report.pictures"
local text = require "llmprof.text"
local words = require "llmprof.report.words"

local chapters = {}

-- ---- load ----

-- What a report says of a load: what was sent and answered, what clients saw, the engine's
-- own numbers.

-- Less than this share of the planned rate was not held, of what comes not answered; a second
-- of requests or more says so.
local HELD, ANSWERED, MEANT_S = 0.95, 0.9, 1


local function rate(value) return text.number(value, 2) .. "/s" end


-- Was a rate not held that was sent for long enough to tell?
local function is_short(given)
  local planned, held = given.planned_per_s, given.held_per_s
  return planned and held and held < HELD * planned
    and given.completed + given.failed - 1 >= MEANT_S * planned
end


-- What a person should know before believing the latencies.
local function warnings(given)
  local list = {}
  local planned, held = given.planned_per_s, given.held_per_s
  if given.unread then list[1] = given.unread:sub(1, 1):upper() .. given.unread:sub(2) .. "." end
  if not given.requests then return list end
  if is_short(given) then
    list[#list + 1] = ("The rate was not held: %s were sent of %s planned."):format(rate(held),
      rate(planned))
  end
  local answered, possible = given.completed_per_s, given.unqueued_per_s
  if answered and possible and answered < ANSWERED * possible then
    list[#list + 1] = ("%s were sent and %s answered: requests queued up, and latencies grow "
      .. "with the length of the run."):format(rate(held), rate(answered))
  end
  local unsent = given.requests - given.completed - given.failed
  if unsent > 0 then
    list[#list + 1] = ("%s of %s requests were not sent: the server had ended."):format(
      text.count(unsent), text.count(given.requests))
  end
  for _, entry in ipairs(given.errors or {}) do
    list[#list + 1] = ("%s of %s requests failed: %s"):format(text.count(entry.count),
      text.count(given.requests), entry.text)
  end
  return list
end


local function goal(given)
  local slo = given.slo
  if not slo then return nil end
  local limits = {}
  if slo.ttft_ns then limits[#limits + 1] = "TTFT " .. words.ms(slo.ttft_ns) end
  if slo.tpot_ns then limits[#limits + 1] = "TPOT " .. words.ms(slo.tpot_ns) end
  return ("Good requests are within %s: %s of %s."):format(table.concat(limits, " and "),
    text.count(slo.met), text.count(given.requests))
end


local function page_note(engine)
  if not engine or not engine.complaint then return nil end
  return ("Of the engine's page %s looks failed: %s."):format(text.count(engine.failed or 0),
    engine.complaint)
end


local function load_blocks(results)
  local given, list = results.load, {}
  for i, line in ipairs(given and warnings(given) or {}) do
    list[i] = blocks.say(line, "warning")
  end
  return blocks.join(list, sections.blocks(results, "load", { bare = true }),
    blocks.note(given and goal(given)), sections.blocks(results, "load_times"),
    sections.blocks(results, "engine_metrics"), blocks.note(page_note(results.engine_metrics)))
end


-- ---- summaries ----

-- What a section comes to, in a few words, for where it is folded: results -> text, nil where there
-- is nothing to say.
local summaries = {}


local function counted(count, what)
  return ("%s %s%s"):format(text.count(count), what, count == 1 and "" or "s")
end


function summaries.advice(results)
  return counted(#findings.list(results), "finding")
end


function summaries.stages(results)
  local said = {}
  for _, stage in ipairs(results.stages) do
    if stage.wall and not stage.parent then
      said[#said + 1] = ("%s %s"):format(stage.name, words.ms((overhead.time_of(results, stage))))
    end
  end
  return #said > 0 and table.concat(said, ", ") or nil
end


-- The function that most samples of the last stage are in, which is the decode as a rule.
function summaries.cpu_samples(results)
  local list = results.cpu_samples.stages
  for i = #list, 1, -1 do
    local stage, first = list[i], list[i].functions[1]
    if first and not stage.file then
      return ("%s: %s %s"):format(stage.stage, text.truncate(first.name, 48, "middle"),
        words.percent(first.self / stage.samples))
    end
  end
  return counted(list[1].samples, "sample")
end


function summaries.gaps(results)
  return "up to " .. words.ms(results.gaps[1].ns)
end


function summaries.modules(results)
  local made = results.modules
  return made.modules[1] and counted(#made.modules, "module")
    or counted(#made.operators, "operator")
end


function summaries.lines(results)
  local first = results.lines.rows[1]
  return first and ("%s %s"):format(first.line, words.percent(first.share or 0)) or "none known"
end


function summaries.layers(results)
  return counted(results.layers.count, "layer")
end


function summaries.ranks(results)
  return counted(#results.ranks.ranks, "rank")
end


function summaries.load(results)
  local given = results.load
  return given and given.ttft and "TTFT " .. words.ms(given.ttft.mean_ns) or nil
end


function summaries.aggregates(results)
  local tpot = overhead.latency_of(results).tpot
  return tpot and "TPOT " .. words.ms(tpot.first.mean_ns) or nil
end


function summaries.mfu(results)
  local said, whole = {}, results.efficiency or {}
  for _, key in ipairs { "mfu", "mbu" } do
    local value = whole[key] and whole[key].value
    if value then
      said[#said + 1] = ("%s %s %%"):format(key:upper(), text.number(value * 100, 2))
    end
  end
  return #said > 0 and table.concat(said, ", ") or "not measured"
end


function summaries.roofline(results)
  local counters = results.counters or {}
  return counters.coverage and ("counters cover %s of the kernels' time%s"):format(
    words.percent(counters.coverage), words.lacking(counters.lacking)) or "without counters"
end


function summaries.kernels(results)
  return counted(#results.kernels, "kernel")
end


function summaries.operators(results)
  return results.operators and counted(#results.operators.operators, "operator") or "not measured"
end


function summaries.trust(results)
  return results.integrity and results.integrity.verdict
end


function summaries.missing(results)
  return #results.missing > 0 and counted(#results.missing, "subject") or "nothing"
end


function summaries.abstained(results)
  return counted(#(results.advice and results.advice.abstained or {}), "rule")
end


function summaries.silent(results)
  return counted(#results.advice.silent, "rule")
end


-- ---- the sections ----

-- name, title, blocks(results, view); when(results, view): not there otherwise; after: where
-- it stands in a report that is configured, which names it not.
local list = {
  { "environment", "Environment", parts.environment },
  { "aggregates", "Aggregates", parts.aggregates },
  { "load", sections.find("load").title, load_blocks, after = "aggregates",
    when = function(results) return results.load or results.engine_metrics end },
  { "stages", "Per-Stage Timings", parts.stages },
  { "layers", "Layers of a Decode Step", parts.layers, after = "stages",
    when = function(results) return results.layers end },
  { "modules", "Modules and Operators", parts.modules, after = "stages",
    when = function(results) return results.modules end },
  { "lines", "Lines of the Program", parts.lines, after = "stages",
    when = function(results) return results.lines end },
  { "cpu_samples", "CPU Samples", pictures.blocks, after = "stages",
    when = function(results) return results.cpu_samples end },
  { "gaps", "Longest Gaps", parts.gaps, after = "stages",
    when = function(results) return results.gaps and #results.gaps > 0 end },
  { "ranks", "Steps, Ranks and Collectives", ranks.blocks, after = "stages",
    when = function(results) return results.ranks end },
  { "mfu", "MFU/MBU", parts.efficiency },
  { "operators", "Top Operators", operators.top },
  { "kernels", "Top Kernels", parts.kernels },
  { "roofline", "Roofline", parts.roofline },
  { "advice", "What to Do", findings.blocks },
  { "trust", "How Far to Trust It", parts.trust },
  { "missing", "Not Measured", parts.missing },
  { "abstained", "Rules That Could Not Tell", parts.abstained },
  { "silent", "Rules That Found Nothing", parts.silent,
    when = function(results) return parts.silent(results) end },
  { "source", "Where This Comes From", parts.source },
  { "next", "Ask Further", parts.next },
  { "selection", sections.find("selection").title, parts.selection },
}

local by_name = {}
for _, chapter in ipairs(list) do
  chapter.name, chapter.title, chapter.make = table.unpack(chapter, 1, 3)
  by_name[chapter.name] = chapter
end


-- All of them, by their names in the order above.
function chapters.names()
  local names = {}
  for i, chapter in ipairs(list) do names[i] = chapter.name end
  return names
end


-- Names with those behind each that nobody configures: they are there where there is
-- something to say.
function chapters.completed(names)
  local made = {}
  for _, name in ipairs(names) do
    made[#made + 1] = name
    for _, chapter in ipairs(list) do
      if chapter.after == name then made[#made + 1] = chapter.name end
    end
  end
  return made
end


function chapters.title(name) return by_name[name].title end


-- What a section comes to, in a few words, for where it is folded; nil where nothing is.
function chapters.summary(results, name)
  return summaries[name] and summaries[name](results)
end


function chapters.heading(name)
  return blocks.heading { level = 2, title = by_name[name].title }
end


-- What a section says, without its title; nil where it is not there.
function chapters.content(results, name, view)
  local chapter = by_name[name]
  if chapter.when and not chapter.when(results, view) then return nil end
  return blocks.join(chapter.make(results, view))
end


-- Sections under their titles, as one list of blocks.
function chapters.blocks(results, names, view)
  local made = {}
  for _, name in ipairs(type(names) == "table" and names or { names }) do
    local content = chapters.content(results, name, view)
    made[#made + 1] = content and { chapters.heading(name), content } or nil
  end
  return blocks.join(made)
end


return chapters
