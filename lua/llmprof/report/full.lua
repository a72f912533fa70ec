-- report.md: everything, section by section as the recipe orders them.
local blocks = require "llmprof.report.blocks"
local chapters = require "llmprof.report.chapters"
local markdown = require "llmprof.report.write.markdown"
local parts = require "llmprof.report.parts"
local words = require "llmprof.report.words"

local report = {}


-- order: names of sections, as configured by `report`.
function report.render(results, order)
  return markdown.render(blocks.join(
    blocks.heading { level = 1, title = words.title(results) .. ": where the time goes" },
    parts.source(results), chapters.blocks(results, chapters.completed(order), {}),
    chapters.blocks(results, { "trust", "missing", "abstained", "silent", "next" }, {})))
end


return report
