-- Is every column of the reports' tables explained, itself or by another of its key and title? Run
-- by llmprof exec, in the source tree.
local columns = require "llmprof.report.columns"
local sections = require "llmprof.report.sections"

-- Titles that mean the same in every table, explained in one.
local COMMON = {}
for _, title in ipairs { "", "#", "stage", "layer", "repeat", "category", "kernel", "device",
  "full name", "kernels", "calls", "n", "mean", "mean ms", "max ms", "share %", "GPU time ms",
  "GPU time %" } do
  COMMON[title] = true
end


local faults, everywhere = {}, {}
for _, one in ipairs(sections.explained()) do
  for _, column in ipairs(one.columns) do everywhere[column.title] = true end
end

for name, declared in pairs(columns) do
  for _, column in ipairs(declared) do
    local title = column.title
    if not column.data and not sections.meaning(column)
      and not (COMMON[title] and (title == "" or everywhere[title])) then
      faults[#faults + 1] = ("report/columns.lua: no meaning of '%s' (table %s)"):format(title,
        name)
    end
  end
end

table.sort(faults)
for _, line in ipairs(faults) do io.stderr:write(line, "\n") end
return #faults > 0 and 1 or 0
