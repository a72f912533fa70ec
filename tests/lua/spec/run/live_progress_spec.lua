-- What a live run shows while it goes on. All tools are stand-ins.
local fs = require "llmprof.fs"
local supervise = require "llmprof.run.supervise"
local live = require "tests.lua.support.live"


describe("a live run", function()
  after_each(live.clean)

  it("shows commands and what they print with -v", function()
    local made = live.run { "-v", "operators=off", "counters=off" }
    assert.equal(0, made.code, made.output)
    assert.matches("\n +%$ %S+/nsys profile %-%-trace=cuda,nvtx,osrt ", made.output)
    assert.matches("\n +| workload: started\n", made.output)
    assert.matches("\n +%$ %S+/nsys export ", made.output)
    assert.is_nil(live.run({ "operators=off", "counters=off" }).output:find "workload: started")
  end)

  it("writes all of it to a log, however quiet it is itself", function()
    local log = live.folder() .. "/run.log"
    local made = live.run { "-q", "--log", log, "operators=off", "counters=off" }
    assert.same({ 0, "" }, { made.code, made.output })
    local said = assert(fs.read(log))
    assert.matches("^standin · capture=auto", said)
    assert.matches("\n +| workload: started\n", said)
    assert.matches("\nbundle: ", said)
  end)

  it("says which log cannot be written, before anything runs", function()
    local made = live.run { "--log", "/proc/none/run.log" }
    assert.equal(2, made.code)
    assert.equal("llmprof: --log: /proc/none/run.log: No such file or directory\n"
      .. "  name a file that can be written", made.output)
    assert.same({}, made:calls "workload")
    assert.is_false(made:has "manifest.json")
  end)

  it("shows how the GPUs are doing with --watch-gpu", function()
    local made = live.run({ "--watch-gpu", "capture=nsys", "operators=off", "counters=off" },
      { LD_LIBRARY_PATH = live.nvml "full" })
    assert.equal(0, made.code, made.output)
    assert.matches("\n  timeline .-\n +GPU 0: 97 %% busy, 1.1 GB of 151 GB, 77 W, SM 345 MHz, "
      .. "memory 3201 MHz\n +GPU 2: ", made.output)
  end)

  it("says why there is no GPU to watch", function()
    local made = live.run({ "--watch-gpu", "operators=off", "counters=off" },
      { LD_LIBRARY_PATH = live.nvml "empty" })
    assert.equal(0, made.code, made.output)
    assert.matches("\n +no GPU to watch: ", made.output)
  end)
end)


describe("gpu_watch", function()
  it("describes samples by GPU: means, of memory the most", function()
    assert.same({
      "GPU 0: 50 % busy, 3.2 GB of 9 GB, 200 W",
      "GPU 1: NVML tells nothing",
    }, supervise.describe_gpus {
      { index = 0, utilization_percent = 0, memory_used_bytes = 3 << 30, power_w = 100.0,
        memory_total_bytes = 8 << 30 },
      { index = 1 },
      { index = 0, utilization_percent = 100, memory_used_bytes = 1 << 30, power_w = 300.0 },
    })
  end)

  it("has nothing to say without a sample", function()
    assert.same({}, supervise.describe_gpus {})
  end)
end)
