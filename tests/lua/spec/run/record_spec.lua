-- llmprof record: what it keeps of a run, and what it does not tell.
local fs = require "llmprof.fs"
local json = require "llmprof.json"
local live = require "tests.lua.support.live"
local yaml = require "llmprof.yaml"


-- A capture of a run with the stand-in tools: its folder.
local function record(settings, env)
  local made = live.run(settings, env)
  assert.equal(0, made.code, made.output)
  local folder = live.folder() .. "/made/too/capture"
  local recorded = live.llmprof { "record", made.out, folder }
  assert.equal(0, recorded.code, recorded.output)
  return folder
end


local function about(folder)
  return assert(json.load(folder .. "/capture.json"))
end


describe("llmprof record", function()
  after_each(live.clean)

  it("keeps the timeline, counters, operators and the workload's numbers", function()
    local folder = record { "overhead=measure" }
    assert.same({ "after.json", "before.json", "capture.json", "metrics.json", "ncu",
      "operators.json", "run.sqlite" }, fs.list(folder))
    assert.same({ "raw.csv" }, fs.list(folder .. "/ncu"))
  end)

  it("keeps what can be analysed again, to the same figures", function()
    local folder = record {}
    local again = live.run { "capture=recorded", "recorded=" .. folder }
    assert.equal(0, again.code, again.output)
    assert.same({ "recorded", "Nsight Systems 2025.3.1" },
      { again:json "results.json".source.timeline.from,
        again:json "results.json".source.timeline.tool })
  end)

  it("has the commands without where things lie", function()
    local said = about(record { "dataset.subset_filelist=/home/me/data/list.txt" })
    assert.equal("llmprof tests/standin/recipe.lua 'out=<run>' "
      .. "'dataset.subset_filelist=<...>'", said.recorded_by)
    assert.matches("^nsys profile %-%-trace=", said.command)
    assert.matches(" '--output=<run>/nsys/run' tests/standin/workload --device cuda:0 ",
      said.command, 1, true)
    assert.matches(" --subset-filelist '<...>' ", said.command, 1, true)
  end)

  it("keeps the settings, which analysing it again tells from those asked then", function()
    local folder = record { "infer.max_new_tokens=3", "dataset.subset_filelist=/home/me/list.txt" }
    local with = about(folder).captured_with
    assert.same({ 3, "<...>", { "cuda", "nvtx", "osrt" } }, { with.infer.max_new_tokens,
      with.dataset.subset_filelist, with.nsys.trace })
    for _, key in ipairs { "out", "run", "tools", "python" } do assert.is_nil(with[key], key) end
    local again = live.run { "capture=recorded", "recorded=" .. folder, "top_n.kernels=9" }
    local written = yaml.decode(again:read "config.yaml")
    assert.same({ 9, 20, 3 }, { written.top_n.kernels, written.captured_with.top_n.kernels,
      written.captured_with.infer.max_new_tokens })
  end)

  it("shows empty words", function()
    assert.matches(" --subset-filelist '' ", about(record {}).command, 1, true)
  end)

  it("says what the GPU is, not how it was or which one of its kind", function()
    local folder = record({ "capture=nsys" }, { LD_LIBRARY_PATH = live.nvml "full" })
    assert.same({ index = 0, name = "NVIDIA H200", compute_capability = "9.0",
      memory_total_bytes = 150754820096, memory_clock_max_mhz = 3202, sm_clock_max_mhz = 1980,
      power_limit_w = 700.0, mig = false, persistence = true }, about(folder).environment.gpus[1])
    local samples = assert(fs.read(folder .. "/gpu_samples.json"))
    assert.matches('"throttle": [', samples, 1, true)
    assert.not_matches('"throttle": {', samples, 1, true)
  end)

  it("keeps no samples of GPUs that ran none of it", function()
    local made = live.run({ "capture=nsys" }, { LD_LIBRARY_PATH = live.nvml "full" })
    local results, samples = made:json "results.json", made:json "nsys/gpu_samples.json"
    results.environment.devices = { { id = 0, name = "NVIDIA H200", uuid = "GPU-2" } }
    results.environment.gpus = { { index = 0, uuid = "GPU-1" }, { index = 1, uuid = "GPU-2" } }
    samples = { samples[1], json.decode(json.encode(samples[1])) }
    samples[2].index = 1
    assert(fs.write(made.out .. "/results.json", json.encode(results)))
    assert(fs.write(made.out .. "/nsys/gpu_samples.json", json.encode(samples)))
    local folder = live.folder() .. "/made"
    local recorded = live.llmprof { "record", made.out, folder }
    assert.equal(0, recorded.code, recorded.output)
    local kept = assert(json.load(folder .. "/gpu_samples.json"))
    assert.same({ 1, 1 }, { #kept, kept[1].index })
  end)

  it("has of the kernel the version alone", function()
    assert.matches("^Linux [%d.]+$", about(record {}).environment.kernel)
  end)
end)
