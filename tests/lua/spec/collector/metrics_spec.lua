-- Sets of counters: what CUPTI says of them for each chip, and how a set is asked for.
local bundle = require "tests.lua.support.bundle"
local collector_counters = require "llmprof.run.capture.collector_counters"
local config = require "llmprof.recipe.config"
local start = require "llmprof.run.start"
local failure = require "tests.lua.support.failure"
local fs = require "llmprof.fs"
local metrics = require "llmprof.nvidia.metrics"
local recipe = require "llmprof.recipe"
local spawn = require "llmprof.spawn"
local sys = require "llmprof.sys"

local PROGRAM = sys.executable():match "^(.*)/[^/]*$" .. "/../tests/collector/metric_names"


describe("sets of counters", function()
  local top = bundle.scratch(before_each, after_each)
  local made = recipe.load "recipes/deepseek_ocr.lua"

  local function lines()
    local list = {}
    for _, set in ipairs(metrics.sets) do
      list[#list + 1] = "#" .. set
      for _, row in ipairs(metrics.rows(set)) do list[#list + 1] = table.concat(row[1], "|") end
    end
    return table.concat(list, "\n") .. "\n"
  end

  -- What CUPTI says of them for a chip: { passes by set, lines that it has none of }; nil where
  -- there is no CUPTI.
  local function asked(chip)
    local passes, lacking = {}, {}
    assert(fs.write(top() .. "/sets", lines()))
    local result = assert(spawn.run({ "sh", "-c", 'exec "$0" "$1" < "$2"', PROGRAM, chip,
      top() .. "/sets" }, { on_line = function(line)
        local missing, set, count = line:match "^lacks (.*)", line:match "^(%l+) (%d+)$"
        if missing then lacking[missing] = true else passes[set] = tonumber(count) end
      end }))
    if result.code == 77 then return nil end
    assert.equal(0, result.code)
    return { passes = passes, lacking = lacking }
  end

  it("have the names and passes that CUPTI says", function()
    if not fs.stat(PROGRAM) or not asked "GH100" then return end
    for _, chip in ipairs(metrics.chips) do
      local capability, said = chip[1], asked(chip[2])
      local passes, lacking = {}, {}
      for _, set in ipairs(metrics.sets) do passes[set] = metrics.passes[set][capability] end
      for _, row in ipairs(metrics.rows "full") do
        if row.lacks and (" " .. row.lacks .. " "):find(" " .. capability .. " ", 1, true) then
          lacking[table.concat(row[1], "|")] = true
        end
      end
      assert.same({ capability, passes, lacking }, { capability, said.passes, said.lacking })
    end
  end)

  -- Sets as lines for PROGRAM, and what it says of each: its passes.
  local function passes_of(chip, sets)
    local list, passes = {}, {}
    for name, rows in pairs(sets) do
      list[#list + 1] = "#" .. name
      for _, row in ipairs(rows) do list[#list + 1] = table.concat(row[1], "|") end
    end
    assert(fs.write(top() .. "/sets", table.concat(list, "\n") .. "\n"))
    assert(spawn.run({ "sh", "-c", 'exec "$0" "$1" < "$2"', PROGRAM, chip, top() .. "/sets" },
      { on_line = function(line)
        local set, count = line:match "^(%l+) (%d+)$"
        if set then passes[set] = tonumber(count) end
      end }))
    return passes
  end

  it("begin with one pass on 9.0, for which the cache is flushed", function()
    if not fs.stat(PROGRAM) or not asked "GH100" then return end
    assert.same({ roofline = 1, full = 1 }, passes_of("GH100",
      { roofline = metrics.flushed "roofline", full = metrics.flushed "full" }))
    assert.same(metrics.rows "light", table.move(metrics.flushed "roofline", 1,
      #metrics.rows "light", 1, {}))
  end)

  it("name each metric once", function()
    local seen = {}
    for _, row in ipairs(metrics.rows "full") do
      for _, name in ipairs(row[1]) do
        assert.is_nil(seen[name], name)
        seen[name] = true
      end
    end
    assert.same({ 9, true, true }, { #metrics.of "light", #metrics.of "roofline" > 9,
      #metrics.of "full" > #metrics.of "roofline" })
  end)

  it("are asked of the collector and of ncu alike", function()
    local cfg = { counters = { set = "roofline" } }
    local plan, wanted = collector_counters.metric_lines(cfg), {}
    for i, rows in ipairs { metrics.flushed "roofline", metrics.rows "roofline" } do
      wanted[#wanted + 1] = i == 2 and "pass = 2\n" or nil
      for _, row in ipairs(rows) do
        wanted[#wanted + 1] = ("metric = %s%s\n"):format(table.concat(row[1], "|"),
          row.lacks and "|" or "")
      end
    end
    assert.equal("pass = 1\n" .. table.concat(wanted), plan)
    assert.same({ 2, 1, 2 }, { collector_counters.units(cfg),
      collector_counters.units { counters = { set = "light" } },
      collector_counters.units { counters = {} } })
    assert.same({ 12, 60, 7 }, { collector_counters.budget { counters = {} },
      collector_counters.budget { counters = { set = "light" } },
      collector_counters.budget { counters = { set = "full", budget_s = 7 } } })
    assert.equal("", collector_counters.metric_lines { counters = { set = "light" } })
    assert.equal(plan, collector_counters.metric_lines { counters = {} })
    local text = start.dry_run(made, config.of_recipe(made, nil,
      { "capture=nsys", "counters.set=roofline", "ncu.sections=[LaunchStats]" }).tree)
    local request = text:match "%-%-launch%-count %d+ (.-) %-%-replay%-mode"
    local names = {}
    for i, alternatives in ipairs(metrics.of "roofline") do names[i] = alternatives[1] end
    table.move(metrics.OF_LAUNCH, 1, #metrics.OF_LAUNCH, #names + 1, names)
    assert.equal("--metrics " .. table.concat(names, ","), request)
  end)

  it("are what a collector measures by itself, where that is light", function()
    local listed, wanted = {}, {}
    for line in assert(fs.read "core/collector/profiler.c")
      :match "default_metrics%[%] = {(.-)};":gmatch '"([^"]+)"' do
      listed[line] = true
    end
    for _, names in ipairs(metrics.of "light") do wanted[table.concat(names, "|")] = true end
    assert.same(wanted, listed)
  end)

  it("are read from a file, too", function()
    assert(fs.write(top() .. "/own", "# mine\na.sum|b.sum # the first there is\n\nc.avg\n"))
    assert.same({ { "a.sum", "b.sum" }, { "c.avg" } }, metrics.of(top() .. "/own"))
    assert(fs.write(top() .. "/own", "# none\n"))
    assert.equal("counters.set: " .. top() .. "/own names no metric",
      failure(metrics.of, top() .. "/own")[2])
    assert.matches("^counters.set: 'rofline' is no set, and no file",
      failure(metrics.of, "rofline")[2])
  end)
end)
