local csv = require "llmprof.csv"
local frame = require "llmprof.frame"
local pack = require "llmprof.pack"

local function made(names, times)
  return frame.new(#times, { { name = "name", type = "string", values = names },
    { name = "time", type = "integer", unit = "ns", values = times } })
end


local function message(...)
  return (select(2, pcall(...)):gsub("^[^:]*:%d+: ", ""))
end


describe("llmprof.pack", function()
  it("joins frames, which may go away", function()
    local first = made({ "a", false }, { 1, 2 })
    local all = assert(pack.join { first, made({ "b" }, { false }), made({ "a" }, { 4 }) })
    first:close()
    assert.same({ "a", false, "b", "a" }, all:values "name")
    assert.same({ 1, 2, false, 4 }, all:values "time")
    assert.equal("ns", all:columns()[2].unit)
    assert.equal(2, #all:where { name = "a" })
  end)

  it("makes bytes and frames of them", function()
    local bytes = assert(pack.encode(made({ "x", "y" }, { 7, -7 })))
    local back = assert(pack.decode(bytes))
    assert.same({ "x", "y" }, back:values "name")
    assert.same({ 7, -7 }, back:values "time")
    assert.equal(bytes, pack.encode(back))
    assert.same({ "these are no packed frames", "syntax" },
      { select(2, pack.decode(bytes:sub(1, -2))) })
  end)

  it("packs bytes as gzip, which readers of gzip take", function()
    local reader = assert(csv.parse(pack.gzip "a,b\n"))
    reader:close()
    assert.equal("\31\139", pack.gzip(""):sub(1, 2))
  end)

  it("says what does not fit together", function()
    local numbers = frame.new(1, { { name = "name", type = "integer", values = { 1 } } })
    local ok, failure = pcall(pack.join, { made({ "a" }, { 1 }), numbers })
    assert.same({ false, "column 'name' holds strings here and numbers there", "unsupported" },
      { ok, failure.message, failure.code })
  end)

  it("raises on misuse", function()
    assert.matches("a frame or more", message(pack.join, {}))
    assert.matches("llmprof.frame expected", message(pack.join, { 7 }))
  end)
end)
