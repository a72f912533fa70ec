-- The sections that reports are put together from, each with its title, which stands
-- nowhere else, and what it says, as blocks.
local blocks = require "llmprof.report.blocks"
local findings = require "llmprof.report.findings"
local summaries = require "llmprof.report.summaries"
local operators = require "llmprof.report.operators"
local parts = require "llmprof.report.parts"
local ranks = require "llmprof.report.ranks"
local sections = require "llmprof.report.sections"
local load_section = require "llmprof.report.load"
local stacks = require "llmprof.report.stacks"

local chapters = {}

-- Findings in a brief report.
local MOVES = 3

-- name, title, blocks(results, view); when(results, view): not there otherwise; after: where
-- it stands in a report that is configured, which names it not.
local list = {
  { "environment", "Environment", parts.environment },
  { "aggregates", "Aggregates", parts.aggregates },
  { "load", sections.find("load").title, load_section.blocks, after = "aggregates",
    when = function(results) return results.load or results.engine_metrics end },
  { "stages", "Per-Stage Timings", parts.stages },
  { "layers", "Layers of a Decode Step", parts.layers, after = "stages",
    when = function(results) return results.layers end },
  { "modules", "Modules and Operators", parts.modules, after = "stages",
    when = function(results) return results.modules end },
  { "cpu_samples", "CPU Samples", stacks.blocks, after = "stages",
    when = function(results) return results.cpu_samples end },
  { "gaps", "Longest Gaps", parts.gaps, after = "stages",
    when = function(results) return results.gaps and #results.gaps > 0 end },
  { "ranks", "Steps, Ranks and Collectives", ranks.blocks, after = "stages",
    when = function(results, view)
      return results.ranks and not (view.brief and #results.ranks.ranks < 2)
    end },
  { "mfu", "MFU/MBU", parts.efficiency },
  { "operators", "Top Operators", operators.top },
  { "kernels", "Top Kernels", parts.kernels },
  { "roofline", "Roofline", parts.roofline },
  { "advice", "What to Do", function(results, view)
    return findings.blocks(results, view, MOVES)
  end },
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
function chapters.gist(results, name)
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
