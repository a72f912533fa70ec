-- Does the manual explain every column of the reports' tables? Run by llmprof
-- exec, in the source tree.
local columns = require "llmprof.report.columns"
local fs = require "llmprof.fs"

local BUNDLE, COMPARE, RANKS = "docs/bundle.md", "docs/compare.md", "docs/ranks.md"
local pages = { [BUNDLE] = assert(fs.read(BUNDLE)), [COMPARE] = assert(fs.read(COMPARE)),
  [RANKS] = assert(fs.read(RANKS)) }

local of_ranks = { ranks = true, pipeline = true, rank_stages = true, steps = true,
  step_rows = true, idle_threads = true, collectives = true, late = true, layers = true,
  rank_kernels = true, rank_files = true, requests = true, request_rows = true, engine_looks = true,
  kv_transfers = true, left_out = true }


-- The page that explains a table.
local function page_of(name)
  if name:find "^compare_" or name:find "^sweep_" or name == "baselines" then return COMPARE end
  return of_ranks[name] and RANKS or BUNDLE
end


local missing = {}
for name, declared in pairs(columns) do
  local page = page_of(name)
  for _, column in ipairs(declared) do
    local cell = ("| %s |"):format(column.title)
    if column.title ~= "" and not column.data and not pages[page]:find(cell, 1, true) then
      missing[#missing + 1] = ("%s: no row '%s' (table %s)"):format(page, cell, name)
    end
  end
end

table.sort(missing)
for _, line in ipairs(missing) do io.stderr:write(line, "\n") end
return #missing > 0 and 1 or 0
