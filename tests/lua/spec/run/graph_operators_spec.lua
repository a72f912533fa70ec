-- Operators of kernels that a CUDA graph replays, by the trace of its capture.
local bundle = require "tests.lua.support.bundle"
local fs = require "llmprof.fs"
local marked_operators = require "llmprof.run.marked_operators"
local json = require "llmprof.json"
local reports = require "llmprof.run.reports"
local trace = require "llmprof.trace"


local function event(category, name, start, duration, args)
  local on_gpu = category == "kernel"
  return { ph = "X", cat = category, name = name, ts = start, dur = duration,
    pid = on_gpu and 0 or 9, tid = on_gpu and 7 or 9, args = args or json.null }
end


local function call(name, start, correlation)
  return event("cuda_runtime", name, start, 2, { correlation = correlation })
end


local function kernel(name, start, correlation)
  return event("kernel", name, start, 5, { correlation = correlation, device = 0, stream = 7 })
end


describe("operators of replayed graphs", function()
  local top = bundle.scratch(before_each, after_each)

  local function write(name, events)
    assert(fs.write(top() .. "/" .. name, assert(json.encode { schemaVersion = 1,
      traceEvents = json.list(events) })))
    return top() .. "/" .. name
  end

  local function write_capture(name, operators)
    local events = { call("cudaStreamBeginCapture", 1, 1) }
    for i, operator in ipairs(operators) do
      events[#events + 1] = event("cpu_op", "aten::outer", 100 * i, 50)
      events[#events + 1] = event("cpu_op", operator, 100 * i + 10, 20)
      events[#events + 1] = call("cudaLaunchKernel", 100 * i + 15, 10 + i)
    end
    events[#events + 1] = call("cudaStreamEndCapture", 9000, 2)
    return write(name, events)
  end

  -- Two replays of a graph of three kernels, and a kernel that an operator launched.
  local function write_run(name)
    return write(name, { call("cudaGraphLaunch", 10, 1), kernel("k1", 20, 1),
      kernel("k2", 30, 1), kernel("k1", 40, 1), call("cudaGraphLaunch", 50, 2),
      kernel("k1", 60, 2), kernel("k2", 70, 2), kernel("k1", 80, 2),
      event("cpu_op", "aten::add", 90, 10), call("cudaLaunchKernel", 92, 3),
      kernel("k3", 100, 3) })
  end

  it("tells a trace of a capture from others", function()
    local function is_capture(path)
      local opened <close> = assert(trace.open(path))
      return marked_operators.is_capture(opened)
    end
    assert.is_true(is_capture(write_capture("a.json", { "aten::mm" })))
    assert.is_false(is_capture(write_run "b.json"))
  end)

  it("gives the nodes of a graph the operators that launched them", function()
    write_capture("capture.json", { "aten::mm", "aten::mul", "aten::mm" })
    write_run "run.json"
    local _, results = reports.make { paths = { top() }, settings = {}, out = top() .. "/out",
      quiet = true }
    local rows = {}
    for i, row in ipairs(results.operators.operators) do
      rows[i] = { row.name, row.calls, row.device_self_ns }
    end
    assert.same({ { "aten::mm", 4, 20000 }, { "aten::mul", 2, 10000 }, { "aten::add", 1, 5000 } },
      { rows[1], rows[2], rows[3] })
    assert.equal(0, results.operators.unattributed_device_ns)
    assert.equal(7, results.totals.kernels)
  end)

  it("gives none to graphs of another size", function()
    write_capture("capture.json", { "aten::mm", "aten::mul" })
    write_run "run.json"
    local _, results = reports.make { paths = { top() }, settings = {}, out = top() .. "/out",
      quiet = true }
    assert.equal("aten::add", results.operators.operators[1].name)
    assert.equal(30000, results.operators.unattributed_device_ns)
  end)
end)
