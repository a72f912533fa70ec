-- What the page's timeline draws.
local events = require "llmprof.analysis.timeline.events"
local read = require "tests.lua.support.timeline_data"
local encode = require "llmprof.analysis.timeline.encode"
local stages = require "llmprof.analysis.stages.find"
local timeline = require "tests.lua.support.timeline"

local DECLARED = { { name = "prefill" }, { name = "decode" } }

-- Three repeats of 1000 ns, of which the second is the one of middle length.
local function repeats()
  local lines = { "knows calls", "thread 1 pid=1 main" }
  local function add(...) lines[#lines + 1] = (...):format(select(2, ...)) end
  local id = 0
  for rep, tail in ipairs { 10, 20, 30 } do
    local at = rep * 10000
    for stage, name in ipairs { "prefill", "decode" } do
      local start = at + (stage - 1) * 500
      add("range %d %d thread=1 %s", start, start + 400 + tail, name)
      for kernel = 0, 1 do
        id = id + 1
        add("call %d %d thread=1 id=%d cudaLaunchKernel", start + kernel * 20,
          start + kernel * 20 + 10, id)
        add("kernel %d %d call=%d stream=%d %s_%d<int>", start + 100 + kernel * 100,
          start + 150 + kernel * 100, id, 7 + kernel, name, kernel)
      end
    end
  end
  return table.concat(lines, "\n") .. "\n"
end


-- The timeline of a trace, or of lines that are one: its head, and each frame as columns by name.
local function timeline_of(lines, given)
  local trace = type(lines) == "string" and timeline.of(lines) or lines
  local made = { trace = trace, found = stages.find(trace, DECLARED, { skip_first = false }),
    kernels = {}, layers = function() return {} end }
  for key, value in pairs(given or {}) do made[key] = value end
  local bytes = events.encode(made)
  return bytes and read(bytes)
end


local function with_most(most, f)
  local before = encode.MOST
  encode.MOST = most
  local ok, message = pcall(f)
  encode.MOST = before
  assert(ok, message)
end


describe("the events of a timeline", function()
  it("are all of a short run, with lane, name, stage, kernel and launch", function()
    local page = timeline_of(repeats(), { kernels = {
      { id = 4, stage = "decode", name = "decode_1<int>", label = "decode_1",
        category = "gemm" } } })
    assert.same({ first = 10000, last = 30930 }, page.window)
    assert.same({ first = 20000, last = 20920 }, page.view)
    assert.equal(0, page.busy.count)
    assert.same({ 12, 12, 6, 6 }, { page.gpu.count, page.api.count, page.range.count,
      page.mark.count })
    local gpu = page.gpu
    local last = 12
    assert.same({ "gpu", "GPU 0, stream 8" }, { page.lanes[gpu.lane[last] + 1].kind,
      page.lanes[gpu.lane[last] + 1].title })
    assert.equal("decode_1", page.labels[gpu.label[last] + 1])
    assert.same({ "gemm", "" }, { page.categories[gpu.label[last] + 1],
      page.categories[gpu.label[1] + 1] })
    assert.is_false(gpu.line_label[last])
    assert.equal("decode", page.stages[gpu.place[last] + 1])
    assert.same({ 4, false }, { gpu.kernel[last], gpu.kernel[1] })
    assert.same({ 30700, 50, 30520, 170 }, { gpu.start[last], gpu.duration[last],
      gpu.api_start[last], gpu.queue_time[last] })
    assert.equal("cudaLaunchKernel", page.labels[page.api.label[1] + 1])
  end)

  it("are those of the repeat of middle length and the longest where not all fit", function()
    with_most(20, function()
      local page = timeline_of(repeats())
      assert.same({ first = 20000, last = 20920, least = 51 }, page.window)
      assert.same({ 4, 4, 6, 6 }, { page.gpu.count, page.api.count, page.range.count,
        page.mark.count })
      local starts = page.range.start
      table.sort(starts)
      assert.same({ 10000, 30500 }, { starts[1], starts[6] })
    end)
  end)

  it("are as many from its start as fit, and shares of the rest", function()
    with_most(4, function()
      local page = timeline_of(repeats())
      assert.equal(20000, page.window.first)
      local count = page.gpu.count + page.api.count + page.range.count
      assert.is_true(count > 0 and count <= 4, count)
      -- of both streams and of the thread, 1024 each; busy 6 * 50 of 20,600 ns
      assert.equal(3 * 1024, page.busy.count)
      local sum = 0
      for row, lane in ipairs(page.busy.lane) do
        if lane == page.busy.lane[1] then sum = sum + page.busy.share[row] end
      end
      assert.near(300 / (page.span.last - page.span.first), sum / 255 / 1024, 0.002)
    end)
  end)

  it("say how long collectives waited, which meet, and where layers lie", function()
    local frame = require "llmprof.frame"
    local collectives = frame.new(2, {
      { name = "start", type = "integer", values = { 10100, 10200 } },
      { name = "waiting", type = "integer", values = { 30, false } },
      { name = "key", type = "integer", values = { 7, 7 } },
      { name = "ordinal", type = "integer", values = { 3, 3 } } })
    local page = timeline_of(repeats(), { collectives = collectives,
      layers = function() return { { start = 10600, stop = 10700, index = 0 } } end })
    assert.same({ 30, false }, { page.gpu.waiting[1], page.gpu.waiting[2] })
    assert.same({ 7 << 32 | 3, 7 << 32 | 3, false }, { page.gpu.match[1], page.gpu.match[2],
      page.gpu.match[3] })
    assert.equal("layer 0", page.labels[page.mark.label[page.mark.count] + 1])
  end)

  it("have what hardware samples say, as whole percents of lanes of their own", function()
    local trace_file = require "llmprof.trace.file"
    local page = timeline_of(trace_file.open "tests/fixtures/small/run.sqlite")
    assert.equal("sample", page.frames[#page.frames].name)
    local first = page.sample
    local lane = page.lanes[first.lane[1] + 1]
    assert.same({ "sample", "GPU 0, front end %" }, { lane.kind, lane.title })
    assert.equal("front end", page.labels[first.label[1] + 1])
    assert.same({ 10000, 1000, 80 }, { first.start[1], first.duration[1], first.percent[1] })
    assert.is_nil(page.samples_until)
    assert.is_nil(timeline_of(repeats()).sample)
  end)

  it("say until when hardware samples are there, where they are too many", function()
    local trace_file = require "llmprof.trace.file"
    with_most(50, function()
      local page = timeline_of(trace_file.open "tests/fixtures/small/run.sqlite")
      local sample, last = page.sample, 0
      for row = 1, sample.count do last = math.max(last, sample.start[row]) end
      assert.equal(50, sample.count)
      assert.equal(20000, page.samples_until)
      assert.is_true(last < page.samples_until)
    end)
  end)

  it("say how many lanes are not there, of a kind that has too many", function()
    local lines = {}
    for stream = 1, 50 do
      lines[stream] = ("kernel %d %d stream=%d one\n"):format(stream * 10, stream * 10 + 5, stream)
    end
    local page = timeline_of(table.concat(lines), { whole = stages.WHOLE_RUN })
    assert.same({ 2, 48 }, { page.hidden, page.gpu.count })
    assert.equal(0, timeline_of(repeats()).hidden)
  end)

  it("are none where the GPU did nothing, and one of one", function()
    assert.is_nil(timeline_of "range 0 10 thread=1 decode\nthread 1 pid=1 main\n")
    assert.equal(1, timeline_of("kernel 5 9 one\n", { whole = stages.WHOLE_RUN }).gpu.count)
  end)

  it("stay small, whatever names are like", function()
    local page = timeline_of(("kernel 5 9 %s\nkernel 10 11 </script>\n"):format(
      ("x"):rep(1000000)), { whole = stages.WHOLE_RUN })
    assert.equal(2, page.gpu.count)
    for _, label in ipairs(page.labels) do assert.is_true(#label < 200, #label) end
  end)
end)
