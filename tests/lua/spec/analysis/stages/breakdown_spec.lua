-- Where the time of a stage goes, by category, and the CPU's side.
local recorded = require "tests.lua.support.recorded"


describe("the breakdown of the recorded capture", function()
  local function stage(results, name)
    for _, entry in ipairs(results.stages) do
      if entry.name == name then return entry end
    end
  end

  local function category(results, name, wanted)
    for _, row in ipairs(stage(results, name).categories) do
      if row.category == wanted then return row end
    end
  end

  -- Times, which are means of three repeats, to the nanosecond.
  local function rounded(values)
    local list = {}
    for key, value in pairs(values) do
      list[key] = type(value) == "table" and rounded(value) or math.floor(value + 0.5)
    end
    return list
  end

  it("has the driver's calls, launch delays and kernels per token", function()
    local decode = stage(recorded(), "decode")
    assert.same({ launch = { calls = 8872, ns = 48393805 },
      sync = { calls = 97, ns = 437422 }, memory = { calls = 0, ns = 0 },
      other = { calls = 11079, ns = 1502818 } }, rounded(decode.api))
    assert.same({ launch_ns = 46405106, sync_ns = 437422, memory_ns = 0,
      other_ns = 1418571, host_ns = 107039749 }, rounded(decode.waiting))
    assert.same({ 2217, 2409, 1062, 8 }, { decode.launch_delay.median_ns,
      decode.launch_delay.p90_ns, decode.kernels_per_token, decode.steps })
    assert.same({ 8, 636883 }, { decode.between_steps.count, decode.between_steps.between_ns })
  end)

  it("counts copies as memory, and all categories to the stage's GPU time", function()
    local results, sum, shares = recorded(), 0, 0
    for _, row in ipairs(stage(results, "decode").categories) do
      sum, shares = sum + row.gpu_time_ns, shares + row.share
    end
    assert.near(stage(results, "decode").gpu_time_ns, sum, 1e-3)
    assert.near(1, shares, 1e-12)
    assert.same({ 370059, 376 }, { category(results, "decode", "memory").gpu_time_ns,
      category(results, "decode", "memory").calls })
  end)

  it("takes a recipe's own category", function()
    local results = recorded { { category = "router", match = { "gathertopk" } } }
    assert.same({ 418976, 88 }, { category(results, "decode", "router").gpu_time_ns,
      category(results, "decode", "router").calls })
  end)
end)
