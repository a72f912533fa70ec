local bundle = require "tests.lua.support.bundle"
local failure = require "tests.lua.support.failure"
local fs = require "llmprof.fs"
local trace_file = require "llmprof.trace.file"

describe("llmprof.trace.file", function()
  local top = bundle.scratch(before_each, after_each)

  -- What opening a file of these contents raises.
  local function refusal(name, contents)
    local path = top() .. "/" .. name
    if contents then assert(fs.write(path, contents)) end
    local said, plain = failure(trace_file.open, path), path:gsub("%p", "%%%0")
    for i, text in pairs(said) do said[i] = text:gsub(plain, name) end
    return said
  end

  it("opens an export", function()
    assert.same({ path = "tests/fixtures/small/run.sqlite", reader = "nsys", schema = "3.20.3",
      product = "2025.3.2.0" }, trace_file.open("tests/fixtures/small/run.sqlite"):info())
  end)

  it("says what a file is and what to do about it", function()
    assert.same({ "usage", "none.sqlite: No such file or directory" }, refusal "none.sqlite")
    assert.same({ "usage", "an empty file name",
      "name the file of a trace" }, failure(trace_file.open, ""))
    local kind, message, hint = table.unpack(refusal("run.nsys-rep", "NSYS binary"))
    assert.equal("usage", kind)
    assert.matches("^run.nsys%-rep: ", message)
    assert.equal("export it first: nsys export --type sqlite run.nsys-rep", hint)
    kind, message, hint = table.unpack(refusal("run.sqlite", "not a database at all"))
    assert.equal("usage", kind)
    assert.matches("^run.sqlite: ", message)
    assert.matches("^llmprof reads: SQLite export of Nsight Systems; .*torch.profiler", hint)
  end)

  it("knows a truncated export", function()
    local whole = assert(fs.read "tests/fixtures/small/run.sqlite")
    local _, message, hint = table.unpack(refusal("run.sqlite", whole:sub(1, #whole // 2)))
    assert.matches("^run.sqlite: truncated: ", message)
    assert.equal("copy or export it again", hint)
  end)
end)
