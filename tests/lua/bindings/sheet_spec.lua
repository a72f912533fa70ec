local frame = require "llmprof.frame"
local sheet = require "llmprof.sheet"

local function little()
  return frame.new(2, {
    { name = "total", type = "integer", values = { 1234, false } },
    { name = "name", type = "string", values = { "a, b", "c" } },
  })
end

local columns = { { key = "total", title = "Total", whole = true },
  { key = "name", title = "Name" } }

local function written(options)
  local list = {}
  for piece in sheet.next, sheet.open(little(), columns, options) do list[#list + 1] = piece end
  return table.concat(list)
end


describe("llmprof.sheet", function()
  it("writes frames for programs and for people", function()
    assert.equal('Total,Name\n1234,"a, b"\n,c\n', written { format = "csv" })
    assert.equal('[\n  {\n    "Total": 1234,\n    "Name": "a, b"\n  },\n'
      .. '  {\n    "Total": null,\n    "Name": "c"\n  }\n]\n', written { format = "json" })
    assert.equal("Total  Name\n1,234  a, b\n       c\n", written { format = "table" })
  end)

  it("refuses what it does not know", function()
    assert.has_error(function() sheet.open(little(), {}, {}) end)
    assert.has_error(function() sheet.open(little(), columns, { format = "pdf" }) end)
    assert.has_error(function() sheet.open(little(), { { key = "x", title = "X" } }, {}) end)
    assert.has_error(function() sheet.open(little(), { { key = "name" } }, {}) end)
    assert.has_error(function()
      sheet.open(little(), { { key = "total", title = "T", digits = 21 } }, {})
    end)
  end)

  it("needs its frame", function()
    local rows = little()
    local pieces = sheet.open(rows, columns, {})
    rows:close()
    assert.has_error(function() sheet.next(pieces) end)
  end)
end)
