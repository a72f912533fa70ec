-- operators.md: the framework's operators, by device time.
local parts = require "llmprof.report.parts"

local report = {}

-- Nobody reads further; results.json has them all.
local MOST, WITH_KERNELS = 300, 40


function report.render(results)
  return table.concat({
    ("# Operators: %s\n"):format(parts.title(results)),
    parts.all_operators(results, MOST, WITH_KERNELS),
  }, "\n")
end


return report
