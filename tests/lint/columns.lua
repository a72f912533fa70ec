-- Does the manual explain every column of the reports' tables, where it explains the table?
-- Run by llmprof exec, in the source tree.
local columns = require "llmprof.report.columns"
local fs = require "llmprof.fs"

-- Which tables of reports the table of columns below a heading explains, by page. A table may
-- be below several.
local EXPLAINED = {
  ["docs/bundle.md"] = {
    Stages = "aggregates brief_stages digest_stages stages",
    ["The CPU"] = "categories cpu",
    Load = "engine_metrics load load_times",
    Latency = "latency load load_times repeats",
    Efficiency = "brief_efficiency digest_stages efficiency",
    ["Hardware samples"] = "sampled",
    ["Modules and Operators"] = "marked_layers marked_operators modules",
    ["CPU Samples"] = "cpu_samples cpu_stacks stage_functions",
    ["Operators of each stage"] = "operator_stages",
    ["Operators on the timeline"] = "operator_stages timeline_operators",
    ["The longest gaps"] = "gaps",
    ["Layers of a decode step"] = "step_layers",
    ["What kernels could give back"] = "abstained findings headroom silent",
    Kernels = "digest_stages kernels largest_kernels page_kernels ranges roofline stage_kernels "
      .. "top_kernels",
    ["Whole ranges"] = "ranges",
    Operators = "operator_kernels operators top_operators",
    Environment = "devices",
    Copies = "transfers",
    ["Selection, trust, overhead, what is missing"] = "integrity missing overhead selection",
  },
  ["docs/compare.md"] = {
    Columns = "compare_differences compare_kernels compare_limits compare_sides compare_times "
      .. "compare_where compare_work",
    baseline = "baselines",
    sweep = "sweep_loads sweep_runs sweep_stages",
  },
  ["docs/ranks.md"] = {
    Columns = "collectives engine_looks idle_threads kv_transfers late layers left_out pipeline "
      .. "rank_files rank_kernels rank_stages ranks request_rows requests step_rows steps",
  },
}

-- Words that mean the same in every table, explained in one.
local COMMON = {}
for _, title in ipairs { "", "#", "stage", "layer", "repeat", "category", "kernel", "device",
  "full name", "kernels", "calls", "n", "mean", "mean ms", "max ms", "share %", "GPU time ms",
  "GPU time %" } do
  COMMON[title] = true
end


-- The first cells of the rows below each heading of a page, in bold or with #: sets.
local function rows_by_heading(path)
  local made, heading = {}, ""
  for line in assert(fs.read(path)):gmatch "[^\n]+" do
    heading = line:match "^#+ (.+)$" or line:match "^%*%*(.-):?%*%*" or heading
    local cell = line:match "^| ([^|]-) |"
    if cell then
      made[heading] = made[heading] or {}
      made[heading][cell] = true
    end
  end
  return made
end


local faults, places, everywhere = {}, {}, {}
for page, headings in pairs(EXPLAINED) do
  local rows = rows_by_heading(page)
  for _, cells in pairs(rows) do
    for cell in pairs(cells) do everywhere[cell] = true end
  end
  for heading, tables in pairs(headings) do
    for name in tables:gmatch "%S+" do
      places[name] = places[name] or {}
      table.insert(places[name], { cells = rows[heading] or {},
        called = ("%s, %s"):format(page, heading) })
    end
  end
end


local function has_row(title, list)
  for _, place in ipairs(list) do
    if place.cells[title] then return true end
  end
  return COMMON[title] and (title == "" or everywhere[title])
end


for name, declared in pairs(columns) do
  local list = places[name]
  if not list then faults[#faults + 1] = ("table %s: no heading explains it"):format(name) end
  for _, column in ipairs(list and declared or {}) do
    if not column.data and not has_row(column.title, list) then
      faults[#faults + 1] = ("%s: no row '| %s |' (table %s)"):format(list[1].called, column.title,
        name)
    end
  end
end

table.sort(faults)
for _, line in ipairs(faults) do io.stderr:write(line, "\n") end
return #faults > 0 and 1 or 0
