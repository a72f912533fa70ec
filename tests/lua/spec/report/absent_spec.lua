-- Every report in every format, and what commands say, of results in which any of the
-- fields that may be absent is. LLMPROF_MADE=N: this many documents.
local fs = require "llmprof.fs"
local given = dofile "tests/fuzz/lua/given.lua"
local json = require "llmprof.json"
local layout = require "llmprof.bundle.layout"
local made = require "tests.lua.support.made"
local results_file = require "llmprof.bundle.results_file"
local sections = require "llmprof.report.sections"
local tables = require "llmprof.tables"
local report = require "tests.lua.support.reports"

local FIXTURE = "tests/fixtures/compare/graph"
local BESIDE = { layout.manifest, layout.config, layout.workload.metrics }

local CHAPTERS = { "all" }

-- Neither what is absent nor what cannot be divided may be written as if it were a figure.
local NO_FIGURE = { "%f[%w]nil%f[%W]", "%f[%w]nan%f[%W]", "%f[%w]inf%f[%W]", "table: 0x" }


local function check_said(said, what)
  for _, pattern in ipairs(NO_FIGURE) do
    local at = said:find(pattern)
    assert.is_nil(at, at and ("%s: %s"):format(what, said:sub(math.max(at - 80, 1), at + 20)))
  end
end


local function check_reports(results)
  for _, name in ipairs { "kernels", "operators", "full", "stakeholder" } do
    check_said(report(name, results, CHAPTERS), name)
  end
  report("page", results, CHAPTERS) -- its scripts know what nan is
  for _, section in ipairs(sections.all()) do
    local rows = section.rows(results)
    for _, format in ipairs { "table", "csv", "md", "json", "html" } do
      check_said(tables.render(format, section.columns, rows, {}), section.name .. " as " .. format)
    end
  end
end


describe("a table without rows", function()
  it("says what there is not", function()
    for _, section in ipairs(sections.all()) do
      assert.truthy(section.subject or section.empty, section.name)
    end
  end)
end)


describe("results with fields absent", function()
  local top

  local function write(name, results)
    local folder = top .. "/" .. name
    for _, file in ipairs(BESIDE) do
      assert(fs.mkdirs((folder .. "/" .. file):match "^(.*)/"))
      given.write(folder .. "/" .. file, given.read(FIXTURE .. "/" .. file))
    end
    given.write(folder .. "/" .. layout.results, assert(json.encode(results)))
    return folder
  end

  setup(function() top = assert(fs.temp_dir "llmprof-test-") end)
  teardown(function() assert(fs.remove_tree(top)) end)

  -- Results with the fields at the places that are wanted; at: numbers and choices.
  local function document(wants, at)
    return made.document("results", {
      -- the points of kernels and those of stages are of one definition
      wants = function(place) return place == "point.kernel" or wants(place) end,
      pick = function(list) return list[at and math.random(#list) or 1] end,
      number = function() return ({ 3, 7, 1000000, 5000000000 })[at and math.random(4) or 1] end,
    })
  end

  local function check(results)
    local run = write("run", results)
    check_reports(assert(results_file.read(run .. "/" .. layout.results)))
    for _, words in ipairs { { "show", run }, { "digest", run }, { "digest", run, "-f", "json" },
        { "compare", run, top .. "/whole" }, { "compare", top .. "/whole", run, "-f", "md" } } do
      local _, said = given.command(table.unpack(words))
      check_said(said, words[1])
    end
  end

  local whole = document(function() return true end)
  setup(function() write("whole", whole) end)

  it("are shown where all is there", function()
    assert.is_true(#made.places "results" > 500)
    check(whole)
  end)

  it("are shown where nothing is there that may be absent", function()
    check(document(function() return false end))
  end)

  for i = 1, tonumber(os.getenv "LLMPROF_MADE" or 50) do
    it("are shown where some is there: " .. i, function()
      math.randomseed(23, i)
      local share = i % 2 == 0 and 0.9 or math.random()
      check(document(function() return math.random() < share end, i))
    end)
  end
end)
