local support = require "tests.lua.support.advice"


describe("advice token_choice", function()
  local function said(kernels, stages)
    for i, kernel in ipairs(kernels) do kernels[i] = support.kernel(kernel) end
    return support.said("token_choice", support.results {
      stages = stages or { support.decode() }, kernels = kernels })
  end

  local function sort(calls, name)
    return { name = name or "DeviceRadixSortOnesweep", category = "sort", calls = calls,
      mean_ns = 4e6 / calls }
  end

  it("finds sorts of the vocabulary, but none of experts' tokens in each layer", function()
    assert.matches("^decode sorts the vocabulary for each token", said { sort(10) })
    assert.equal("", said { sort(100) })
    assert.equal("", said { sort(10, "gatherTopK") })
  end)

  -- A kernel of drafts, or of what follows them, on this many rows.
  local function norm(part, rows)
    return { name = "norm", category = "norm", part = part, calls = 100,
      mean_ns = 50e3, shapes = { { grid = { rows, 1, 1 }, calls = 100 } } }
  end

  local function drafted(rows)
    local draft = support.decode { name = "draft", parent = "decode", gpu_time_ns = 30e6 }
    return said({ norm("draft", 4), norm(nil, rows) }, { support.decode(), draft })
  end

  it("finds drafts where what follows works on as many tokens", function()
    assert.matches("^decode drafts tokens that no step verifies", drafted(4))
    assert.equal("", drafted(20))
  end)
end)
