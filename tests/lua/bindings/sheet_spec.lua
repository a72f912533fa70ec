local frame = require "llmprof.frame"
local fs = require "llmprof.fs"
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

  it("saves what is left of them in a file", function()
    local top = assert(fs.temp_dir "llmprof-test-")
    local path = top .. "/few.csv"
    local function opened() return sheet.open(little(), columns, { format = "csv" }) end
    for _, soon in ipairs { false, true } do
      assert.is_true(sheet.save(opened(), path, soon))
      assert.equal('Total,Name\n1234,"a, b"\n,c\n', fs.read(path))
    end
    local done = opened()
    sheet.next(done)
    assert.is_true(sheet.save(done, path))
    assert.equal("", fs.read(path))
    local ok, message, code = sheet.save(opened(), top .. "/none/few.csv")
    assert.is_nil(ok)
    assert.equal("notfound", code)
    assert.equal(top .. "/none/few.csv: No such file or directory", message)
    assert.is_true(fs.remove_tree(top))
  end)

  it("sends what is left of them to a file that is open", function()
    local top = assert(fs.temp_dir "llmprof-test-")
    local path = top .. "/few.csv"
    local file = assert(io.open(path, "w"))
    local opened = sheet.open(little(), columns, { format = "csv" })
    file:write "first\n"
    assert.is_true(sheet.send(opened, file, path))
    assert.is_true(sheet.send(opened, file, path))
    file:close()
    assert.equal('first\nTotal,Name\n1234,"a, b"\n,c\n', fs.read(path))
    assert.has_error(function() sheet.send(opened, file, path) end)
    assert.has_error(function() sheet.send(opened, path, path) end)
    assert.is_true(fs.remove_tree(top))
    local full <close> = assert(io.open("/dev/full", "w"))
    full:setvbuf "no"
    local ok, message = sheet.send(sheet.open(little(), columns, {}), full, "a device")
    assert.is_nil(ok)
    assert.equal("a device: No space left on device", message)
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
