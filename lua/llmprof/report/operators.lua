-- The framework's operators, by device time: operators.md, and the head of it
-- for the other reports.
local layout = require "llmprof.bundle.layout"
local markdown = require "llmprof.markdown"
local parts = require "llmprof.report.parts"
local rows = require "llmprof.report.rows"
local text = require "llmprof.text"
local words = require "llmprof.report.words"

local report = {}

-- Of operators.md: operators, those with their kernels, and kernels of each.
-- Nobody reads further; results.json has them all.
local MOST, WITH_KERNELS, KERNELS_EACH = 300, 40, 5


-- A line on the device time that no operator launched, or "".
local function unattributed(operators)
  local whole, rest = operators.device_ns, operators.unattributed_device_ns
  if not whole or not rest or rest == 0 then return "" end
  return ("\nNo operator launched %s of the device time (%s): replays of CUDA graphs do not say "
    .. "which.\n"):format(text.duration(rest), words.percent(rest / whole))
end


local function more(count, place)
  return count > 0 and ("\n%s more are in %s.\n"):format(text.count(count), place) or ""
end


-- The `limit` operators with the most device time.
function report.top(results, limit)
  local operators = results.operators
  if not operators then return parts.not_measured(results, "operators") end
  local list = operators.operators
  return parts.table("top_operators", rows.operators(list, limit)) .. unattributed(operators)
    .. more(#list - limit, "operators.md")
end


local function launched(list)
  local kernels = rows.operator_kernels(rows.operators(list, WITH_KERNELS), KERNELS_EACH)
  if #kernels == 0 then return "" end
  return "\n## What They Launched\n\n" .. parts.table("operator_kernels", kernels)
end


local function all(results)
  local operators = results.operators
  if not operators then return parts.not_measured(results, "operators") end
  local list = operators.operators
  return ("%s operators and runtime calls; source: %s.\n\n"):format(text.count(#list),
      markdown.escape(operators.source or "not recorded"))
    .. parts.table("operators", rows.operators(list, MOST)) .. unattributed(operators)
    .. more(#list - MOST, layout.results) .. launched(list)
end


function report.render(results)
  return ("# Operators: %s\n\n%s\n"):format(parts.title(results), parts.model(results))
    .. all(results)
end


return report
