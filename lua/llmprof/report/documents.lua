-- The reports in Markdown: report.md, kernels.md and stakeholder_summary.md.
local blocks = require "llmprof.report.blocks"
local chapters = require "llmprof.report.chapters"
local findings = require "llmprof.report.findings"
local markdown = require "llmprof.report.write.markdown"
local parts = require "llmprof.report.parts"
local words = require "llmprof.report.words"

local documents = {}

-- Kernels of a stage. A page nobody scrolls through helps nobody; results.json has them all.
local MOST = 250

-- Sections of the short version.
local BRIEF = { "environment", "aggregates", "stages", "ranks", "mfu", "operators", "kernels",
  "advice", "trust", "source" }


local function title(results)
  return blocks.heading { level = 1, title = words.title(results) .. ": where the time goes" }
end


-- report.md: everything, section by section. order: names of sections, as configured by
-- `report`.
function documents.full(results, order)
  return markdown.render(blocks.join(title(results), parts.source(results),
    chapters.blocks(results, chapters.completed(order), {}),
    chapters.blocks(results, { "trust", "missing", "abstained", "silent", "next" }, {})))
end


-- kernels.md: the largest kernels over all stages, then every kernel by stage, by
-- total time.
function documents.kernels(results)
  return markdown.render(blocks.join(parts.title(results, "Kernels: "), parts.model(results),
    parts.source(results), chapters.heading "kernels", parts.largest_kernels(results),
    parts.all_kernels(results, MOST), chapters.blocks(results, "selection", {})))
end


-- stakeholder_summary.md: the short version, to hand on.
function documents.stakeholder(results)
  return markdown.render(blocks.join(title(results),
    blocks.verdict { lines = findings.verdict(results) },
    chapters.blocks(results, BRIEF, { brief = true })))
end


return documents
