-- Messages of processes, with the plugins of tests/c/cluster, which have no MPI.
local cluster = require "llmprof.cluster"
local sys = require "llmprof.sys"

local PLUGINS = sys.executable():match "^(.*)/bin/" .. "/tests/c/libfake_mpi_"

local function open(variant) return cluster.open(PLUGINS .. variant .. ".so") end


describe("llmprof.cluster", function()
  it("knows which process this is, of how many", function()
    local job <close> = assert(open "full")
    assert.same({ 0, 2, "No MPI" }, { job:rank(), job:size(), job:library() })
  end)

  it("sends bytes whole, and in order", function()
    local job <close> = assert(open "full")
    assert.is_true(job:send(1, "a\0b", 5))
    assert.is_true(job:send(1, ""))
    assert.equal("a\0b", job:receive(1, 5))
    assert.equal("", job:receive(1))
    assert.is_true(job:finish())
    local _, message, code = job:send(1, "late")
    assert.same({ "no such process to talk to: 1", "range" }, { message, code })
    job:abandon(1) -- MPI has ended: nothing to be done
  end)

  it("gives up on who says nothing", function()
    local job <close> = assert(open "mute")
    local bytes, message, code = job:receive(1, 0.001)
    assert.is_nil(bytes)
    assert.same({ "process 1 of 2 was not heard of for too long", "limit" }, { message, code })
    assert.is_nil((job:finish(0.001)))
  end)

  it("says why a plugin is none", function()
    assert.same({ "notfound", "unsupported", "io" }, { select(3, cluster.open "/no/such.so"),
      (select(3, open "other")), (select(3, open "dead")) })
  end)

  it("refuses numbers that no process has, and a closed job", function()
    local job = assert(open "full")
    assert.has_error(function() job:send(-1, "x") end)
    assert.has_error(function() job:receive(1, 1e12) end)
    assert.is_nil((job:receive(0)))
    job:close()
    assert.has_error(function() job:rank() end)
  end)
end)
