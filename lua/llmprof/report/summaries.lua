-- What a section of a report comes to, in a few words: results -> text, nil where there is
-- nothing to say.
local findings = require "llmprof.report.findings"
local overhead = require "llmprof.analysis.latency.overhead"
local text = require "llmprof.text"
local words = require "llmprof.report.words"

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


return summaries
