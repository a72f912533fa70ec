-- The reports, from results.json and nothing else.
local chapters = require "llmprof.report.chapters"
local documents = require "llmprof.report.documents"
local errors = require "llmprof.process.errors"
local fs = require "llmprof.fs"
local layout = require "llmprof.bundle.layout"
local recipe = require "llmprof.recipe"

local step = { name = "render", summary = "write the reports",
  requires = { "analyse" }, reads = { "results" }, needs = { layout.results, layout.events },
  makes = {} }

-- What renders each, of layout.reports.
local renderers = { page = documents.page, full = documents.full,
  summary = documents.stakeholder, kernels = documents.kernels, operators = documents.operators }

-- In the order of their names, as they are told.
local reports = {}
for key, file in pairs(layout.reports) do
  reports[#reports + 1] = { file = file, render = renderers[key] }
end
table.sort(reports, function(a, b) return a.file < b.file end)

for i, report in ipairs(reports) do step.makes[i] = report.file end


function step.run(ctx)
  local results = ctx.state.results
  local events = ctx.run:has(layout.events)
    and errors.check(fs.read(ctx.run:path(layout.events))) or nil
  local entries, names = chapters.layout(ctx.cfg.report, ctx.recipe.sections), {}
  for i, report in ipairs(reports) do
    ctx.run:write(report.file, report.render(results, entries, events))
    names[i] = report.file
  end
  if ctx.recipe.render then
    recipe.call("render", ctx.recipe.render, results, ctx.run.dir)
    names[#names + 1] = "the recipe's own"
  end
  return table.concat(names, ", ")
end


return step
