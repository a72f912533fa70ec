local bounds = require "llmprof.bounds"
local fork = require "llmprof.fork"

describe("llmprof.fork", function()
  it("hands over what the function returns, which sees what is here", function()
    local here = { "a", "list" }
    local other = assert(fork.start(function()
      here[3] = "changed"
      return table.concat(here, " ")
    end))
    assert.equal("a list changed", other:wait())
    assert.equal("a list changed", other:wait())
    assert.is_true(other:ended())
    assert.same({ "a", "list" }, here)
    other:close()
  end)

  it("fails where that is an error, or no text", function()
    for _, f in ipairs { function() error "no" end, function() return nil end,
      function() return {} end } do
      local other <close> = assert(fork.start(f))
      local bytes, message, code = other:wait()
      assert.is_nil(bytes)
      assert.truthy(message:find("it came to nothing", 1, true))
      assert.equal("io", code)
    end
  end)

  it("ends what is closed", function()
    local other = assert(fork.start(function() while true do end end))
    assert.equal("integer", math.type(other:pid()))
    assert.is_false(other:ended())
    other:close()
    other:close()
    assert.has_error(function() other:wait() end)
  end)

  it("begins no further one there", function()
    local other <close> = assert(fork.start(function()
      local _, _, code = fork.start(print)
      return code
    end))
    assert.equal("unsupported", other:wait())
  end)

  it("has one bound on memory for both", function()
    local had, size = bounds.get "limits.bytes", 40 << 20 -- of a string, which is made twice
    collectgarbage()
    bounds.set("limits.bytes", math.floor(collectgarbage "count" * 1024) + size * 5 // 2)
    local function there()
      local other <close> = assert(fork.start(function() return tostring(#("x"):rep(size)) end))
      return other:wait()
    end
    assert.equal(tostring(size), there())
    local held = ("y"):rep(size)
    local bytes, _, code = there()
    assert.is_nil(bytes)
    assert.equal("io", code)
    assert.equal(size, #held)
    held = nil -- luacheck: ignore 311
    collectgarbage()
    assert.equal(tostring(size), there())
    bounds.set("limits.bytes", had)
  end)

  it("wants a function", function()
    assert.has_error(function() fork.start "text" end)
  end)
end)
