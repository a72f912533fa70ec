local trace = require "llmprof.trace"

local FIXTURES = (debug.getinfo(1, "S").source:match "^@(.-)tests/lua/bindings/" or "")
  .. "tests/fixtures/"
local RECORDED = FIXTURES .. "deepseek_ocr/run.sqlite"
local TINY, NODES = FIXTURES .. "tiny_h200/run.sqlite", FIXTURES .. "graphs/node.sqlite"


describe("llmprof.trace", function()
  local t

  before_each(function() t = assert(trace.open(TINY)) end)
  after_each(function() t:close() end)

  it("says what the export says about itself", function()
    assert.same({ path = TINY, reader = "nsys", schema = "3.20.3", product = "2025.3.2.0",
      epoch = t:info().epoch }, t:info())
    assert.equal("integer", math.type(t:info().epoch))
  end)

  it("lists devices and processes", function()
    local devices = t:devices()
    assert.equal(1, #devices)
    assert.same({ id = 0, name = "NVIDIA H200", chip = "GH100", memory = 150109880320,
      bandwidth = 4814304000000, clock = 1980000000, sm_count = 132, l2 = 62914560,
      compute = "9.0", uuid = devices[1].uuid, bus = devices[1].bus }, devices[1])
    assert.equal(530, t:processes()[1].pid)
  end)

  it("tells which tables the export has", function()
    assert.is_true(t:has "kernels")
    assert.is_false(t:has "copies")
    assert.is_true(t:has "sets")
    assert.is_false(t:has "graphs")
    assert.is_true(t:has "api")
    assert.is_true(t:has "ranges")
  end)

  it("tells what the trace can say", function()
    for _, fact in ipairs { "calls", "graph_nodes", "payloads", "allocations", "diagnostics" } do
      assert.is_true(t:knows(fact))
    end
    assert.is_false(t:knows "host_memory") -- nothing was copied
    local bare = assert(trace.open(FIXTURES .. "odd/nothing.sqlite"))
    assert.is_true(bare:knows "calls")
    assert.is_false(bare:knows "graph_nodes")
    assert.is_false(bare:knows "diagnostics")
    assert.same({}, bare:diagnostics())
    bare:close()
  end)

  it("gives what the recorder noticed of itself", function()
    local noticed = assert(assert(trace.open(RECORDED)):diagnostics())
    assert.is_true(#noticed > 0)
    for _, one in ipairs(noticed) do
      assert.is_true(one.severity == "info" or one.severity == "warning")
      assert.equal("string", type(one.text))
    end
  end)

  it("knows files by what is in them, and what to do with others", function()
    assert.same({ "nsys", true }, { trace.reader(RECORDED) })
    assert.same({ "ncu", false }, { trace.reader(FIXTURES .. "small/ncu/raw.csv") })
    assert.same({ "torch", true }, { trace.reader(FIXTURES .. "torch/run.json") })
    assert.matches("^llmprof reads: SQLite export of Nsight Systems; ",
      trace.hint(FIXTURES .. "torch/README.md"))
    assert.is_nil(trace.hint(FIXTURES .. "torch/run.json"))
  end)

  it("gives frames of one name that share columns and keep what is added", function()
    local one, other = assert(t:frame "kernels"), assert(t:frame "kernels")
    assert(t:label(one, "stage", { "prefill" }))
    assert.error_matches(function() other:get(1, "stage") end, "no column 'stage'")
    local first = other:get(1, "duration")
    one:close()
    one = nil -- luacheck: ignore 311
    collectgarbage()
    assert.equal(first, other:get(1, "duration"))
    other:close()
    other = nil -- luacheck: ignore 311
    collectgarbage()
    assert.equal(first, assert(t:frame "kernels"):get(1, "duration"))
    local left = t:frame "kernels"
    t:close()
    assert.error_matches(function() left:get(1, "duration") end, "is closed")
  end)

  it("gives frames that share nothing with those before", function()
    local one = assert(t:frame "kernels")
    t:renew "kernels"
    local other = assert(t:frame "kernels")
    assert.equal(one:get(1, "duration"), other:get(1, "duration"))
    assert.error_matches(function() t:renew() end, "string expected")
  end)

  it("gives frames by name", function()
    local rows = {}
    for i, name in ipairs { "kernels", "transfers", "graphs", "gpu", "api", "ranges",
      "projections", "kernel_ranges" } do
      rows[i] = #assert(t:frame(name))
    end
    assert.same({ 20010, 3, 0, 20013, 40038, 2, 2, 20010 }, rows)
    assert.same({ nil, "no frame 'kernel'", "notfound" }, { t:frame "kernel" })
  end)

  it("gives ranges as the GPU ran them", function()
    local steps = assert(t:steps { "prefill", "decode" })
    assert.equal(2, #steps)
    local ranges = t:frame "projections"
    for row = 1, 2 do
      for _, column in ipairs { "range", "tag", "start", "end" } do
        assert.equal(ranges:get(row, column), steps:get(row, column))
      end
      assert.equal(ranges:get(row, "range_duration"), steps:get(row, "host"))
    end
    local sets = t:frame "transfers"
    assert.equal(sets:get(#sets, "end"), steps:get(1, "before"))
    assert.equal(steps:get(1, "end"), steps:get(2, "before"))
    assert.equal(10, steps:get(1, "kernels"))
    assert.equal(0, #t:steps { "no such range" })
    assert.equal(0, #t:steps {})
    assert.error_matches(function() t:steps() end, "table expected, got no value")
    assert.error_matches(function() t:steps { 1 } end, "list of tags expected")
  end)

  it("labels operations with the innermost of some ranges", function()
    local kernels = assert(t:frame "kernels")
    assert.equal(kernels, t:label(kernels, "stage", { "prefill", "no such range" }))
    assert.equal("prefill", kernels:get(1, "stage"))
    assert.equal("prefill", t:frame "ranges":get(kernels:get(10, "stage_range") + 1, "tag"))
    assert.is_nil(kernels:get(11, "stage"))
    assert.equal(10, #kernels:where { stage = "prefill" })
  end)

  it("takes a column that is called link for what it is", function()
    local kernels = assert(t:frame "kernels")
    kernels:compute { name = "link", type = "integer", steps = { 1 << 40 } }
    t:label(kernels, "stage", { "prefill" })
    assert.equal(10, #kernels:where { stage = "prefill" })
  end)

  it("labels them with other names, and counts with those tags alike", function()
    local kernels = assert(t:frame "kernels")
    t:label(kernels, "stage", { { "prefill", "first" }, "decode", { "no such range", "x" } })
    assert.equal(10, #kernels:where { stage = "first" })
    assert.equal(20000, #kernels:where { stage = "decode" })
    assert.equal(0, #kernels:where { stage = "prefill" })
    assert.equal(1, #t:steps { { "prefill", "first" } })
    for _, wrong in ipairs { { "a" }, { "a", 1 }, { 1, "a" }, {} } do
      assert.error_matches(function() t:steps { wrong } end, "list of tags expected")
    end
  end)

  it("knows kernels of CUDA graphs and mangled names", function()
    local nodes = assert(trace.open(NODES))
    local kernels = assert(nodes:frame "kernels")
    local from_graphs = kernels:where { { "graph_node", "~=", false } }
    assert.equal(60, #from_graphs)
    assert.equal("cudaGraphLaunch_v10000", from_graphs:get(1, "api"))
    assert.equal("decode_step", from_graphs:get(1, "tag"))
    assert.equal("_Z4gemvPKfS0_Pfi", t:frame "kernels":get(1, "mangled_name"))
    nodes:close()
  end)

  it("refuses labels where they do not belong", function()
    local kernels, other = assert(t:frame "kernels"), assert(trace.open(TINY))
    local function refusal(...)
      local frame, message, code = t:label(...)
      assert.is_nil(frame)
      assert.equal("unsupported", code)
      return message
    end
    assert.equal("the frame belongs to another trace", refusal(other:frame "gpu", "x", {}))
    assert.equal("only frames of GPU operations, of ranges or of CPU samples can be labelled",
      refusal(t:frame "api", "x", {}))
    assert.equal("the frame has a column 'name' or 'name_range' already",
      refusal(kernels, "name", {}))
    other:close()
  end)

  it("raises on misuse", function()
    local kernels = assert(t:frame "kernels")
    assert.error_matches(function() trace.open() end, "string expected, got no value")
    assert.error_matches(function() trace.open(TINY .. "\0") end, "NUL byte")
    assert.error_matches(function() t:frame {} end, "string expected, got table")
    assert.error_matches(function() t:has "tables" end, "invalid option 'tables'")
    assert.error_matches(function() t:label(t, "x", {}) end,
      "llmprof.frame expected, got llmprof.trace")
    assert.error_matches(function() t:label(kernels, "x") end, "table expected, got no value")
    assert.error_matches(function() t:label(kernels, "x", { 1 }) end, "list of tags expected")
    assert.error_matches(function() trace.open(TINY).info(kernels) end, "llmprof.trace expected")
  end)

  it("closes more than once, and then nothing of it can be used", function()
    local kernels = assert(t:frame "kernels")
    local view = kernels:where { device = 0 }
    t:close()
    t:close()
    assert.error_matches(function() t:info() end, "llmprof.trace is closed")
    assert.error_matches(function() t:frame "gpu" end, "llmprof.trace is closed")
    assert.error_matches(function() kernels:get(1, "name") end,
      "what the frame was made from is closed")
    assert.error_matches(function() return #view end, "what the frame was made from is closed")
    view:close()
    kernels:close()
  end)

  it("lives as long as a frame of it does", function()
    local view = assert(assert(trace.open(TINY)):frame "kernels"):where { op = 5 }
    collectgarbage()
    collectgarbage()
    assert.equal("gemv(const float *, const float *, float *, int)", view:get(1, "name"))
  end)
end)
