-- What is told from a timeline besides stages and kernels.
local breakdown = require "llmprof.analysis.stages.breakdown"
local integrity = require "llmprof.analysis.timeline.integrity"
local kernels = require "llmprof.analysis.kernels.table"
local lists = require "llmprof.tables.lists"
local overhead = require "llmprof.analysis.latency.overhead"
local stages = require "llmprof.analysis.stages.find"
local timeline = require "tests.lua.support.timeline"
local traces = require "tests.lua.support.traces"
local transfers = require "llmprof.analysis.timeline.transfers"
local waiting = require "llmprof.analysis.stages.idle_causes"

describe("llmprof.analysis.stages.idle_causes", function()
  it("classes API calls by name", function()
    for name, class in pairs { cudaLaunchKernel_v7000 = "launch", cuLaunchKernelEx = "launch",
      cudaGraphLaunch_v10000 = "launch", cudaMemcpyAsync_v3020 = "launch", cuMemsetD8 = "launch",
      cudaMemsetAsync = "launch", cudaStreamSynchronize = "sync", cudaEventQuery = "other",
      cudaMalloc = "memory", cudaFreeAsync = "memory", cuMemAllocHost = "memory",
      cudaGetDevice = "other" } do
      assert.equal(class, waiting.class_of(name), name)
    end
  end)

  it("splits idle time by what the CPU did", function()
    local trace, found = traces.open "small"
    local split = waiting.classifier(trace, found)
    assert.same({ launch = 70, sync = 0, memory = 0, other = 0, host = 640 },
      split(found.instances[4]))
    assert.same({ launch = 60, sync = 300, memory = 100, other = 50, host = 1440 },
      split(found.instances[6]))
  end)

  it("adds up the driver's time, GPU idle or not", function()
    local trace, found = traces.open "small"
    assert.same({ launch = { calls = 3, ns = 60 }, sync = { calls = 1, ns = 300 },
      memory = { calls = 1, ns = 100 }, other = { calls = 1, ns = 50 } },
      waiting.api_time(trace)({ found.instances[6] }))
  end)
end)


describe("llmprof.analysis.stages.breakdown", function()
  local function add(...)
    local trace, found = traces.open("small", ...)
    local list = {}
    for i, stage in ipairs(found.declared) do list[i] = { name = stage.name } end
    local all = kernels.list(trace, found)
    breakdown.categorize(all)
    breakdown.add(list, trace, found, all)
    return list
  end

  it("gives means per instance of the stage", function()
    assert.same({
      name = "decode",
      categories = { { category = "gemm", gpu_time_ns = 100, calls = 1, share = 100 / 180 },
        { category = "elementwise", gpu_time_ns = 50, calls = 1, share = 50 / 180 },
        { category = "memory", gpu_time_ns = 30, calls = 1, share = 30 / 180 } },
      between_steps = { count = 2, between_ns = 50, idle_ns = 50, launch_ns = 0, sync_ns = 0,
        memory_ns = 0, other_ns = 0, host_ns = 50 },
      waiting = { launch_ns = 60, sync_ns = 300, memory_ns = 100, other_ns = 50, host_ns = 1440 },
      host_copies_alone_ns = 30,
      api = { launch = { calls = 3, ns = 60 }, sync = { calls = 1, ns = 300 },
        memory = { calls = 1, ns = 100 }, other = { calls = 1, ns = 50 } },
      waits = { { before = "elementwise", after = "copy", calls = 1, ns = 300 } },
      launch_delay = { queued_share = 1, median_ns = 30 },
    }, add()[3])
  end)

  it("counts a part's kernels for the part as well", function()
    local vision = add()[2]
    assert.same({ { category = "gemm", gpu_time_ns = 210, calls = 1, share = 1 } },
      vision.categories)
    assert.is_nil(vision.launch_delay)
  end)

  it("leaves a stage without used instances alone", function()
    local trace, found = traces.open "small"
    local list = { { name = "none" } }
    breakdown.add(list, trace, found, {})
    assert.same({ { name = "none" } }, list)
  end)

  it("covers the whole run", function()
    local whole = add({})[1]
    assert.same({ { category = "gemm", gpu_time_ns = 1520, calls = 6, share = 1520 / 1960 },
      { category = "elementwise", gpu_time_ns = 300, calls = 5, share = 300 / 1960 },
      { category = "memory", gpu_time_ns = 140, calls = 4, share = 140 / 1960 } },
      whole.categories)
    assert.is_nil(whole.launch_delay)
  end)
end)


