local process_pool = require "llmprof.process.pool"
local bounds = require "llmprof.bounds"
local errors = require "llmprof.process.errors"
local fork = require "llmprof.fork"
local fs = require "llmprof.fs"
local spawn = require "llmprof.spawn"
local sys = require "llmprof.sys"

-- Does it live? One that ended may be there until somebody asks for it.
local function is_there(pid)
  local stat = fs.read("/proc/" .. pid .. "/stat")
  return stat ~= nil and not stat:match "%) [ZX] "
end

describe("llmprof.process.pool", function()
  local had
  before_each(function() had = bounds.get "limits.threads" end)
  after_each(function() bounds.set("limits.threads", had) end)

  it("counts processes by threads, things and memory", function()
    bounds.set("limits.threads", 4)
    local memory = bounds.get "limits.bytes"
    bounds.set("limits.bytes", 1 << 40)
    assert.equal(4, process_pool.count(9, 1 << 38))
    assert.equal(2, process_pool.count(2, 1 << 38))
    assert.equal(3, process_pool.count(9, (1 << 38) + 1))
    assert.equal(1, process_pool.count(9, 1 << 41))
    bounds.set("limits.bytes", 0)
    assert.equal(4, process_pool.count(9, 1 << 50))
    bounds.set("limits.bytes", memory)
    bounds.set("limits.threads", 1)
    assert.equal(1, process_pool.count(9, 0))
  end)

  it("gives the largest first, each to the process that has least", function()
    assert.same({ { 2 }, { 4, 1, 3 } }, process_pool.shards({ 30, 100, 10, 60 }, 2))
    assert.same({ { 1, 3 }, { 2, 4 } }, process_pool.shards({ 0, 0, 0, 0 }, 2))
    assert.same({ { 1 }, {}, {} }, process_pool.shards({ 5 }, 3))
  end)

  it("has functions called elsewhere", function()
    bounds.set("limits.threads", 6)
    local pool <close> = process_pool.begin {
      { function() return { 1, threads = bounds.get "limits.threads" } end },
      { function() return "two" end, function() return nil, "no" end,
        function() return "four" end } }
    assert.equal(6, bounds.get "limits.threads")
    assert.same({ true, "two" }, { pool:take(2) })
    assert.same({ true, { 1, threads = 2 } }, { pool:take(1) })
    assert.is_false(pool:take(1))
    assert.is_false(pool:take(2))
    assert.same({ true, "four" }, { pool:take(2) })
    assert.is_false(pool:take(2))
  end)

  it("leaves to the caller what fails there", function()
    local pool <close> = process_pool.begin { { function() error "no" end },
      { function() return print end }, { function() errors.raise("failed", "no") end } }
    for i = 1, 4 do assert.is_false(pool:take(i)) end
  end)

  it("leaves it all where there are no processes", function()
    local start = fork.start
    fork.start = function() return nil, "none", "unsupported" end
    local pool <close> = process_pool.begin { { function() return 1 end } }
    fork.start = start
    assert.is_false(pool:take(1))
  end)

  it("ends what is not waited for", function()
    local pool = process_pool.begin { { function() while true do end end } }
    local pid = pool.others[1]:pid()
    assert.is_true(is_there(pid))
    local ok = pcall(function()
      local held <close> = pool -- luacheck: ignore 211
      error "no"
    end)
    assert.is_false(ok)
    assert.is_false(is_there(pid))
  end)

  describe("when a signal ends this process", function()
    local top

    before_each(function() top = assert(fs.temp_dir "llmprof-test-") end)
    after_each(function() assert(fs.remove_tree(top)) end)

    -- A program that works beside itself and says by whom; what became of it after a signal.
    local function struck_by(signal)
      local script, other = top .. "/script.lua", nil
      assert(fs.write(script, [[
        local pool <close> = require("llmprof.process.pool").begin {
          { function() while true do end end } }
        io.stdout:write(pool.others[1]:pid(), "\n")
        io.stdout:flush()
        while true do end]]))
      local child = assert(spawn.start({ assert(sys.executable()), "exec", script }, {
        on_line = function(line, stream)
          if stream == "stdout" then other = tonumber(line) end
        end }))
      while not other do assert(child:pump(0.1)) end
      assert.is_true(is_there(other))
      child:signal(signal)
      local result = assert(child:wait())
      while is_there(other) do spawn.run { "sleep", "0.01" } end
      return result
    end

    it("ends the others", function()
      assert.equal(130, struck_by("SIGINT").code)
      assert.equal(130, struck_by("SIGTERM").code)
      assert.equal("SIGKILL", struck_by("SIGKILL").signal)
    end)
  end)
end)
