-- Columns beside a frame's own: computed, of other rows, of another frame; and where
-- operations of a trace stand.
local failure = require "tests.lua.support.failure"
local gaps = require "llmprof.analysis.timeline.gaps"
local marked = require "tests.lua.support.marked"
local places = require "llmprof.analysis.timeline.positions"
local query = require "llmprof.query"
local session = require "llmprof.query.session"
local stages = require "llmprof.analysis.stages.find"
local timeline = require "tests.lua.support.timeline"
local trace_file = require "llmprof.trace.file"

local ENGINE = "tests/fixtures/recorded/vllm_serve/run.sqlite"
local TRACE = "tests/fixtures/deepseek_ocr/run.sqlite"


local function events()
  return query.from_rows({
    { start = 0, stop = 10, stream = 1, name = "a" },
    { start = 5, stop = 15, stream = 2, name = "b" },
    { start = 20, stop = 30, stream = 1, name = "a" },
  }, {
    { name = "start", type = "integer", unit = "ns" },
    { name = "end", type = "integer", unit = "ns", get = function(one) return one.stop end },
    { name = "stream", type = "integer" }, { name = "name", type = "string" },
  }, { "name", "start" })
end


local function names(frame)
  return table.concat(frame:columns():values "name", " ")
end


describe("a tree of paths", function()
  it("sums up what is inside, with layers as one", function()
    local made = query.from_rows({ { "m.layers.0.mlp", 4 }, { "m.layers.1.mlp", 5 },
      { "m.layers.1", 2 }, { "m.norm", 20 }, { nil, 1 } }, {
      { name = "module", type = "string", get = function(row) return row[1] end },
      { name = "duration", type = "integer", unit = "ns", get = function(row) return row[2] end },
    }):tree "module"
    assert.same({ "m", "m.norm", "m.layers.*", "m.layers.*.mlp", false }, made:values "module")
    assert.same({ 31, 20, 11, 9, 1 }, made:values "duration")
    assert.same({ 0, 20, 2, 9, 1 }, made:values "self")
    assert.same({ 4, 1, 3, 2, 1 }, made:values "count")
    assert.equal("ns", made:columns():where { name = "self" }:values "unit"[1])
  end)
end)


describe("a column more", function()
  it("loses none and shows itself", function()
    local made = events():with("twice", function(row) return row.start * 2 end, "ns")
      :share("start")
    assert.equal("start end stream name twice share", names(made))
    assert.equal("name  start ns  twice ns  share %\n", (tostring(made):match "^.-\n"))
    assert.same({ 0, 10, 40 }, made.twice)
    assert.same({ 1, 2, 1 }, made.stream)
    assert.same({ 0.0, 0.2, 0.8 }, made:values "share")
  end)

  it("takes the place of one of its name", function()
    local made = events():with("name", function(row) return row.name .. "!" end)
    assert.equal("start end stream name", names(made))
    assert.same({ "a!", "b!", "a!" }, made.name)
    assert.same({ "b!" }, made:where { name = { "~", "b" } }.name)
  end)

  it("is of other rows", function()
    assert.same({ false, false, 0 }, events():lag("start", 1, "stream").lag_start)
    assert.same({ 5, 20, false }, events():lag("start", -1).lead_start)
    assert.same({ false, 2.5, 12.5 }, events():rolling("start", 2).rolling_mean_start)
    assert.same({ false, 5.0, 20.0 }, events():rolling("start", 2, "max").rolling_max_start)
    assert.same({ false, false, 5.0 }, events():rolling("start", 3, "median").rolling_median_start)
  end)
end)


describe("join", function()
  local titles = query.from_rows({ { name = "a", title = "A", start = 7 } },
    { { name = "name", type = "string" }, { name = "title", type = "string" },
      { name = "start", type = "integer", unit = "ns" } })

  it("adds the columns of the row with the same key", function()
    local made = events():join(titles, "name")
    assert.equal("start end stream name title other_start", names(made))
    assert.same({ "A", false, "A" }, made.title)
    assert.same({ 7, false, 7 }, made.other_start)
    assert.equal("name  start ns  title  other_start ns\n", (tostring(made):match "^.-\n"))
  end)

  it("has keys of other names", function()
    local other = titles:select("title"):join(titles:with("word", function() return "A" end),
      { title = "word" })
    assert.same({ "a" }, other.name)
  end)

  it("refuses what cannot be joined", function()
    assert.same({ "usage", "join: with which other frame?", 'for example: a:join(b, "name")' },
      failure(events().join, events(), 1))
    assert.same({ "usage", "join: several rows of a frame have the same key",
      "group it by name first" }, failure(events().join, titles, events(), "name"))
    assert.equal("join: by which columns?", failure(events().join, events(), titles)[2])
    assert.equal("no column 'nme' here (did you mean 'name'?)",
      failure(events().join, events(), titles, "nme")[2])
    assert.equal("column 'start' holds text in one frame and numbers in the other",
      (failure(events().join, titles, events(), { name = "start" })[2]
        :gsub("'name'", "'start'")))
  end)
end)