describe("llmprof.analysis.timeline.transfers", function()
  it("sums copies by stage, direction and host memory", function()
    assert.same({
      { stage = "prefill", direction = "host to device", pageable = true, calls = 2, bytes = 2048,
        gpu_time_ns = 80 },
      { stage = "decode", direction = "device to host", pageable = false, calls = 2, bytes = 128,
        gpu_time_ns = 60 },
    }, transfers.list(traces.open "small"))
  end)

  it("takes all where no stage is there", function()
    assert.same({ { stage = "whole run", calls = 2 }, { stage = "whole run", calls = 2 } },
      traces.pick(transfers.list(traces.open("small", {})), "stage", "calls"))
  end)

  it("is empty without copies", function()
    assert.same({}, transfers.list(traces.open "broken"))
  end)
end)


describe("llmprof.analysis.timeline.integrity", function()
  local function judge(name, more)
    local given = { trace = traces.open(name) }
    for key, value in pairs(more or {}) do given[key] = value end
    return integrity.judge(given)
  end

  -- The check of a name, or nil.
  local function check(name, ...)
    for _, result in ipairs(judge(...).checks) do
      if result.name == name then return result end
    end
    return nil
  end

  it("finds nothing wrong with a good capture", function()
    local function ok(name, text) return { name = name, level = "ok", text = text } end
    assert.same({ verdict = "good", checks = {
      ok("launches", "11 kernel launches, 0 without a kernel"),
      ok("orphans", "0 of 15 GPU operations have no API call"),
      ok("diagnostics", "nsys reported no lost records and no errors"),
      ok("ranges", "0 of 13 NVTX ranges were still open at the end"),
      ok("order", "0 of 15 GPU operations begin before their launch"),
      ok("rows", "no row is there twice"),
      ok("streams", "streams run one operation after the other") } }, judge "small")
  end)

  it("says that nothing of a GPU was recorded", function()
    local made = integrity.judge { trace = timeline.of [[
knows calls
call 10 12 id=1 cudaLaunchKernel
call 20 22 id=2 cudaLaunchKernel
]] }
    assert.equal("poor", made.verdict)
    assert.equal("GPU activity was not recorded: 2 kernel launches, and no operation of a GPU",
      made.checks[1].text)
    assert.match("torch.profiler", made.checks[1].fix)
  end)

  it("says that a graph was captured and never replayed", function()
    local made = integrity.judge { trace = timeline.of [[
knows calls
call 10 12 id=1 pid=1 thread=2 hipStreamBeginCapture
call 20 22 id=2 pid=1 thread=2 hipLaunchKernel
call 30 32 id=3 pid=1 thread=2 hipLaunchKernel
call 40 42 id=4 pid=1 thread=2 hipLaunchKernel
call 50 52 id=5 pid=1 thread=2 hipStreamEndCapture
call 60 62 id=6 pid=1 thread=2 hipLaunchKernel
kernel 70 80 call=6 a
]] }
    assert.equal("poor", made.verdict)
    assert.equal("a graph is captured here and never replayed: 3 launches record it, and 1 "
      .. "kernels ran", made.checks[1].text)
  end)

  it("says that stages were inferred from one of several ranks that do not meet", function()
    local function inferred(more)
      local made = integrity.judge { found = { inferred = {}, instances = {} },
        trace = timeline.of("knows allocations\nkernel 10 20 pid=1 device=0 a\n"
          .. "kernel 15 25 pid=2 device=1 a\n" .. more) }
      for _, one in ipairs(made.checks) do
        if one.name == "inferred" then return one.level .. ": " .. one.text end
      end
    end
    assert.equal("warning: no range marks the stages: they are inferred from one of 2 ranks, and "
      .. "include what the other ranks ran meanwhile", inferred "")
    assert.is_nil(inferred "kernel 30 40 pid=1 device=0 ncclDevKernel_AllReduce_Sum_f32_RING_LL\n")
  end)

  it("tells what ran when the capture began from what was lost", function()
    local function orphans(rows)
      for _, one in ipairs(integrity.judge { trace = timeline.of([[
knows calls
call 100 102 id=1 cudaLaunchKernel
]] .. rows) }.checks) do
        if one.name == "orphans" then return one.level .. ": " .. one.text end
      end
    end
    assert.equal("warning: 1 of 2 GPU operations were launched before the capture began",
      orphans "kernel 10 120 call=7 a\nkernel 110 130 call=1 b\n")
    assert.equal("problem: 1 of 2 GPU operations have no API call",
      orphans "kernel 110 130 call=1 b\nkernel 140 150 call=7 a\n")
  end)

  it("finds everything wrong with a broken one", function()
    local result = judge "broken"
    assert.equal("poor", result.verdict)
    assert.same({
      { name = "graphs", level = "problem", text = "1 graph launches, 0 graph rows, 0 kernels "
        .. "from graphs: what ran in the graphs is invisible", fix = "nsys.cuda_graph_trace=node" },
      { name = "launches", level = "problem", text = "5 kernel launches, 2 without a kernel",
        fix = "let the workload synchronise before it exits; capture a shorter range" },
      { name = "orphans", level = "problem", text = "1 of 4 GPU operations have no API call",
        fix = "begin the capture before the work is launched, and record all API calls "
          .. "(nsys.trace=[cuda,nvtx])" },
      { name = "processes", level = "warning",
        text = "1 of 2 processes that used CUDA have no GPU work: 20",
        fix = "nsys.trace_fork_before_exec=true, or start workers with spawn instead of fork" },
      { name = "diagnostics", level = "warning", text = "timeline reported: Some events were lost",
        fix = "capture a shorter range; nsys/log.txt of the run that captured has the rest" },
      { name = "ranges", level = "warning",
        text = "1 of 1 NVTX ranges were still open at the end",
        fix = "end the capture after the ranges (nsys.capture_range_end=stop)" },
      { name = "order", level = "ok", text = "0 of 4 GPU operations begin before their launch" },
      { name = "rows", level = "ok", text = "no row is there twice" },
      { name = "streams", level = "ok", text = "streams run one operation after the other" },
    }, result.checks)
  end)

  it("warns of time outside the stages", function()
    assert.same({ name = "coverage", level = "ok",
      text = "50 % of the GPU time lies inside a stage" },
      check("coverage", "small", { stage_share = 0.5 }))
    assert.same({ name = "coverage", level = "warning",
      text = "4.0 % of the GPU time lies inside a stage",
      fix = "mark the rest with NVTX ranges, or name it in the recipe's stages" },
      check("coverage", "small", { stage_share = 0.04 }))
  end)

  it("warns of clocks that were held down", function()
    local samples = { { throttle = { "gpu_idle" } }, { throttle = { "sw_power_cap" } }, {}, {} }
    assert.same({ name = "clocks", level = "warning",
      text = "clocks were held down in 25 % of 4 samples (sw_power_cap)",
      fix = "let the GPU cool, or raise its power limit; compare runs at the same clocks only" },
      check("clocks", "small", { samples = samples }))
    assert.same({ name = "clocks", level = "ok",
      text = "clocks were held down in none of 1 samples" },
      check("clocks", "small", { samples = { { throttle = { "gpu_idle" } } } }))
  end)

  it("names no option of nsys where another recorded the timeline", function()
    local result = judge("broken", { recorder = { name = "torch.profiler" } })
    assert.equal("poor", result.verdict)
    for _, one in ipairs(result.checks) do
      assert.falsy((one.fix or ""):find("nsys", 1, true), one.fix)
      if one.name == "diagnostics" then assert.equal("Some events were lost", one.text) end
    end
  end)

  it("passes on what nsys complained of", function()
    local result = judge("small", { complaints = { { message = "its buffer is full" } } })
    assert.equal("fair", result.verdict)
    assert.equal("nsys reported: its buffer is full", result.checks[3].text)
  end)

  -- The checks of a timeline that knows these facts, by name and level.
  local function of_facts(facts, lines)
    local result = integrity.judge { trace = timeline.of("knows " .. facts .. "\n" .. lines) }
    local said = {}
    for i, one in ipairs(result.checks) do said[i] = one.name .. " " .. one.level end
    return table.concat(said, ", ")
  end

  it("asks what a trace can know, not who recorded it", function()
    local lost = "call 0 5 id=1 cudaLaunchKernel\nkernel 10 20 call=2 k\n"
    local whole = "order ok, rows ok, streams ok"
    assert.equal("launches problem, orphans problem, " .. whole, of_facts("calls", lost))
    assert.equal("launches problem, orphans problem, diagnostics ok, " .. whole,
      of_facts("calls diagnostics", lost))
    assert.equal("rows ok, streams ok", of_facts("allocations", lost))
    local graph = "call 0 5 id=1 cudaGraphLaunch\ngraph 10 20 call=1\n"
    assert.equal("graphs warning, orphans ok, " .. whole, of_facts("calls graph_nodes", graph))
    assert.equal("graphs warning, orphans ok, " .. whole, of_facts("calls", graph))
  end)

  it("takes a kernel that ran far too long for as much as it weighs", function()
    local lines = {}
    for i = 1, 300 do lines[i] = ("kernel %d %d k\n"):format(i * 1000000, i * 1000000 + 200000) end
    local function streams(ns)
      local trace = timeline.of("knows allocations\n" .. table.concat(lines)
        .. ("kernel 400000000 %d k\n"):format(400000000 + ns))
      return integrity.judge({ trace = trace }).checks[2]
    end
    assert.same({ name = "streams", level = "warning",
      text = "a kernel takes 2.50 ms, more than 10 times as long as any other launch of it",
      fix = "see whether another program had a share of this GPU meanwhile, and measure without "
        .. "it; else copy or export the capture again" }, streams(2500000))
    assert.equal("problem", streams(3200000).level)
    assert.equal("ok", streams(1900000).level)
  end)

  it("counts kernels without a time, and those that cannot run as they are said to", function()
    local function said(name, lines)
      local result = integrity.judge { trace = timeline.of("knows allocations\n" .. lines) }
      for _, one in ipairs(result.checks) do
        if one.name == name then return result.verdict, one.text end
      end
      return result.verdict
    end
    assert.same({ "poor", "of 3 GPU operations 1 take 0 ns and 1 have no time, which no figure of "
      .. "time holds" }, { said("times", "kernel 0 0 a\nkernel 10 10 a\nkernel 20 30 a\n") })
    assert.equal("good", said("times", "kernel 20 30 a\n"))
    assert.same({ "poor", "1 of 2 kernels run inside another one of their stream" },
      { said("streams", "kernel 10 50 a\nkernel 20 30 b\n") })
    assert.equal("good", said("streams", "kernel 10 50 a\nkernel 45 60 b\n")) -- launched early
    assert.equal("good", said("streams", "kernel 10 50 a\nkernel 20 30 stream=8 b\n"))
    local copied = { "copy 5 95 bytes=8 direction=h2d" }
    for i = 1, 8 do copied[i + 1] = ("kernel %d0 %d9 a"):format(i, i) end
    assert.same({ "poor", "an operation of 90 ns runs on while 8 others of its stream begin" },
      { said("streams", table.concat(copied, "\n") .. "\n") })
  end)

  it("doubts marked ranges that overlap in part on their thread", function()
    local function said(lines)
      local trace = timeline.of("knows calls\n" .. lines .. [[
call 12000 12010 id=1 cudaLaunchKernel
kernel 12020 14000 call=1 k
]])
      local found = stages.find(trace, { { name = "prefill" }, { name = "decode", step = "step" } },
        "auto")
      for _, one in ipairs(integrity.judge({ trace = trace, found = found }).checks) do
        if one.name == "nesting" then return one.level, one.text end
      end
    end
    local level, text = said "range 10000 20000 prefill\nrange 15000 40000 decode\n"
    assert.same({ "problem", "1 of 2 ranges of stages and steps begin in another one of their "
      .. "thread and end after it: the time in both may count twice" }, { level, text })
    assert.equal("problem", (said "range 10000 20000 decode\nrange 15000 40000 step\n"))
    assert.is_nil(said "range 10000 20000 prefill\nrange 20000 40000 decode\n")
    assert.is_nil(said "range 10000 20000 decode\nrange 19500 20400 step\n") -- times in us
    assert.is_nil(said "range 10000 20000 prefill\nrange 15000 40000 other\n")
  end)

  it("is not good beside a stage that the profiler slowed down", function()
    local function judged(inflation, certain)
      return integrity.judge { trace = traces.open("small"), overhead = { runs = 1,
        stages = { { name = "decode", inflation = inflation, certain = certain } } } }.verdict
    end
    assert.same({ "fair", "good", "good" }, { judged(0.92), judged(0.92, false), judged(0.19) })
    assert.equal("decode is 92 % slower under the profiler than without it, prefill 45 %",
      lists.find(integrity.judge { trace = traces.open("small"), overhead = { runs = 1, stages = {
        { name = "prefill", inflation = 0.45 }, { name = "decode", inflation = 0.92 },
        { name = "mixed", inflation = 0.1 } } } }.checks, "name", "inflation").text)
  end)

  it("sees graphs by their nodes, or as one", function()
    local function graphs(name)
      local trace = require("llmprof.trace.file").open(("tests/fixtures/graphs/%s.sqlite")
        :format(name))
      return integrity.judge({ trace = trace }).checks[1]
    end
    assert.same({ name = "graphs", level = "ok",
      text = "10 graph launches, 0 graph rows, 60 kernels from graphs" }, graphs "node")
    assert.same({ name = "graphs", level = "warning", text = "10 graph launches, 10 graph rows, "
      .. "0 kernels from graphs: kernels inside graphs are not seen one by one",
      fix = "nsys.cuda_graph_trace=node" }, graphs "graph")
  end)
end)


