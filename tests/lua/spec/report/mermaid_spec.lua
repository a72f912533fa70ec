-- Pictures in Markdown: what GitHub and GitLab are given to draw.
local json = require "llmprof.json"
local charts = require "llmprof.report.html.charts"
local plane = require "llmprof.report.plane"


local function instance(start_ms, wall_ms, busy_ms, rep)
  return { start_ns = start_ms * 1e6, wall_ns = wall_ms * 1e6, gpu_busy_ns = busy_ms * 1e6,
    rep = rep or 2, used = (rep or 2) > 1 }
end


local function stage(name, instances, categories, parent)
  return { name = name, instances = json.list(instances), categories = categories,
    parent = parent }
end


local prefill = stage("prefill", { instance(0, 99, 9, 1), instance(100, 20, 5) }, {
  { category = "gemm", share = 0.9 }, { category = "norm", share = 0.06 },
  { category = "copy/cast", share = 0.03 }, { category = "sort", share = 0.01 } })
local sam = stage("sam", { instance(101, 4, 1) }, { { category = "gemm", share = 1 } }, "prefill")
local decode = stage("decode", { instance(121, 30, 3), instance(151, 30, 3) })


describe("the timeline in Mermaid", function()
  it("has the stages of the first repeat that is used", function()
    assert.equal([[
```mermaid
gantt
  title Repeat 2 as profiled, in ms
  dateFormat x
  axisFormat %Q
  section prefill
  20.00 ms, GPU busy 5.00 ms :active, 0, 20
  section sam
  4.00 ms, GPU busy 1.00 ms :1, 5
  section decode
  60.00 ms, GPU busy 6.00 ms :active, 21, 81
```
]], charts.mermaid_timeline { stages = { prefill, sam, decode } })
  end)

  it("counts a short repeat in microseconds", function()
    assert.matches("title Repeat 2 as profiled, in µs\n.*:active, 0, 1500\n",
      charts.mermaid_timeline { stages = { stage("a", { instance(3, 1.5, 1) }) } })
  end)

  it("is not there without a range, one without length, or of an engine's steps", function()
    assert.equal("", charts.mermaid_timeline { stages = { decode }, ranks = { source = "labels" } })
    assert.equal("", charts.mermaid_timeline { stages = {} })
    assert.equal("", charts.mermaid_timeline { stages = { stage("a", { instance(3, 0, 0) }) } })
  end)
end)


describe("the pies in Mermaid", function()
  it("are of stages without a parent, small slices together", function()
    assert.equal([[
```mermaid
pie title GPU time of prefill in percent
  "gemm" : 90.0
  "norm" : 6.0
  "other" : 4.0
```
]], charts.mermaid_categories { stages = { prefill, sam, decode } })
  end)

  it("have one slice of what is called other and of the rest", function()
    local given = stage("s", {}, { { category = "other", share = 0.9 },
      { category = "gemm", share = 0.07 }, { category = "norm", share = 0.03 } })
    assert.equal([[
```mermaid
pie title GPU time of s in percent
  "gemm" : 7.0
  "other" : 93.0
```
]], charts.mermaid_categories { stages = { given } })
  end)

  it("take names that would end what they stand in", function()
    local hostile = stage('a"b:c#d;e\n```\n%%{init}', {}, {
      { category = 'x"] : 5\n<script>', share = 1 } })
    assert.equal([[
```mermaid
pie title GPU time of a'b c d e init in percent
  "x'] 5 script" : 100.0
```
]], charts.mermaid_categories { stages = { hostile } })
    hostile.instances[1] = instance(0, 50, 1)
    assert.matches("\n  section a'b c d e init\n", charts.mermaid_timeline { stages = { hostile } })
  end)

  it("take long names and empty ones", function()
    local made = charts.mermaid_categories { stages = { stage("s", {}, {
      { category = ("y"):rep(20000), share = 0.5 }, { category = "%", share = 0.5 } }) } }
    assert.matches('"y+…y+" : 50.0\n', made)
    assert.matches('"%(no name%)" : 50.0\n', made)
    assert.is_true(#made < 200)
  end)
end)


describe("the roofline in characters", function()
  local roofs = { dram = 4.8, l2 = 12, tensor = 1000, vector = 67, tensors = {
    { format = "fp8", rate = 2000 }, { format = "bf16", rate = 1000 },
    { format = "fp16", rate = 1000 } } }

  it("has kernels by their numbers, stages by letters, and every roof", function()
    assert.equal([[
numbers are kernels of the table, letters stages: A decode
TFLOP/s: - tensor fp8 2,000.0, - tensor bf16 1,000.0, - tensor fp16 1,000.0, = vector 67.0
TB/s: : L2 12.00, / DRAM 4.80

  10000 |
        |
        |                                          :::::----------/////---------------
   1000 |                             :::::::::::::--/////////////--------------------
        |                :::::::::::::   ////////////
        |    ::::::::::::   /////////////
    100 |::::  /////////////
        |//////=======================================================================
        |
     10 |      12
        |
        |           A
      1 |
        +-----------------------------------------------------------------------------
         10                                    100                                   1000
         FLOP per byte of DRAM; upwards TFLOP/s
behind others: 3]], table.concat(plane.lines { roofs = roofs,
      kernels = { { id = 12, x = 14, y = 10 }, { id = 3, x = 14, y = 10 } },
      stages = { { stage = "decode", x = 20, y = 2 } } }, "\n"))
  end)

  it("leaves out what is not known", function()
    local said = plane.lines { roofs = { dram = 4.8 }, kernels = {},
      stages = { { stage = "all", x = 20, y = 2 } } }
    assert.equal("numbers are kernels of the table, letters stages: A all", said[1])
    assert.same({ "TB/s: / DRAM 4.80", "" }, { said[2], said[3] })
  end)
end)
