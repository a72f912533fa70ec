-- Occupancy and waves from the launch configuration: as ncu has them of the same launches.
local bundle = require "tests.lua.support.bundle"
local csv = require "llmprof.csv"
local json = require "llmprof.json"
local occupancy = require "llmprof.analysis.kernels.occupancy"

describe("occupancy", function()
  local top = bundle.scratch(before_each, after_each)

  -- The launches of a raw page of an H200 in base units.
  local function launches()
    local reader = assert(csv.open("tests/fixtures/deepseek_ocr/ncu/raw.csv",
      { header = "Kernel Name", units = true, numbers = true }))
    local list = {}
    for row in reader:rows() do
      local function get(name) return math.tointeger(row["launch__" .. name]) end
      list[#list + 1] = { row, { grid = { get "grid_dim_x", get "grid_dim_y", get "grid_dim_z" },
        block = { get "block_dim_x", get "block_dim_y", get "block_dim_z" },
        registers = get "registers_per_thread",
        shared_bytes = get "shared_mem_per_block_static" + get "shared_mem_per_block_dynamic" } }
    end
    return list
  end

  it("is what ncu says of every launch", function()
    local count, limiters = 0, {}
    for _, launch in ipairs(launches()) do
      local row, shape = launch[1], launch[2]
      local limits = occupancy.limits(shape, "9.0")
      local made = occupancy.of(shape, "9.0", 132)
      assert.same({ row.launch__occupancy_limit_registers, row.launch__occupancy_limit_warps,
        row.launch__occupancy_limit_blocks },
        { limits.registers + 0.0, limits.warps + 0.0, limits.blocks + 0.0 })
      -- the driver may give an SM less shared memory than it has, as long as that is enough
      assert.is_true(limits.shared_mem >= row.launch__occupancy_limit_shared_mem)
      assert.near(row.sm__maximum_warps_per_active_cycle_pct, made.occupancy_percent, 0.006)
      assert.near(row.launch__waves_per_multiprocessor, made.waves, 0.005)
      count, limiters[made.limiter or "none"] = count + 1, true
    end
    assert.equal(110, count)
    assert.same({ registers = true, ["the grid's size"] = true, none = true }, limiters)
  end)

  it("names what limits, and the places that stay empty in the last wave", function()
    local function of(capability, threads, registers, shared, blocks)
      return occupancy.of({ grid = { blocks, 1, 1 }, block = { threads, 1, 1 },
        registers = registers, shared_bytes = shared }, capability, 100)
    end
    assert.same({ occupancy_percent = 50.0, limiter = "registers", waves = 1.1,
      tail_share = 1 - 1.1 / 2 }, of("8.0", 256, 64, 0, 440))
    assert.same({ occupancy_percent = 100 * 32 / 48, limiter = "the block's size", waves = 2.0,
      tail_share = 0.0 }, of("8.9", 1024, 32, 0, 200))
    assert.same({ "blocks per SM", 50.0 }, { of("9.0", 32, 32, 0, 9600).limiter,
      of("9.0", 32, 32, 0, 9600).occupancy_percent })
    assert.same({ occupancy_percent = 12.5, limiter = "shared memory", waves = 1.0 },
      of("9.0", 256, 32, 200 << 10, 100))
    assert.equal("the grid's size", of("9.0", 256, 32, 0, 10).limiter)
    assert.is_nil(of("9.0", 256, 32, 0, 800).limiter)
  end)

  it("is not guessed", function()
    local shape = { grid = { 1, 1, 1 }, block = { 32, 1, 1 }, registers = 32, shared_bytes = 0 }
    assert.is_nil(occupancy.of(shape, "99.0", 100))
    assert.is_nil(occupancy.of(shape, nil, 100))
    shape.shared_bytes = nil
    assert.is_nil(occupancy.of(shape, "9.0", 100))
    shape.shared_bytes, shape.registers = 0, nil
    assert.is_nil(occupancy.of(shape, "9.0", 100))
    shape.registers = 32
    assert.same({ occupancy_percent = 50.0, limiter = "blocks per SM" },
      occupancy.of(shape, "9.0", nil))
  end)

  it("is in results, by the shape that takes most of a kernel's time", function()
    local ctx = bundle.run("recipes/deepseek_ocr.lua", top() .. "/run", { "capture=recorded",
      "recorded=tests/fixtures/deepseek_ocr" })
    local seen = 0
    for _, kernel in ipairs(assert(json.load(ctx.run:path "results.json")).kernels) do
      local main = kernel.shapes[1]
      for _, shape in ipairs(kernel.shapes) do
        if shape.total_ns > main.total_ns then main = shape end
      end
      assert.same(occupancy.of(main, "9.0", 132), kernel.launch)
      seen = seen + 1
    end
    assert.is_true(seen > 50)
  end)
end)
