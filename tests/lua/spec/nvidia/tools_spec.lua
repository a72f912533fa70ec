local bundle = require "tests.lua.support.bundle"
local failure = require "tests.lua.support.failure"
local fs = require "llmprof.fs"
local ncu = require "llmprof.nvidia.ncu.command"
local nsys = require "llmprof.nvidia.nsys"
local spawn = require "llmprof.spawn"
local tools = require "llmprof.nvidia.tools"

describe("llmprof.nvidia.tools", function()
  local top = bundle.scratch(before_each, after_each)

  -- A program of these shell lines; its path.
  local function program(name, lines) return bundle.shell(top() .. "/" .. name, lines) end

  it("runs a quick command", function()
    local output, result = tools.capture { program("p", "echo a; echo b >&2; exit 3") }
    assert.same({ "a", "b" }, { output:match "a", output:match "b" })
    assert.equal(3, result.code)
    assert.same({ nil, top() .. "/none: no such program" },
      { tools.capture { top() .. "/none" } })
  end)

  it("takes the path that is given, and nothing else", function()
    local path = program("nsys", "echo 'NVIDIA Nsight Systems version 2025.3.2.474-x'")
    assert.same({ name = "nsys", path = path, version = "2025.3.2" }, tools.find(nsys, path))
    path = program("ncu", "printf 'NVIDIA (R) Nsight Compute\\nVersion 2024.1.1.0 (build 3)\\n'")
    assert.equal("2024.1.1", tools.ensure(ncu, { tools = { ncu = path } }).version)
    assert.same({ n = 2, nil, { top() .. "/none: not there, or not executable" } },
      table.pack(tools.find(nsys, top() .. "/none")))
  end)

  it("tells a program that is no such tool", function()
    local path = program("nsys", "echo hello")
    assert.same({ nil, { path .. " --version: hello" } }, { tools.find(nsys, path) })
    path = fs.cwd() .. "/tests/standin/broken/ldd"
    assert.same({ nil, { path .. " --version: \tlibdw.so.1 => not found" } },
      { tools.find(ncu, path) })
    path = program("nsys", "exit 4")
    assert.same({ nil, { path .. " --version: exit status 4" } }, { tools.find(nsys, path) })
  end)

  it("says what is missing, and what works without", function()
    local none = top() .. "/none"
    assert.same({ "tool", ("Nsight Systems (nsys) was not found (%s: not there, or not "
      .. "executable)"):format(none), "install nsight-systems, or name it with tools.nsys=PATH; "
      .. "without it, llmprof's own collector records where `llmprof doctor` finds that, and "
      .. "capture=recorded analyses a recorded capture" },
      failure(tools.ensure, nsys, { tools = { nsys = none } }))
    assert.equal("install nsight-compute, or name it with tools.ncu=PATH; without it, the timeline "
      .. "is reported and counters are left out",
      failure(tools.ensure, ncu, { tools = { ncu = none } })[3])
    assert.equal("Nsight Compute (ncu) was not found", tools.lack_text(ncu, {}))
  end)

  it("takes the newest of several versions", function()
    local list = fs.list
    fs.list = function(folder)
      return folder == "/opt/nvidia/nsight-compute" and { "2025.10.0", "2025.3.1", "2025.9.1" }
        or list(folder)
    end
    local asked, access = {}, fs.access
    fs.access = function(path, mode)
      if path:find "^/opt/nvidia/nsight%-compute" then asked[#asked + 1] = path end
      return not path:find "/ncu$" and access(path, mode)
    end
    tools.find(ncu)
    fs.list, fs.access = list, access
    assert.same({ "/opt/nvidia/nsight-compute/2025.10.0/ncu",
      "/opt/nvidia/nsight-compute/2025.9.1/ncu", "/opt/nvidia/nsight-compute/2025.3.1/ncu" }, asked)
  end)

  it("finds what nsys's importer lacks", function()
    local found = { path = program("bin/nsys", ""), version = "2025.3.2" }
    assert.same({ nil, "its importer was not found next to it" },
      { nsys.missing_libraries(found) })
    nsys.check_importer(found)
    local true_path = spawn.which "true"
    assert(fs.mkdirs(top() .. "/host"))
    assert(fs.copy(true_path, top() .. "/host/QdstrmImporter"))
    assert(spawn.run { "chmod", "+x", top() .. "/host/QdstrmImporter" })
    assert.same({}, nsys.missing_libraries(found))
  end)
end)
