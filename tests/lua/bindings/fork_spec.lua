local bounds = require "llmprof.bounds"
local fork = require "llmprof.fork"

describe("llmprof.fork", function()
  it("hands over what the function returns, which sees what is here", function()
    local here = { "a", "list" }
    local other = assert(fork.start(1, function()
      here[3] = "changed"
      return table.concat(here, " ")
    end))
    assert.equal("a list changed", other:take())
    assert.is_nil(other:take())
    assert.is_true(other:rest())
    assert.is_true(other:ended())
    assert.same({ "a", "list" }, here)
    other:close()
  end)

  it("fails where that is an error, or no text", function()
    for _, f in ipairs { function() error "no" end, function() return nil end,
      function() return {} end } do
      local other <close> = assert(fork.start(1, f))
      local bytes, message, code = other:take()
      assert.is_nil(bytes)
      assert.truthy(message:find("it has nothing more", 1, true))
      assert.equal("io", code)
    end
  end)

  it("hands over in pieces, too", function()
    local other <close> = assert(fork.start(1, function(hand_over)
      assert(hand_over "" and hand_over "two" and not pcall(hand_over, {}))
      return "three"
    end))
    assert.same({ "", "two", "three" }, { (other:take()), (other:take()), (other:take()) })
    assert.is_nil(other:take())
  end)

  it("gives it so many of the threads", function()
    local had = bounds.get "limits.threads"
    local other <close> = assert(fork.start(3, function()
      return tostring(bounds.get "limits.threads")
    end))
    assert.equal("3", other:take())
    assert.equal(had, bounds.get "limits.threads")
  end)

  it("ends what is closed", function()
    local other = assert(fork.start(1, function() while true do end end))
    assert.equal("integer", math.type(other:pid()))
    assert.is_false(other:ended())
    other:close()
    other:close()
    assert.has_error(function() other:take() end)
  end)

  it("has one bound on memory for both", function()
    local had, size = bounds.get "limits.bytes", 40 << 20 -- of a string, which is made twice
    collectgarbage()
    bounds.set("limits.bytes", math.floor(collectgarbage "count" * 1024) + size * 5 // 2)
    local function there()
      local other <close> = assert(fork.start(1, function() return tostring(#("x"):rep(size)) end))
      return other:take()
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
    assert.has_error(function() fork.start(1, "text") end)
    assert.has_error(function() fork.start(-1, print) end)
  end)
end)
