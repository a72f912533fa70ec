-- stakeholder_summary.md: the short version, to hand on.
local blocks = require "llmprof.report.blocks"
local chapters = require "llmprof.report.chapters"
local findings = require "llmprof.report.findings"
local markdown = require "llmprof.report.write.markdown"
local words = require "llmprof.report.words"

local report = {}

local SECTIONS = { "environment", "aggregates", "stages", "ranks", "mfu", "operators", "kernels",
  "advice", "trust", "source" }


function report.render(results)
  return markdown.render(blocks.join(
    blocks.heading { level = 1, title = words.title(results) .. ": where the time goes" },
    blocks.verdict { lines = findings.verdict(results) },
    chapters.blocks(results, SECTIONS, { brief = true })))
end


return report
