-- The reports of two small results tables, as they lie in tests/fixtures/report.
-- LLMPROF_REWRITE=1 writes those files anew; read what changed.
local fs = require "llmprof.fs"
local json = require "llmprof.json"
local document = require "llmprof.io.document"
local results = require "tests.lua.support.results"
local report = require "tests.lua.support.reports"

local order = { "all" }

-- What a report is rendered from is read from a file.
local function through_json(value)
  return assert(json.decode(assert(json.encode(value))))
end


local function render(name, given, sections)
  return report(name, through_json(given), sections or order)
end


local function check_page(name, given, file)
  local page, path = render(name, given), "tests/fixtures/report/" .. file
  if os.getenv "LLMPROF_REWRITE" then assert(fs.write(path, page)) end
  assert.equal(assert(fs.read(path)), page)
end


-- What stands below a heading of report.md.
local function section(heading, given, ...)
  local page = render("full", given, ...)
  local _, from = page:find(("## %s\n\n"):format(heading), 1, true)
  return from and page:sub(from + 1):gsub("\n+## .*", "\n")
end


describe("llmprof.report", function()
  it("is tested with results as they can be", function()
    for _, given in ipairs { results.empty(), results.full() } do
      assert.is_nil(document.check("results", through_json(given)))
    end
  end)

  for _, name in ipairs { "kernels", "operators", "full", "stakeholder" } do
    it("renders " .. name .. " of a run", function()
      check_page(name, results.full(), name .. ".md")
    end)

    it("says in " .. name .. " what would fill it", function()
      check_page(name, results.empty(), name .. "_empty.md")
    end)
  end

  it("has the sections that are configured, in that order", function()
    local headings = {}
    for heading in render("full", results.full(), { "kernels", "mfu" }):gmatch "\n## ([^\n]+)" do
      headings[#headings + 1] = heading
    end
    assert.same({ "Top Kernels", "MFU/MBU" }, headings)
  end)

  it("says which repeats the figures are from", function()
    local function said(repeats)
      return render("kernels", results.empty { repeats = repeats }):match "not measured%.\n\n(.-)\n"
    end
    local sums = " Stages and steps are means; kernels, copies, operators, lines and modules are "
      .. "sums."
    assert.equal("Figures are from 3 repeats." .. sums, said { count = 3, used = 3 })
    assert.equal("Figures are from one repeat.", said { count = 1, used = 1 })
    assert.equal("Figures are from 1 of 2 repeats, without the first. Left out: prefill of repeat "
      .. "1 (60.3 ms, usually 20.1 ms).", said { count = 2, used = 1, skipped_first = true,
      left_out = { { stage = "prefill", rep = 1, ns = 60.3e6, usual_ns = 20.1e6 } } })
    assert.equal("Figures are from 3 repeats." .. sums .. " Left out of TPOT: step 1 of decode of "
      .. "repeat 2 (9.0 ms, usually 3.0 ms).", said { count = 3, used = 3, left_out = {
      { stage = "decode", rep = 2, step = 1, ns = 9e6, usual_ns = 3e6 } } })
    assert.equal("Figures are from one repeat. Left out of TPOT: the first step of 2 runs of "
      .. "decode (9.0 ms, usually 3.0 ms, as means).", said { count = 1, used = 1, left_out = {
      { stage = "decode", rep = 1, openings = 2, ns = 9e6, usual_ns = 3e6 } } })
    assert.equal("Figures are from 2 repeats." .. sums .. " Left out: decode of repeat 2 (9.0 ms "
      .. "until the capture ended in it; the first may hold one-time costs).", said { count = 2,
      used = 2, left_out = { { stage = "decode", rep = 2, cut = true, ns = 9e6,
        usual_ns = 3e6 } } })
    assert.equal("Figures are from one repeat. The capture ended in decode: the whole of it takes "
      .. "longer.", said { count = 1, used = 1, cut = { "decode" } })
    assert.equal("The trace has no stage of the recipe: the whole run is taken as one.",
      said { count = 1, used = 1, whole_run = true })
  end)

  it("says which tables are sums where there are several repeats", function()
    local sections = require "llmprof.report.sections"
    local function scope(name, repeats)
      return sections.scope({ repeats = repeats }, sections.find(name))
    end
    assert.equal("Sums over the 2 repeats that count.", scope("kernels", { count = 3, used = 2 }))
    assert.equal("Sums over the whole capture.", scope("ranks", { count = 3, used = 2 }))
    assert.is_nil(scope("stages", { count = 3, used = 2 }))
    assert.is_nil(scope("kernels", { count = 2, used = 1 }))
    assert.is_nil(scope("ranks", { count = 1, used = 1 }))
  end)

  it("says what the model computes in, and who says so", function()
    local function said(model)
      model.name = "M"
      return render("kernels", results.empty { model = model }):match "Model: (.-)%.\n"
    end
    local formats = { weights = "bf16", activations = "bf16" }
    assert.equal("M, fp16. Not known: parameters, weights",
      said { dtype = "fp16", described = { formats = formats } })
    assert.equal("M, bf16 (by its description). Not known: parameters, weights",
      said { described = { formats = formats } })
    formats.weights = "fp8"
    assert.equal("M, bf16, weights in fp8 (by its description). Not known: parameters, "
      .. "weights", said { described = { formats = formats } })
  end)

  local function latency_of(given)
    return section("Aggregates", results.full(given))
  end

  it("says under what latency was timed", function()
    local ttft = { count = 2, mean_ns = 5e6, max_ns = 6e6 }
    assert.matches("\nAll times are under the profiler.\n",
      latency_of { latency = { ttft = ttft } }, 1, true)
    local said = latency_of { latency = { ttft = ttft, plain = { runs = 2,
      ttft = { count = 4, mean_ns = 4e6, max_ns = 4.5e6 } } },
      overhead = { runs = 2, stages = { { name = "prefill", plain_ms = 4, plain_min_ms = 4,
        plain_max_ms = 4, profiled_ms = 5, inflation = 0.25 } } } }
    assert.matches("\nTimes are from 2 runs without the profiler; \"profiled\" ones, their "
      .. "spread and what the GPU did are from the timeline, under it.\n", said, 1, true)
    assert.matches("| TTFT           | 4.00 |", said, 1, true)
    assert.matches("| TTFT, profiled | 5.00 |", said, 1, true)
  end)

  it("says on the page's tiles how times spread, and what they are under the profiler", function()
    local tpot = { count = 20, mean_ns = 5e6, p50_ns = 4e6, p90_ns = 7e6, max_ns = 9e6,
      source = "ranges" }
    local function page(latency) return render("page", results.full { latency = latency }) end
    assert.matches("p50 4.0 ms, p90 7.0 ms", page { tpot = tpot }, 1, true)
    tpot.p90_ns = nil
    assert.matches("p50 4.0 ms, at most 9.0 ms", page { tpot = tpot }, 1, true)
    assert.matches("batch not known; 180.0 tokens/s under the profiler", page { tpot = tpot,
      tokens_per_s = { count = 2, mean = 180 },
      plain = { runs = 2, tokens_per_s = { count = 2, mean = 200 } } }, 1, true)
  end)

  it("says how samples and counters of memory agree", function()
    local given = results.full()
    given.stages[1].sampled = { dram_read_bytes = 8e6, dram_write_bytes = 2e6, covered = 1,
      counted_bytes = 6.1e6, counted_share = 0.79 }
    assert.matches(("In %s, by their counters, kernels with 79 %% of the time moved 61 %% of the "
      .. "sampled bytes"):format(given.stages[1].name), render("full", given), 1, true)
  end)

  it("does not print a time per token that two clocks disagree on", function()
    local said = latency_of { latency = { ttft = { count = 1, mean_ns = 5e6 },
      tpot = { count = 8, mean_ns = 3.5e6, source = "ranges" }, tokens_per_s = { count = 1,
        mean = 285.7 }, contradiction = { timeline_ns = 3.5e6, workload_ns = 0.14e6,
        difference = 0.96 } } }
    assert.is_nil(said:find("| TPOT", 1, true))
    assert.is_nil(said:find("| throughput", 1, true))
    assert.matches("TPOT is not known: a step takes 3.5 ms on the timeline and 0.14 ms by the "
      .. "workload's own numbers, which differ by 96 %.", said, 1, true)
  end)

  it("says how far the CPU is ahead where it does not wait", function()
    local function host(lead)
      return latency_of { latency = { tpot = { count = 8, mean_ns = 3.5e6, source = "ranges" },
        host = { count = 8, mean_ns = 0.14e6, lead_ns = lead, lead_max_ns = 2 * lead } } }
    end
    assert.matches("a step takes it 0.14 ms, and the token follows 20.0 ms later, at most "
      .. "40.0 ms.", host(20e6), 1, true)
    assert.is_nil(host(0):find("does not wait", 1, true))
  end)

  it("names the roofs with their sources and the kernels' intensities", function()
    local said = section("Roofline", results.full { roofline = { left_out = 0,
      stages = json.list {},
      roofs = { tensor_format = "bf16", tensor = { per_s = 9.9e14, source = "a file" },
        vector = { per_s = 6.7e13, source = "a file" }, l2 = { per_s = 1.25e13, source = "ncu" },
        tensors = { { format = "fp8", per_s = 2e15 }, { format = "bf16", per_s = 9.9e14 } } },
      without_dot = { { why = "no floating point operation", kernels = { 2, 3 } } },
      kernels = { { kernel = 1, stage = "decode", intensity = 1.5, l2_intensity = 0.75 } } } })
    assert.is_truthy(said:find("|      1.50 |         0.75 | `void gemm<4>(T *)` |\n", 1, true))
    assert.is_truthy(said:find("Roofs, of one GPU. Tensor cores in bf16: 990.0 TFLOP/s (a file). "
      .. "Vector units: 67.0 TFLOP/s (a file). DRAM: not known. L2: 12.5 TB/s (ncu).\n",
      1, true))
    assert.matches("Without a dot: 2 measured kernels: no floating point operation: 2 %(", said)
  end)

  it("shows the largest kernels of a stage and counts the rest", function()
    local given = results.full()
    for i = 4, 30 do given.kernels[i] = given.kernels[3] end
    -- rows of kernels in the section of report.md, and what it says of the others
    local function shown(top_n)
      given.run.top_n = top_n
      local said = section("Top Kernels", given)
      return { select(2, said:gsub("\n| `", "")), said:match "\n(%d+) smaller ones are in ker" }
    end
    assert.same({ 21, "9" }, shown(nil))
    assert.same({ 4, "26" }, shown(3))
  end)

  it("opens kernels.md with the largest of all stages, by name and device", function()
    local given = results.full { run = { id = "x", recipe = "r", created = "2026-01-02T03:04:05Z",
      llmprof = "0.1.0", top_n = 2 } }
    given.kernels[4] = json.decode(json.encode(given.kernels[1]))
    given.kernels[4].stage, given.kernels[4].calls = "prefill", 100
    local top = render("kernels", given):match "\n## Top Kernels\n\n(.-)\n\nTimes"
    assert.equal([[
| kernel   | device          | total ms | calls | mean ms | of kernels % | full name           |
| :------- | :-------------- | -------: | ----: | ------: | -----------: | :------------------ |
| `gemm 4` | NVIDIA H200 (0) |   40.000 |   300 |  0.1333 |        125.0 | `void gemm<4>(T *)` |
| `add`    | NVIDIA H200 (0) |    7.000 |    10 |  0.7000 |         21.9 | `add(float *)`      |

2 of 3, over all stages.]], top)
  end)

  it("has as many rows in the summary as the policy names", function()
    local function rows_of(top_n)
      local given = results.full()
      given.run.top_n = top_n
      local page = render("stakeholder", given)
      return select(2, page:match("## Top Kernels\n\n(.-)\n## "):gsub("\n| `", ""))
    end
    assert.same({ 1, 3 }, { rows_of(1), rows_of(nil) })
  end)

  it("shows what profiling cost", function()
    local function row(name, profiled_ms, certain)
      return { name = name, plain_ms = 10, plain_min_ms = 9, plain_max_ms = 11,
        profiled_ms = profiled_ms, inflation = profiled_ms / 10 - 1, certain = certain }
    end
    local given = results.empty { overhead = { runs = 2, stages = { row("decode", 12.5, true),
      row("sam", 7.5, true), row("clip", 11.5, false), row("prefill", 12.5) } } }
    assert.equal([[
What profiling cost, against 2 plain runs:

| stage   | plain ms | least ms | most ms | profiled ms | inflation % | profiled is                                   |
| :------ | -------: | -------: | ------: | ----------: | ----------: | :-------------------------------------------- |
| decode  |    10.00 |     9.00 |   11.00 |       12.50 |        25.0 | slower                                        |
| sam     |    10.00 |     9.00 |   11.00 |        7.50 |       -25.0 | faster                                        |
| clip    |    10.00 |     9.00 |   11.00 |       11.50 |        15.0 | cannot tell: the plain runs differ by as much |
| prefill |    10.00 |     9.00 |   11.00 |       12.50 |        25.0 | cannot tell: one plain run                    |
]], (section("How Far to Trust It", given)))
  end)
end)
