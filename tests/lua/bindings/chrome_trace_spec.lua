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

describe("llmprof.chrome_trace", function()
  local path

  before_each(function() path = assert(fs.temp_dir "llmprof-test-") end)
  after_each(function() assert(fs.remove_tree(path)) end)

  local function write(name, contents)
    local file = path .. "/" .. name
    assert(fs.write(file, contents))
    return file
  end

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
