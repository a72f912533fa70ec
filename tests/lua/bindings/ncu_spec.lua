local ncu = require "llmprof.ncu"

local PAGE = '"ID","Kernel Name","Grid Size","dram__bytes.sum","gpu__time_duration.sum"\n'
  .. '"","","","Kbyte","us"\n"7","f","(4, 2, 1)","1,234.5","n/a"\n'
local path = os.tmpname()

-- What ncu.open gives of a file of this text.
local function opened(text)
  local file = assert(io.open(path, "wb"))
  file:write(text)
  file:close()
  return ncu.open(path)
end


describe("llmprof.ncu", function()
  it("gives the metrics that are asked for, in base units", function()
    local page = assert(opened(PAGE))
    assert.same({ ["dram__bytes.sum"] = "byte", ["gpu__time_duration.sum"] = "s" },
      page:metrics())
    local frame = assert(page:counters { ["dram__bytes.sum"] = true, other = true })
    assert.same({ 7, "f", 4, nil, 1234500.0 }, { frame:get(1, "launch"), frame:get(1, "name"),
      frame:get(1, "grid_x"), frame:get(1, "correlation"), frame:get(1, "dram__bytes.sum") })
    assert.has_error(function() frame:get(1, "gpu__time_duration.sum") end)
    assert.same({ nil, path .. ": was read", "empty" }, { page:counters {} })
    page:close()
    assert.has_error(function() frame:get(1, "launch") end)
    assert.has_error(function() page:metrics() end)
  end)

  it("names file and line of what is broken", function()
    local page = assert(opened((PAGE:gsub("1,234.5", "1234,50"))))
    assert.same({ nil, path .. ":3: dram__bytes.sum is not a number as LC_ALL=C has it: 1234,50",
      "syntax" }, { page:counters { ["dram__bytes.sum"] = true } })
    assert.same({ nil, path .. ": no page of ncu", "unsupported" },
      { opened '"Kernel Name"\n' })
    os.remove(path)
    assert.same({ nil, path .. ": No such file or directory", "notfound" }, { ncu.open(path) })
    assert.has_error(function() ncu.open "a\0b" end)
  end)
end)
