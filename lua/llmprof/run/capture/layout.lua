-- The files of a recorded capture: name there, its place in a bundle, the step
-- that takes it, and whether that step can do without.
--
-- Beside them lies capture.json, how, where and when it was recorded:
--   { tool, counters_tool, date, command, recorded_by, environment, workload }
local layout = {}

layout.ABOUT = "capture.json"

layout.files = {
  { name = "run.sqlite", target = "nsys/run.sqlite", step = "timeline", needed = true },
  { name = "metrics.json", target = "workload/metrics.json", step = "timeline" },
  { name = "before.json", target = "workload/before/metrics.json", step = "timeline" },
  { name = "after.json", target = "workload/after/metrics.json", step = "timeline" },
  { name = "gpu_samples.json", target = "nsys/gpu_samples.json", step = "timeline" },
  { name = "ncu/raw.csv", target = "ncu/raw.csv", step = "counters", needed = true },
  { name = "operators.json", target = "workload/operators.json", step = "operators",
    needed = true },
}


-- All names, sorted.
function layout.names()
  local names = { layout.ABOUT }
  for _, file in ipairs(layout.files) do names[#names + 1] = file.name end
  table.sort(names)
  return names
end


return layout
