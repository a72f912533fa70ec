-- A trace that is written in the schema of nsys and read again is the same one.
local bundle = require "tests.lua.support.bundle"
local fs = require "llmprof.fs"
local trace = require "llmprof.trace"
local same_trace = require "tests.lua.support.same_trace"

local FILES = { "tests/fixtures/recorded/alt_llm/run.sqlite",
  "tests/fixtures/deepseek_ocr/run.sqlite",
  "tests/fixtures/recorded/vllm_serve/run.sqlite", "tests/fixtures/small/run.sqlite",
  "tests/fixtures/graphs/graph.sqlite", "tests/fixtures/graphs/node.sqlite",
  "tests/fixtures/nccl2/rank0.sqlite", "tests/fixtures/two_gpus/run.sqlite",
  "tests/fixtures/repeats/timeless.sqlite", "tests/fixtures/timeless/run.sqlite",
  "tests/fixtures/ahead/run.sqlite", "tests/fixtures/odd/no_nvtx.sqlite",
  "tests/fixtures/odd/nothing.sqlite", "tests/fixtures/unmarked/whole.sqlite" }

describe("trace:sqlite", function()
  local top = bundle.scratch(before_each, after_each)

  for _, file in ipairs(FILES) do
    it("keeps all of " .. file, function()
      local to = top() .. "/out.sqlite"
      local opened = assert(trace.open(file))
      local written = assert(opened:sqlite(to))
      assert.equal(#assert(opened:frame "gpu"), written.operations)
      assert.equal(#assert(opened:frame "ranges"), written.ranges)
      assert.equal(#assert(opened:frame "api"), written.calls)
      same_trace.compare(file, to)
    end)
  end

  it("says what wrote the file", function()
    local to = top() .. "/out.sqlite"
    assert(assert(trace.open "tests/fixtures/small/run.sqlite"):sqlite(to))
    local info = assert(trace.open(to)):info()
    assert.same({ "nsys", "3.20.3" }, { info.reader, info.schema })
  end)

  it("writes nothing where it cannot", function()
    local opened = assert(trace.open "tests/fixtures/small/run.sqlite")
    local written, message, code = opened:sqlite "/proc/none/out.sqlite"
    assert.is_nil(written)
    assert.equal("/proc/none: No such file or directory", message)
    assert.equal("notfound", code)
    local copy = top() .. "/run.sqlite"
    assert(fs.write(copy, assert(fs.read "tests/fixtures/small/run.sqlite")))
    written, message, code = assert(trace.open(copy)):sqlite(copy)
    assert.is_nil(written)
    assert.matches("is the export itself; write to another file$", message)
    assert.equal("denied", code)
  end)
end)