describe("time", function()
  it("has gaps and overlap", function()
    assert.same({ 15, 5 }, { events():gaps().start[1], events():gaps().duration[1] })
    assert.equal(0, #events():gaps(6))
    local made = query.overlap(events():where { name = "a" }, events():where { name = "b" })[1]
    assert.same({ 20, 10, 5, 0.25, 0.5 }, { made.a, made.b, made.both, made.share_a, made.share_b })
    assert.same({ 0, false }, { query.overlap(events():head(0), events())[1].both,
      query.overlap(events():head(0), events())[1].share_a or false })
    assert.equal("gaps: a frame with start and end is expected",
      failure(events().gaps, events():select "name")[2])
    assert.equal("overlap: two frames are expected", failure(query.overlap, events(), 1)[2])
  end)
end)


describe("an operation", function()
  local s = session.open { TRACE }

  it("stands between others, in its repeat and step", function()
    assert.same({ 3402, 8496 }, { #s.kernels:where { rep = 2, stage = "prefill" },
      #s.kernels:where { rep = 2, stage = "decode" } })
    assert.same({ 1062, 1062 }, { #s.kernels:where { step = 1 }, #s.kernels:where { step = 26 } })
    local sums = s.ops:where { rep = 1 }:group("device"):agg("sum gpu_gap", "sum dur")
    assert.is_true(sums[1].gpu_gap_before_sum > sums[1].duration_sum)
    assert.equal(0, s.ops:max "overlap") -- one stream
    assert.equal(0, s.kernels:max "rank")
    assert.equal(1, #s.ops:where { gap = false })
  end)

  it("has the busy time of its stage beside its gaps", function()
    local decode = s.ops:where { stage = "decode", rep = 1 }:sort("start")
    local first, last = decode[1], decode:tail(1)[1]
    local idle = decode:tail(#decode - 1):sum "gpu_gap"
    assert.equal(last["end"] - first.start, idle + decode:sum "dur")
  end)

  it("stands in a layer of its step", function()
    local layers = s.kernels:where { step = 2 }:group("layer"):count():sort("layer")
    assert.same({ 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, false }, layers.layer)
    assert.equal(91, layers[2].count)
    assert.equal(24 * 11, #s.layers)
    assert.equal(s.kernels:where { layer = 3 }:sum "dur", s.layers:where { layer = 3 }
      :sum "gpu_time")
  end)

  it("ends a gap", function()
    local longest = s.gaps:where { call = true }:sort("-dur")[1]
    assert.same({ "decode", 20, "cudaMemcpyAsync_v3020" },
      { longest.stage, longest.step, longest.call })
    assert.equal(longest.duration, s.ops:where { start = longest["end"] }[1].gpu_gap_before)
    assert.is_true(longest.unlaunched < longest.duration)
    assert.equal(#s.gaps, #s.gaps())
  end)

  it("ends the gap that results have, which may begin with its repeat", function()
    local trace = trace_file.open(TRACE)
    local found = stages.find(trace, { { name = "prefill" }, { name = "decode" } }, "no")
    local list = gaps.longest { trace = trace, found = found, kernels = {},
      layers = function() return {} end }
    assert.equal(gaps.MOST, #list)
    for _, gap in ipairs(list) do
      assert.equal(1, #s.gaps:where { start = gap.start_ns, duration = gap.ns })
    end
  end)
end)


describe("an engine's operation", function()
  local s = session.open { ENGINE }

  it("is of its rank's step, as its collectives are", function()
    local made = s.kernels:where { rank = 1 }:group("step"):count()
      :join(s.steps:where { world = 1 }:select("step", "kernels"), "step")
    assert.equal(102, #made:where { step = true })
    for row in made:where { step = true }:rows() do assert.equal(row.kernels, row.count) end
    local waiting = s.collectives:where { world = 0, step = 3 }:sum "waiting"
    assert.equal(s.steps:where { world = 0, step = 3 }[1].waiting, waiting)
  end)

  it("has no module where no range names one", function()
    assert.equal(0, #s.kernels:where { module = true })
  end)
end)


describe("an operation in a range of a module", function()
  local trace = timeline.of(marked)
  local made = places.find(trace, stages.find(trace, { { name = "decode" } }, "no"))

  local function column(add, name)
    return add(made, trace:frame("kernels"):select { "op", "pid", "device", "start", "api_start" })
      :values(name)
  end

  it("is of that module, its layer and the operator", function()
    assert.same({ "model.layers.0.attn", "model.layers.0.mlp", "model.layers.1.mlp",
      "model.layers.1", false }, column(places.add_module, "module"))
    assert.same({ 0, 0, 1, 1, false }, column(places.add_layer, "layer"))
    assert.same({ false, "aten::mm", "aten::mm", false, false },
      column(places.add_operator, "operator"))
  end)
end)


-- A step of four layers that end with a collective.
local function reduced()
  local lines, id = { "process 1 python", "thread 1 main", "range 0 1000 decode",
    "range 1 900 step" }, 0
  local function add(start, stop, short)
    id = id + 1
    lines[#lines + 1] = ("call %d %d id=%d cudaLaunchKernel"):format(start, start + 1, id)
    lines[#lines + 1] = ("kernel %d %d call=%d short=%s %s()"):format(start + 2, stop, id, short,
      short)
  end
  for layer = 0, 3 do
    add(100 * layer + 10, 100 * layer + 30, "mlp")
    add(100 * layer + 50, 100 * layer + 90, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL")
  end
  return table.concat(lines, "\n") .. "\n"
end


describe("an operation of a layer that ends with a collective", function()
  it("is in that, but for the first, which begins with the step", function()
    local trace = timeline.of(reduced())
    local made = places.find(trace, stages.find(trace, { { name = "decode", step = "step" } },
      "no"))
    local kernels = trace:frame("kernels"):select { "op", "pid", "device", "start", "api_start" }
    assert.same({ false, false, 1, 1, 2, 2, 3, 3 }, places.add_layer(made, kernels):values "layer")
  end)
end)
