local report = require "llmprof.compare.sweep"

describe("llmprof.compare.sweep", function()
  it("draws no trend of one point", function()
    assert.same({}, report.trends { runs = { { label = "infer.batch=1", short = "batch=1",
      status = "done", run = "batch-1", ttft = 20.5, tpot = 10, tokens_per_s = 100 } },
      stages = { { label = "infer.batch=1", short = "batch=1", stage = "prefill", ms = 20.5 } } })
  end)

  it("keeps quotes out of labels of a chart", function()
    local quoted = { runs = {}, loads = {}, stages = {
      { short = 'a="x"', stage = "s", ms = 1 }, { short = "b", stage = "s", ms = 2 },
    } }
    assert.matches([[x%-axis %["a='x'", "b"%]
]], report.markdown(quoted, "r", "c"))
  end)
end)
