-- How reports show advice: from results.advice and nothing else.
local blocks = require "llmprof.report.blocks"
local findings = require "llmprof.report.findings"
local chapters = require "llmprof.report.chapters"
local markdown = require "llmprof.report.write.markdown"
local support = require "tests.lua.support.advice"


-- As Markdown: the findings in short, the first `most`, and all of them.
local function brief(given, most)
  return markdown.render(blocks.join(findings.in_short(given, most)))
end

local function full(given)
  return markdown.render(blocks.join(findings.blocks(given, {})))
end

local function not_told(given)
  return markdown.render(chapters.content(given, "abstained", {}))
end


-- The lines of the verdict as "**head** text".
local function verdict_lines(given)
  local all, move, trust = findings.verdict(given)
  table.move({ move, trust }, 1, 2, #all + 1, all)
  local lines = {}
  for i, line in ipairs(all) do
    lines[i] = ("**%s** %s"):format(line.head, line.text)
  end
  return lines
end


local launch_bound = {
  rule = "launch_bound", stage = "decode", title = "decode is launch-bound",
  evidence = { { text = "it takes 100.00 ms", source = "timeline" },
    { text = "kernel 1, a<b>: 5 calls", source = "counters" } },
  try = "run it as a CUDA graph", gain_ns = 80e6, low_ns = 70e6, high_ns = 90e6,
  gain_share = 0.8, of_ns = 100e6,
  of = "timeline", spends = "waiting", assumption = "shapes are static", confidence = "high",
}

local fusion = {
  rule = "small_elementwise", stage = "decode", title = "decode runs many short kernels",
  evidence = { { text = "400 of 1,000", source = "timeline" } }, try = "torch.compile",
  gain_ns = 20e6, gain_share = 0.2, of_ns = 100e6, of = "timeline", spends = "waiting",
  assumption = "3 become one", confidence = "medium",
}

local occupancy = {
  rule = "low_occupancy", stage = "decode", title = "few warps",
  evidence = { { text = "4 ms", source = "counters" } }, try = "split-K", gain_ns = 3e6,
  gain_share = 0.03, of_ns = 100e6, of = "plain runs", spends = "gpu", behind = "waiting",
  assumption = "they reach the peak", confidence = "low",
}

local warm_up = {
  rule = "first_repeat", title = "the first repeat pays one-time costs",
  evidence = { { text = "8.6 times", source = "timeline" } }, try = "warm up",
  confidence = "high",
}


-- Results of a 100 ms decode of 10 steps with these findings, and what is said of their gains.
local function results(list, abstained, note)
  return support.results {
    stages = { support.slow_decode { ns_per_token = 10e6 } },
    advice = { findings = list, note = note, abstained = abstained or {} },
    repeats = { count = 1, used = 1, skipped_first = false, whole_run = false },
    totals = { stage_share = 0.89 }, integrity = { verdict = "good", checks = {} },
    kernels = { support.kernel { short_name = "gemv", share = 0.25 } },
  }
end


describe("a gain", function()
  it("is told per instance and per token, with its assumption", function()
    assert.equal("80.00 ms (70.00 ms to 90.00 ms) of 100.00 ms per decode, 8.00 ms per token, if "
      .. "shapes are static",
      findings.gain(results {}, launch_bound))
  end)

  it("has no interval that is no wider than what is printed", function()
    local exact = setmetatable({ low_ns = 80e6, high_ns = 80e6 }, { __index = launch_bound })
    assert.matches("^80.00 ms of 100.00 ms per decode", findings.gain(results {}, exact))
  end)

  it("says when it is of plain time, and when it stays hidden", function()
    assert.equal("3.00 ms of 100.00 ms per decode without the profiler, 300.00 µs "
      .. "per token, if they reach the peak; it comes back only once decode no longer waits for "
      .. "its launches", findings.gain(results {}, occupancy))
  end)

  it("is not made up", function()
    assert.equal("not known from this capture", findings.gain(results {}, warm_up))
    assert.equal("not known from this capture (not replayed: no calls)",
      findings.gain(results {}, setmetatable({ no_gain = "no calls" }, { __index = warm_up })))
  end)
end)


describe("the verdict", function()
  it("comes from the first finding and the stages' times", function()
    assert.same({
      "**Decode is launch-bound.** Decode takes 100.0 ms (10.0 ms per token), of which the GPU "
        .. "works 20.0 ms.",
      "**First move:** decode: run it as a CUDA graph. Gain: 80.00 ms (70.00 ms to 90.00 ms) of "
        .. "100.00 ms per decode, 8.00 ms per token, if shapes are static.",
      "**Trust:** good. 89 % of the GPU time lies in a stage. Figures are from one repeat.",
    }, verdict_lines(results { launch_bound, fusion }))
  end)

  it("points at the largest kernel when no rule found anything", function()
    assert.same({
      "**No rule found anything to change.** Decode takes 100.0 ms (10.0 ms per token), of which "
        .. "the GPU works 20.0 ms.",
      "**First move:** look at gemv, 25 % of the time of kernels.",
      "**Trust:** good. 89 % of the GPU time lies in a stage. Figures are from one repeat.",
    }, verdict_lines(results {}))
  end)

  it("has three lines for empty results, too", function()
    assert.same({ "**No rule found anything to change.** No stage was measured.",
      "**First move:** none; no kernel was found.", "**Trust:** Figures are from 0 repeats." },
      verdict_lines(support.results { repeats = { count = 0, used = 0 } }))
  end)
end)


describe("the list", function()
  it("is short for one page, and says which gains are the same time", function()
    assert.equal([[
1. **decode is launch-bound** (effort: code, confidence high). Try: run it as a CUDA graph. Gain: 80.00 ms (70.00 ms to 90.00 ms) of 100.00 ms per decode, 8.00 ms per token, if shapes are static.
2. **decode runs many short kernels** (effort: code, confidence medium). Try: torch.compile. Gain: 20.00 ms of 100.00 ms per decode, 2.00 ms per token, if 3 become one.

Gains of one stage share its time: they do not add up. Finding 3 is in report.md.
]], brief(results({ launch_bound, fusion, warm_up }, nil, "Do not add up 1 and 2."), 2))
  end)

  it("says what is needed first, and what that unlocks", function()
    local first = setmetatable({ unlocks = { 2, 3 } }, { __index = fusion })
    local second = setmetatable({ after = { 1 } }, { __index = launch_bound })
    local third = setmetatable({ after = { 1, 2 }, unlocks = { 1 } }, { __index = warm_up })
    local text = brief(results { first, second, third }, 3)
    assert.truthy(text:find("Try (needed for 2: 80.00 ms, 3): torch.compile", 1, true))
    assert.truthy(text:find("Try (needs 1): run it", 1, true))
    assert.truthy(text:find("Try (needs 1 and 2, needed for 1: 20.00 ms): warm up", 1, true))
  end)

  it("has everything in the report, escaped", function()
    assert.equal([[
|   # | finding                | stage  | gain ms | between ms     |  of ms | share % | taken from | confidence | rule          |
| --: | :--------------------- | :----- | ------: | :------------- | -----: | ------: | :--------- | :--------- | :------------ |
|   1 | decode is launch-bound | decode |   80.00 | 70.00 to 90.00 | 100.00 |    80.0 | waiting    | high       | launch_bound  |
|   2 | few warps              | decode |    3.00 |                | 100.00 |     3.0 | GPU work   | low        | low_occupancy |

### 1. decode is launch-bound

- it takes 100.00 ms (timeline)
- kernel 1, a&lt;b&gt;: 5 calls (counters)

Try: run it as a CUDA graph.

Gain: 80.00 ms (70.00 ms to 90.00 ms) of 100.00 ms per decode, 8.00 ms per token, if shapes are static. Confidence: high. Rule: `launch_bound`.

### 2. few warps

- 4 ms (counters)

Try: split-K.

Gain: 3.00 ms of 100.00 ms per decode without the profiler, 300.00 µs per token, if they reach the peak; it comes back only once decode no longer waits for its launches. Confidence: low. Rule: `low_occupancy`.
]], full(results { launch_bound, occupancy }))
  end)

  it("says so when it is empty", function()
    local nothing = "No rule found anything to change; the largest kernels come first.\n"
    assert.equal(nothing, brief(results {}, 5))
    assert.equal(nothing, full(results {}))
    assert.equal(nothing, full(support.results {}))
  end)

  it("ends with the rules that lack data", function()
    assert.equal([[
| rule       | what is missing |
| :--------- | :-------------- |
| throttling | no samples      |
]], not_told(results({}, { { rule = "throttling", why = "no samples" } })))
    assert.equal("Every rule had the data it needs.\n", not_told(results {}))
  end)
end)
