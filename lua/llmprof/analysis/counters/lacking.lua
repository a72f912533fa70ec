-- What counters do not tell of the kernels that were measured, for the list of what is missing.
local sorted_keys = require("llmprof.tables.keys").sorted

local lacking = { where = { "counters" }, reads = { "kernels", "missing" } }

local HOW = "capture=nsys mode=deep measures with Nsight Compute all that a kernel's bound takes, "
  .. "where it may read counters"


-- How many kernels have no known bound, and why; nil for none.
local function unknown_of(kernels)
  local count, reasons = 0, {}
  for _, kernel in ipairs(kernels) do
    local counters = kernel.counters
    if counters and counters.bound == "unknown" then
      count, reasons[counters.bound_reason] = count + 1, true
    end
  end
  return count > 0 and count or nil, table.concat(sorted_keys(reasons), "; ")
end


function lacking.run(state)
  local measured, none = state.counters, {}
  local function add(what, why)
    table.insert(state.missing, { what = what, why = why, how = HOW })
  end
  for _, figure in ipairs(measured.lacking or {}) do
    if figure.coverage == 0 then none[#none + 1] = figure.name end
  end
  if measured.launches > 0 and measured.kernels == 0 then
    add("counters", ("of %d launches that were measured none has values and is a kernel of the "
      .. "timeline"):format(measured.launches))
  end
  if #none > 0 then
    add("counters: " .. table.concat(none, ", "), "those that were measured do not give them")
  end
  local count, why = unknown_of(state.kernels or {})
  if count then
    add(("what bounds %d of %d measured kernels"):format(count, measured.kernels), why)
  end
end


return lacking
