local ncu_cost = require "llmprof.run.capture.ncu_cost"
local fs = require "llmprof.fs"
local files = require "llmprof.io.files"

describe("llmprof.run.capture.ncu_cost", function()
  local top
  local real = files.folder

  before_each(function()
    top = assert(fs.temp_dir "llmprof-cost-")
    files.folder = function() return top .. "/cache" end -- luacheck: ignore 122
  end)
  after_each(function()
    files.folder = real -- luacheck: ignore 122
    assert(fs.remove_tree(top))
  end)

  it("goes with the memory that is saved and restored", function()
    assert.near(0.038, ncu_cost.figures().pass_s, 1e-9)
    assert.near(0.023, ncu_cost.figures("2025.3.1", "GH100", 0).pass_s, 1e-9)
    assert.near(0.028, ncu_cost.figures("2025.3.1", "GH100", 1e9).pass_s, 1e-9)
    assert.near(0.038, ncu_cost.figures(nil, nil, 16e9).pass_s, 1e-9)
  end)

  it("learns from runs, for the same ncu and chip", function()
    ncu_cost.keep_factors("2025.3.1", "GH100", { pass = 2, launch = 0.5 })
    ncu_cost.keep_factors("2025.3.1", "GH100", { pass = 0.75 })
    local figures = ncu_cost.figures("2025.3.1", "GH100", 0)
    assert.near(0.023 * 1.5, figures.pass_s, 1e-9)
    assert.near(0.075e-3, figures.launch_s, 1e-9)
    assert.near(0.15e-3, ncu_cost.figures("2025.3.1", "GB100", 0).launch_s, 1e-9)
    assert.near(0.15e-3, ncu_cost.figures("2026.1.0", "GH100", 0).launch_s, 1e-9)
  end)

  it("believes no figure that is far off, and no damaged file", function()
    ncu_cost.keep_factors("1", "c", { pass = 100, launch = 0 / 0 })
    assert.near(0.023, ncu_cost.figures("1", "c", 0).pass_s, 1e-9)
    assert(fs.write(top .. "/cache/ncu-cost-1-c.json", "[1"))
    assert.near(0.15e-3, ncu_cost.figures("1", "c", 0).launch_s, 1e-9)
    ncu_cost.keep_factors("1", "c", {})
  end)
end)
