local report = require "llmprof.compare.sweep"

local made = {
  runs = {
    { label = "infer.batch=1", short = "batch=1", status = "done", run = "batch-1", ttft = 20.5,
      tpot = 10, tokens_per_s = 100, mfu = 0.0123, basis = "plain" },
    { label = "infer.batch=4", short = "batch=4", status = "kept", run = "batch-4", ttft = 41,
      tpot = 12.5, tokens_per_s = 320, basis = "plain" },
    { label = "infer.batch=x", short = "batch=x", status = "failed", run = "batch-x",
      message = "no" },
  },
  stages = {
    { label = "infer.batch=1", short = "batch=1", stage = "prefill", ms = 20.5, kernels = 10 },
    { label = "infer.batch=1", short = "batch=1", stage = "sam", parent = "prefill", ms = 2 },
    { label = "infer.batch=4", short = "batch=4", stage = "prefill", ms = 41, kernels = 12 },
    { label = "infer.batch=4", short = "batch=4", stage = "sam", parent = "prefill", ms = 3 },
  },
}

describe("llmprof.compare.sweep", function()
  it("prints tables and bars", function()
    assert.equal([[
settings       status  TTFT ms  TPOT ms  tokens/s  MFU %  times  run      because
infer.batch=1  done      20.50    10.00    100.00  1.230  plain  batch-1
infer.batch=4  kept      41.00    12.50    320.00         plain  batch-4
infer.batch=x  failed                                            batch-x  no

settings       stage    mean ms  GPU busy ms  idle %  kernels  launches  MFU %  times
infer.batch=1  prefill    20.50                            10
infer.batch=4  prefill    41.00                            12

prefill, ms
  batch=1  ████████████████████ 20.50
  batch=4  ████████████████████████████████████████ 41.00

TPOT, ms
  batch=1  ████████████████████████████████ 10.00
  batch=4  ████████████████████████████████████████ 12.50

throughput, tokens/s
  batch=1  ████████████▌ 100.00
  batch=4  ████████████████████████████████████████ 320.00
]], report.text(made))
  end)

  it("writes Mermaid charts", function()
    assert.equal([[
# Sweep of alt_llm

    llmprof sweep recipes/alt_llm.lua infer.batch=1,4,x

| settings      | status | TTFT ms | TPOT ms | tokens/s | MFU % | times | run     | because |
| :------------ | :----- | ------: | ------: | -------: | ----: | :---- | :------ | :------ |
| infer.batch=1 | done   |   20.50 |   10.00 |   100.00 | 1.230 | plain | batch-1 |         |
| infer.batch=4 | kept   |   41.00 |   12.50 |   320.00 |       | plain | batch-4 |         |
| infer.batch=x | failed |         |         |          |       |       | batch-x | no      |

## Stages

| settings      | stage   | mean ms | GPU busy ms | idle % | kernels | launches | MFU % | times |
| :------------ | :------ | ------: | ----------: | -----: | ------: | -------: | ----: | :---- |
| infer.batch=1 | prefill |   20.50 |             |        |      10 |          |       |       |
| infer.batch=1 | · sam   |    2.00 |             |        |         |          |       |       |
| infer.batch=4 | prefill |   41.00 |             |        |      12 |          |       |       |
| infer.batch=4 | · sam   |    3.00 |             |        |         |          |       |       |

## Trends

```mermaid
xychart-beta
  title "prefill"
  x-axis ["batch=1", "batch=4"]
  y-axis "ms"
  bar [20.5, 41]
```

```mermaid
xychart-beta
  title "TPOT"
  x-axis ["batch=1", "batch=4"]
  y-axis "ms"
  bar [10, 12.5]
```

```mermaid
xychart-beta
  title "throughput"
  x-axis ["batch=1", "batch=4"]
  y-axis "tokens/s"
  bar [100, 320]
```
]], report.markdown(made, "alt_llm", "llmprof sweep recipes/alt_llm.lua infer.batch=1,4,x"))
  end)

  it("draws no trend of one point", function()
    assert.same({}, report.trends { runs = { made.runs[1] }, stages = { made.stages[1] } })
  end)

  it("keeps quotes out of labels of a chart", function()
    local quoted = { runs = {}, stages = {
      { short = 'a="x"', stage = "s", ms = 1 }, { short = "b", stage = "s", ms = 2 },
    } }
    assert.matches([[x%-axis %["a='x'", "b"%]
]], report.markdown(quoted, "r", "c"))
  end)
end)
