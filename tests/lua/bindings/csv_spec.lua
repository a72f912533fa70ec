local csv = require "llmprof.csv"

local function rows(text, options)
  local got = {}
  for row, line in assert(csv.parse(text, options)):rows() do
    row.line = line
    got[#got + 1] = row
  end
  return got
end

describe("llmprof.csv", function()
  it("reads rows by column name", function()
    assert.same({ { a = "1", b = "x, y", line = 2 } }, rows 'a,b\n1,"x, y"\n')
  end)

  it("turns fields into numbers when asked, and absent ones into nil", function()
    local options = { numbers = true, text = { "name" } }
    local got = rows("name,x,y,z\n12,\"1,234.5\",7,n/a\n", options)
    assert.same({ { name = "12", x = 1234.5, y = 7, line = 2 } }, got)
    assert.equal("integer", math.type(got[1].y))
  end)

  it("skips preamble and units", function()
    assert.same({ { ID = "0", t = "1", line = 4 } },
      rows("==PROF== hello\nID,t\n,us\n0,1\n", { header = "ID", units = true }))
  end)

  it("names file and line of a broken row", function()
    local reader = assert(csv.parse "a,b\n1\n")
    local _, err = pcall(function()
      for _ in reader:rows() do end
    end)
    assert.same({ "csv:2: 1 fields where the header has 2: 1", "syntax" },
      { err.message, err.code })
    assert.same({ nil, "csv: empty, no CSV header", "empty" }, { csv.parse "" })
  end)

  it("refuses a closed reader and wrong arguments", function()
    local reader = assert(csv.parse "a\n1\n")
    reader:close()
    reader:close()
    assert.has_error(function() reader:rows() end,
      "calling 'rows' on bad self (llmprof.csv.reader is closed)")
    assert.has_error(function() csv.parse("a\n", { units = 1 }) end,
      "bad argument #2 to 'parse' (option 'units': boolean expected, got number)")
  end)
end)
