-- The text of a report, by name: one of llmprof.report.documents, or a module of its own. order:
-- names of sections.
local chapters = require "llmprof.report.chapters"
local documents = require "llmprof.report.documents"


return function(name, results, order, ...)
  local render = documents[name] or require("llmprof.report." .. name).render
  return render(results, order and chapters.layout(order), ...)
end
