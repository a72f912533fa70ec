-- Kernels that were made to be bound by one thing each (tests/gpu/bounds.cu), as a GPU ran them.
local bundle = require "tests.lua.support.bundle"
local fs = require "llmprof.fs"
local json = require "llmprof.json"


describe("a capture with the full set of counters", function()
  local top, results

  setup(function()
    top = assert(fs.temp_dir "llmprof-test-")
    bundle.run("tests/gpu/bounds.lua", top .. "/run", { "capture=recorded",
      "recorded=tests/fixtures/bounds" })
    results = assert(json.load(top .. "/run/results.json"))
  end)

  teardown(function() assert(fs.remove_tree(top)) end)

  local function said()
    local list = {}
    for _, kernel in ipairs(results.kernels) do
      local stall = (kernel.counters.stalls or {})[1]
      list[kernel.name:match "^[%w_]+"] = ("%s %s"):format(kernel.counters.bound,
        stall and stall.reason or "-")
    end
    return list
  end

  it("calls each kernel by what bounds it, and what its warps wait for", function()
    assert.same({ bound_by_dram = "DRAM long_scoreboard", bound_by_l2 = "L2 -",
      bound_by_tensor = "tensor math_pipe_throttle", bound_by_latency = "latency long_scoreboard",
      bound_by_occupancy = "unknown -", uncoalesced = "L1 lg_throttle",
      bank_conflicts = "L1 mio_throttle", tail = "unknown -" }, said())
  end)

  it("leads to advice about accesses", function()
    local named = {}
    for _, finding in ipairs(results.advice.findings) do
      local kernel = results.kernels[(finding.kernels or {})[1] or 0]
      named[finding.rule] = kernel and kernel.name:match "^[%w_]+" or true
    end
    assert.same({ "uncoalesced", "bank_conflicts" }, { named.uncoalesced, named.bank_conflicts })
  end)

  it("has the roof of L2 at the clock that was held", function()
    assert.is_true(results.hardware.l2.per_s > 13e12 and results.hardware.l2.per_s < 13.2e12)
  end)
end)
