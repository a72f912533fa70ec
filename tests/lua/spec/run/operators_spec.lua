-- The framework's operators, from a trace and from operators.json.
local bundle = require "tests.lua.support.bundle"
local fs = require "llmprof.fs"
local json = require "llmprof.json"
local markdown = require "llmprof.report.write.markdown"
local document = require "llmprof.io.document"
local operators = require "llmprof.run.operators"
local documents = require "llmprof.report.documents"
local chapters = require "llmprof.report.chapters"


local function event(category, name, ts, dur, args)
  return ('{"ph":"X","cat":"%s","name":"%s","pid":1,"tid":1,"ts":%s,"dur":%s,"args":{%s}}')
    :format(category, name, ts, dur, args or "")
end


-- Two calls of linear, each of mm inside it; a kernel per mm, a copy by none.
local trace = '{"traceEvents":[' .. table.concat({
  event("cpu_op", "aten::linear", "10.000", "20.000", '"External id":1,"Input Dims":[[1,8],[8,4]]'),
  event("cpu_op", "aten::mm", "12.000", "10.000", '"External id":2,"Input Dims":[[1,8],[8,4]]'),
  event("cpu_op", "aten::linear", "50.000", "20.500", '"External id":3,"Input Dims":[[2,8],[8,4]]'),
  event("cpu_op", "aten::mm", "52.000", "10.000", '"External id":4,"Input Dims":[[1,8],[8,4]]'),
  event("cpu_op", "aten::mm", "63.000", "1.000", '"External id":5,"Input Dims":[[],[]]'),
  event("cuda_runtime", "cudaLaunchKernel", "13.000", "4.000", '"correlation":7'),
  event("kernel", "gemm<64>", "20.000", "3.000", '"correlation":7'),
  event("kernel", "gemm<64>", "60.000", "3.000", '"External id":4'),
  event("kernel", "splitK|reduce", "64.000", "1.500", '"External id":4'),
  event("gpu_memcpy", "Memcpy HtoD", "70.000", "2.500"),
  event("cpu_op", "aten::add", "80", "-1"),
}, ",\n") .. "]}"

local gemms = { { name = "gemm<64>", calls = 2, device_ns = 6000 },
  { name = "splitK|reduce", calls = 1, device_ns = 1500 } }

local found = {
  schema_version = 1, source = "torch.profiler, trace t.json", wall_ms = 0.0625,
  device_ns = 10000, unattributed_device_ns = 2500, left_out_events = 1,
  operators = {
    { name = "aten::mm", calls = 3, host_total_ns = 21000, host_self_ns = 17000,
      device_total_ns = 7500, device_self_ns = 7500, share = 0.75,
      input_shapes = { { 1, 8 }, { 8, 4 } }, kernels = gemms },
    { name = "aten::linear", calls = 2, host_total_ns = 40500, host_self_ns = 19500,
      device_total_ns = 7500, device_self_ns = 0, share = 0.0,
      input_shapes = { { 1, 8 }, { 8, 4 } } },
    { name = "cudaLaunchKernel", calls = 1, host_total_ns = 4000, host_self_ns = 4000 },
  },
  launches = { kernels = { "gemm<64>", "splitK|reduce" }, operators = { "aten::mm" },
    places = { { kernel = 0, operator = 0 }, { kernel = 1, operator = 0 } },
    stages = { { order = "0 0 1" } } },
}


-- What torch makes of a trace of its own; tests/fixtures/torch/key_averages.py made both.
describe("operators and key_averages of torch", function()
  local folder = "tests/fixtures/torch/key_averages"
  local theirs, ours = {}, {}
  for _, row in ipairs(assert(json.decode(assert(fs.read(folder .. ".json"))))) do
    theirs[row.key] = row
  end
  for _, row in ipairs(assert(operators.load(folder .. ".trace.json")).operators) do
    ours[row.name] = row
  end

  local function ns(us) return math.floor(us * 1000 + 0.5) end

  it("count the same calls and the same time of their own", function()
    local left, right = {}, {}
    for name, row in pairs(theirs) do left[name] = { row.count, ns(row.self_cpu_time_total) } end
    for name, row in pairs(ours) do right[name] = { row.calls, row.host_self_ns } end
    assert.same(left, right)
  end)

  it("differ in what calls itself: torch counts the time of the inner call twice", function()
    local differ = {}
    for name, row in pairs(theirs) do
      local more = ns(row.cpu_time_total) - ours[name].host_total_ns
      if more ~= 0 then differ[name] = more end
    end
    assert.same({ ["aten::arange"] = 60452 }, differ)
  end)
end)

