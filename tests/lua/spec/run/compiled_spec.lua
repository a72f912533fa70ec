local bundle = require "tests.lua.support.bundle"
local child = require "tests.lua.support.child"
local fs = require "llmprof.fs"


describe("a program that a recipe brings as CUDA source", function()
  local top = bundle.scratch(before_each, after_each)

  -- A stand-in for nvcc that copies what follows -o from a script.
  local function nvcc(script) bundle.shell(top() .. "/bin/nvcc", script) end

  local WORKS = 'echo call >>"$LOG"\nwhile [ "$1" != -o ]; do shift; done\n'
    .. 'printf "#!/bin/sh\\necho made\\n" >"$2"; chmod +x "$2"\n'

  local run = child.caller(top, function()
    return { env = { PATH = top() .. "/bin:/usr/bin:/bin", CUDA_HOME = top(),
      XDG_CACHE_HOME = top() .. "/cache", LOG = top() .. "/log" } }
  end)

  local function make()
    assert(fs.write(top() .. "/p.cu", "int main() {}\n"))
    assert(fs.write(top() .. "/make.lua", ([[
      local workload = require "llmprof.run.workload"
      local before = workload.program_state(%q)
      local path = workload.compile(%q)
      print(before, workload.program_state(%q), path == workload.program_of(%q))
    ]]):format(top() .. "/p.cu", top() .. "/p.cu", top() .. "/p.cu", top() .. "/p.cu")))
    return run("exec", top() .. "/make.lua")
  end

  it("is compiled once", function()
    nvcc(WORKS)
    assert.same({ 0, "source\tthere\ttrue\n", "" }, { make() })
    assert.same({ 0, "there\tthere\ttrue\n", "" }, { make() })
    assert.equal("call\n", fs.read(top() .. "/log"))
  end)

  it("is refused with the compiler's words", function()
    nvcc 'echo "p.cu(1): error: no such thing"; exit 2\n'
    local code, _, said = make()
    assert.equal(1, code)
    assert.matches("p.cu(1): error: no such thing", said, 1, true)
    assert.matches("llmprof: nvcc cannot compile " .. top() .. "/p.cu", said, 1, true)
  end)
end)
