-- Pictures in Markdown: what GitHub and GitLab are given to draw.
local charts = require "llmprof.report.html.charts"
local plane = require "llmprof.report.plane"


local function stage(name, categories, parent)
  return { name = name, categories = categories, parent = parent }
end


local prefill = stage("prefill", {
  { category = "gemm", share = 0.9 }, { category = "norm", share = 0.06 },
  { category = "copy/cast", share = 0.03 }, { category = "sort", share = 0.01 } })
local sam = stage("sam", { { category = "gemm", share = 1 } }, "prefill")
local decode = stage("decode")


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
    local given = stage("s", { { category = "other", share = 0.9 },
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
    local hostile = stage('a"b:c#d;e\n```\n%%{init}', {
      { category = 'x"] : 5\n<script>', share = 1 } })
    assert.equal([[
```mermaid
pie title GPU time of a'b c d e init in percent
  "x'] 5 script" : 100.0
```
]], charts.mermaid_categories { stages = { hostile } })
  end)

  it("take long names and empty ones", function()
    local made = charts.mermaid_categories { stages = { stage("s", {
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

  it("has kernels by their numbers, stages with letters, and every roof", function()
    assert.equal([[
numbers are kernels of the table, ◆ stages: A decode
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
        |           ◆A
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
    assert.equal("numbers are kernels of the table, ◆ stages: A all", said[1])
    assert.same({ "TB/s: / DRAM 4.80", "" }, { said[2], said[3] })
  end)
end)
