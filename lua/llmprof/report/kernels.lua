-- kernels.md: the largest kernels over all stages, then every kernel by stage, by
-- total time.
local blocks = require "llmprof.report.blocks"
local chapters = require "llmprof.report.chapters"
local markdown = require "llmprof.report.write.markdown"
local parts = require "llmprof.report.parts"

local report = {}

-- Of a stage. A page nobody scrolls through helps nobody; results.json has them all.
local MOST = 250


function report.render(results)
  return markdown.render(blocks.join(parts.title(results, "Kernels: "), parts.model(results),
    parts.source(results), chapters.heading "kernels", parts.largest_kernels(results),
    parts.all_kernels(results, MOST), chapters.blocks(results, "selection", {})))
end


return report
