-- Columns by other rows, and columns that are made when they are first looked at.
local frame = require "llmprof.frame"

local function events()
  return frame.new(4, {
    { name = "start", type = "integer", unit = "ns", values = { 0, 5, 20, 30 } },
    { name = "end", type = "integer", unit = "ns", values = { 10, 15, 30, 31 } },
    { name = "stream", type = "integer", values = { 1, 2, 1, 1 } },
    { name = "name", type = "string", values = { "a", "b", "a", false } },
  })
end


describe("other rows", function()
  it("give gaps and overlap", function()
    local made = events():gaps { by = { "stream" }, before = "gap", after = "then" }
    assert.same({ false, false, 10, 0 }, made:values "gap")
    assert.same({ 10, false, 0, false }, made:values "then")
    made:gaps { previous = "row" }:overlap { name = "beside" }
    assert.same({ false, 0, 1, 2 }, made:values "row")
    assert.same({ 5, 5, 0, 0 }, made:values "beside")
  end)

  it("give cells, sums and differences", function()
    local made = events():lag { column = "name", offset = 1, by = { "stream" }, name = "last" }
    assert.same({ false, false, "a", "a" }, made:values "last")
    made:rolling { column = "start", size = 2, statistic = "max", name = "most" }
    assert.same({ false, 5.0, 20.0, 30.0 }, made:values "most")
    made:less { column = "end", by = "start", name = "length" }
    assert.same({ 10, 10, 10, 1 }, made:values "length")
  end)

  it("are found in another frame", function()
    local other = frame.new(2, { { name = "title", type = "string", values = { "b", "a" } } })
    local made = events():match { by = { "name" }, other = other, keys = { "title" }, name = "row" }
    assert.same({ 1, 0, 1, false }, made:values "row")
  end)

  it("are found beside a time in another frame", function()
    local other = frame.new(3, { { name = "at", type = "integer", values = { 20, 5, false } } })
    local made = events():beside { column = "start", other = other, there = "at", name = "next" }
    assert.same({ 1, 1, 0, false }, made:values "next")
    made:beside { column = "start", other = other, there = "at", before = true, name = "last" }
    assert.same({ false, false, 1, 0 }, made:values "last")
    assert.is_false(pcall(made.beside, made, { column = "name", other = other, there = "at",
      name = "no" }))
  end)

  it("of another frame pair off in order, again and again", function()
    local function sequence(values, turns)
      return frame.new(#values, { { name = "word", type = "integer", values = values },
        { name = "turn", type = "integer", values = turns or values } })
    end
    local other = sequence { 1, 2, 3, 2, 4 }
    local made = sequence({ 1, 2, 9, 3, 2, 4, 1, 2, 3, 4 }, { 1, 1, 1, 1, 1, 1, 2, 2, 2, 2 })
    made:pair { column = "word", turn = "turn", other = other, key = "word", name = "row" }
    assert.same({ 0, 1, false, 2, 3, 4, 0, 1, 2, 4 }, made:values "row")
  end)

  it("are asked for in the right way", function()
    local made = events()
    local function refused(message, method, options)
      local ok, err = pcall(made[method], made, options)
      assert.is_false(ok)
      assert.truthy(tostring(err):find(message, 1, true), tostring(err))
    end
    refused("a column to make has a name", "overlap", {})
    refused("there is a column 'name' already", "overlap", { name = "name" })
    refused("no column 'nothing'", "lag", { column = "nothing", offset = 1, name = "x" })
    refused("option 'offset': a number of rows", "lag", { column = "name", name = "x" })
    refused("no rolling 'mode'", "rolling",
      { column = "start", size = 2, statistic = "mode", name = "x" })
    refused("holds strings, not numbers", "rolling", { column = "name", size = 2, name = "x" })
    refused("columns of integers are expected", "less",
      { column = "name", by = "start", name = "x" })
    refused("columns of integers are expected", "pair",
      { column = "name", other = made, key = "start", name = "x" })
    refused("as many keys as columns", "match", { by = { "name" }, other = made, name = "x" })
  end)
end)


describe("a lazy column", function()
  local function lazily(make)
    return events():lazy({ { name = "twice", type = "integer", unit = "ns" } }, make)
  end

  local function doubled(of)
    local values = of:values "start"
    for i, value in ipairs(values) do values[i] = 2 * value end
    return frame.new(#of, { { name = "twice", type = "integer", values = values } })
  end

  it("is kept once, when it is first asked for", function()
    local calls = 0
    local made = lazily(function(of)
      calls = calls + 1
      return doubled(of)
    end)
    assert.same({ name = "twice", type = "integer", unit = "ns" }, made:columns()[5])
    assert.equal(0, calls)
    local view = made:where { stream = 1 }
    assert.same({ 0, 40, 60 }, view:values "twice")
    collectgarbage()
    assert.same({ 0, 10, 40, 60 }, made:values "twice")
    assert.equal(1, calls)
  end)

  it("holds texts of another pool, in views too", function()
    local made = events():lazy({ { name = "word", type = "string" } }, function(of)
      return frame.new(#of, { { name = "word", type = "string", values = { "x", "y", "x" } } })
    end)
    local view = made:slice(1, 4)
    assert.equal(2, #view:where { word = "x" })
    assert.same({ "x", "y", "x", false }, view:values "word")
    assert.equal(2, #made:where { word = { "x", "nothing" } })
  end)

  it("may grow the frame while it is kept", function()
    local made
    made = lazily(function(of)
      for i = 1, 40 do made:lag { column = "start", offset = i, name = "lag" .. i } end
      return doubled(of)
    end)
    assert.same({ 0, 10, 40, 60 }, made:values "twice")
    assert.same({ false, 0, 5, 20 }, made:values "lag1")
  end)

  it("that is broken says so, and may be kept later", function()
    local failing = true
    local made = lazily(function(of)
      if failing then error "no luck" end
      return doubled(of)
    end)
    local ok, err = pcall(made.values, made, "twice")
    assert.is_false(ok)
    assert.truthy(tostring(err):find("no luck", 1, true))
    failing = false
    assert.same({ 0, 10, 40, 60 }, made:values "twice")
  end)

  it("needs its rows, its column and not itself", function()
    local function message(make)
      local made = lazily(make)
      local ok, err = pcall(made.values, made, "twice")
      assert.is_false(ok)
      return tostring(err)
    end
    assert.truthy(message(function() return frame.new(1, {}) end):find "another number of rows")
    assert.truthy(message(function(of) return frame.new(#of, {}) end):find "no column 'twice'")
    assert.truthy(message(function() return 1 end):find "llmprof.frame expected")
    assert.truthy(message(function(of)
      return frame.new(#of, { { name = "twice", type = "integer", values = of:values "twice" } })
    end):find "a column needs itself")
    assert.truthy(message(function(of)
      return frame.new(#of, { { name = "twice", type = "string", values = {} } })
    end):find "of another type")
  end)
end)
