-- Is every column of the reports' tables explained below a heading of its table? Run by
-- llmprof exec, in the source tree.
local columns = require "llmprof.report.columns"
local meanings = require "llmprof.report.meanings"

-- Titles that mean the same in every table, explained in one.
local COMMON = {}
for _, title in ipairs { "", "#", "stage", "layer", "repeat", "category", "kernel", "device",
  "full name", "kernels", "calls", "n", "mean", "mean ms", "max ms", "share %", "GPU time ms",
  "GPU time %" } do
  COMMON[title] = true
end


local faults, parts, everywhere = {}, {}, {}
for _, part in ipairs(meanings) do
  local titles = {}
  for _, row in ipairs(part) do
    titles[row[1]], everywhere[row[1]] = true, true
  end
  for name in part.tables:gmatch "%S+" do
    parts[name] = parts[name] or {}
    table.insert(parts[name], titles)
  end
end


local function is_explained(title, list)
  for _, titles in ipairs(list) do
    if titles[title] then return true end
  end
  return COMMON[title] and (title == "" or everywhere[title])
end


for name, declared in pairs(columns) do
  local list = parts[name]
  if not list then faults[#faults + 1] = ("table %s: no heading explains it"):format(name) end
  for _, column in ipairs(list and declared or {}) do
    if not column.data and not column.meaning and not is_explained(column.title, list) then
      faults[#faults + 1] = ("report/columns.lua: no meaning of '%s' (table %s)"):format(column.title,
        name)
    end
  end
end

table.sort(faults)
for _, line in ipairs(faults) do io.stderr:write(line, "\n") end
return #faults > 0 and 1 or 0
