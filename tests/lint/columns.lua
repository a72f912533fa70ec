-- Is every column of the reports' tables explained, itself or below a heading of its table, and has
-- every heading some? Run by llmprof exec, in the source tree.
local columns = require "llmprof.report.columns"
local meanings = require "llmprof.report.meanings"

-- Titles that mean the same in every table, explained in one.
local COMMON = {}
for _, title in ipairs { "", "#", "stage", "layer", "repeat", "category", "kernel", "device",
  "full name", "kernels", "calls", "n", "mean", "mean ms", "max ms", "share %", "GPU time ms",
  "GPU time %" } do
  COMMON[title] = true
end


local faults, everywhere = {}, {}
for _, part in ipairs(meanings.parts()) do
  for _, row in ipairs(part) do everywhere[row[1]] = true end
  if #part == 0 then
    faults[#faults + 1] = ("report/meanings.lua: nothing below '%s'"):format(part.title)
  end
end

for name, declared in pairs(columns) do
  local meaning = meanings.of(name)
  for _, column in ipairs(declared) do
    local title = column.title
    if not column.data and not meaning(column)
      and not (COMMON[title] and (title == "" or everywhere[title])) then
      faults[#faults + 1] = ("report/columns.lua: no meaning of '%s' (table %s)"):format(title,
        name)
    end
  end
end

table.sort(faults)
for _, line in ipairs(faults) do io.stderr:write(line, "\n") end
return #faults > 0 and 1 or 0
