-- Does the manual explain every column of the reports' tables? Run by llmprof
-- exec, in the source tree.
local columns = require "llmprof.report.columns"
local fs = require "llmprof.fs"

local PAGE = "docs/bundle.md"

local page = assert(fs.read(PAGE))
local missing = {}
for name, declared in pairs(columns) do
  for _, column in ipairs(declared) do
    local cell = ("| %s |"):format(column.title)
    if column.title ~= "" and not page:find(cell, 1, true) then
      missing[#missing + 1] = ("%s: no row '%s' (table %s)"):format(PAGE, cell, name)
    end
  end
end

table.sort(missing)
for _, line in ipairs(missing) do io.stderr:write(line, "\n") end
return #missing > 0 and 1 or 0