describe("llmprof.run.operators", function()
  local scratch = bundle.scratch(before_each, after_each)

  local function write(name, contents)
    assert(fs.write(scratch() .. "/" .. name, contents))
    return scratch() .. "/" .. name
  end

  local function complaint(contents)
    local made, message = operators.load(write("operators.json", contents))
    assert.is_nil(made)
    return (message:gsub("^.*/", ""))
  end

  it("sums up a trace by operator", function()
    local made = assert(operators.load(write("t.json", trace)))
    assert.same(found, made)
    assert.is_nil(document.check("operators",
      json.decode(assert(json.encode(made)))))
  end)

  it("does not invent device times where there was no GPU", function()
    local made = assert(operators.load(write("t.json",
      "[" .. event("cpu_op", "aten::mm", 1, 2) .. "]")))
    assert.is_nil(made.device_ns)
    assert.same({ { name = "aten::mm", calls = 1, host_total_ns = 2000, host_self_ns = 2000 } },
      made.operators)
  end)

  it("gives batches and lengths by the shapes of lookups", function()
    local function lookup(ts, dims)
      return event("cpu_op", "aten::embedding", ts, "1", '"Input Dims":' .. dims)
    end
    local function inputs(...)
      local path = write("t.json", "[" .. table.concat({ ... }, ",") .. "]")
      return assert(operators.load(path)).inputs
    end
    local long, short = "[[32000,64],[4,512],[],[],[]]", "[[32000,64],[4,1],[],[],[]]"
    assert.same({ { sequences = 4, tokens = 512, calls = 1 },
      { sequences = 4, tokens = 1, calls = 2 } }, inputs(lookup("1", long), lookup("3", short),
      lookup("5", "[[1024,64],[1,512],[],[],[]]"), lookup("7", short)))
    assert.same({ { tokens = 2048, calls = 1 } }, inputs(lookup("1", "[[32000,64],[2048],[]]")))
    assert.is_nil(inputs(lookup("1", "[[],[]]"), event("cpu_op", "aten::mm", "3", "1")))
    local said = documents.operators { run = { recipe = "r" }, environment = {}, missing = {},
      operators = { operators = {}, inputs = { { sequences = 4, tokens = 512, calls = 1 },
        { tokens = 1, calls = 2 } } } }
    assert.matches("embeddings: 4 of 512 tokens %(once%), 1 token %(2 times%)%.", said)
  end)

  it("gives the most memory that allocators told of, by device", function()
    local function told(type, device, allocated, reserved)
      return ('{"ph":"i","cat":"cpu_instant_event","name":"[memory]","pid":1,"tid":1,"ts":1,'
        .. '"args":{"Total Reserved":%d,"Total Allocated":%d,"Bytes":8,"Device Id":%d,'
        .. '"Device Type":%d}}'):format(reserved, allocated, device, type)
    end
    local made = assert(operators.load(write("t.json", "[" .. table.concat({
      event("cpu_op", "aten::mm", "1", "1"), told(1, 0, 512, 2048), told(0, -1, 16, 0),
      told(1, 0, 1024, 2048), told(1, 1, 256, 4096), told(1, 0, 0, 1024) }, ",") .. "]")))
    assert.same({ { device = 0, events = 3, allocated_bytes = 1024, reserved_bytes = 2048 },
      { events = 1, allocated_bytes = 16, reserved_bytes = 0 },
      { device = 1, events = 1, allocated_bytes = 256, reserved_bytes = 4096 } }, made.memory)
    local said = documents.operators { run = { recipe = "r" }, environment = {}, operators = made,
      missing = {} }
    assert.matches("given out: GPU 0 at most 1.02 kB of 2.05 kB reserved %(3 events%); the host "
      .. "at most 16 B %(1 event%); GPU 1 at most 256 B of 4.10 kB reserved %(1 event%)%.", said)
  end)

  it("reads an empty trace", function()
    assert.same({}, assert(operators.load(write("t.json", "[]"))).operators)
  end)

  it("adds shares to operators.json", function()
    local function shares(device_ns)
      local made = assert(operators.load(write("operators.json", ([[{ "schema_version": 1, "device_ns": %s,
        "operators": [
        { "name": "a", "calls": 1, "host_total_ns": 1, "host_self_ns": 1, "device_self_ns": 30 },
        { "name": "b", "calls": 1, "host_total_ns": 1, "host_self_ns": 1, "device_self_ns": 10 },
        { "name": "c", "calls": 1, "host_total_ns": 1, "host_self_ns": 1,
          "device_self_ns": null } ] }]]):format(device_ns))))
      return { made.operators[1].share, made.operators[2].share, made.operators[3].share }
    end
    assert.same({ 0.3, 0.1 }, shares(100))
    assert.same({ 0.75, 0.25 }, shares "null")
    assert.same({}, shares(0))
  end)

  it("says what is broken", function()
    assert.equal("operators.json:1:1: expected a trace: '{' or '[', found the end (cut short?)",
      complaint "")
    assert.equal("operators.json: $: no 'schema_version'", complaint "{}")
    assert.equal('operators.json: $.device_ns: integer or null expected, got "x"',
      complaint '{"schema_version": 1, "operators": [], "device_ns": "x"}')
    assert.equal("operators.json: byte 10 of the gzip file: cut short: the end is missing",
      complaint "\x1F\x8B\8\0\0\0\0\0\0\3")
  end)

  it("finds operators.json, then the first trace", function()
    assert.is_nil(operators.find(scratch()))
    assert.is_nil(operators.find(scratch() .. "/nowhere"))
    write("host_2.pt.trace.json", "[]")
    write("host_1.pt.trace.json.gz", "[]")
    write("a.json", "[]")
    assert.equal(scratch() .. "/host_1.pt.trace.json.gz", operators.find(scratch()))
    local named = write("operators.json", "{}")
    assert.equal(named, operators.find(scratch()))
  end)
end)


