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

  it("prints tables", function()
    assert.equal([[
B against A: decode slower (+90.9 %)

What is compared

        run  kind  GPU             recipe  runs  repeats  plain runs
before  A    runs  an unknown GPU  r          3        1           0
after   B    runs  an unknown GPU  r          3        1           0

What else differs

of             differs  before  after
configuration  mode     A       B

Times

Times are those of the workload without the profiler (plain) where both sides have them,
else those of the timeline (profiled). The interval of 95 % is by processes. With one run
per side how much runs differ is not known: a change counts beyond what single runs are
assumed to differ by.

time of  before  after  unit  change  change %  from %   to %  verdict  of the change %  times
]] .. table.concat({
  "decode    11.00  21.00  ms     10.00      90.9    58.1  130.5  slower             100.0 ",
  " profiled\n",
}) .. [[

What the stages do

Means of the instances on the timeline, with the profiler. All stages' busy times are
tested together (Holm).

]] .. table.concat({
  "stage   kernels before  after  launches before  after  copies before  after  GPU busy be",
  "fore ms  after ms  change %  busy is  GPU idle before ms  after ms\n",
  "decode              10     10               12     12              2      2             ",
  "   5.50     10.50      90.9  more                   5.00      5.00\n",
}) .. [[

Where the change is

GPU time by category of kernel, and GPU idle time by what the CPU did meanwhile; on the
timeline, per instance of the stage. Rows make up 1 % of its change or more.

stage   GPU time or idle time  before ms  after ms  change ms  of the change %
decode  gemm                        5.50     10.50       5.00             83.3
decode  idle, outside CUDA          1.10      2.10       1.00             16.7

Kernels

Per instance of the stage, the largest changes first. All kernels that both sides have are
tested together (Holm).

]] .. table.concat({
  "kernel  stage         calls before  after  before ms  after ms  change ms  of the change",
  " %  verdict  category\n",
  "k       decode  same             3      6      0.030     0.060      0.030            100",
  ".0  more     other\n",
}) .. [[

1 kernel: 1 same; 1 shown.
]], report.text(made, { format = "table", rows = 10 }))
  end)

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

  it("makes an object of every row", function()
    local object = report.object(made)
    assert.equal('{"label":"decode","before":11.0,"after":21.0,"unit":"ms","difference":10.0,"shar'
      .. 'e":0.9090909090909091,"low":0.5811612181629331,"high":1.3050325655014818,"verdic'
      .. 't":"slower","of_change":1.0,"basis":"profiled","why":null,"path":"decode.ms","sa'
      .. 'mples_before":3,"samples_after":3,"processes_before":3,"processes_after":3,"nois'
      .. 'e":null,"assumed":null,"p":0.0016184696890191041}', json.encode(object.times[1]))
    assert.equal("void k<int>()", object.kernels[1].name)
    assert.is_nil(object.limits)
  end)
end)
