local comparison = require "llmprof.compare.comparison"
local json = require "llmprof.json"
local report = require "llmprof.compare.report"
local sides = require "tests.lua.support.sides"

local function run(name, ms, calls)
  local categories = { { category = "gemm", gpu_time_ns = ms * 5e5 } }
  return { name = name, config = { mode = name }, metrics = { batch = 1 },
    stages = { sides.stage { name = "decode", walls = { ms }, fields = { categories = categories,
      gpu_busy_ns = ms * 5e5, waiting = { host_ns = ms * 1e5, sync_ns = 0 } },
      instances = { gpu_busy_ns = ms * 5e5 } } },
    kernels = { sides.kernel { name = "void k<int>()", short_name = "k", calls = calls } } }
end

-- A side of three runs.
local function side(name, ms, calls)
  return sides.side(run(name, ms, calls), run(name, ms + 1, calls), run(name, ms + 2, calls))
end

describe("llmprof.compare.report", function()
  local made = comparison.make(side("A", 10, 3), side("B", 20, 6))

  it("says where there is nothing to show", function()
    local one = sides.decode(1)
    local said = report.text(comparison.make(one, one), { format = "md", rows = 10 })
    assert.matches("What else differs</summary>\n\nNothing that is recorded on both sides.\n", said)
    assert.matches("Kernels</summary>\n\n[^\n]*\n\nNo kernel ran in a stage of both sides.\n",
      said)
  end)

  it("shows as many kernels as it is told", function()
    local many = comparison.make(side("A", 10, 3), side("B", 20, 6))
    many.kernels[2] = many.kernels[1]
    local function shown(rows)
      return report.text(many, { format = "table", rows = rows }):match "; (%d+) shown"
    end
    assert.same({ "1", "2", "2" }, { shown(1), shown(5), shown(0) })
  end)

  it("keeps a number and its unit on one line", function()
    for columns = 20, 60 do
      local said = report.text(made, { format = "table", rows = 1, columns = columns })
      assert.is_nil(said:find "%d\n%%")
    end
  end)

  it("makes an object of every row", function()
    local object = report.object(made)
    assert.equal('{"label":"decode","before":11.0,"after":21.0,"unit":"ms","difference":10.0,"shar'
      .. 'e":0.9090909090909091,"low":0.5811612181629333,"high":1.3050325655014814,"verdic'
      .. 't":"slower","of_change":1.0,"basis":"profiled","why":null,"path":"decode.ms","sa'
      .. 'mples_before":3,"samples_after":3,"processes_before":3,"processes_after":3,"nois'
      .. 'e":null,"assumed":null,"p":0.0016184696890191041}', json.encode(object.times[1]))
    assert.equal("void k<int>()", object.kernels[1].name)
    assert.is_nil(object.limits)
  end)
end)
