-- Command lines word by word, and what ncu's own words mean.
local ncu = require "llmprof.nvidia.ncu.command"


local base = { target_processes = "all", replay_mode = "kernel", clock_control = "none",
  cache_control = "all" }

local function profile(more, given)
  local cfg = setmetatable(more or {}, { __index = base })
  local run = { path = "/opt/ncu", output = "out/run", argv = { "prog", "a b" } }
  for key, value in pairs(given or {}) do run[key] = value end
  return ncu.profile_argv(cfg, run)
end


-- What lines of the tool's output mean.
local function read_output(lines)
  local read, said = ncu.reader()
  for _, line in ipairs(lines) do read(line) end
  return said
end


describe("ncu", function()
  it("measures everything where nothing is asked", function()
    assert.same({ "/opt/ncu", "--config-file", "off", "--target-processes", "all", "--replay-mode",
      "kernel", "--clock-control", "none", "--cache-control", "all", "--rename-kernels", "no",
      "--import-sass", "no", "--export", "out/run", "prog", "a b" }, profile())
  end)

  it("is given filters, sections and metrics, in this order", function()
    assert.same({ "/opt/ncu", "--config-file", "off", "--target-processes", "all", "--nvtx",
      "--nvtx-include", "prefill/", "--nvtx-include", "decode/", "--range-filter", "::3|4",
      "--kernel-name-base", "mangled", "--kernel-name", "regex:^(_Z1f)$", "--filter-mode",
      "per-launch-config", "--launch-count", "2", "--set", "basic", "--section", "Occupancy",
      "--section", "regex:Speed.*", "--metrics", "m1,m2", "--replay-mode", "kernel",
      "--clock-control", "none", "--cache-control", "all", "--rename-kernels", "no",
      "--import-sass", "no", "--force-overwrite", "--export", "out/run", "--verbose", "prog",
      "a b",
    }, profile({ set = "basic", sections = { "Occupancy", "regex:Speed.*" },
      force_overwrite = true, extra_args = { "--verbose" } },
      { ranges = { "prefill/", "decode/" }, instances = "3|4", kernels = "regex:^(_Z1f)$",
        name_base = "mangled", launches = 2, metrics = { "m1", "m2" } }))
  end)

  it("is given no filter of kernels where ranges are measured", function()
    for _, mode in ipairs { "range", "app-range" } do
      assert.same(profile({ replay_mode = mode }, { ranges = { "decode/" }, instances = "2" }),
        profile({ replay_mode = mode }, { ranges = { "decode/" }, instances = "2",
          kernels = "f", name_base = "mangled", launches = 2 }))
    end
  end)

  it("may leave the sections out, and needs ranges to number them", function()
    assert.same(profile({}), profile({ sections = { "Occupancy" } },
      { no_sections = true, instances = "1", ranges = {} }))
  end)

  it("prints pages of a report", function()
    local common = { "ncu", "--config-file", "off", "--import", "r.ncu-rep", "--rename-kernels",
      "no", "--page" }
    local function with(...)
      return table.move({ ... }, 1, select("#", ...), #common + 1,
        table.move(common, 1, #common, 1, {}))
    end
    assert.same(with("raw", "--csv", "--print-units", "base"),
      ncu.import_argv("ncu", "r.ncu-rep", "raw"))
    assert.same(with("details", "--csv"), ncu.import_argv("ncu", "r.ncu-rep", "details"))
    assert.same(with("details", "--print-details", "all"),
      ncu.import_argv("ncu", "r.ncu-rep", "sections"))
  end)

  it("lists the metrics of a chip", function()
    assert.same({ "ncu", "--config-file", "off", "--query-metrics", "--chips", "gh100" },
      ncu.query_argv("ncu", "GH100"))
    assert.same({ "ncu", "--config-file", "off", "--query-metrics" }, ncu.query_argv "ncu")
  end)
end)


describe("ncu's metrics", function()
  local available = ncu.read_query [[
Device NVIDIA H200 (GH100)
-------------------- ---------- ------
Metric Name          Metric     Description
gpu__time_duration   Counter    # time
dram__bytes_read     Counter    # bytes
sm__ops_path_tensor_src_bf16_dst_fp32          Counter   # all
sm__ops_path_tensor_src_fp8_sparsity_on        Counter   # part
sm__ops_path_tensor_op_hgmma_src_bf16_dst_fp32_sparsity_off  Counter  # path
]]

  it("are read from its list", function()
    assert.same({ gpu__time_duration = true, dram__bytes_read = true,
      sm__ops_path_tensor_src_bf16_dst_fp32 = true,
      sm__ops_path_tensor_src_fp8_sparsity_on = true,
      sm__ops_path_tensor_op_hgmma_src_bf16_dst_fp32_sparsity_off = true }, available)
  end)

  it("are asked for as far as the chip has them", function()
    assert.same({ "gpu__time_duration.sum", "dram__bytes_read.sum",
      "launch__waves_per_multiprocessor",
      "sm__ops_path_tensor_op_hgmma_src_bf16_dst_fp32_sparsity_off.sum.peak_sustained",
      "sm__ops_path_tensor_src_bf16_dst_fp32.sum" }, ncu.roofline_metrics(available))
    for _, metric in ipairs(ncu.roofline_metrics(available, true)) do
      assert.is_nil(metric:find("_sass_", 1, true), metric)
    end
    assert.equal(#ncu.roofline_metrics() - 4, #ncu.roofline_metrics(nil, true))
  end)
end)


describe("a filter of names", function()
  it("leaves out what patterns find, in upper and lower case", function()
    assert.equal("regex:^(?!.*([nN][cC]|[aA]_?[bB]))", ncu.names_without { "nc", "a_?b" })
    assert.has_error(function() ncu.names_without { "a.b" } end)
  end)
end)


describe("ncu's output", function()
  it("counts launches", function()
    assert.same({ profiled = 2 }, read_output {
      "==PROF== Connected to process 7 (/usr/bin/python3)",
      '==PROF== Profiling "f" - 0 (1/2): 0%....100% - 8 passes',
      '==PROF== Profiling "say "hi"" - 1: 0%....50%....100% - 9 passes',
      "==PROF== Disconnected from process 7", "==PROF== Report: /a b/run.ncu-rep" })
    assert.truthy(ncu.launch_name '==PROF== Profiling "f" - 0: 0%')
    assert.is_nil(ncu.launch_name "==PROF== Connected to process 7")
  end)

  it("counts launches of application replay once, and its passes", function()
    local lines = { '==PROF== Profiling "range" - 0: Application replay pass 1',
      '==PROF== Profiling "range" - 1: Application replay pass 1',
      '==PROF== Profiling "range" - 0: Application replay pass 2',
      '==PROF== Profiling "range" - 1: Application replay pass 2' }
    assert.same({ profiled = 2 }, read_output(lines))
    assert.truthy(ncu.launch_name(lines[2]))
    assert.is_nil(ncu.launch_name(lines[3]))
  end)

  it("tells that nothing was measured", function()
    assert.same({ profiled = 0, none = true },
      read_output { "==WARNING== No kernels were profiled." })
    assert.is_true(read_output({ "==WARNING== No ranges were profiled." }).none)
    assert.same({ profiled = 0 }, read_output { "No kernels were profiled." })
  end)

  it("knows failures, and keeps the first", function()
    local said = read_output {
      "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access counters",
      "==WARNING== Out of memory", "==ERROR== The application returned an error code (11)." }
    assert.same({ "permission", "this user may not read GPU performance counters", 11,
      "The application returned an error code (11)." }, { said.failure.kind,
      said.failure.message, said.application_exit, said.last_error })
    for line, kind in pairs {
      ["the driver resource was unavailable"] = "busy", ["Out of memory"] = "memory",
      ["Failed to connect to the CUDA driver"] = "driver",
      ["Option 'x' did not match any section"] = "section",
      ["Failed to find metric y"] = "metric", ["unrecognised option '--z'"] = "option" } do
      assert.equal(kind, read_output { "==ERROR== " .. line }.failure.kind)
    end
    assert.is_nil(read_output { "the workload: out of memory" }.failure)
  end)
end)


it("ncu's cost is passes times launches", function()
  assert.same({ passes = 9, seconds = 2 * 9 * 0.06 }, ncu.predict({ set = "basic" }, 2, 0))
  assert.same({ passes = 38, seconds = 3 * 38 * 1.06 }, ncu.predict({ set = "full" }, 3, 1e9))
  assert.equal(16, ncu.predict({}, 1, 0).passes)
  assert.equal(16, ncu.predict({ set = "own" }, 1, 0).passes)
end)
