-- What ncu printed for real kernels on an H200, read and checked by hand.
local ncu = require "llmprof.nvidia.ncu"

local ROOT = debug.getinfo(1, "S").source:match "^@(.-)tests/lua/spec/" or ""
local FIXTURES = ROOT .. "tests/fixtures/ncu/"
local SHARED = os.getenv "LLMPROF_SHARED" or ROOT .. "../shared"
local RTX = SHARED .. "/data/llm_perf_opt_rtx5090/ncu/kernel_%04d/details.csv"

local function read(name)
  return assert(ncu.read(FIXTURES .. name))
end

local function by_id(result, id)
  for _, launch in ipairs(result.launches) do
    if launch.id == id then return launch end
  end
end

local function exists(path)
  local file = io.open(path)
  return file ~= nil and file:close()
end


describe("llmprof.ncu raw page", function()
  local tiny, dsocr, gemv, gemm

  setup(function()
    tiny, dsocr = read "tiny_h200_raw.csv", read "dsocr_h200_raw.csv"
    gemv, gemm = by_id(tiny, 0), by_id(dsocr, 20)
  end)

  teardown(function() tiny, dsocr, gemv, gemm = nil, nil, nil, nil end)

  it("is told by its header", function()
    assert.equal("raw", tiny.page)
    assert.equal(FIXTURES .. "tiny_h200_raw.csv", tiny.name)
    assert.equal(1317, tiny.columns)
    assert.equal(1391, dsocr.columns)
    assert.equal(3, #tiny.launches)
    assert.equal(5, #dsocr.launches)
    assert.same({}, dsocr.ambiguous)
    assert.equal(3, #assert(ncu.read(tiny.name, { page = "raw" })).launches)
  end)

  it("has the same figures as columns", function()
    for name, full in pairs { ["tiny_h200_raw.csv"] = tiny, ["dsocr_h200_raw.csv"] = dsocr } do
      local columns, figures = assert(ncu.launches(FIXTURES .. name)), 0
      assert.equal(#full.launches, #columns)
      for i, launch in ipairs(full.launches) do
        for path in pairs(columns.has) do
          local value = launch
          for part in path:gmatch "[^.]+" do value = value and value[part] end
          if path == "duration_ns" then value = launch.duration * 1e9 end
          assert.equal(value, columns:get(i, path))
          figures = figures + (value and 1 or 0)
        end
        for path in pairs(launch.source) do assert.is_true(columns.has[path]) end
      end
      assert.is_true(figures > 60 * #columns)
    end
  end)

  it("has classes of launches that were printed alike", function()
    local columns, seen = assert(ncu.launches(FIXTURES .. "dsocr_h200_raw.csv")), {}
    for _, class in ipairs(columns.classes) do
      for _, i in ipairs(class.rows) do
        local launch = dsocr.launches[i]
        for _, key in ipairs { "kernel", "device", "grid", "block", "stages", "ranges", "context",
          "stream", "thread", "cc", "whole_range" } do
          assert.same(launch[key], class[key])
        end
        seen[#seen + 1] = i
      end
    end
    table.sort(seen)
    assert.same({ 1, 2, 3, 4, 5 }, seen)
  end)

  it("says which launch a record is", function()
    assert.equal(20, gemm.id)
    assert.equal(1114, gemm.process_id)
    assert.equal("python3.12", gemm.process)
    assert.equal("127.0.0.1", gemm.host)
    assert.equal("nvjet_sm90_tst_16x64_64x16_4x1_v_bz_TNN", gemm.kernel)
    assert.equal(0, gemm.device)
    assert.equal(1, gemm.context)
    assert.equal(7, gemm.stream)
    assert.equal("9.0", gemm.cc)
    assert.equal(1114, gemm.thread)
    assert.same({ { name = "decode" } }, gemm.stages)
    assert.same({}, gemm.ranges)
    assert.same({ x = 4, y = 20, z = 1 }, gemm.grid)
    assert.same({ x = 384, y = 1, z = 1 }, gemm.block)
    assert.equal("gemv(const float *, const float *, float *, int)", gemv.kernel)
    assert.same({ { name = "prefill" } }, gemv.stages)
  end)

  it("converts metrics to base units by the units row", function()
    assert.equal(3.3728e-05, gemv.metrics["gpu__time_duration.sum"])
    assert.equal("s", gemv.units["gpu__time_duration.sum"])
    assert.equal(2062224000000, gemv.metrics["dram__bytes.sum.per_second"])
    assert.equal("byte/s", gemv.units["dram__bytes.sum.per_second"])
    assert.equal(1504, gemv.metrics["dram__bytes.sum.peak_sustained"])
    assert.equal("byte/cycle", gemv.units["dram__bytes.sum.peak_sustained"])
    assert.equal(1971815000, gemv.metrics["sm__cycles_elapsed.avg.per_second"])
    assert.equal("Hz", gemv.units["sm__cycles_elapsed.avg.per_second"])
    assert.equal(672373039, gemv.metrics["lts__lts2xbar_cycles_active.avg.per_second"])
    assert.near(2022498000000, gemv.metrics["derived__lts__lts2xbar_bytes.sum.per_second"], 1e-3)
    assert.equal(11796480, gemv.metrics["launch__persisting_l2_cache_size"])
    assert.equal(150109880320, gemv.metrics["device__attribute_total_memory"])
    assert.equal("", gemv.units["device__attribute_total_memory"])
  end)

  it("keeps text as text, 0 as 0 and leaves out what has no value", function()
    assert.equal("NVIDIA H200", gemm.metrics["device__attribute_display_name"])
    assert.equal("PolicySpread", gemm.metrics["launch__cluster_scheduling_policy"])
    assert.equal(0, gemm.metrics["sass__inst_executed_register_spilling"])
    assert.is_nil(gemm.metrics["derived__local_spilling_requests_pct"]) -- no data
    assert.is_nil(gemm.metrics["sass__inst_executed_register_spilling_mem_local"])
    assert.is_nil(gemm.metrics["launch__kernel_name"]) -- empty
    assert.is_nil(gemm.metrics["Kernel Name"])
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
    local attention = by_id(dsocr, 51) -- the older mma.sync path
    assert.equal(31457280, attention.tensor.bf16)
    assert.near(210368 + 391040 + 2 * 7680, attention.flop.fp32, 1)
    assert.near(31457280 + 616768, attention.flop.total, 1)
  end)

  it("takes dense peaks at the clocks of the launch", function()
    local first = by_id(dsocr, 0)
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
      warps_achieved = 9.251294, limiters = { "registers", "shared_mem" },
      limits = { barriers = 21, blocks = 32, registers = 1, shared_mem = 1, warps = 5 } },
      gemm.occupancy)
    assert.same({}, gemv.occupancy.limiters)
    assert.is_nil(gemv.occupancy.achieved)
    assert.same({ sm = 8.758431, memory = 11.636203, dram = 11.636203, l2 = 14.426459,
      l1 = 11.636203, tensor = 3.632246, fp32 = 0.092225, fp64 = 0, alu = 2.837693,
      xu = 0, lsu = 0.363225, tex = 0, adu = 5.911055, uniform = 7.254561, mio = 3.712057,
      issue = 8.758431 }, gemm.throughput)
    -- 23.3 % of the cycles in which L1 was active, and no unit of memory above 11.6 %
    assert.equal("min(l1tex__throughput.avg.pct_of_peak_sustained_active, "
      .. "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed)",
      gemm.source["throughput.l1"].formula)
    assert.equal(168, gemm.registers)
    assert.same({ total = 181716, static = 0, dynamic = 180692, driver = 1024 }, gemm.shared)
    assert.equal(0.61, gemm.waves)
  end)

  it("cites what every number was made of", function()
    assert.same({
      formula = "dram__bytes.sum.per_second * duration",
      unit = "byte",
      inputs = {
        { name = "dram__bytes.sum.per_second", value = 2062224000000, unit = "byte/s" },
        { name = "duration", value = 3.3728e-05, unit = "s" },
      },
    }, gemv.source["bytes.dram"])
    assert.equal("gpu__time_duration.sum", gemv.source.duration.formula)
    assert.equal("sm__ops_path_tensor_src_bf16_dst_fp32.sum", gemm.source["tensor.bf16"].formula)
    assert.equal("sm__ops_path_tensor_src_fp8_sparsity_off.sum + " ..
      "sm__ops_path_tensor_src_fp8_sparsity_on.sum", gemm.source["tensor.fp8"].formula)
    assert.equal("OP", gemm.source["tensor.int8"].unit)
    assert.equal("tensor.bf16 + tensor.fp16 + tensor.fp64 + tensor.fp8 + tensor.tf32",
      gemm.source["flop.tensor"].formula)
    assert.equal("flop.fp64 + flop.fp32 + flop.tensor", gemm.source["flop.total"].formula)
    assert.equal("flop.total / bytes.dram", gemm.source["intensity.dram"].formula)
    assert.equal("sm__ops_path_tensor_op_hgmma_src_bf16_dst_fp32_sparsity_off.sum" ..
      ".peak_sustained * sm__cycles_elapsed.avg.per_second",
      gemm.source["peak.tensor.bf16"].formula)
    assert.equal("2 * sm__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained" ..
      " * sm__cycles_elapsed.avg.per_second", gemm.source["peak.fp32"].formula)
    local fp32 = gemm.source["flop.fp32"]
    assert.equal(4, #fp32.inputs)
    assert.equal("smsp__cycles_elapsed.avg", fp32.inputs[2].name)
  end)

  it("has a source for every number and a number for every source", function()
    local function at(launch, path)
      local value = launch
      for key in path:gmatch "[^.]+" do value = value[key] end
      return value
    end
    for _, launch in ipairs(dsocr.launches) do
      local count = 0
      for path, source in pairs(launch.source) do
        count = count + 1
        assert.equal("number", type(at(launch, path)), path)
        assert.is_true(#source.inputs > 0, path)
      end
      -- duration, throughput 16, occupancy 4 + 5, registers, shared 4, waves;
      -- bytes 3, their rates 3; tensor 7, flop 5, their rates 5; peaks 6 + 7;
      -- intensity 3
      assert.equal(71, count)
    end
  end)
end)


describe("llmprof.ncu details page", function()
  local tiny, dsocr, gemm

  setup(function()
    tiny, dsocr = read "tiny_h200_details.csv", read "dsocr_h200_details.csv"
    gemm = by_id(dsocr, 20)
  end)

  teardown(function() tiny, dsocr, gemm = nil, nil, nil end)

  it("makes one record of a launch's rows", function()
    assert.equal("details", tiny.page)
    assert.equal(22, tiny.columns)
    assert.equal(3, #tiny.launches)
    assert.equal(5, #dsocr.launches)
    assert.equal("nvjet_sm90_tst_16x64_64x16_4x1_v_bz_TNN", gemm.kernel)
    assert.same({ { name = "decode" } }, gemm.stages)
    assert.same({ x = 4, y = 20, z = 1 }, gemm.grid)
  end)

  it("keys values by section and label, and by metric name where it is one", function()
    local sol = gemm.sections["GPU Speed Of Light Throughput"]
    assert.equal(5.92e-06, sol.Duration)
    assert.equal("s", gemm.section_units["GPU Speed Of Light Throughput"].Duration)
    assert.equal(11.64, sol["Memory Throughput"])
    assert.equal(557190000000, gemm.sections["Memory Workload Analysis"]["Memory Throughput"])
    assert.is_nil(
      gemm.sections["Memory Workload Analysis"]["Local Memory Spilling Request Overhead"])
    assert.same({
      ["dram__throughput.avg.pct_of_peak_sustained_elapsed"] = 11.64,
      ["gpu__time_duration.sum"] = 5.92e-06,
      ["sm__throughput.avg.pct_of_peak_sustained_elapsed"] = 8.76,
    }, gemm.metrics)
    assert.equal("s", gemm.units["gpu__time_duration.sum"])
  end)

  it("fills the record from labels", function()
    local gemv = by_id(tiny, 0)
    assert.equal(3.373e-05, gemv.duration)
    assert.same({ sm = 24.56, memory = 42.87, dram = 42.87, l1 = 25.49, l2 = 48.67 },
      gemv.throughput)
    assert.same({
      formula = "GPU Speed Of Light Throughput: Duration",
      unit = "s",
      inputs = { { name = "GPU Speed Of Light Throughput: Duration", value = 3.373e-05,
        unit = "s" } },
    }, gemv.source.duration)
    assert.equal(18.75, gemm.occupancy.theoretical)
    assert.same({ "registers", "shared_mem" }, gemm.occupancy.limiters)
    assert.near(3298565, gemm.bytes.dram, 1)
    assert.equal("Memory Workload Analysis: Memory Throughput * duration",
      gemm.source["bytes.dram"].formula)
  end)

  it("leaves out what the page does not hold", function()
    assert.same({}, gemm.flop)
    assert.same({}, gemm.tensor)
    assert.same({}, gemm.intensity)
    assert.same({ tensor = {} }, gemm.peak)
    assert.same({}, gemm.shared)
    assert.is_nil(gemm.registers)
    assert.is_nil(gemm.waves)
  end)

  it("attaches the rules", function()
    assert.equal(8, #gemm.rules)
    local rule = gemm.rules[4]
    assert.equal("Occupancy", rule.section)
    assert.equal("TheoreticalOccupancy", rule.name)
    assert.equal("OPT", rule.type)
    assert.equal("global", rule.speedup_type)
    assert.equal(78.43, rule.speedup)
    assert.is_not_nil(rule.description:find("limited by the number of required registers", 1, true))
    assert.same({ section = "SpeedOfLight_RooflineChart", name = "SOLFPRoofline", type = "INF",
      description = gemm.rules[2].description }, gemm.rules[2])
  end)

  it("agrees with the raw page to the digits it shows", function()
    local labels = require "llmprof.nvidia.ncu.labels"
    local raw, compared = read "dsocr_h200_raw.csv", 0
    for _, launch in ipairs(raw.launches) do
      local shown = by_id(dsocr, launch.id)
      for metric, list in pairs(labels) do
        local section, label = list[1][1], list[1][2]
        local value = (shown.sections[section] or {})[label]
        if value then
          compared = compared + 1
          local exact = launch.metrics[metric]
          assert.equal(launch.units[metric], shown.section_units[section][label])
          local digit = ({ Hz = 1e7, ["byte/s"] = 1e7, s = 1e-8 })[launch.units[metric]] or 0.01
          assert.near(exact, value, 0.5001 * digit, metric)
        end
      end
    end
    assert.equal(5 * 18, compared)
  end)
end)


describe("llmprof.nvidia.ncu.merge", function()
  it("takes numbers from the raw page and rules from the details page", function()
    local raw, details = read "dsocr_h200_raw.csv", read "dsocr_h200_details.csv"
    local merged = assert(ncu.merge(raw, details))
    assert.equal("merged", merged.page)
    assert.equal(5, #merged.launches)
    local gemm, alone = by_id(merged, 20), by_id(raw, 20)
    assert.equal(8, #gemm.rules)
    assert.equal(11.636203, gemm.throughput.memory)
    assert.equal(5.92e-06, gemm.sections["GPU Speed Of Light Throughput"].Duration)
    assert.same(alone.source, gemm.source)
    assert.same(alone.peak, gemm.peak)
    assert.same({}, alone.rules)
    assert.same({}, alone.sections)
  end)

  it("fills gaps from the details page and keeps launches of one page", function()
    local raw = assert(ncu.read_text([[
"ID","Process ID","Kernel Name","dram__bytes.sum","x__y.sum"
"","","","Mbyte",""
"0","9","a","2.5","7"
"1","9","b","3.5","8"
]]))
    local details = assert(ncu.read_text([[
"ID","Process ID","Kernel Name","CC","Section Name","Metric Name","Metric Unit","Metric Value"
"1","9","b","9.0","GPU Speed Of Light Throughput","Duration","us","2"
"1","9","b","9.0","Command line profiler metrics","x__y.sum","","9"
"1","9","b","9.0","Command line profiler metrics","z__w.sum","byte","4"
"2","9","c","9.0","GPU Speed Of Light Throughput","Duration","us","5"
]]))
    local merged = assert(ncu.merge(raw, details))
    local a, b, c = table.unpack(merged.launches)
    assert.same({ "a", "b", "c" }, { a.kernel, b.kernel, c.kernel })
    assert.is_nil(a.duration)
    assert.equal(2.5e6, a.bytes.dram)
    assert.equal(2e-6, b.duration)
    assert.equal(1.75e12, b.rate.dram)
    assert.equal("9.0", b.cc)
    assert.same({ ["dram__bytes.sum"] = 3.5e6, ["x__y.sum"] = 8, ["z__w.sum"] = 4 }, b.metrics)
    assert.equal("byte", b.units["z__w.sum"])
    assert.is_nil(raw.launches[2].metrics["z__w.sum"])
    assert.is_nil(raw.launches[2].units["z__w.sum"])
    assert.equal(5e-6, c.duration)
  end)

  it("refuses pages of different runs", function()
    local raw = assert(ncu.read_text('"ID","Kernel Name"\n"",""\n"0","a"\n'))
    local details = assert(ncu.read_text('"ID","Kernel Name","Section Name","Metric Name",' ..
      '"Metric Value"\n"0","b","S","M","1"\n'))
    local merged, message, code = ncu.merge(raw, details)
    assert.is_nil(merged)
    assert.equal("csv: ID 0 is 'b' here and 'a' in csv", message)
    assert.equal("syntax", code)
    assert.has_error(function() ncu.merge(details, raw) end,
      "merge: first argument is not a raw page")
    assert.has_error(function() ncu.merge(raw, raw) end,
      "merge: second argument is not a details page")
  end)
end)


describe("llmprof.ncu on other GPUs", function()
  local function rtx(number)
    local path = RTX:format(number)
    if not exists(path) then
      pending("not here: " .. path)
      return nil
    end
    return assert(ncu.read(path)).launches[1]
  end

  it("reads RTX 5090 details without NVTX columns", function()
    local launch = rtx(2)
    if not launch then return end
    assert.equal("12.0", launch.cc)
    assert.is_nil(launch.stages)
    assert.is_nil(launch.ranges)
    assert.equal(1.834e-05, launch.duration)
    assert.equal(17.57e6, launch.bytes.dram)
    assert.equal(17.57e6, launch.bytes.dram_read)
    assert.equal(0, launch.bytes.dram_write)
    assert.equal("bytes.dram_read + bytes.dram_write", launch.source["bytes.dram"].formula)
    assert.equal(958.09e9, launch.rate.dram)
    assert.same({ bf16 = 0 }, launch.tensor) -- ..._dst_bf16 is "n/a" there
    assert.equal("sm__ops_path_tensor_src_bf16_dst_fp32.sum", launch.source["tensor.bf16"].formula)
    assert.is_nil(launch.flop.total) -- fp32 was not counted
    assert.same({ "registers" }, launch.occupancy.limiters)
    assert.equal("latency", (ncu.bound(launch)))
    assert.equal(4, #launch.rules)
  end)

  it("reads all ten RTX 5090 kernels", function()
    for number = 2, 20, 2 do
      local launch = rtx(number)
      if not launch then return end
      assert.is_true(launch.duration > 0)
      assert.is_true(launch.bytes.dram > 0)
    end
  end)
end)
