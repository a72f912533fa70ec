local support = require "tests.lua.support.advice"


describe("advice launch_bound", function()
  local function said(given) return support.said("launch_bound", support.results(given)) end

  it("finds a stage whose GPU waits, from what the profile saw", function()
    assert.equal([[
decode is CPU-bound (decode, confidence high)
- it takes 100.00 ms, of which the GPU works 20.00 ms (timeline)
- while the GPU was idle the CPU spent 30.00 ms in launching calls and 44.00 ms outside CUDA (timeline)
- 1,000 launches, 9.00 ms in launching calls (timeline)
- 100 kernels per step (timeline)
try: less work of the interpreter per launch: torch.compile or fused modules leave fewer operators to call; no Python loops over tokens, experts or heads
change: scale(cpu "decode", 0)
if the CPU takes no time at all; the GPU's own work stays as it is
]], said { stages = { support.slow_decode() } })
  end)

  it("takes the gain from plain runs where there are any", function()
    assert.equal([[
decode is CPU-bound (decode, confidence high)
- it takes 70.00 ms, of which the GPU works 20.00 ms (plain runs)
- under the profiler, while the GPU was idle the CPU spent 30.00 ms in launching calls and 44.00 ms outside CUDA (timeline)
- under the profiler, 1,000 launches, 9.00 ms in launching calls (timeline)
- 100 kernels per step (timeline)
try: less work of the interpreter per launch: torch.compile or fused modules leave fewer operators to call; no Python loops over tokens, experts or heads
change: scale(cpu "decode", 0)
if the CPU takes no time at all; the GPU's own work stays as it is
]], said { stages = { support.slow_decode() },
      overhead = { runs = 2, stages = { { name = "decode", plain_ms = 70, profiled_ms = 100,
        inflation = 0.4286 } } } })
  end)

  it("sees launches that return when their kernel has ended", function()
    local function title(ns, queued)
      local stage = support.slow_decode { launch_delay = { queued_share = queued } }
      stage.api.launch.ns = ns
      return said { stages = { stage } }:match "^[^(]*"
    end
    local expected = "calls that launch kernels of decode return when these have ended "
    assert.equal(expected, title(25e6, 0))
    assert.not_equal(expected, title(24e6, 0))
    assert.not_equal(expected, title(25e6, 0.5))
  end)

  it("says that an engine's scheduler is not in the trace", function()
    local text = said { stages = { support.slow_decode() },
      engine = { name = "vllm", title = "vLLM" },
      ranks = { source = "labels", ranks = { { rank = 0 }, { rank = 1 } } } }
    assert.matches("confidence medium", text, 1, true)
    assert.matches("how much of that is waiting for it is not known", text, 1, true)
    assert.not_matches("change:", text, 1, true)
  end)

  it("says how much of the GPU's work are collectives where they are much", function()
    local function text(ns)
      return said { stages = { support.slow_decode { categories = {
        { category = "communication", gpu_time_ns = ns } } } } }
    end
    assert.matches("- 4.00 ms of the GPU's work are collectives, in which it waits for the CPUs of "
      .. "other ranks, too", text(4e6), 1, true)
    assert.not_matches("collectives", text(3.9e6), 1, true)
  end)

  it("is silent when the plain run does not wait", function()
    assert.equal("", said { stages = { support.slow_decode() },
      overhead = { runs = 2, stages = { { name = "decode", plain_ms = 25, profiled_ms = 100,
        inflation = 3 } } } })
  end)

  -- The first line of what is said about a stage with these fields.
  local function title(given)
    return said({ stages = { support.slow_decode(given) } }):match "^[^\n]*"
  end

  it("calls a stage that works more than it waits by its idle time", function()
    assert.equal("decode leaves the GPU idle for 40 % of its time (decode, confidence high)",
      title { gpu_busy_ns = 60e6, gpu_idle_ns = 40e6 })
  end)

  it("says something else to who replays graphs already", function()
    local text = said { stages = { support.slow_decode { launches = 10 } } }
    assert.equal("decode leaves the GPU idle for 80 % of its time between its CUDA graphs "
      .. "(decode, confidence high)", text:match "^[^\n]*")
    assert.equal("try: capture more in one graph, and shorten what the CPU does between replays",
      text:match "\n(try[^\n]*)")
  end)

  it("names what the engine at hand can be set to, by what is on already", function()
    local function try_of(name, launches)
      return said({ stages = { support.slow_decode { launches = launches } },
        engine = { name = name, title = "Engine" } }):match "\n(try[^\n;]*)"
    end
    assert.equal("try: CUDA graphs, which --enforce-eager turns off, of the batches that are "
      .. "served (cudagraph_capture_sizes in --compilation-config)", try_of("vllm", 1000))
    assert.equal("try: asynchronous scheduling (--async-scheduling", try_of("vllm", 10))
    assert.match("%-%-disable%-cuda%-graph", try_of("sglang", 1000))
    assert.match("overlap scheduler", try_of("trtllm", 10))
    assert.equal("try: CUDA graphs of the batches that are served, by the settings of Engine",
      try_of("other", 1000))
  end)

  it("is silent about the whole run of a server, which holds its start, too", function()
    assert.same({ "the whole run of a server holds its start, too, and times without a request" },
      support.reasons("launch_bound", support.results { stages = { support.slow_decode() },
        engine = { name = "vllm", title = "vLLM" },
        repeats = { whole_run = true, count = 1, used = 1 } }))
  end)

  it("is silent about a busy GPU", function()
    assert.equal("", said { stages = { support.decode() } })
  end)
end)
