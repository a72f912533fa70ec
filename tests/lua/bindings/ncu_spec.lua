local ncu = require "llmprof.ncu"

local PAGE = '"ID","Kernel Name","Grid Size","dram__bytes.sum","gpu__time_duration.sum"\n'
  .. '"","","","Kbyte","us"\n"7","f","(4, 2, 1)","1,234.5","n/a"\n'


describe("llmprof.ncu", function()
  it("gives the metrics that are asked for, in base units", function()
    local page = assert(ncu.parse(PAGE))
    assert.same({ ["dram__bytes.sum"] = "byte", ["gpu__time_duration.sum"] = "s" },
      page:metrics())
    local frame = assert(page:counters { ["dram__bytes.sum"] = true, other = true })
    assert.same({ 7, "f", 4, nil, 1234500.0 }, { frame:get(1, "launch"), frame:get(1, "name"),
      frame:get(1, "grid_x"), frame:get(1, "correlation"), frame:get(1, "dram__bytes.sum") })
    assert.has_error(function() frame:get(1, "gpu__time_duration.sum") end)
    assert.same({ nil, "csv: was read", "empty" }, { page:counters {} })
    page:close()
    assert.has_error(function() frame:get(1, "launch") end)
    assert.has_error(function() page:metrics() end)
  end)

  it("names file and line of what is broken", function()
    local path = os.tmpname()
    local file = assert(io.open(path, "wb"))
    file:write((PAGE:gsub("1,234.5", "1234,50")))
    file:close()
    local page = assert(ncu.open(path))
    assert.same({ nil, path .. ":3: dram__bytes.sum is not a number as LC_ALL=C has it: 1234,50",
      "syntax" }, { page:counters { ["dram__bytes.sum"] = true } })
    os.remove(path)
    assert.same({ nil, path .. ": No such file or directory", "notfound" }, { ncu.open(path) })
    assert.same({ nil, "csv: no raw page of ncu", "unsupported" }, { ncu.parse '"Kernel Name"\n' })
    assert.has_error(function() ncu.open "a\0b" end)
  end)
end)
