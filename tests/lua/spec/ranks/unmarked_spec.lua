-- Steps of several ranks that nothing marks, and layers beside which other collectives run.
local decoding = require "tests.lua.support.decoding"
local rank_part = require "llmprof.ranks.part"
local rank_view = require "llmprof.analysis.serving.ranks"
local ranks = require "llmprof.ranks"
local timeline = require "tests.lua.support.timeline"

local function examine(given)
  local trace = timeline.of(decoding.lines(given))
  return (ranks.examine({ rank_part.of(trace, "run.sqlite", rank_view.knowledge()) }, {}))
end

local function layers_of(record)
  local seen, count = {}, 0
  for _, layer in ipairs(record.layers) do
    if layer.layer and layer.phase == "decode" and not seen[layer.layer] then
      seen[layer.layer], count = true, count + 1
    end
  end
  return count
end

describe("steps that nothing marks", function()
  it("are inferred for each of several ranks", function()
    local record = examine { ranks = 2, layers = 4, steps = 12 }
    assert.equal("inferred", record.source)
    for _, group in ipairs(record.stages) do
      if group.phase == "decode" then
        assert.equal(2, #group.ranks)
        assert.truthy(group.count >= 10)
        assert.truthy(math.abs(group.mean_ns - 190000) < 20000) -- 10 kernels, 8 all-reduces
      end
    end
    assert.equal(12 * 8, record.totals.matched)
  end)

  it("are no prefill where a range says decode", function()
    local lines = decoding.lines { ranks = 1, layers = 4, steps = 12 }
    local function phases(more)
      local trace = timeline.of(lines .. more)
      local record = ranks.examine({ rank_part.of(trace, "run.sqlite", rank_view.knowledge()) },
        {})
      local list = {}
      for i, group in ipairs(record.stages) do list[i] = group.phase end
      return table.concat(list, " ")
    end
    assert.equal("prefill decode", phases "")
    assert.equal("decode", phases "range 0 100000000 pid=1 thread=1 decode\n")
  end)

  it("of one rank are worth a word where it is in collectives for a tenth of its time", function()
    local knowledge = rank_view.knowledge()
    local function verdict_of(ns)
      local trace = timeline.of(([[
process 1 python
thread 1 pid=1 main
kernel 1000 2000 pid=1 device=0 gemm
kernel 3000 %d pid=1 device=0 ncclDevKernel_AllReduce_Sum_f16_RING_LL(a)
]]):format(3000 + ns))
      local record = rank_view.record({ rank_part.of(trace, "run.sqlite", knowledge) }, knowledge)
      return record and record.verdict.text
    end
    assert.equal("who waits for whom cannot be told: one rank alone was captured", verdict_of(200))
    assert.is_nil(verdict_of(50))
  end)

  it("leave out processes whose GPU activity was not recorded, and say so", function()
    local trace = timeline.of(decoding.lines { ranks = 1, layers = 4, steps = 12 }
      .. "process 77 python\nthread 77 pid=77 main\n"
      .. "call 1 2 pid=77 thread=77 id=1 cudaLaunchKernel\n")
    local part = rank_part.of(trace, "run.sqlite", rank_view.knowledge())
    assert.same({ "run.sqlite: GPU activity was not recorded for 1 of 2 processes that launch "
      .. "work: they are no ranks" }, ranks.examine({ part }, {}).left_out)
  end)

  it("are without those of start-up, which are counted", function()
    local lines, at = { "knows calls\ndevice 0 NVIDIA H200\nprocess 1 python" }, 100000000
    local function op(from, to, name)
      local id = #lines
      lines[id + 1] = ("call %d %d pid=1 thread=1 id=%d cudaLaunchKernel"):format(from - 500,
        from - 400, id)
      lines[id + 2] = ("kernel %d %d pid=1 device=0 call=%d stream=7 %s(float *)"):format(from, to,
        id, name)
    end
    for _, scale in ipairs { 4, 1, 1 } do -- the first call is slow, and short
      op(at, at + 5000000, "prefill_gemm")
      at = at + 6000000
      for _ = 1, scale == 1 and 20 or 6 do
        for layer = 1, 6 do
          op(at + layer * scale * 200000, at + layer * scale * 200000 + 50000, "flash_attention")
        end
        at = at + scale * 1500000
        op(at - 50000, at, "argmax_sample")
      end
      at = at + 100000000
    end
    local trace = timeline.of(table.concat(lines, "\n") .. "\n")
    local record = ranks.examine({ rank_part.of(trace, "run.sqlite", rank_view.knowledge()) }, {})
    local decode = record.stages[#record.stages]
    assert.same({ "inferred", "decode" }, { record.source, decode.phase })
    assert.truthy(record.startup_steps >= 6)
    assert.equal(1300000, decode.p50_ns)
  end)

  it("are none where nothing is regular", function()
    assert.is_nil(examine({ ranks = 2, layers = 4, steps = 1 }).source)
  end)
end)

describe("layers", function()
  it("are told though an all-gather runs beside them, elsewhere in each step", function()
    local record = examine { ranks = 2, layers = 6, steps = 12, marked = true,
      beside = function(step) return step % 6 end }
    assert.equal("labels", record.source)
    assert.equal(6, layers_of(record))
    assert.equal(12 * 12 + 12, record.totals.matched)
    local all = 0
    for _, layer in ipairs(record.layers) do -- the all-gathers are of no layer
      assert.equal(layer.layer and 2 * 2 * 12 or 2 * 12, layer.collectives)
      all = all + layer.collectives
    end
    assert.equal(record.totals.count, all)
  end)

  it("are the same without", function()
    assert.equal(6, layers_of(examine { ranks = 2, layers = 6, steps = 12, marked = true }))
  end)
end)
