local json = require "llmprof.json"
local process_pool = require "llmprof.process.pool"

local function there_and_back(value) return process_pool.unpack(process_pool.pack(value)) end

describe("llmprof.process.pool", function()
  it("gives back what it took", function()
    for _, value in ipairs { true, false, 0, -1, math.mininteger, math.maxinteger, 0.0, 2.0, 0.1,
      math.huge, "", "a\0b.\255", {}, { 1, 2.0, { x = { y = "z" }, [7] = false } } } do
      local back = there_and_back(value)
      assert.same(value, back)
      assert.equal(math.type(value), math.type(back))
    end
    assert.equal("float", math.type(there_and_back({ 2.0 })[1]))
    assert.equal("integer", math.type(there_and_back({ 2 })[1]))
    local nan = there_and_back(0 / 0)
    assert.is_true(nan ~= nan)
  end)

  it("knows lists and null", function()
    local back = there_and_back { list = json.list {}, map = {}, none = json.null }
    assert.equal('{"list":[],"map":{},"none":null}', json.encode(back))
    assert.equal(json.null, back.none)
  end)

  it("refuses what it cannot tell", function()
    for _, value in ipairs { { print }, { [print] = 1 }, { io.stdout }, setmetatable({}, {}),
      json.ordered({ a = 1 }, { "a" }) } do
      assert.has_error(function() process_pool.pack(value) end)
    end
  end)

  it("refuses what it did not pack", function()
    local whole = process_pool.pack { a = { 1, 2.5, "text" } }
    for size = 0, #whole - 1 do
      assert.has_error(function() process_pool.unpack(whole:sub(1, size)) end)
    end
    assert.has_error(function() process_pool.unpack(whole .. "t") end)
  end)
end)
