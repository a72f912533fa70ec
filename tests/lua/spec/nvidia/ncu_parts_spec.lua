-- The rules by which figures are made of metrics, one at a time.
local ncu = require "llmprof.nvidia.ncu"
local ncu_page = require "tests.lua.support.ncu_page"
local records = require "tests.lua.support.records"

-- A raw page of one launch: metrics is a list of { name, unit, value }; limits: of
-- ncu.launches.
local function launch_of(metrics, limits)
  local header, unit_row, values = { "ID", "Kernel Name" }, { "", "" }, { "0", "k" }
  for _, metric in ipairs(metrics) do
    header[#header + 1], unit_row[#unit_row + 1], values[#values + 1] = table.unpack(metric)
  end
  local lines = {}
  for i, cells in ipairs { header, unit_row, values } do
    lines[i] = '"' .. table.concat(cells, '","') .. '"\n'
  end
  return records.of(ncu_page(table.concat(lines), limits), 1)
end


describe("llmprof.ncu formulas", function()
  local T = { "gpu__time_duration.sum", "us", "2" }
  local PATH = "sm__ops_path_tensor_"

  local function scalar(precision, add, mul, fma)
    local list = {}
    for op, value in pairs { add = add, mul = mul, fma = fma } do
      list[#list + 1] = { "smsp__sass_thread_inst_executed_op_" .. precision .. op ..
        "_pred_on.sum", "inst", value }
    end
    return table.unpack(list)
  end

  local function with(...)
    local metrics = { T }
    for i = 1, select("#", ...) do metrics[i + 1] = (select(i, ...)) end
    return launch_of(metrics)
  end

  it("prefers read + write, then bytes, then the rate", function()
    local read = { "dram__bytes_read.sum", "Mbyte", "3" }
    local write = { "dram__bytes_write.sum", "Kbyte", "500" }
    local both = { "dram__bytes.sum", "Mbyte", "4" }
    local rate = { "dram__bytes.sum.per_second", "Tbyte/s", "2.5" }
    assert.equal(3.5e6, with(read, write, both, rate).bytes.dram)
    assert.equal(4e6, with(read, both, rate).bytes.dram)
    assert.equal(3e6, with(read, both, rate).bytes.dram_read)
    assert.equal(5e6, with(read, rate).bytes.dram)
    assert.equal(1.75e12, with(read, write).rate.dram)
    assert.is_nil(with(read).bytes.dram)
    assert.is_nil(with(read).rate.dram)
  end)

  it("needs additions, multiplications and fused ones", function()
    local add, mul, fma = scalar("f", "10", "20", "1,000")
    assert.equal(2030, with(add, mul, fma).flop.fp32)
    assert.equal(2030 / 2e-6, with(add, mul, fma).rate.fp32)
    assert.is_nil(with(add, mul).flop.fp32)
    assert.equal(2030, with(scalar("d", "10", "20", "1000")).flop.fp64)
  end)

  it("counts per cycle or per second where there is no sum", function()
    local stem = PATH .. "src_bf16_dst_fp32.sum"
    assert.equal(600, with({ stem .. ".per_cycle_elapsed", "", "3" },
      { "sm__cycles_elapsed.avg", "cycle", "200" }).tensor.bf16)
    assert.equal(8, with { stem .. ".per_second", "", "4,000,000" }.tensor.bf16)
    assert.is_nil(with { stem .. ".per_cycle_elapsed", "", "3" }.tensor.bf16)
  end)

  it("counts half instructions as the version does", function()
    local half = { scalar("h", "1", "2", "10") }
    assert.equal(2 * 1 + 2 * 2 + 4 * 10, with(table.unpack(half)).flop.fp16)
    half[#half + 1] = { "derived__smsp__sass_thread_inst_executed_op_hfma_pred_on_x2", "inst", "5" }
    assert.equal(1 + 2 + 2 * 10, with(table.unpack(half)).flop.fp16)
  end)

  it("adds half work to the total only if there is arithmetic", function()
    local metrics = { scalar("f", "0", "0", "4") }
    metrics[#metrics + 1] = { PATH .. "src_fp16.sum", "", "100" }
    local moves = { table.unpack(metrics) }
    for _, metric in ipairs { scalar("h", "0", "0", "7") } do moves[#moves + 1] = metric end
    assert.equal(108, with(table.unpack(metrics)).flop.total)
    assert.equal(108, with(table.unpack(moves)).flop.total)
    assert.equal(28, with(table.unpack(moves)).flop.fp16)
    for _, metric in ipairs { scalar("h", "1", "0", "7") } do metrics[#metrics + 1] = metric end
    assert.equal(108 + 30, with(table.unpack(metrics)).flop.total)
  end)

  it("has no total without both fp32 and tensor counts", function()
    assert.is_nil(with(scalar("f", "1", "1", "1")).flop.total)
    assert.is_nil(with({ PATH .. "src_bf16_dst_fp32.sum", "", "8" }).flop.total)
  end)

  it("never adds a sum to its parts", function()
    local launch = with({ PATH .. "src_bf16_dst_fp32.sum", "", "100" },
      { PATH .. "src_bf16_dst_fp32_sparsity_off.sum", "", "90" },
      { PATH .. "src_bf16_dst_fp32_sparsity_on.sum", "", "10" },
      { PATH .. "op_hgmma_src_bf16_dst_fp32_sparsity_off.sum", "", "60" },
      { PATH .. "op_hmma_src_bf16_dst_fp32_sparsity_off.sum", "", "40" },
      { "smsp__ops_path_tensor_src_bf16_dst_fp32.sum", "", "100" },
      { PATH .. "src_fp16.sum", "", "7" },
      { PATH .. "src_fp16_dst_fp16.sum", "", "3" },
      { PATH .. "src_fp16_dst_fp32.sum", "", "4" })
    assert.same({ bf16 = 100, fp16 = 7 }, launch.tensor)
  end)

  it("adds sparse and dense where that is all there is", function()
    assert.same({ fp8 = 11 }, with({ PATH .. "src_fp8_sparsity_off.sum", "", "9" },
      { PATH .. "src_fp8_sparsity_on.sum", "", "2" }).tensor)
    assert.same({ fp8 = 9 }, with({ PATH .. "src_fp8_sparsity_off.sum", "", "9" }).tensor)
    assert.same({}, with({ PATH .. "src_fp8_sparsity_off.sum", "", "9" },
      { PATH .. "src_fp8_sparsity_on.sum", "", "no data" }).tensor)
  end)

  it("adds destinations and paths of one source type", function()
    assert.same({ fp16 = 7, int8 = 5 }, with({ PATH .. "src_fp16_dst_fp16.sum", "", "3" },
      { PATH .. "src_fp16_dst_fp32.sum", "", "4" }, { PATH .. "src_int8.sum", "", "5" }).tensor)
    local blackwell = with({ PATH .. "op_utchmma_src_bf16_dst_fp32_sparsity_off.sum", "", "6" },
      { PATH .. "op_utchmma_src_bf16_dst_fp32_sparsity_on.sum", "", "0" },
      { PATH .. "op_hmma_src_bf16_dst_fp32_sparsity_off.sum", "", "2" },
      { PATH .. "op_utcqmma_src_fp4_fp6_fp8_dst_fp32_sparsity_off.sum", "", "30" })
    assert.same({ bf16 = 8, fp4_fp6_fp8 = 30 }, blackwell.tensor)
    assert.equal(38, blackwell.flop.tensor)
  end)

  it("falls back to paths where the sums have no value", function()
    assert.same({ bf16 = 6 }, with({ PATH .. "src_bf16_dst_fp32.sum", "", "n/a" },
      { PATH .. "op_hmma_src_bf16_dst_fp32_sparsity_off.sum", "", "6" }).tensor)
  end)

  it("does not call integer operations FLOP", function()
    local launch = with({ PATH .. "src_int8.sum", "", "5" }, { PATH .. "src_int4.sum", "", "6" })
    assert.same({ int8 = 5, int4 = 6 }, launch.tensor)
    assert.is_nil(launch.flop.tensor)
  end)

  it("tells what tensor cores did not do from what was not measured", function()
    local sass = "smsp__sass_thread_inst_executed_op_%s_pred_on.sum"
    local function flop(used, ...)
      return with({ "sm__inst_executed_pipe_tensor.sum", "inst", used },
        { sass:format "fadd", "inst", "1" }, { sass:format "fmul", "inst", "2" },
        { sass:format "ffma", "inst", "3" }, ...).flop
    end
    local bf16, tf32 = PATH .. "src_bf16_dst_fp32.sum", PATH .. "src_tf32_dst_fp32.sum"
    assert.same({ 0, 9 }, { flop("0").tensor, flop("0").total })
    assert.is_nil(flop("64", { bf16, "", "0" }, { tf32, "", "" }).total)
    assert.equal(17, flop("64", { bf16, "", "8" }, { tf32, "", "" }).total)
    assert.equal(9, flop("64", { bf16, "", "0" }, { tf32, "", "0" }).total)
  end)

  it("takes no sparse peak for a dense one", function()
    local clock = { "sm__cycles_elapsed.avg.per_second", "Ghz", "2" }
    local function peak(stem, value) return { PATH .. stem .. ".sum.peak_sustained", "", value } end
    assert.same({}, with(clock, peak("src_bf16_dst_fp32", "1,000")).peak.tensor)
    assert.same({ fp64 = 2e11 }, with(clock, peak("src_fp64", "100")).peak.tensor)
    assert.same({ bf16 = 1e12 }, with(clock, peak("src_bf16_dst_fp32", "1,000"),
      peak("op_hgmma_src_bf16_dst_fp32_sparsity_on", "1,000"),
      peak("op_hgmma_src_bf16_dst_fp32_sparsity_off", "500"),
      peak("op_hmma_src_bf16_dst_fp32_sparsity_off", "333.33")).peak.tensor)
    assert.same({ fp8 = 4e12 }, with(clock, peak("src_fp8_sparsity_off", "2,000"),
      peak("src_fp8_sparsity_on", "4,000")).peak.tensor)
    assert.same({ bf16 = 3e12 }, with({ PATH .. "op_hgmma_src_bf16_dst_fp32_sparsity_off" ..
      ".sum.peak_sustained_elapsed.per_second", "", "3,000,000,000,000" }).peak.tensor)
  end)

  it("takes no metric in a unit that it does not know", function()
    assert.equal(2e-6, launch_of({ T }).duration)
    assert.is_nil(launch_of({ { "gpu__time_duration.sum", "fortnight", "2" } }).duration)
    assert.is_nil(launch_of({ { "gpu__time_duration.sum", "us", "n/a" } }).duration)
  end)

  it("divides by nothing", function()
    local launch = launch_of { { "gpu__time_duration.sum", "us", "0" },
      { "dram__bytes.sum", "byte", "0" }, { PATH .. "src_bf16_dst_fp32.sum", "", "8" },
      { "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum", "inst", "0" },
      { "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum", "inst", "0" },
      { "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", "inst", "0" } }
    assert.equal(0, launch.duration)
    assert.equal(8, launch.flop.total)
    assert.same({}, launch.rate)
    assert.same({}, launch.intensity)
  end)
end)


describe("llmprof.nvidia.ncu rates over peaks", function()
  -- Of a launch of 1 ms on a GPU of 4 TB/s, 2 TFLOP/s in fp32, 100 in bf16, 200 in fp8.
  local function percents(...)
    local launch = launch_of({ { "gpu__time_duration.sum", "ms", "1" }, ... }, function()
      return { dram = 4e12, fp32 = 2e12, bf16 = 100e12, fp8 = 200e12 }
    end)
    return launch.throughput
  end

  it("take DRAM's from its bytes", function()
    assert.near(75, percents({ "dram__bytes_read.sum", "Gbyte", "2" },
      { "dram__bytes_write.sum", "Mbyte", "1,000" }).dram, 1e-9)
    assert.near(50, percents({ "dram__bytes.sum.per_second", "Tbyte/s", "2" }).dram, 1e-9)
    assert.equal(30, percents({ "dram__bytes.sum.per_second", "Tbyte/s", "2" },
      { "dram__throughput.avg.pct_of_peak_sustained_elapsed", "%", "30" }).dram)
    assert.is_nil(percents({ "dram__bytes_read.sum", "Gbyte", "2" }).dram)
    assert.is_nil(percents({ "dram__bytes.sum", "furlong", "2" }).dram)
  end)

  it("take operations by their type", function()
    local PATH = "sm__ops_path_tensor_"
    assert.near(60, percents({ PATH .. "src_bf16_dst_fp32.sum", "", "30,000,000,000" },
      { PATH .. "src_fp8.sum", "", "60,000,000,000" }).tensor, 1e-9)
    assert.near(10, percents({ PATH .. "op_utcqmma_src_fp4_fp6_fp8_dst_fp32.sum", "",
      "20,000,000,000" }).tensor, 1e-9)
    assert.equal(0, percents({ PATH .. "src_int8.sum", "", "0" }).tensor)
    assert.is_nil(percents({ PATH .. "src_int8.sum", "", "5" }).tensor)
    local SASS = "smsp__sass_thread_inst_executed_op_%s_pred_on.sum"
    assert.near(80, percents({ SASS:format "fadd", "inst", "600,000,000" }, { SASS:format "fmul",
      "inst", "0" }, { SASS:format "ffma", "inst", "500,000,000" }).fp32, 1e-9)
  end)

  it("are not known without a time or a peak", function()
    local bytes = { "dram__bytes.sum", "byte", "5" }
    assert.is_nil(launch_of({ bytes }, function() return { dram = 1 } end).throughput.dram)
    assert.is_nil(launch_of({ bytes, { "gpu__time_duration.sum", "ns", "5" } }, function()
      return {}
    end).throughput.dram)
    assert.is_nil(launch_of({ bytes, { "gpu__time_duration.sum", "ns", "5" } }).throughput.dram)
  end)

  it("take L1's share of the launch, not of the cycles in which it was active", function()
    local active = { "l1tex__throughput.avg.pct_of_peak_sustained_active", "%", "90" }
    assert.is_nil(percents(active).l1)
    assert.equal(9, percents(active, { "l1tex__cycles_active.avg", "cycle", "100" },
      { "l1tex__cycles_elapsed.avg", "cycle", "1000" }).l1)
    assert.equal(40, percents(active,
      { "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed", "%", "40" }).l1)
  end)
end)


describe("llmprof.nvidia.ncu", function()
  local function answer(throughput, waves)
    local class, reason = ncu.bound { throughput = throughput, waves = waves }
    return { class, reason }
  end

  it("names the unit that is busiest, and how busy", function()
    assert.same({ "tensor", "tensor 82.0 % of its peak" },
      answer { sm = 85.04, memory = 40, dram = 39, tensor = 82, issue = 30 })
    assert.same({ "DRAM", "DRAM 91.2 % of its peak" }, answer { sm = 30, memory = 91.2,
      dram = 91.2, l2 = 60 })
    assert.same({ "issue", "issue 79.4 % of its peak" }, answer { sm = 79.4, fp32 = 12,
      issue = 79.4, dram = 11 })
    assert.same({ "L1", "L1 60.0 % of its peak" }, answer { l1 = 60, dram = 0.6 })
  end)

  it("goes by the roof that is furthest out among units as busy", function()
    assert.same({ "DRAM", "DRAM 88.9 % of its peak" }, answer { dram = 88.89, l2 = 89.78,
      memory = 89.78 })
    assert.equal("DRAM", answer({ dram = 80.9, l2 = 86.7, memory = 86.7 })[1])
    assert.equal("L2", answer({ dram = 80, l2 = 89 })[1])
  end)

  it("calls it latency when no unit reaches 60 %", function()
    assert.same({ "latency", "no unit at 60 %, at most fp32 59.9 % of its peak" },
      answer { fp32 = 59.9, dram = 12, l2 = 9, l1 = 1, sm = 59.9 })
    assert.same({ "latency", "no unit at 60 %, at most DRAM 0.4 % of its peak; the grid is 0.04 "
      .. "of a wave" }, answer({ sm = 0.18, dram = 0.39, memory = 0.4 }, 0.04))
    local all = { dram = 1, l2 = 2, l1 = 3 }
    for i = 4, #ncu.units do all[ncu.units[i][1]] = 10 + i end
    assert.equal("latency", answer(all)[1])
  end)

  it("does not know what depends on a unit that was not measured", function()
    assert.same({ "unknown", "L2, L1, SM not measured" }, answer { dram = 12, tensor = 59.9 })
    assert.same({ "unknown", "SM not measured" }, answer { memory = 12, tensor = 50 })
    assert.same({ "unknown", "DRAM not measured" }, answer { l2 = 20, l1 = 20, sm = 20 })
    -- what is busy is so whatever else is; but DRAM keeps L2 and L1 busy
    assert.equal("DRAM", answer({ dram = 87 })[1])
    assert.equal("tensor", answer({ tensor = 80 })[1])
    assert.same({ "unknown", "DRAM not measured" }, answer { l2 = 90, sm = 20, memory = 90 })
  end)

  it("believes no unit that is far above its peak", function()
    assert.same({ "unknown", "DRAM at 230 % of its peak cannot be" },
      answer { dram = 230, memory = 90, sm = 90 })
    assert.equal("DRAM", answer({ dram = 102 })[1])
  end)

  it("says which units a sum may be of that were not measured", function()
    assert.same({ "some SM unit", "some SM unit 90.0 % of its peak" },
      answer { sm = 90, tensor = 50, dram = 20 })
    assert.same({ "DRAM, L2 or L1", "DRAM, L2 or L1 91.0 % of its peak" },
      answer { sm = 10, memory = 91 })
    assert.same({ "L2 or L1", "L2 or L1 91.0 % of its peak" },
      answer { sm = 10, memory = 91, dram = 40 })
  end)

  it("does not guess", function()
    assert.same({ "unknown", "no throughput was measured" }, answer {})
  end)
end)


describe("llmprof.ncu.filter_regex", function()
  it("matches whole names, and nothing in them is special", function()
    assert.equal("regex:^(gemv)$", ncu.filter_regex { "gemv" })
    assert.equal("regex:^(gemv|axpy)$", ncu.filter_regex { "gemv", "axpy", "gemv" })
    assert.equal("regex:^(void f<int, \\(int\\)-2>\\(float const\\*, T1 &, a::b\\))$",
      ncu.filter_regex { "void f<int, (int)-2>(float const*, T1 &, a::b)" })
    assert.equal("regex:^(a\\.b\\?c\\+d\\|e\\^f\\$g\\[h\\]i\\{j\\}k\\\\l)$",
      ncu.filter_regex { "a.b?c+d|e^f$g[h]i{j}k\\l" })
  end)

  it("refuses what is no name and what is too long", function()
    assert.has_error(function() ncu.filter_regex {} end, "filter_regex: no names")
    for _, name in ipairs { "", "a\0b", 7 } do
      assert.has_error(function() ncu.filter_regex { "ok", name } end,
        "filter_regex: name 2 is no kernel name")
    end
    assert.equal(131071, #ncu.filter_regex { ("x"):rep(131071 - #"regex:^()$") })
    local regex, message, code = ncu.filter_regex { ("x"):rep(131072 - #"regex:^()$") }
    assert.is_nil(regex)
    assert.equal("filter_regex: 1 names take 131072 bytes, an argument holds 131071", message)
    assert.equal("limit", code)
  end)
end)
