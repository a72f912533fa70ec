-- kernels.md: the largest kernels over all stages, then every kernel by stage, by
-- total time.
local parts = require "llmprof.report.parts"
local rows = require "llmprof.report.rows"
local text = require "llmprof.text"
local words = require "llmprof.report.words"

local report = {}

-- Of a stage. A page nobody scrolls through helps nobody; results.json has them all.
local MOST = 250


local function selection_text(results)
  local selection = results.selection
  if not selection or not selection.filter then return "No kernel was selected.\n" end
  return parts.table("selection", rows.selection(results))
    .. ("\nThe filter for ncu that matches exactly these functions:\n\n    --kernel-name %s\n")
      :format(text.clean(selection.filter))
end


function report.render(results)
  return table.concat({
    ("# Kernels: %s\n"):format(parts.title(results)),
    parts.model(results),
    parts.source(results),
    parts.largest_kernels(results),
    parts.paragraph(words.kernel_times(results)),
    parts.all_kernels(results, MOST),
    "## Selected for counters\n",
    selection_text(results),
  }, "\n")
end


return report
