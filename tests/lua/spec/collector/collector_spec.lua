-- The collector from outside: its library, its plan, the spools it leaves.
local bundle = require "tests.lua.support.bundle"
local failure = require "tests.lua.support.failure"
local fs = require "llmprof.fs"
local library = require "llmprof.collector.library"
local plan = require "llmprof.collector.plan"
local spools = require "llmprof.collector.spools"

describe("llmprof.collector", function()
  local top = bundle.scratch(before_each, after_each)

  it("finds a library that is named, and nothing else then", function()
    local path = top() .. "/lib.so"
    assert(fs.write(path, ""))
    assert.equal(fs.realpath(path), library.find(path))
    local found, why = library.find(top() .. "/none.so")
    assert.is_nil(found)
    assert.equal(top() .. "/none.so: not there", why)
    assert.equal("tool", failure(library.ensure, top() .. "/none.so")[1])
  end)

  it("tells a program where all is", function()
    assert.same({ CUDA_INJECTION64_PATH = "/l.so", NVTX_INJECTION64_PATH = "/l.so",
      LLMPROF_COLLECTOR_DIR = "/d", LLMPROF_COLLECTOR_SOCKET = "/s" },
      library.environment("/l.so", { folder = "/d", socket = "/s" }))
  end)

  it("writes lines of a plan, one each", function()
    assert.equal("units = plain:1 timeline\nsamples.hz = 10000\n",
      plan.of_words { "units=plain:1 timeline", "samples.hz=10000" })
    assert.equal("usage", failure(plan.of_words, { "units" })[1])
    assert.equal("usage", failure(plan.of_words, { "a b=c" })[1])
    assert.equal("usage", failure(plan.line, "launch", "k\nunits = skip")[1])
  end)

  it("puts spools together in the order in which processes began", function()
    for name, text in pairs { ["12-900.spool"] = "b", ["7-1000.spool"] = "c",
      ["99-2.spool"] = "a", ["other.txt"] = "x" } do
      assert(fs.write(top() .. "/" .. name, text))
    end
    local target = top() .. "/run"
    assert.equal(3, spools.gather(top(), target))
    assert.equal("abc", fs.read(target))
  end)

  it("makes no file of no spool", function()
    assert.equal(0, spools.gather(top(), top() .. "/run"))
    assert.is_nil(fs.stat(top() .. "/run"))
  end)
end)
