-- kernels.md: every kernel, by total time.
local parts = require "llmprof.report.parts"
local rows = require "llmprof.report.rows"
local text = require "llmprof.text"

local report = {}

-- A page nobody scrolls through helps nobody; results.json has them all.
local MOST = 500


local function selection_text(results)
  local selection = results.selection
  if not selection or not selection.filter then return "No kernel was selected.\n" end
  return parts.table("selection", rows.selection(results))
    .. ("\nThe filter for ncu that matches exactly these functions:\n\n    --kernel-name %s\n")
      :format(selection.filter)
end


function report.render(results)
  local list = rows.kernels(results)
  local shown = table.move(list, 1, math.min(#list, MOST), 1, {})
  local out = {
    ("# Kernels: %s\n"):format(parts.title(results)),
    parts.source(results),
    "Times are from the timeline. SM %, DRAM % and AI (arithmetic intensity, FLOP per byte of "
      .. "DRAM) are from ncu, and empty where no launch of the kernel was measured.\n",
    parts.table("kernels", shown),
  }
  if #list > #shown then
    out[#out + 1] = ("%s more are in results.json.\n"):format(text.count(#list - #shown))
  end
  out[#out + 1] = "## Selected for counters\n"
  out[#out + 1] = selection_text(results)
  return table.concat(out, "\n")
end


return report
