-- The order of sections, and those of a recipe's own, in report.md, the page and the summary.
local chapters = require "llmprof.report.chapters"
local config = require "llmprof.recipe.config"
local defaults = require "llmprof.recipe.defaults"
local errors = require "llmprof.process.errors"
local recipe = require "llmprof.recipe"
local render = require "llmprof.report.documents"
local results = require "tests.lua.support.results"

local IDLE = { title = "Idle Time", columns = { "stage", { "idle_ms", "idle ms", digits = 1 } },
  rows = function(given)
    local list = {}
    for i, stage in ipairs(given.stages) do
      list[i] = { stage = stage.name, idle_ms = stage.gpu_idle_ns / 1e6 }
    end
    return list
  end }


local function layout_of(report, words)
  local made = recipe.recipe { name = "r", workload = function() end, report = report }
  return chapters.layout(config.of_recipe(made, nil, words).tree.report, made.sections)
end


-- The titles of each of the three, in order.
local function titles(entries)
  local given, made = results.full(), {}
  for name, pattern in pairs { full = "\n## ([^\n]+)", stakeholder = "\n## ([^\n]+)",
      page = "<summary><h2>([^<]+)</h2>" } do
    made[name] = {}
    for title in render[name](given, entries):gmatch(pattern) do table.insert(made[name], title) end
  end
  return made
end


local function refusal(report, words)
  local ok, err = errors.call(layout_of, report, words)
  assert.is_false(ok)
  return err.message
end


describe("the layout of reports", function()
  it("has the same order in all three", function()
    local wanted = { "Top Kernels", "Idle Time", "MFU/MBU", "What to Do" }
    local entries = layout_of { "kernels", IDLE, "mfu", "advice" }
    assert.same({ full = wanted, stakeholder = wanted, page = wanted }, titles(entries))
  end)

  it("has the others in place of `all`, and own ones that a command line does not name", function()
    local made = titles(layout_of { "environment", "all", IDLE })
    for name, list in pairs(made) do
      assert.same({ "Environment", "What to Do", "Idle Time" }, { list[1], list[2], list[#list] },
        name)
    end
    assert.same({ "Idle Time", "MFU/MBU" },
      titles(layout_of({ IDLE }, { "report=[idle_time,mfu]" })).page)
    local last = titles(layout_of({ IDLE }, { "report=[all]" })).full
    assert.equal("Idle Time", last[#last])
  end)

  it("has rows and columns of a section", function()
    local entries = layout_of { { "kernels", rows = 1, columns = { "calls", "label" } } }
    local page = render.stakeholder(results.full(), entries)
    assert.truthy(page:find("| calls | kernel   |\n| ----: | :------- |\n|   200 | `gemm 4` |\n",
      1, true), page)
    assert.truthy(render.full(results.full(), entries):find("more rows are in results.json", 1,
      true))
  end)

  it("shows rows of a recipe's own, with their keys where it names no columns", function()
    local page = render.full(results.full(), layout_of { IDLE, { title = "Two", rows = function()
      return { { b = 1, a = "x" }, { a = "y", b = 2.5, c = 3 } }
    end }, { title = "None", rows = function() end }, { title = "Empty", rows = function()
      return {}
    end } })
    assert.matches("## Idle Time\n\n| stage +| idle ms |\n", page)
    assert.matches("## Two\n\n| a +| +b | +c |\n[^\n]+\n| x +| 1.00 | +|\n"
      .. "| y +| 2.50 | +3 |\n", page)
    assert.is_nil(page:find("## None", 1, true))
    assert.truthy(page:find("## Empty\n\nNo rows.\n", 1, true))
  end)

  it("refuses what is not there", function()
    assert.matches("report: 'stagse' is not one of .*did you mean 'stages'", refusal { "stagse" })
    assert.matches("report: 'idle_tme' is not one of .*did you mean 'idle_time'",
      refusal({ IDLE }, { "report=[idle_tme]" }))
    assert.equal("report: no table of section 'kernels' has the column 'lable' (did you mean "
      .. "'label'?)", refusal { { "kernels", columns = { "calls", "lable" } } })
    assert.equal("report: section 'next' has no table", refusal { { "next", columns = { "a" } } })
    assert.equal("section 'stages' is named twice", refusal { "stages", { "stages" } })
    assert.equal("section 'stages' is one of llmprof's own",
      refusal { { title = "Stages", rows = function() end } })
    assert.matches("^a section has no field 'row'", refusal { { "stages", row = 4 } })
    assert.matches("^a section of the report is a name", refusal { { title = "T" } })
    assert.matches("^a section of the report is a name", refusal { { "stages", rows = 0 } })
    assert.matches("^rows and columns are of one section", refusal { { "all", rows = 3 } })
    assert.matches("^a section of the report is a name", refusal { { "stages", columns = { 5 } } })
    local ok, err = errors.call(render.full, results.full(), layout_of { { title = "T",
      rows = function() return { 5 } end } })
    assert.is_false(ok)
    assert.equal("report: section 't': rows(results) returns a list of tables",
      err.message)
  end)

  it("knows the sections that the key `report` may name", function()
    local names = chapters.names()
    table.insert(names, 1, "all")
    assert.same(names, defaults.report.choices)
  end)
end)


describe("the tables of sections", function()
  it("are those that their layout may pick columns of", function()
    local seen = 0
    for _, view in ipairs { {}, { page = true } } do
      for _, entry in ipairs(chapters.laid_out(results.full(), chapters.layout { "all" }, view)) do
        for _, block in ipairs(entry.content) do
          if block.kind == "table" then
            local keys = {}
            for i, column in ipairs(block.columns) do keys[i] = column.key end
            chapters.layout({ entry.name }, { { name = entry.name, columns = keys } })
            seen = seen + 1
          end
        end
      end
    end
    assert.is_true(seen > 10)
  end)
end)
