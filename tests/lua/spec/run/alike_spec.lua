local rank_files = require "llmprof.run.rank_files"
local bundle = require "tests.lua.support.bundle"
local fs = require "llmprof.fs"

describe("llmprof.run.rank_files", function()
  local top = bundle.scratch(before_each, after_each)

  local function file(name, bytes)
    local path = top() .. "/" .. name
    assert(fs.write(path, bytes))
    return path
  end

  it("finds files that hold the same as an earlier one", function()
    local one, other = ("x"):rep(300000), ("x"):rep(299999) .. "y"
    local a = file("a", one)
    local link = top() .. "/link"
    assert(fs.symlink("a", link))
    local list = { a, file("b", other), link, file("c", one), file("d", "x"), top() .. "/none",
      top(), file("e", other), a }
    assert.same({ [3] = 1, [4] = 1, [8] = 2, [9] = 1 }, rank_files.duplicates(list))
  end)

  it("believes no sample", function()
    -- the byte that differs is between two pieces of it
    local one = ("x"):rep(1 << 20)
    local other = one:sub(1, 50000) .. "y" .. one:sub(50002)
    assert.same({}, rank_files.duplicates { file("a", one), file("b", other) })
    assert.same({ [2] = 1 }, rank_files.duplicates { file("a", ""), file("b", "") })
  end)
end)
