-- A live run as a whole: exit statuses, what the workload does to it, overhead,
-- interruption, continuing. All tools are stand-ins.
local config = require "llmprof.recipe.config"
local fs = require "llmprof.fs"
local document = require "llmprof.io.document"
local live = require "tests.lua.support.live"
local nsys = require "llmprof.nvidia.nsys"
local recipe = require "llmprof.recipe"
local tools = require "llmprof.nvidia.tools"
local yaml = require "llmprof.yaml"


describe("a live run", function()
  after_each(live.clean)

  it("writes the bundle and exits with 0", function()
    local made = live.run { "device=cuda:0" }
    assert.equal(0, made.code, made.output)
    local manifest, names = made:manifest(), {}
    for i, step in ipairs(manifest.steps) do
      names[i] = step.name
      assert.equal("done", step.status)
    end
    assert.same({ "plan", "tools", "timeline", "ranks", "export", "select", "counters", "operators",
      "analyse", "render" }, names)
    assert.equal("done", manifest.status)
    for _, name in ipairs { "config.yaml", "env.json", "inputs.yaml", "results.json", "report.md",
      "kernels.md", "operators.md", "stakeholder_summary.md", "nsys/run.nsys-rep",
      "nsys/run.sqlite", "nsys/summary_cuda_gpu_kern_sum.csv", "ncu/selection.json",
      "workload/metrics.json", "workload/operators.json" } do
      assert.is_true(made:has(name), name)
    end
    local source = made:json "results.json".source
    assert.same({ "live", "Nsight Systems 2025.3.1" }, { source.timeline.from,
      source.timeline.tool })
    assert.matches("^%S+/nsys profile ", source.timeline.command)
    assert.same({ source = "workload", files = { { name = "page.png", bytes = 4,
      sha256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08" } } },
      yaml.decode(made:read "inputs.yaml"))
    local captured = made:json "env.json".captured_on
    assert.same({ "2025.3.1", "2025.3.1" }, { captured.nsys, captured.ncu })
  end)

  it("keeps to the schemas", function()
    local made = live.run { "overhead=measure" }
    for name, file in pairs { results = "results.json", metrics = "workload/metrics.json",
      operators = "workload/operators.json", env = "env.json", manifest = "manifest.json",
      selection = "ncu/selection.json", ranks = "ranks/ranks.json" } do
      assert.is_nil(document.check(name, made:json(file)))
    end
  end)

  it("lists every output once", function()
    local made, seen = live.run(), {}
    local AGAIN = { ["inputs.yaml"] = true, ["env.json"] = true }
    for _, step in ipairs(made:manifest().steps) do
      for _, output in ipairs(step.outputs) do
        -- written again with what the workload says
        local again = AGAIN[output.file] and step.name == "timeline"
        assert.is_true(again or not seen[output.file], output.file)
        seen[output.file] = true
      end
    end
  end)

  it("runs the workload once under each tool and once by itself", function()
    local made = live.run()
    local ways = {}
    for i, words in ipairs(made:calls "workload") do ways[i] = words[2] .. " " .. words[3] end
    assert.same({ "under=nsys operators=", "under=ncu operators=", "under=plain operators=1" },
      ways)
  end)

  it("watches the GPUs meanwhile", function()
    local made = live.run({ "capture=nsys", "counters=off", "operators=off" },
      { LD_LIBRARY_PATH = live.nvml "full" })
    assert.equal(0, made.code, made.output)
    local sample = made:json "nsys/gpu_samples.json"[1]
    assert.same({ 0, 345, 76.543 }, { sample.index, sample.sm_clock_mhz, sample.power_w })
    assert.equal("NVIDIA H200", made:json "env.json".captured_on.gpus[1].name)
  end)

  it("exits with 2 for a key that is unknown", function()
    local made = live.run { "nsys.tracing=[cuda]" }
    assert.equal(2, made.code)
    assert.same({}, made:calls "nsys")
  end)

  it("exits with 3 without nsys, and says what still works", function()
    local made = live.run { "tools.nsys=/none/nsys" }
    assert.equal(3, made.code)
    assert.matches("llmprof: Nsight Systems (nsys) was not found "
      .. "(/none/nsys: not there, or not executable)\n"
      .. "  install nsight-systems, or name it with tools.nsys=PATH; without it, llmprof's own "
      .. "collector records where `llmprof doctor` finds that, and capture=recorded analyses a "
      .. "recorded capture",
      made.output, 1, true)
    assert.equal("failed", made:manifest().status)
    assert.same({}, made:calls "workload")
    assert.is_truthy(made:json "env.json".captured_on)
    assert.same({ name = "stand-in", dtype = "fp32" }, made:json "env.json".model)
    assert.same({ source = "workload", files = {} }, yaml.decode(made:read "inputs.yaml"))
  end)

  it("says which model it is of, as the workload tells", function()
    local made = live.run { "counters=off", "operators=off" }
    local said = { name = "stand-in", dtype = "fp32", weights = "random" }
    assert.same(said, made:manifest().model)
    assert.same(said, made:json "env.json".model)
    assert.matches("# stand-in (random weights) on ", made:read "stakeholder_summary.md", 1, true)
    assert.matches("\nModel: stand-in, fp32, random weights. Not known: parameters.\n",
      made:read "report.md", 1, true)
  end)

  it("exits with 3 when nsys lacks a library", function()
    local made = live.run({ "tools.nsys=" .. live.BROKEN_NSYS }, { PATH = live.BROKEN_PATH })
    assert.equal(3, made.code)
    assert.matches("nsys 2025.3.1 cannot import its own captures: it lacks libdw.so.1",
      made:manifest().message, 1, true)
    assert.same({}, made:calls "workload")
  end)

  describe("without a timeline", function()
    -- ncu ran and its kernels are in the reports; nsys did not.
    local function counts_alone(made, why)
      assert.same({ "skipped", why }, { made:step "timeline".status, made:step "timeline".message })
      for _, name in ipairs { "export", "select" } do
        assert.same({ "skipped", "needs the step 'timeline', which was left out" },
          { made:step(name).status, made:step(name).message })
      end
      assert.equal("3 launches of 1 kernel, without a timeline", made:step "counters".note)
      assert.same({}, made:calls "nsys")
      local page = made:read "kernels.md"
      assert.matches("Without a timeline these are the launches that ncu measured", page, 1, true)
      assert.matches("gemv[^|]+| 0 +| +0.101 | +3 | +0.0335 | +100.0 |", page)
      local results = made:json "results.json"
      assert.is_nil(document.check("results", results))
      assert.is_nil(results.counters.coverage)
      assert.same({ "gemv", 3, 100608 }, { results.kernels[1].short_name,
        results.kernels[1].calls, results.kernels[1].total_ns })
      assert.same({ "the timeline", why }, { results.missing[1].what, results.missing[1].why })
    end

    it("has ncu measure alone when that is asked for", function()
      for _, word in ipairs { "timeline=off", "nsys=off" } do
        local made = live.run { word }
        assert.equal(0, made.code, made.output)
        counts_alone(made, "timeline=off")
        assert.equal("timeline=on captures one", made:step "timeline".hint)
        -- the workload says under ncu what it is, and what it ran on
        assert.equal("random", made:manifest().model.weights)
        assert.equal("random", made:json "results.json".model.weights)
        assert.equal("page.png", yaml.decode(made:read "inputs.yaml").files[1].name)
      end
    end)

    it("does so when nsys is missing", function()
      if tools.find(nsys) then return pending "a real nsys is installed here" end
      local folder = live.folder()
      assert(fs.symlink(fs.realpath "tests/standin/ncu", folder .. "/ncu"))
      local path = { PATH = folder .. ":" .. os.getenv "PATH" }
      local made = live.run({}, path)
      assert.equal(0, made.code, made.output)
      counts_alone(made, "Nsight Systems (nsys) was not found")
      -- it was asked for by name, or nothing is left to take its place
      assert.equal(3, live.run({ "capture=nsys" }, path).code)
      assert.equal(3, live.run({ "counters=off" }, path).code)
    end)

    it("needs ncu", function()
      local made = live.run { "timeline=off", "tools.ncu=/none/ncu" }
      assert.equal(3, made.code)
      assert.matches("Nsight Compute (ncu) was not found", made.output, 1, true)
    end)

    it("measures its kernels after nsys has failed", function()
      local made = live.run({}, { STANDIN_NSYS = "none" })
      assert.equal(1, made.code)
      assert.same({ "failed", "nsys made no report" }, { made:step "timeline".status,
        made:step "timeline".message })
      assert.matches("gemv", made:read "kernels.md", 1, true)
    end)

    it("is refused when nothing would be left", function()
      local made = live.run { "timeline=off", "counters=off", "operators=off" }
      assert.equal(2, made.code)
      assert.same({}, made:calls "workload")
    end)

    it("is continued without measuring again", function()
      local made = live.run { "timeline=off" }
      local again = live.llmprof { "tests/standin/recipe.lua", "out=" .. made.out, "timeline=off",
        "--resume", made.out }
      assert.equal(0, again.code, again.output)
      assert.same({}, again:calls "ncu")
      assert.matches("gemv", made:read "kernels.md", 1, true)
    end)
  end)

  it("goes on without ncu", function()
    local made = live.run { "tools.ncu=/none/ncu" }
    assert.equal(0, made.code, made.output)
    assert.equal("nsys 2025.3.1, no ncu: counters will be left out", made:step "tools".note)
  end)
end)


describe("a workload", function()
  after_each(live.clean)

  local QUICK = { "counters=off", "operators=off" }

  local function without_numbers(why, env)
    local made = live.run(QUICK, env)
    assert.equal(0, made.code, made.output)
    local missing = made:json "results.json".missing[1]
    assert.equal("the workload's own numbers", missing.what)
    assert.matches(why, missing.why, 1, true)
  end

  it("may write no numbers", function()
    without_numbers("it wrote no metrics.json", { STANDIN_WORKLOAD = "mute" })
  end)

  it("may write broken JSON", function()
    without_numbers("metrics.json:2:1: ", { STANDIN_WORKLOAD = "broken" })
  end)

  it("may run in a folder of its own", function()
    local folder, root = live.folder(), live.folder()
    local relative = fs.realpath(root):gsub("^/", ("../"):rep(select(2, fs.cwd():gsub("/", ""))))
    local made = live.llmprof { "tests/standin/recipe.lua", "out=" .. relative .. "/out",
      "tools.nsys=tests/standin/nsys", "standin.cwd=" .. folder,
      "standin.program=" .. fs.realpath "tests/standin/workload" }
    assert.equal(0, made.code, made.output)
    assert.is_truthy(fs.stat(root .. "/out/nsys/run.nsys-rep"))
    assert.is_truthy(fs.stat(root .. "/out/ncu/run.ncu-rep"))
    assert.is_truthy(fs.stat(root .. "/out/workload/metrics.json"))
    assert.same({}, fs.list(folder))
  end)

  it("may print more than fits into memory", function()
    local settings = table.move(QUICK, 1, #QUICK, 2, { "limits.bytes=16000000" })
    local made = live.run(settings, { STANDIN_WORKLOAD = "spam", STANDIN_ONLY = "nsys" })
    assert.equal(0, made.code, made.output)
    assert.is_true(fs.stat(made:path "nsys/log.txt").size > 24000000)
  end)

  it("may crash", function()
    local made = live.run(QUICK, { STANDIN_WORKLOAD = "crash" })
    assert.equal(1, made.code)
    assert.equal("the workload under nsys: it ended with exit status 139", made:manifest().message)
    assert.is_true(made:has "report.md")
  end)

  it("may fail in its operators pass only", function()
    local made = live.run({ "counters=off" }, { STANDIN_WORKLOAD = "crash",
      STANDIN_ONLY = "plain" })
    assert.equal(0, made.code, made.output)
    assert.equal("not measured: the operators pass failed: it was killed by SIGSEGV: "
      .. "workload: started", made:step "operators".note)
  end)
end)


describe("overhead", function()
  after_each(live.clean)

  local SETTINGS = { "overhead=measure", "counters=off", "operators=off" }

  it("is measured by plain runs before and after", function()
    local made = live.run(SETTINGS)
    assert.equal(0, made.code, made.output)
    local ways = {}
    for i, words in ipairs(made:calls "workload") do ways[i] = words[2] end
    assert.same({ "under=plain", "under=nsys", "under=plain" }, ways)
    assert.same({ runs = 2, stages = {
      { name = "decode", plain_ms = 20.0, plain_min_ms = 20.0, plain_max_ms = 20.0,
        profiled_ms = 30.0, inflation = 0.5, certain = true },
      { name = "prefill", plain_ms = 10.0, plain_min_ms = 10.0, plain_max_ms = 10.0,
        profiled_ms = 10.0, inflation = 0.0, certain = false },
    } }, made:json "results.json".overhead)
    assert.matches("What profiling cost, against 2 plain runs", made:read "report.md", 1, true)
  end)

  it("is absent, and said to be, when the plain runs say nothing", function()
    local made = live.run(SETTINGS, { STANDIN_WORKLOAD = "mute", STANDIN_ONLY = "plain" })
    assert.equal(0, made.code, made.output)
    local results = made:json "results.json"
    assert.is_nil(results.overhead)
    assert.same({ "workload/before: it wrote no metrics.json",
      "workload/after: it wrote no metrics.json" }, made:step "timeline".notes)
    assert.same({ what = "what profiling costs",
      why = "no stage has times of a plain and of the profiled run",
      how = "overhead=measure, and a workload that writes metrics.json" }, results.missing[3])
  end)

  it("is measured by one plain run before, where nothing else is said", function()
    local made = live.run { "overhead=before", "counters=off", "operators=off" }
    local ways = {}
    for i, words in ipairs(made:calls "workload") do ways[i] = words[2] end
    assert.same({ "under=plain", "under=nsys" }, ways)
    local results = made:json "results.json"
    assert.same({ 1, 20e6, 10e6 }, { results.overhead.runs,
      results.overhead.stages[1].plain_ms * 1e6, results.latency.plain.ttft.mean_ns })
  end)

  it("is not that of a server by itself", function()
    local function default_of(name)
      return config.of_recipe(recipe.load(name), nil, {}).tree.overhead
    end
    assert.equal("off", default_of "recipes/vllm_serve.lua")
    assert.equal("before", default_of "recipes/toy_llm.lua")
  end)

  it("is absent when nobody wants it", function()
    assert.is_nil(live.run({ "counters=off", "operators=off" }):json "results.json".overhead)
  end)
end)


describe("an interrupted run", function()
  after_each(live.clean)

  local function interrupted(step, env)
    local made = live.end_with("SIGINT", {}, env)
    assert.equal(130, made.code, made.output)
    assert.equal("interrupted", made:manifest().status)
    assert.equal("failed", made:step(step).status)
    assert.equal("interrupted", made:step(step).message)
    assert.is_false(made:left_alive())
    return made
  end

  it("keeps what nsys had written", function()
    local made = interrupted("timeline", { STANDIN_WORKLOAD = "hang" })
    assert.is_true(made:has "nsys/run.nsys-rep")
    assert.matches("workload: started\n", made:read "nsys/log.txt", 1, true)
    assert.is_nil(made:step "counters")
  end)

  it("keeps the timeline when ncu is interrupted", function()
    local made = interrupted("counters", { STANDIN_WORKLOAD = "hang", STANDIN_ONLY = "ncu",
      STANDIN_NCU = "silent" })
    assert.is_true(made:has "nsys/run.sqlite")
    assert.matches("workload: started\n", made:read "ncu/log.txt", 1, true)
    assert.same({ "skipped", "interrupted" }, { made:step "operators".status,
      made:step "operators".message })
    assert.equal("done", made:step "analyse".status)
    assert.is_true(made:has "report.md")
    local continuation = ("continue it: llmprof tests/standin/recipe.lua out=%s --resume %s")
      :format(made.out, made.out)
    assert.matches("llmprof: interrupted\n  " .. continuation .. "\n", made.output .. "\n", 1, true)
    local missing = made:json "results.json".missing
    assert.same({ "counters", "interrupted", "operators", "interrupted" },
      { missing[1].what, missing[1].why, missing[2].what, missing[2].why })
    assert.matches("--resume " .. made.out, missing[1].how, 1, true)
  end)

  it("keeps the launches that were measured", function()
    local made = interrupted("counters", { STANDIN_WORKLOAD = "hang", STANDIN_ONLY = "ncu",
      STANDIN_NCU = "early", STANDIN_TIMES = "1",
      STANDIN_RAW = fs.realpath "tests/fixtures/ncu/tiny_h200_raw.csv" })
    assert.is_true(made:has "ncu/raw.csv")
    local results = made:json "results.json"
    assert.equal(3, results.counters.launches)
    assert.equal("operators", results.missing[1].what)
  end)

  it("leaves no numbers to a later attempt", function()
    local made = interrupted("timeline", { STANDIN_WORKLOAD = "hang" })
    assert.is_true(made:has "workload/metrics.json")
    local again = live.llmprof({ "tests/standin/recipe.lua", "out=" .. made.out, "--resume",
      made.out }, { STANDIN_WORKLOAD = "mute" })
    assert.equal(0, again.code, again.output)
    assert.equal("the workload's own numbers", made:json "results.json".missing[1].what)
  end)

  it("can be continued", function()
    local made = interrupted("counters", { STANDIN_WORKLOAD = "hang", STANDIN_ONLY = "ncu" })
    local again = live.llmprof { "tests/standin/recipe.lua", "out=" .. made.out, "--resume",
      made.out }
    assert.equal(0, again.code, again.output)
    assert.equal("done", made:manifest().status)
    assert.matches("timeline .* kept from before", again.output)
    assert.same({}, again:calls "nsys")
    assert.equal(1, #again:ncu_profiles())
    assert.matches("^%S+/nsys profile ", made:json "results.json".source.timeline.command)
    assert.is_true(made:has "report.md")
  end)
end)
