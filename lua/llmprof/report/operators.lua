-- operators.md: the framework's operators, by device time.
local parts = require "llmprof.report.parts"

local report = {}


function report.render(results)
  return table.concat({
    ("# Operators: %s\n"):format(parts.title(results)),
    parts.operators(results),
  }, "\n")
end


return report
