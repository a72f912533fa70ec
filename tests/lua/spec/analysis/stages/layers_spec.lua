local infer = require "llmprof.analysis.stages.infer"
local layers = require "llmprof.analysis.stages.layers"
local trace_file = require "llmprof.trace.file"
local traces = require "tests.lua.support.traces"

local RECORDED = "tests/fixtures/deepseek_ocr/run.sqlite"


-- The kernels of the recorded capture and the steps of its last decode.
local function recorded()
  local trace = trace_file.open(RECORDED)
  local found, steps = infer.stages(trace, { { name = "decode" } }), nil
  for _, instance in ipairs(found.instances) do steps = instance.steps end
  return trace:frame "kernels", steps
end


describe("layers of a step", function()
  it("are as many as there are kernels of attention", function()
    local frame, steps = recorded()
    local made = layers.of_step(frame, steps[4])
    assert.same({ 12, true, "attention" }, { made.count, made.named,
      require("llmprof.analysis.kernels.categories").classifier()(made.group.name) })
    assert.is_true(layers.has_attention(frame))
  end)

  it("are listed apart from the last, which has no end of its own", function()
    local frame, steps = recorded()
    local made = layers.describe(frame, steps)
    assert.same({ 12, 11 }, { made.count, #made.rows })
    for index, row in ipairs(made.rows) do
      assert.same({ index - 1, #steps }, { row.index, row.count })
      -- the first layer has no experts
      assert.same(index == 1 and 41 or 91, row.kernels)
      assert.is_true(row.mean_ns > 0.7e6 and row.mean_ns < 3e6)
    end
  end)

  -- A step of six layers: something first, then in each layer three kernels, the last of them
  -- the longest, and the fifth layer with two more.
  local function kernels_with(last)
    local columns = { name = {}, start = {}, ["end"] = {}, duration = {} }
    local function add(name, duration)
      local row = #columns.name + 1
      columns.name[row], columns.start[row] = name, 10 * row
      columns.duration[row], columns["end"][row] = duration, 10 * row + duration
    end
    add("fill", 1)
    for layer = 0, 5 do
      for _ = 1, layer == 4 and 3 or 1 do add("gelu", 1) end
      add("norm", 2)
      add(last, 9)
    end
    local given = { { name = "name", type = "string", values = columns.name } }
    for _, name in ipairs { "start", "end", "duration" } do
      given[#given + 1] = { name = name, type = "integer", values = columns[name] }
    end
    for _, name in ipairs { "grid_x", "grid_y", "grid_z", "block_x" } do
      given[#given + 1] = { name = name, type = "integer", values = {} }
    end
    return require("llmprof.frame").new(#columns.name, given), #columns.name
  end

  it("run several networks in a loop, of which a shared one lies apart", function()
    local frame, steps = recorded()
    -- 6 of 64 experts, each with three matmuls, silu and a multiplication
    assert.same({ count = 7, operations = 5 }, traces.pick({ layers.networks(frame, steps) },
      "count", "operations")[1])
    local plain, count = kernels_with "flash_fwd_kernel"
    -- one layer of six runs more than others
    assert.is_nil(layers.networks(plain, { { start = 0, stop = 10 * count + 10 } }))
  end)

  it("end with what comes once in each where that is a collective", function()
    local frame, count = kernels_with "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgs)"
    local step = { start = 0, stop = 10 * count + 10 }
    local made = layers.describe(frame, { step })
    assert.same({ 6, true }, { made.count, made.ends })
    local kernels = {}
    for _, row in ipairs(made.rows) do kernels[row.index] = row.kernels end
    assert.same({ 3, 3, 3, 5, 3 }, kernels)
    assert.equal(4, made.rows[4].index)
  end)

  it("begin with it where it is not", function()
    local frame, count = kernels_with "gemm"
    local made = layers.describe(frame, { { start = 0, stop = 10 * count + 10 } })
    assert.same({ 6, false, 0 }, { made.count, made.ends or false, made.rows[1].index })
  end)

  it("are told by no kernel without a name", function()
    local frame, rows = kernels_with(false)
    assert.same("norm", layers.of_step(frame, { start = 0, stop = 10 * rows + 10 }).group.name)
  end)

  it("are none where nothing comes back", function()
    local trace = trace_file.open "tests/fixtures/small/run.sqlite"
    local frame = trace:frame "kernels"
    assert.is_nil(layers.describe(frame, {}))
    assert.is_nil(layers.describe(frame, { { start = 0, stop = 1 } }))
    assert.is_false(layers.has_attention(frame))
  end)
end)
