-- Pictures in characters: lines, strips, bars.
local failure = require "tests.lua.support.failure"
local query = require "llmprof.query"
local session = require "llmprof.query.session"


local function ramp(count, height)
  local rows = {}
  for i = 1, count do rows[i] = { start = i * 1000, value = height(i) } end
  return query.from_rows(rows, { { name = "start", type = "integer", unit = "ns" },
    { name = "value", type = "integer", unit = "ns" } })
end


local function lines_of(frame)
  local list = {}
  for line in (tostring(frame) .. "\n"):gmatch "(.-)\n" do list[#list + 1] = line end
  return list
end


describe("a line", function()
  it("rises from the corner at the left to that at the right", function()
    local lines = lines_of(ramp(1000, function(i) return i end):plot("value"))
    assert.equal(12, #lines)
    assert.equal("value over start", lines[1])
    assert.equal("1,000 ns │", lines[2]:match "^.-│")
    assert.equal("    1 ns │", lines[11]:match "^.-│")
    assert.truthy(lines[11]:find("│⣠⠤⠴", 1, true), lines[11])
    assert.truthy(lines[2]:find "⠤⠖⠒⠋$", lines[2])
    assert.truthy(lines[12]:find "^%s+1%.00 µs%s+1,000%.00 µs$", lines[12])
  end)

  it("has the least and the largest value of each place", function()
    local spiky = ramp(100000, function(i) return i == 50000 and 1000 or 10 end)
    local lines = lines_of(spiky:plot("value", "start"))
    for i = 2, 10 do assert.truthy(lines[i]:find "⡇" or lines[i]:find "⢸", lines[i]) end
    assert.truthy(lines[11]:find("⣀⣀⣀", 1, true))
  end)

  it("of one value is flat, without a place over the rows", function()
    local lines = lines_of(ramp(60, function() return 5 end):select("value"):plot "value")
    assert.equal("value over rows", lines[1])
    assert.equal("1", lines[12]:match "^%s+(%d+)")
    assert.equal("60", lines[12]:match "(%d+)$")
  end)

  it("wants numbers and rows", function()
    assert.equal("no rows", tostring(ramp(0, function() return 1 end):plot("value", "start")))
    local many = ramp(60, function(i) return i end)
    assert.same({ "usage", "no column 'valu' here (did you mean 'value'?)",
      "columns: start value" }, failure(many.plot, many, "valu"))
  end)
end)


describe("few rows", function()
  it("are bars, unless a column to plot over is named", function()
    assert.truthy(tostring(ramp(3, function(i) return i end):plot "value"):find("█", 1, true))
    assert.equal("value over start",
      lines_of(ramp(3, function(i) return i end):plot("value", "start"))[1])
  end)
end)


describe("a strip", function()
  local function events()
    return query.from_rows({
      { start = 0, stop = 500, kind = "a" }, { start = 500, stop = 1000, kind = "b" },
      { start = 750, stop = 1000, kind = "a" },
    }, { { name = "start", type = "integer", unit = "ns" },
      { name = "end", type = "integer", unit = "ns", get = function(one) return one.stop end },
      { name = "kind", type = "string" } })
  end

  it("says how busy each part of the time was", function()
    local lines = lines_of(events():strip "kind")
    assert.equal(4, #lines)
    assert.truthy(lines[1]:find "^%s+0 ns%s+1,000 ns$")
    local dark = {}
    for i = 2, 4 do dark[i - 1] = select(2, lines[i]:gsub("█", "")) end
    assert.same({ 51, 34, 68 }, dark)
    assert.equal("  a │█", lines[2]:sub(1, #"  a │█"))
    assert.equal("  b │ ", lines[3]:sub(1, #"  b │ "))
    assert.same({ "  75 %", "  50 %", " 100 %" }, { lines[2]:match "[ %d]+%%$",
      lines[3]:match "[ %d]+%%$", lines[4]:match "[ %d]+%%$" })
  end)

  it("is of the twelve that ran longest", function()
    local kernels = session.open({ "tests/fixtures/deepseek_ocr/run.sqlite" }).kernels
    local lines = lines_of(kernels:where { step = 3 }:strip "label")
    assert.equal(1 + 12 + 1 + 1, #lines)
    assert.truthy(lines[15]:find "^… and %d+ more of label$", lines[15])
  end)

  it("wants times and a column", function()
    assert.equal("strip: a frame with start and end is expected",
      failure(function() return ramp(3, function(i) return i end):strip "value" end)[2])
    assert.equal("of which column?", failure(function()
      return events():strip()
    end)[2])
  end)
end)
