-- The manual has every failure of the tools that is recognised.
local fs = require "llmprof.fs"
local ncu = require "llmprof.nvidia.ncu.command"
local nsys = require "llmprof.nvidia.nsys"

local page = assert(fs.read "docs/troubleshooting.md")


describe("docs/troubleshooting.md", function()
  -- Has it a row for a message, in which "..." stands for what varies?
  local function check(message)
    local row = ("\n| %s |"):format(message:gsub("%%s", "..."))
    assert.is_truthy(page:find(row, 1, true), "no row: " .. message)
  end

  it("has the complaints of nsys", function()
    for _, entry in ipairs(nsys.complaints) do check(entry[2]) end
  end)

  it("has the failures of ncu", function()
    for _, entry in ipairs(ncu.failures) do check(entry[3]) end
  end)
end)
