local spawn = require "llmprof.spawn"
local sys = require "llmprof.sys"

describe("llmprof.sys", function()
  it("has clocks in nanoseconds", function()
    local a = sys.monotonic()
    assert.equal("integer", math.type(a))
    assert.is_true(sys.monotonic() >= a)
    assert.equal("integer", math.type(sys.realtime()))
    assert.is_true(math.abs(sys.realtime() // 1000000000 - os.time()) < 60)
  end)

  it("knows this process", function()
    assert.matches("/llmprof$", sys.executable())
    assert.equal("boolean", type(sys.isatty(0)))
  end)

  it("knows the machine", function()
    local file = io.open "/proc/sys/kernel/osrelease"
    local name = sys.uname()
    assert.equal(file:read "l", name.release)
    file:close()
    assert.equal("Linux", name.sysname)
    assert.equal("string", type(name.version))
    assert.equal("string", type(name.machine))
    local cpu = sys.cpu()
    assert.is_true(cpu.cores >= 1)
    assert.equal("integer", math.type(cpu.memory))
    local columns = sys.columns()
    assert.is_true(columns == nil or columns > 0)
  end)

  it("raises on misuse", function()
    assert.has_error(function() sys.isatty(3) end,
      "bad argument #1 to 'isatty' (0, 1 or 2 expected)")
    assert.has_error(function() sys.isatty "x" end,
      "bad argument #1 to 'isatty' (number expected, got string)")
  end)

  it("signals one process, and never many", function()
    local child <close> = assert(spawn.start { "sleep", "1000" })
    assert.is_true(sys.kill(child:pid(), "SIGTERM"))
    assert.equal("SIGTERM", child:wait().signal)
    local ok, _, code = sys.kill(child:pid(), "SIGTERM")
    assert.same({ nil, "notfound" }, { ok, code })
    for _, pid in ipairs { 1, 0, -1 } do
      assert.has_error(function() sys.kill(pid, "SIGTERM") end)
    end
    assert.has_error(function() sys.kill(child:pid(), "SIGNONE") end)
  end)
end)
