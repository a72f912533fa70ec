local failure = require "tests.lua.support.failure"
local fs = require "llmprof.fs"
local metrics = require "llmprof.compare.metrics"
local sides = require "tests.lua.support.sides"

-- "before -> after unit (share, basis, samples): verdict", or why there is none.
local function said(path, before, after)
  local made, why = metrics.judge(metrics.parse(path), before, after)
  if not made then return why end
  return ("%g -> %g %s (%.1f %%, %s, %d and %d): %s"):format(made.before, made.after,
    made.unit or "-", made.share * 100, made.basis, made.samples_before, made.samples_after,
    made.verdict)
end

describe("llmprof.compare.metrics", function()
  it("reads paths", function()
    assert.same({ path = "tpot", key = "tpot", unit = "ms" }, metrics.parse "tpot")
    assert.same({ path = "my.stage.gpu_ms", key = "gpu_ms", stage = "my.stage", unit = "ms" },
      metrics.parse "my.stage.gpu_ms")
    assert.same({ path = "category.gemm", key = "category", category = "gemm", unit = "ms" },
      metrics.parse "category.gemm")
    assert.same({ path = "decode.category.copy/cast", key = "category", stage = "decode",
      category = "copy/cast", unit = "ms" }, metrics.parse "decode.category.copy/cast")
  end)

  it("has every figure in the manual", function()
    local page, count = assert(fs.read "docs/compare.md"), 0
    local hint = failure(metrics.parse, "none")[3]
    for name in hint:gmatch "[%w_.]+" do
      assert.matches("`" .. name .. "`", page, 1, true)
      count = count + 1
    end
    assert.is_true(count > 5)
  end)

  it("refuses what is no figure", function()
    local hint = failure(metrics.parse, "none")[3]
    assert.matches("^STAGE.ms, STAGE.gpu_ms, .*, category.NAME, ttft, .*, cost, energy$", hint)
    assert.same({ "usage", "no figure 'tpto' (did you mean 'tpot'?)", hint },
      failure(metrics.parse, "tpto"))
    assert.same({ "usage", "no figure 'decode.kernel' (did you mean 'kernels'?)", hint },
      failure(metrics.parse, "decode.kernel"))
    assert.same({ "usage", "no figure '.ms'", hint }, failure(metrics.parse, ".ms"))
  end)

  it("takes each figure of a stage from its instances", function()
    local before, after = sides.decode({ 10, 12 }, { 10.5, 11.5 }, { 12, 10.3 }),
      sides.decode({ 20, 22 }, { 20, 21 })
    assert.equal("11.05 -> 20.75 ms (87.8 %, profiled, 6 and 4): slower",
      said("decode.ms", before, after))
    assert.equal("5.525 -> 10.375 ms (87.8 %, profiled, 6 and 4): slower",
      said("decode.gpu_ms", before, after))
    assert.equal("5.525 -> 10.375 ms (87.8 %, profiled, 6 and 4): more",
      said("decode.idle", before, after))
    assert.equal("10 -> 10 - (0.0 %, profiled, 6 and 4): same",
      said("decode.kernels", before, after))
    assert.equal("2 -> 2 - (0.0 %, profiled, 6 and 4): same", said("decode.copies", before, after))
  end)

  it("judges no time of the CPU where two profilers added to it", function()
    local before, after = sides.decode({ 10, 12 }, { 10.5, 11.5 }), sides.decode({ 20, 22 },
      { 20, 21 })
    before.results.source = { timeline = { from = "trace", tool = "nsys" } }
    after.results.source = { timeline = { from = "trace", tool = "torch.profiler" } }
    assert.matches(": can't tell$", said("decode.ms", before, after))
    assert.matches(": slower$", said("decode.gpu_ms", before, after))
    before.results.source.timeline.tool = "torch.profiler"
    assert.matches(": slower$", said("decode.ms", before, after))
  end)

  it("leaves out instances that are not used", function()
    local before = sides.decode(100, 10, 10)
    before.results.stages[1].instances[1].used = false
    assert.equal("10 -> 10 ms (0.0 %, profiled, 2 and 2): same",
      said("decode.ms", before, sides.decode(10, 10)))
  end)

  it("prefers times without the profiler where both sides have them", function()
    local before, after = sides.decode(10), sides.decode(20)
    before.runs[1].plain = { sides.plain(8, 8) }
    assert.equal("10 -> 20 ms (100.0 %, profiled, 1 and 1): slower",
      said("decode.ms", before, after))
    before.runs[1].plain[2] = sides.plain(8.2, 8.2)
    after.runs[1].plain = { sides.plain(4, 4) }
    assert.equal("8.1 -> 4 ms (-50.6 %, plain, 4 and 2): faster", said("decode.ms", before, after))
    assert.equal("4.05 -> 2 ms (-50.6 %, plain, 4 and 2): faster", said("tpot", before, after))
    assert.equal("493.902 -> 1000 tokens/s (102.5 %, plain, 4 and 2): faster",
      said("tokens_per_s", before, after))
  end)

  it("has no rate of a plain run that does not say its batch", function()
    local before, after = sides.decode(10), sides.decode(20)
    before.runs[1].plain, after.runs[1].plain = { sides.plain(8, 8) }, { sides.plain(4, 4) }
    after.runs[1].plain[1].batch = nil
    assert.equal("side has no tokens_per_s", said("tokens_per_s", before, after))
  end)

  it("leaves the first plain repeat out where the timeline does", function()
    local before, after = sides.decode(10), sides.decode(20)
    before.runs[1].plain = { sides.plain(100, 8, 8), sides.plain(50, 8.1, 7.9) }
    after.runs[1].plain = { sides.plain(4, 4) }
    before.results.repeats.skipped_first = true
    assert.equal("8 -> 4 ms (-50.0 %, plain, 4 and 2): faster", said("decode.ms", before, after))
  end)

  it("holds one capture a side against what the plain runs differ by", function()
    local before, after = sides.decode(10), sides.decode(20)
    local function idle() return metrics.judge(metrics.parse "decode.idle", before, after) end
    assert.same({ "more", 0.1 }, { idle().verdict, idle().assumed })
    before.assumed = 2
    assert.equal("can't tell", idle().verdict)
    before.runs[1].plain, after.runs[1].plain = { sides.plain(8), sides.plain(8.08) },
      { sides.plain(16), sides.plain(16.16) }
    local judged = idle()
    assert.same({ "more", 2, "plain runs of decode" }, { judged.verdict, judged.df, judged.noise })
    -- the plain runs differ by log(1.01) / sqrt(2), of 10 and 20 ms; t of 2 degrees of freedom
    local share = math.log(1.01) / math.sqrt(2)
    assert.near(5 - 4.302653 * share * math.sqrt(10 ^ 2 + 20 ^ 2), judged.low, 1e-5)
    assert.is_nil(metrics.judge(metrics.parse "decode.kernels", before, after).noise)
  end)

  it("sums categories over the stages without a parent", function()
    local function side(ns)
      local categories = { { category = "gemm", gpu_time_ns = ns } }
      return sides.side { stages = {
        sides.stage { name = "prefill", walls = { 1 }, fields = { categories = categories } },
        sides.stage { name = "sam", parent = "prefill", walls = { 1 },
          fields = { categories = categories } },
        sides.stage { name = "decode", walls = { 1 }, fields = { categories = categories } },
      } }
    end
    assert.equal("4 -> 6 ms (50.0 %, profiled, 1 and 1): slower",
      said("category.gemm", side(2e6), side(3e6)))
    assert.equal("2 -> 3 ms (50.0 %, profiled, 1 and 1): slower",
      said("sam.category.gemm", side(2e6), side(3e6)))
  end)

  it("says which side lacks a figure", function()
    local before, after = sides.decode(1), sides.decode(1)
    after.name = "B"
    assert.equal("side has no stage 'decoed' (did you mean 'decode'?)",
      said("decoed.ms", before, after))
    assert.equal("side has no tpot", said("tpot", before, after))
    before.results.latency = { repeats = { { used = true, ttft_ns = 1e6 } } }
    assert.equal("B has no ttft", said("ttft", before, after))
  end)
end)
