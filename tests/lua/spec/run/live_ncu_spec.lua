-- The counters of a live run: how ncu is called, and what is made of every way
-- it can end. ncu and the workload are stand-ins.
local fs = require "llmprof.fs"
local live = require "tests.lua.support.live"

local NAMES = "regex:^(_Z2ktILi8EEvPf|_Z2kaPf|_Z2ktILi1EEvPf|_Z2kbPf)$"
local WORKLOAD = { "tests/standin/workload", "--device", "cuda:0", "--max-new-tokens", "5",
  "--subset-filelist", "", "--num-epochs", "1", "--num-samples-per-epoch", "1",
  "--randomize", "false" }


local function run(settings, env)
  return live.run(table.move(settings or {}, 1, #(settings or {}), 2, { "operators=off" }), env)
end


local function joined(...)
  local words = {}
  for _, list in ipairs { ... } do table.move(list, 1, #list, #words + 1, words) end
  return words
end


-- The words of a profiling run: filters, what is collected, how (replay: kernel
-- unless given).
local function expected(made, filters, collected, replay)
  return joined({ "ncu", "--config-file", "off", "--target-processes", "all" }, filters, collected,
    { "--replay-mode", replay or "kernel", "--clock-control", "none", "--cache-control", "all",
      "--rename-kernels", "no", "--import-sass", "no", "--force-overwrite", "--export",
      made:path "ncu/run" }, WORKLOAD)
end


local function kernel_filters(launches)
  return { "--kernel-name-base", "mangled", "--kernel-name", NAMES, "--filter-mode",
    "per-launch-config", "--launch-count", launches }
end

local IN_STAGES = { "--nvtx", "--nvtx-include", "prefill/", "--nvtx-include", "decode/" }

local SECTIONS = { "--section", "SpeedOfLight", "--section", "MemoryWorkloadAnalysis", "--section",
  "Occupancy", "--section", "SchedulerStats", "--section", "LaunchStats", "--metrics",
  "gpu__time_duration.sum,sm__throughput.avg.pct_of_peak_sustained_elapsed,"
    .. "dram__throughput.avg.pct_of_peak_sustained_elapsed" }


describe("ncu", function()
  after_each(live.clean)

  it("measures the kernels of the timeline in their stages", function()
    local made = run()
    assert.equal(0, made.code, made.output)
    assert.same({ expected(made, joined(IN_STAGES, kernel_filters "2"),
      joined({ "--set", "roofline" }, SECTIONS)) }, made:ncu_profiles())
    assert.same({ "ncu", "--config-file", "off", "--import", made:path "ncu/run.ncu-rep",
      "--rename-kernels", "no", "--page", "raw", "--csv", "--print-units", "base" },
      made:calls "ncu"[3])
    assert.same({ "ncu", "--config-file", "off", "--import", made:path "ncu/run.ncu-rep",
      "--rename-kernels", "no", "--page", "details", "--csv" }, made:calls "ncu"[4])
    assert.same({ "ncu", "--config-file", "off", "--import", made:path "ncu/run.ncu-rep",
      "--rename-kernels", "no", "--page", "details", "--print-details", "all" },
      made:calls "ncu"[5])
    for _, name in ipairs { "run.ncu-rep", "raw.csv", "details.csv", "sections.txt", "log.txt",
      "cmd.txt" } do
      assert.is_true(made:has("ncu/" .. name), name)
    end
  end)

  it("asks for what the chip of the timeline has in light mode", function()
    local made = run { "mode=light" }
    assert.same({ "ncu", "--config-file", "off", "--query-metrics", "--chips", "gh100" },
      made:calls "ncu"[2])
    assert.same({ expected(made, joined(IN_STAGES, kernel_filters "1"), { "--metrics",
      "gpu__time_duration.sum,dram__bytes_read.sum,dram__bytes_write.sum,"
        .. "sm__throughput.avg.pct_of_peak_sustained_elapsed,"
        .. "breakdown:sm__throughput.avg.pct_of_peak_sustained_elapsed,"
        .. "launch__waves_per_multiprocessor,"
        .. "sm__ops_path_tensor_src_bf16_dst_fp32.sum" }) }, made:ncu_profiles())
  end)

  it("asks for the whole request when the chip cannot be asked", function()
    local made = run({ "mode=light" }, { STANDIN_QUERY = "fail" })
    local metrics = live.value(made:ncu_profiles()[1], "metrics")
    assert.matches("^gpu__time_duration.sum,dram__bytes_read.sum,dram__bytes_write.sum,"
      .. "dram__bytes.sum.peak_sustained,", metrics)
    assert.same({ "ncu --query-metrics told nothing: the whole minimal request is made" },
      made:step "counters".notes)
  end)

  it("collects everything in deep mode", function()
    local made = run { "mode=deep", "ncu.budget_s=1000" }
    assert.same({ expected(made, joined(IN_STAGES, kernel_filters "3"), { "--set", "full" }) },
      made:ncu_profiles())
  end)

  it("skips the repeat that the figures leave out", function()
    local made = run { "repeats.skip_first=yes" }
    assert.equal("::3|4", live.value(made:ncu_profiles()[1], "range-filter"))
  end)

  -- Tokens generated under nsys, under ncu and in the operators pass.
  local function tokens(settings)
    local made = run(table.move(settings, 1, #settings, 2, { "operators=on" }))
    local list = {}
    for i, words in ipairs(made:calls "workload") do
      list[i] = live.value(words, "max-new-tokens")
    end
    return list
  end

  it("gets fewer tokens only when that is asked for", function()
    assert.same({ "5", "5", "5" }, tokens {})
    assert.same({ "2", "2", "2" }, tokens { "run.representative_max_new_tokens=2" })
    assert.same({ "5", "2", "5" }, tokens { "ncu.max_new_tokens=2" })
    assert.same({ "4", "2", "4" }, tokens { "run.representative_max_new_tokens=4",
      "ncu.max_new_tokens=2" })
  end)

  it("measures any kernel in the stages without a timeline, but for communication", function()
    local made = run({}, { STANDIN_NSYS = "none" })
    assert.equal(1, made.code)
    local name = live.value(made:ncu_profiles()[1], "kernel-name")
    assert.matches("^regex:%^%(%?!%.%*%(%[nN%]%[cC%]%[cC%]%[lL%]|", name)
    assert.same({ expected(made, joined(IN_STAGES, { "--kernel-name-base", "function",
      "--kernel-name", name, "--filter-mode", "per-launch-config",
      "--launch-count", "2" }), joined({ "--set", "roofline" }, SECTIONS)) }, made:ncu_profiles())
    assert.equal("done", made:step "counters".status)
    assert.equal("3 launches of 1 kernel, without a timeline", made:step "counters".note)
    assert.is_true(made:has "ncu/raw.csv")
  end)
end)


describe("range replay", function()
  after_each(live.clean)

  -- Two stages as ncu prints whole ranges; decode lacks the vector units' FLOP.
  local RAW = [[
"ID","Process ID","Process Name","Host Name","thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg","Id:Domain:Start/Stop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","dram__bytes_read.sum","dram__bytes_write.sum","gpu__time_duration.sum","gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed","sm__throughput.avg.pct_of_peak_sustained_elapsed"
"","","","","","","","","","","","","","byte","byte","ns","%","%"
"0","7","w","h","7  ""<default domain>:prefill:none:none:none:none:none:none"" ","","range","1","n/a","n/a","n/a","0","9.0","3000000","1000000","250000","42.500000","17.250000"
"1","7","w","h","7  ""<default domain>:decode:none:none:none:none:none:none"" ","","range","1","n/a","n/a","n/a","0","9.0","n/a","n/a","1250000","61.000000","3.500000"
]] -- luacheck: no max line length

  local function measure(...)
    local raw = live.folder() .. "/raw.csv"
    assert(fs.write(raw, RAW))
    return run({ "ncu.replay_mode=app-range", ... }, { STANDIN_RAW = raw })
  end

  it("measures the stages and filters no kernel", function()
    local made = measure()
    assert.equal(0, made.code, made.output)
    assert.same({ expected(made, IN_STAGES, joined({ "--set", "roofline" }, SECTIONS),
      "app-range") }, made:ncu_profiles())
    assert.equal("whole ranges were measured 2 times", made:step "counters".note)
    assert.same({ launches = 0, matched = 0, kernels = 0, ranges = {
      { range = "prefill", stage = "prefill", occurrence = 1, duration_ns = 250000,
        sm_percent = 17.25, dram_percent = 42.5, dram_bytes = 4000000 },
      { range = "decode", stage = "decode", occurrence = 1, duration_ns = 1250000,
        sm_percent = 3.5, dram_percent = 61 },
    } }, made:json "results.json".counters)
    assert.matches("### Counters of whole ranges", made:read "report.md", 1, true)
  end)

  it("is shown as a table", function()
    local made = measure()
    local shown = live.llmprof({ "show", made.out, "ranges", "--format=csv" }, {})
    assert.equal([[
range,stage,occurrence,duration_ns,dram_bytes,fp64,fp32,fp16,tensor,sm_percent,dram_percent,intensity,tensor_percent
prefill,prefill,1,250000,4000000,,,,,17.25,42.5,,
decode,decode,1,1250000,,,,,,3.5,61,,]], shown.output)
  end)

  it("takes the range that is asked for, and the repeats that count", function()
    local made = measure "ncu.nvtx_include=app@decode/"
    assert.equal("app@decode/", live.value(made:ncu_profiles()[1], "nvtx-include"))
    made = measure "repeats.skip_first=yes"
    assert.equal("::3|4", live.value(made:ncu_profiles()[1], "range-filter"))
  end)

  it("is tried once", function()
    local made = run({ "ncu.replay_mode=range" }, { STANDIN_NCU = "unmatched" })
    assert.equal(0, made.code)
    assert.equal(1, #made:ncu_profiles())
    assert.equal("not measured: no range was profiled; ncu.nvtx_include names others than the "
      .. "stages, and ncu.replay_mode=app-range also measures those whose CUDA calls cannot be "
      .. "repeated", made:step "counters".note)
  end)
end)


describe("the budget", function()
  after_each(live.clean)

  it("drops what does not fit, and says so", function()
    local made = run { "ncu.budget_s=7" }
    local plan = made:json "ncu/selection.json".counters
    assert.same({ 4, true }, { plan.expected_launches, plan.predicted_s <= 7 })
    local dropped = {}
    for i, entry in ipairs(plan.dropped) do dropped[i] = { entry.kernel, entry.launches } end
    assert.same({ { 2, 4 }, { 5, 4 }, { 3, 2 }, { 7, 2 }, { 4, 2 }, { 8, 2 } }, dropped)
    assert.matches("6 too costly to measure", made:step "select".note, 1, true)
    assert.same(plan.dropped, made:json "results.json".selection.dropped)
    local words = made:ncu_profiles()[1]
    assert.equal("regex:^(_Z2ktILi8EEvPf)$", live.value(words, "kernel-name"))
  end)

  it("may leave nothing to measure", function()
    local made = run { "ncu.budget_s=4" }
    assert.equal(0, made.code)
    assert.same({}, made:ncu_profiles())
    assert.equal("not measured: ncu.budget_s=4 is too little for a single kernel",
      made:step "counters".note)
    made = run { "ncu.budget_s=2" }
    assert.same({}, made:ncu_profiles())
    assert.equal("not measured: the workload would take about 3 s under ncu without a launch "
      .. "measured, and ncu.budget_s is 2", made:step "counters".note)
  end)

  it("ends the workload once all is measured", function()
    local made = run({}, { STANDIN_NCU = "early", STANDIN_WORKLOAD = "hang",
      STANDIN_ONLY = "ncu" })
    assert.equal(0, made.code, made.output)
    assert.is_false(made:left_alive())
    assert.is_true(made:has "ncu/raw.csv")
    assert.is_nil(made:step "counters".notes)
  end)

  it("ends it when it is used up, and keeps what was measured", function()
    local made = run({ "ncu.budget_s=8", "top_n.launches_per_kernel=1" },
      { STANDIN_NCU = "early", STANDIN_TIMES = "1", STANDIN_WORKLOAD = "hang",
        STANDIN_ONLY = "ncu" })
    assert.equal(0, made.code, made.output)
    assert.is_false(made:left_alive())
    assert.is_true(made:has "ncu/raw.csv")
    assert.matches("^ncu was ended after 10 s %(ncu.budget_s=8%); %d of about %d launches were "
      .. "measured$", made:step "counters".notes[1])
  end)
end)


-- ---- what ncu says ----

describe("no kernel in the ranges", function()
  after_each(live.clean)

  it("is tried again without NVTX filter and sections", function()
    local made = run({}, { STANDIN_NCU = "filtered" })
    assert.equal(0, made.code, made.output)
    assert.same({
      expected(made, joined(IN_STAGES, kernel_filters "2"),
        joined({ "--set", "roofline" }, SECTIONS)),
      expected(made, kernel_filters "2", { "--set", "roofline", SECTIONS[11], SECTIONS[12] }),
    }, made:ncu_profiles())
    assert.same({ "no kernel matched the filters: run once more without NVTX filter and sections" },
      made:step "counters".notes)
    assert.is_true(made:has "ncu/raw.csv")
  end)

  it("is tried without the names at last", function()
    local made = run({}, { STANDIN_NCU = "renamed" })
    assert.equal(0, made.code, made.output)
    assert.same(expected(made, { "--filter-mode", "per-launch-config", "--launch-count", "1" },
      { "--set", "roofline", SECTIONS[11], SECTIONS[12] }), made:ncu_profiles()[3])
    assert.equal("no kernel had a name of the timeline's: run once more without the names",
      made:step "counters".notes[2])
    assert.is_true(made:has "ncu/raw.csv")
  end)

  it("is given up after that, with what was tried", function()
    local made = run({}, { STANDIN_NCU = "unmatched" })
    assert.equal(0, made.code)
    assert.equal(3, #made:ncu_profiles())
    assert.equal("not measured: no kernel was profiled, not even without filters: the workload "
      .. "launched none where ncu sees it (ncu.target_processes)", made:step "counters".note)
  end)
end)


describe("without counters", function()
  after_each(live.clean)

  -- The run is done, the reports are there, and say why counters are not.
  local function lost(why, env, settings)
    local made = run(settings, env)
    assert.equal(0, made.code, made.output)
    assert.equal("not measured: " .. why, made:step "counters".note)
    local missing = made:json "results.json".missing
    assert.same({ "counters", why }, { missing[1].what, missing[1].why })
    assert.is_true(made:has "report.md")
    return made
  end

  it("explains a missing permission, and tries once", function()
    local made = lost("this user may not read GPU performance counters; run as root or with "
      .. "CAP_PERFMON, in a container with --cap-add=SYS_ADMIN, or have the driver loaded with "
      .. "NVreg_RestrictProfilingToAdminUsers=0", { STANDIN_NCU = "permission" })
    assert.equal(1, #made:ncu_profiles())
  end)

  it("has the last line of an ncu that says nothing else", function()
    lost("ncu: it ended with exit status 127: ncu: line 3: /opt/gone/ncu: No such file or "
      .. "directory", { STANDIN_NCU = "broken" })
  end)

  it("does not trust the exit status", function()
    lost("ncu made no report", { STANDIN_NCU = "silent" }, { "ncu.set=basic" })
  end)

  it("says that the workload ran too long", function()
    local made = lost("ncu: it ran past its time limit and was ended",
      { STANDIN_WORKLOAD = "hang", STANDIN_ONLY = "ncu", STANDIN_NCU = "silent" },
      { "ncu.timeout_s=3" })
    assert.is_false(made:left_alive())
  end)

  it("ends what makes no progress, though it does not want to end", function()
    local made = lost("ncu and the workload made no progress for 3 s and were ended "
      .. "(workload.stall_s); the last lines are in ncu/log.txt",
      { STANDIN_WORKLOAD = "hang", STANDIN_ONLY = "ncu", STANDIN_NCU = "stuck" },
      { "workload.stall_s=3" }) -- nsys has to make some in that time, on a busy machine too
    assert.is_false(made:left_alive())
    assert.matches("==PROF== Trying to shutdown target application\n", made:read "ncu/log.txt",
      1, true)
  end)

  it("says that ncu cannot read its report", function()
    local made = lost("ncu could not print its report: it ended with exit status 1",
      { STANDIN_IMPORT = "fail" })
    assert.is_false(made:has "ncu/raw.csv")
  end)

  it("names the tool that is missing", function()
    lost("Nsight Compute (ncu) was not found (/none/ncu: not there, or not executable)", {},
      { "tools.ncu=/none/ncu" })
  end)
end)


describe("part of the counters", function()
  after_each(live.clean)

  -- What was measured is kept; the note tells of the rest.
  local function kept(note, env)
    local made = run({}, env)
    assert.equal(0, made.code, made.output)
    assert.same({ note }, made:step "counters".notes)
    assert.is_true(made:has "ncu/raw.csv")
  end

  it("is kept when memory ran out in a replay", function()
    kept("the GPU has too little free memory to save a kernel's data; use "
      .. "ncu.replay_mode=application, or a smaller batch", { STANDIN_NCU = "memory" })
  end)

  it("is kept when the workload failed", function()
    kept("the workload returned 7 under ncu; its output is in ncu/log.txt",
      { STANDIN_NCU = "application" })
  end)

  it("is kept when a kernel could not be measured", function()
    kept('Failed to profile "softmax" in process 4711', { STANDIN_NCU = "failing" })
  end)
end)
