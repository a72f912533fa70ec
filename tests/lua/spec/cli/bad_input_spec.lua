-- Whatever a capture lacks or holds, every report comes and says what is not
-- known.
local bundle = require "tests.lua.support.bundle"
local fs = require "llmprof.fs"
local json = require "llmprof.json"
local results = require "tests.lua.support.results"
local results_file = require "llmprof.bundle.results_file"
local report = require "tests.lua.support.reports"

local reports = { ["report.html"] = "page", ["report.md"] = "full", ["kernels.md"] = "kernels",
  ["operators.md"] = "operators", ["stakeholder_summary.md"] = "stakeholder" }

local order = { "environment", "aggregates", "stages", "mfu", "operators", "kernels", "roofline",
  "advice" }


-- A value that a formatter was given and should not have been.
local function leaked(page)
  local markup = page:gsub("<script.-</script>", ""):gsub("<style.-</style>", ""):lower()
  for word in markup:gmatch "%f[%w_]%-?%a+%f[^%w_]" do
    if word == "nan" or word == "inf" or word == "nil" then return word end
  end
  return nil
end


-- Name -> text of all reports, none of them with a leak.
local function render_all(given)
  local read, pages = assert(json.decode(assert(json.encode(given)))), {}
  for name, module in pairs(reports) do
    pages[name] = report(module, read, order)
    assert.is_nil(leaked(pages[name]), name)
  end
  return pages
end


local function says(page, sentence)
  assert.is_truthy(page:find(sentence, 1, true), sentence)
end


describe("a capture of", function()
  local top = bundle.scratch(before_each, after_each)

  -- The reports of a run on a trace and, if given, the text of metrics.json.
  local function reports_of(trace, metrics)
    local folder = top() .. "/capture"
    assert(fs.mkdirs(folder))
    assert(fs.copy("tests/fixtures/" .. trace, folder .. "/run.sqlite"))
    if metrics then assert(fs.write(folder .. "/metrics.json", metrics)) end
    local ctx, err = bundle.run_small(top(), 'stages = { { "prefill" }, { "decode" } }',
      { "recorded=" .. folder })
    assert.is_nil(err)
    local pages = {}
    for name in pairs(reports) do
      pages[name] = assert(fs.read(ctx.run:path(name)))
      assert.is_nil(leaked(pages[name]), name)
    end
    -- what a run writes is what show and compare take
    assert(results_file.read(ctx.run:path "results.json"))
    return pages
  end

  it("a workload that has versions as numbers, and fields of its own", function()
    local pages = reports_of("small/run.sqlite", [[{ "schema_version": 1, "batch": 1,
      "prompt_tokens": 1, "new_tokens": 1, "repeats": [ { "index": 1, "stages": {} } ],
      "model": { "name": "x", "weights": "random", "colour": "red" },
      "environment": { "cuda": 13, "weather": "good" } }]])
    says(pages["stakeholder_summary.md"], "CUDA 13")
  end)

  it("a timeline and nothing else, on a GPU that nobody knows", function()
    local pages = reports_of "small/run.sqlite"
    says(pages["report.html"], "small on Small GPU")
    says(pages["report.html"], "the recorded capture has no ncu/raw.csv")
    says(pages["report.html"], "the recorded capture has no operators.json")
    says(pages["report.html"], "nothing describes the model")
    says(pages["report.md"], "it wrote no metrics.json")
  end)

  it("no NVTX", function()
    local pages = reports_of "odd/no_nvtx.sqlite"
    says(pages["report.html"], "The trace has no stage of the recipe: the whole run is taken as "
      .. "one.")
    says(pages["stakeholder_summary.md"], "| whole run |")
  end)

  it("metrics that hold NaN", function()
    local pages = reports_of("small/run.sqlite", '{"schema_version": 1, "tpot_ms": NaN}')
    says(pages["report.md"], "metrics.json")
    says(pages["report.html"], "metrics.json")
  end)
end)


describe("results with", function()
  it("a stage of no length, of one repeat", function()
    local given = results.full { repeats = { count = 1, used = 1, skipped_first = false,
      whole_run = false } }
    given.stages = { { name = "prefill", bound = "gpu", share = 0,
      wall = { count = 1, mean_ns = 0, min_ns = 0, max_ns = 0, total_ns = 0 },
      instances = { { start_ns = 5, wall_ns = 0, rep = 1, used = true, gpu_busy_ns = 0,
        gpu_idle_ns = 0, gpu_time_ns = 0, kernels = 0, copies = 0, sets = 0, graphs = 0,
        launches = 0 } },
      gpu_busy_ns = 0, gpu_idle_ns = 0, gpu_time_ns = 0, kernels = 0, launches = 0, copies = 0 } }
    local pages = render_all(given)
    says(pages["report.html"], "Figures are from one repeat.")
    says(pages["stakeholder_summary.md"], "Prefill takes 0.00 ms")
    assert.is_nil(pages["stakeholder_summary.md"]:find("mermaid", 1, true))
  end)

  it("a model, and a GPU whose peaks are not known", function()
    local given = results.full { hardware = { count = 1, format = "bf16", peaks = {} } }
    given.stages[1].cost = { flops = 1e9, bytes = 1e6, source = "recipe" }
    given.stages[1].efficiency = { time_ns = 5e6, time_source = "timeline" }
    given.missing = { { what = "peak FLOP/s in bf16", why = "no file in conf/hardware fits 'X'",
      how = "hardware.peak_per_s" } }
    local pages = render_all(given)
    for _, name in ipairs { "report.html", "report.md" } do
      says(pages[name], "Peak in bf16: not known. Memory bandwidth: not known.")
      says(pages[name], "To fill this: hardware.peak")
    end
    says(pages["stakeholder_summary.md"], "To fill this: hardware.peak")
  end)

  it("names of 20 KB", function()
    local given = results.full()
    local long = ("std::tuple<"):rep(2000)
    for _, kernel in ipairs(given.kernels) do kernel.name, kernel.short_name = long, long end
    given.operators = { operators = { { name = long, calls = 1, host_total_ns = 1,
      host_self_ns = 1, device_total_ns = 1, device_self_ns = 1 } } }
    local page = render_all(given)["report.html"]
    says(page, '<span title="std::tuple&lt;std::tuple&lt;')
    assert.is_true(#page < 300000)
  end)

  it("100,000 kernels of different names", function()
    local given = results.full()
    local third = given.kernels[3]
    for i = 4, 100000 do
      given.kernels[i] = { id = i, name = ("k<%d>"):format(i), short_name = "k" .. i,
        category = "gemm", stage = "decode", device = 0, calls = 1, total_ns = 10,
        mean_ns = 10, median_ns = 10, min_ns = 10, max_ns = 10, shapes = third.shapes }
    end
    local page = render_all(given)["report.html"]
    says(page, "The first 500 of 100,000")
    assert.is_true(#page < 500000)
  end)
end)