describe("llmprof.analysis.latency.overhead", function()
  local function metrics(...)
    local list = {}
    for i, ms in ipairs { ... } do list[i] = { stages = { decode = { ms = ms } } } end
    return { repeats = list }
  end

  local function none() return false end

  it("compares the profiled run with plain ones", function()
    assert.same({ runs = 2, stages = { { name = "decode", plain_ms = 10, plain_min_ms = 8,
      plain_max_ms = 12, profiled_ms = 15, inflation = 0.5, certain = true } } },
      overhead.compare(metrics(14, 16), { metrics(8), metrics(12) }, none))
  end)

  it("says whether the plain runs differ by less", function()
    local function certain(profiled, ...)
      local plain = {}
      for i, ms in ipairs { ... } do plain[i] = metrics(ms) end
      return overhead.compare(metrics(profiled), plain, none).stages[1].certain
    end
    assert.same({ false, true, false, true }, { certain(14, 8, 12), certain(14.1, 8, 12),
      certain(6, 8, 12), certain(5.9, 8, 12) })
    assert.is_nil(certain(14, 8))
  end)

  it("leaves the first repeat out where the timeline does", function()
    local result = overhead.compare(metrics(90, 15), { metrics(50, 10) },
      function(rep, stage) return rep == 1 and stage == "decode" end)
    assert.same({ 15, 10 }, { result.stages[1].profiled_ms, result.stages[1].plain_ms })
  end)

  it("keeps what the same process ran before the first of the timeline", function()
    local profiled, plain = metrics(90, 15), metrics(10)
    profiled.repeats[1].index, profiled.repeats[2].index, plain.repeats[1].index = 3, 4, 2
    local result = overhead.compare(profiled, { plain }, function(rep) return rep == 1 end)
    assert.same({ 15, 10 }, { result.stages[1].profiled_ms, result.stages[1].plain_ms })
  end)

  it("is absent without a stage that both have", function()
    assert.is_nil(overhead.compare(metrics(1), {}, none))
    assert.is_nil(overhead.compare(metrics(1),
      { { repeats = { { stages = { sam = { ms = 1 } } } } } }, none))
    assert.is_nil(overhead.compare(metrics(1), { metrics(0) }, none))
  end)
end)
