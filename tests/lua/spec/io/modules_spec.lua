local bundle = require "tests.lua.support.bundle"
local child = require "tests.lua.support.child"
local fs = require "llmprof.fs"
local files = require "llmprof.io.files"

describe("llmprof.io.files", function()
  local top = bundle.scratch(before_each, after_each)

  it("names the modules of a folder, built in or not", function()
    local names = files.module_names "engines"
    assert.same({ "dynamo", "llama_cpp", "sglang", "trtllm", "vllm" }, names)
    assert.same({}, files.module_names "no_such_room")
  end)

  it("finds a command in $LLMPROF_HOME", function()
    local folder = top() .. "/lua/llmprof/cli/commands"
    assert(fs.mkdirs(folder))
    assert(fs.write(folder .. "/greet.lua", [[return { name = "greet",
      summary = "say hello", usage = "greet",
      run = function() require("llmprof.io.output").write "hello\n" return 0 end }]]))
    local run = child.caller(top, function() return { env = { LLMPROF_HOME = top() } } end)
    assert.same({ 0, "hello\n", "" }, { run "greet" })
    assert.matches("\n  greet       say hello\n", select(2, run "--help"))
  end)
end)
