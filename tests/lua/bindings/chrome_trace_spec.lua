local chrome_trace = require "llmprof.chrome_trace"
local fs = require "llmprof.fs"

local text = [==[
{ "deviceProperties": [{"id": 0}],
  "traceEvents": [
  {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 10, "tid": 11,
   "ts": 1742000000000000.123, "dur": 2.5,
   "args": {"External id": 5, "Input Dims": [[1, 2], []]}},
  {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 4, "dur": 1,
   "args": {"External id": 5, "correlation": 9, "device": 0, "stream": 7, "occupancy": NaN}},
  {"ph": "M", "name": "process_name", "pid": "Spans"}
]}
]==]

local function events(source)
  local list = {}
  for event in assert(chrome_trace.parse(source)):events() do list[#list + 1] = event end
  return list
end


describe("llmprof.chrome_trace", function()
  local path

  before_each(function() path = assert(fs.temp_dir "llmprof-test-") end)
  after_each(function() assert(fs.remove_tree(path)) end)

  local function write(name, contents)
    local file = path .. "/" .. name
    assert(fs.write(file, contents))
    return file
  end

  it("reads events with what each has", function()
    assert.same({
      { phase = "X", category = "cpu_op", name = "aten::mm", pid = 10, tid = 11,
        start = 1742000000000000123, duration = 2500, external_id = 5, shapes = "[[1,2],[]]",
        line = 3, column = 3 },
      { phase = "X", category = "kernel", name = "k", pid = 0, tid = 7, start = 4000,
        duration = 1000, external_id = 5, correlation = 9, device = 0, stream = 7, line = 6,
        column = 3 },
      { phase = "M", name = "process_name", line = 8, column = 3 },
    }, events(text))
  end)

  it("reads files", function()
    local reader = assert(chrome_trace.open(write("t.json", "[{}]")))
    assert.equal(1, reader:events()(reader).line)
  end)

  it("says where a file is broken", function()
    local reader = assert(chrome_trace.parse "[{},\n{]")
    local ok, message = pcall(function() for _ in reader:events() do end end)
    assert.is_false(ok)
    assert.equal("trace:2:2: bracket closes another kind", message)
    local _, missing, code = chrome_trace.open "/proc/none.json"
    assert.equal("/proc/none.json: No such file or directory", missing)
    assert.equal("notfound", code)
  end)

  it("refuses a closed reader and wrong arguments", function()
    local reader = assert(chrome_trace.parse "[]")
    reader:close()
    reader:close()
    assert.has_error(function() reader:events() end,
      "calling 'events' on bad self (llmprof.chrome_trace.reader is closed)")
    assert.has_error(function() chrome_trace.open "a\0b" end,
      "bad argument #1 to 'open' (string with a NUL byte)")
  end)

  it("keeps what operators need as frames", function()
    local recorded = assert(chrome_trace.operators(write("t.json", text)))
    assert.same({ host = 1, gpu = 1, left_out = 0, first = 4000, last = 1742000000000002623 },
      recorded:info())
    local host = assert(recorded:frame "host")
    assert.same({ "aten::mm" }, host:values "name")
    assert.same({ 1000 }, host:values "device_self")
    assert.same({ "aten::mm" }, assert(recorded:frame "gpu"):values "operator")
    local frame, message, code = recorded:frame "ops"
    assert.is_nil(frame)
    assert.equal("no frame 'ops': host, gpu, marks or memory", message)
    assert.equal("notfound", code)
    recorded:close()
    assert.has_error(function() recorded:info() end,
      "calling 'info' on bad self (llmprof.chrome_trace.operators is closed)")
  end)

  it("says what is wrong with a file without a trace", function()
    local made, message, code = chrome_trace.operators(write("o.json", '{"operators": []}'))
    assert.is_nil(made)
    assert.equal(path .. '/o.json:1:18: no "traceEvents": not a Chrome trace', message)
    assert.equal("unsupported", code)
  end)
end)
