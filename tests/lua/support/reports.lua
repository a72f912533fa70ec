-- The text of a report, by name: one of llmprof.report.documents, or a module of its own.
local documents = require "llmprof.report.documents"


return function(name, ...)
  local render = documents[name] or require("llmprof.report." .. name).render
  return render(...)
end
