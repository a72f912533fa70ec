-- What ncu printed for real kernels on an H200, read and checked by hand.
local frame = require "llmprof.frame"
local ncu = require "llmprof.nvidia.ncu"
local ncu_page = require "tests.lua.support.ncu_page"
local page = require "llmprof.nvidia.ncu.launches"
local records = require "tests.lua.support.records"

local ROOT = debug.getinfo(1, "S").source:match "^@(.-)tests/lua/spec/" or ""
local FIXTURES = ROOT .. "tests/fixtures/ncu/"

local function read(name)
  return assert(ncu.launches(FIXTURES .. name))
end


describe("llmprof.nvidia.ncu", function()
  local tiny, dsocr, gemv, gemm

  setup(function()
    tiny, dsocr = read "tiny_h200_raw.csv", read "dsocr_h200_raw.csv"
    gemv, gemm = records.of(tiny, 1), records.of(dsocr, 4)
  end)

  teardown(function() tiny, dsocr, gemv, gemm = nil, nil, nil, nil end)

  it("has classes of launches that were printed alike", function()
    local seen = {}
    assert.equal(3, #tiny)
    assert.equal(5, #dsocr)
    for _, class in ipairs(dsocr.classes) do
      table.move(class.rows, 1, #class.rows, #seen + 1, seen)
    end
    table.sort(seen)
    assert.same({ 1, 2, 3, 4, 5 }, seen)
    assert.equal(1, #tiny.classes)
    assert.same({ kernel = "gemv(const float *, const float *, float *, int)", device = 0,
      source = "ncu", ranges = { "prefill" }, started = {}, rows = { 1, 2, 3 },
      grid = { x = 4096, y = 1, z = 1 }, block = { x = 256, y = 1, z = 1 } }, tiny.classes[1])
  end)

  it("counts the fp32 work of a 4096 x 4096 gemv", function()
    -- 2 * 4096 * 4096 and 255 additions a row to reduce 256 partial sums
    assert.near(33554432 + 255 * 4096, gemv.flop.fp32, 1)
    assert.equal(0, gemv.flop.fp64)
    assert.equal(0, gemv.flop.tensor)
    -- one HFMA2 per thread is a register move, not work
    assert.near(4 * 4096 * 256, gemv.flop.fp16, 1)
    assert.near(34598912, gemv.flop.total, 1)
    assert.near(34598912 / 3.3728e-05, gemv.rate.total, 1e6)
  end)

  it("counts the bytes of a 4096 x 4096 gemv", function()
    assert.near(69554691, gemv.bytes.dram, 1) -- 67.1 MB of matrix
    assert.equal(2062224000000, gemv.rate.dram)
    assert.near(68214813, gemv.bytes.l2, 1)
    assert.near(137508992, gemv.bytes.l1, 1)
    assert.is_nil(gemv.bytes.dram_read)
    assert.near(0.49743, gemv.intensity.dram, 1e-5)
    assert.near(0.50721, gemv.intensity.l2, 1e-5)
    assert.near(0.25161, gemv.intensity.l1, 1e-5)
  end)

  it("counts tensor work once, tile padding included", function()
    assert.equal(209715200, gemm.flop.tensor)
    assert.same({ bf16 = 209715200, fp16 = 0, tf32 = 0, fp64 = 0, fp8 = 0, int8 = 0, int1 = 0 },
      gemm.tensor)
    assert.equal(209715200, gemm.flop.total)
    assert.near(209715200 / 5.92e-06, gemm.rate.tensor, 1)
    assert.near(63.578, gemm.intensity.dram, 1e-3)
    local attention = records.of(dsocr, 5) -- the older mma.sync path
    assert.equal(31457280, attention.tensor.bf16)
    assert.near(210368 + 391040 + 2 * 7680, attention.flop.fp32, 1)
    assert.near(31457280 + 616768, attention.flop.total, 1)
  end)

  it("takes dense peaks at the clocks of the launch", function()
    local first = records.of(dsocr, 1)
    assert.near(1054.1e12, first.peak.tensor.bf16, 0.1e12) -- 1.95 GHz
    assert.equal(540672 * 1949640000, first.peak.tensor.bf16)
    assert.equal(540672 * 1803844000, gemm.peak.tensor.bf16)
    assert.equal(first.peak.tensor.bf16, first.peak.tensor.fp16)
    assert.equal(2 * first.peak.tensor.bf16, first.peak.tensor.fp8)
    assert.equal(2 * first.peak.tensor.bf16, first.peak.tensor.int8)
    assert.equal(first.peak.tensor.bf16, 2 * first.peak.tensor.tf32)
    assert.equal(33792 * 1949640000, first.peak.tensor.fp64)
    assert.near(65.9e12, first.peak.fp32, 0.1e12)
    assert.equal(first.peak.fp32, 2 * first.peak.fp64)
    assert.equal(2 * first.peak.fp32, first.peak.fp16)
    assert.near(4.74e12, first.peak.dram, 0.01e12)
    assert.near(4.81e12, gemv.peak.dram, 0.01e12)
    assert.equal(6016 * 1682023000, first.peak.l2)
    assert.equal(16896 * 1949640000, first.peak.l1)
  end)

  it("has occupancy, throughput and resources", function()
    assert.same({ theoretical = 18.75, achieved = 14.455147, warps_theoretical = 12,
      warps_achieved = 9.251294,
      limits = { barriers = 21, blocks = 32, registers = 1, shared_mem = 1, warps = 5 } },
      gemm.occupancy)
    assert.is_nil(gemv.occupancy.achieved)
    assert.same({ sm = 8.758431, memory = 11.636203, dram = 11.636203, l2 = 14.426459,
      l1 = 11.636203, tensor = 3.632246, fp32 = 0.092225, fp64 = 0, alu = 2.837693,
      xu = 0, lsu = 0.363225, tex = 0, adu = 5.911055, uniform = 7.254561, mio = 3.712057,
      issue = 8.758431 }, gemm.throughput)
    assert.equal(168, gemm.registers)
    assert.same({ total = 181716, static = 0, dynamic = 180692, driver = 1024 }, gemm.shared)
    assert.equal(0.61, gemm.waves)
  end)

  it("is written as a page that says the same", function()
    local function column(name, type, ...) return { name = name, type = type, values = { ... } } end
    local shown = frame.new(2, { column("pid", "integer", 9, 9), column("tid", "integer", 5, 5),
      column("name", "string", 'f<"a", b>(int)', "range"), column("device", "integer", 0, 0),
      column("context", "integer", 1, 1), column("stream", "integer", 7, false),
      column("whole", "integer", false, 1), column("grid_x", "integer", 4, 0),
      column("grid_y", "integer", 2, 0), column("grid_z", "integer", 1, 0),
      column("block_x", "integer", 64, 0), column("block_y", "integer", 1, 0),
      column("block_z", "integer", 1, 0), column("ranges", "string", "aten::mm\nb", "CUDA graph 3"),
      column("gpu__time_duration.sum", "number", 1 / 3e6, false),
      column("dram__bytes.sum", "number", 2.0 ^ 53, 0.1) })
    local units = { ["gpu__time_duration.sum"] = "s", ["dram__bytes.sum"] = "byte" }
    local found = ncu_page(page.page_text(shown, units))
    assert.same({ 1 / 3e6, nil, 2 ^ 53, 0.1 }, { found:get(1, "duration"), found:get(2, "duration"),
      found:get(1, "bytes.dram"), found:get(2, "bytes.dram") })
    assert.same({ { kernel = 'f<"a", b>(int)', device = 0, source = "ncu", started = {},
      ranges = { "aten::mm", "b" }, grid = { x = 4, y = 2, z = 1 },
      block = { x = 64, y = 1, z = 1 }, rows = { 1 } },
      { kernel = "range", device = 0, source = "ncu", started = {}, ranges = { "CUDA graph 3" },
        whole_range = true, rows = { 2 } } }, found.classes)
  end)
end)
