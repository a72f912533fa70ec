-- The reports, from results.json and nothing else.
local layout = require "llmprof.bundle.layout"
local recipe = require "llmprof.recipe"
local results_file = require "llmprof.bundle.results_file"

local step = { name = "render", summary = "write the reports",
  requires = { "analyse" }, needs = { layout.results }, makes = {} }

-- File of the bundle -> module that renders it.
local reports = {
  { "kernels.md", "llmprof.report.kernels" },
  { "operators.md", "llmprof.report.operators" },
  { "report.html", "llmprof.report.html" },
  { "report.md", "llmprof.report.full" },
  { "stakeholder_summary.md", "llmprof.report.stakeholder" },
}


for i, report in ipairs(reports) do step.makes[i] = report[1] end


function step.run(ctx)
  local results = results_file.load(ctx.run:path(layout.results))
  local names = {}
  for i, report in ipairs(reports) do
    ctx.run:write(report[1], require(report[2]).render(results, ctx.cfg.report))
    names[i] = report[1]
  end
  if ctx.recipe.render then
    recipe.call("render", ctx.recipe.render, results, ctx.run.dir)
    names[#names + 1] = "the recipe's own"
  end
  return table.concat(names, ", ")
end


return step