describe("operators.md", function()
  local function results(given)
    return { run = { recipe = "r" }, environment = {}, operators = given, missing = {} }
  end

  it("stops where nobody reads on, and says so", function()
    local many = { operators = {} }
    for i = 1, 301 do
      many.operators[i] = { name = "op" .. i, calls = 1, host_total_ns = 1, host_self_ns = 1 }
    end
    local text = documents.operators(results(many))
    assert.truthy(text:find("`op300`", 1, true))
    assert.falsy(text:find("`op301`", 1, true))
    assert.truthy(text:find("\n1 more: llmprof show RUN operators.\n", 1, true))
    local top = markdown.render(chapters.content(results(many), "operators", {}))
    assert.truthy(top:find("\n271 more: llmprof show RUN operators.\n", 1, true))
  end)

  it("says why there are none", function()
    local without = results(nil)
    without.missing = { { what = "operators", why = "operators=off", how = "operators=on" } }
    assert.equal("# Operators: r on an unknown GPU\n\nThe model is not known.\n\n"
      .. "Not measured: operators=off. To fill this: operators=on.\n", documents.operators(without))
  end)
end)


describe("the step of the operators", function()
  local load = operators.load

  local function lacking(code)
    operators.load = function() return nil, "o.json: wrong", code end
    local lacks = {}
    local ctx = { cfg = { workload = { operators_trace = "o.json" } }, state = {},
      lack = function(what, why) lacks[#lacks + 1] = what .. ": " .. why end }
    local made, said = pcall(require("llmprof.run.steps.operators").run, ctx)
    return made, tostring(said), lacks
  end

  after_each(function() operators.load = load end)

  it("goes without a file that is damaged", function()
    assert.same({ true, "not measured: o.json: wrong", { "operators: o.json: wrong" } },
      { lacking "syntax" })
  end)

  it("fails where the system does", function()
    local made, _, lacks = lacking "io"
    assert.same({ false, {} }, { made, lacks })
  end)
end)
