-- What to ask ncu for: the selected kernels, in the stages' ranges of the
-- repeats that count, a few launches of each launch configuration, as many
-- kernels as the budget allows.
local errors = require "llmprof.errors"
local pages = require "llmprof.ncu"
local ncu = require "llmprof.vendor.ncu"

local counter_plan = {}


-- ---- which launches ----

-- Exact mangled names where the export has them for all, else function names.
local function name_base(kernels)
  for _, kernel in ipairs(kernels) do
    if not kernel.mangled_name then return "function" end
  end
  return "mangled"
end


local function name_of(kernel, base)
  return base == "mangled" and kernel.mangled_name or kernel.short_name
end


-- Launches that a kernel adds: ncu counts them per launch configuration.
local function launches_of(kernel, per_shape)
  local count = 0
  for _, shape in ipairs(kernel.shapes) do count = count + math.min(per_shape, shape.calls) end
  return count
end


-- Take kernels in the order of the list while the prediction stays in budget: a
-- kernel too costly for what is left does not keep smaller ones out.
local function fit(kernels, cfg)
  local taken, dropped, seconds, launches = {}, {}, 0, 0
  for _, kernel in ipairs(kernels) do
    local more = launches_of(kernel, cfg.top_n.launches_per_kernel)
    local cost = ncu.predict(cfg.ncu, more, kernel.mean_ns).seconds
    if seconds + cost <= cfg.ncu.budget_s then
      taken[#taken + 1] = kernel
      seconds, launches = seconds + cost, launches + more
    else
      dropped[#dropped + 1] = { kernel = kernel.id, launches = more, seconds = cost }
    end
  end
  return taken, dropped, seconds, launches
end


-- ---- where ----

-- Range expressions of the stages that hold selected kernels.
local function ranges_of(kernels, found)
  if found.whole then return {}, {} end
  local wanted, ranges = {}, {}
  for _, kernel in ipairs(kernels) do wanted[kernel.stage] = true end
  for _, stage in ipairs(found.declared) do
    if wanted[stage.name] and not stage.parent then
      ranges[#ranges + 1] = ncu.range_expression(stage.name)
    end
  end
  return ranges, wanted
end


-- Which of the matching ranges, counted together in order, are of repeats that
-- count: "3|4"; nil when all are.
local function instances_of(wanted, found)
  local number, list, all = 0, {}, true
  for _, instance in ipairs(found.instances) do
    if wanted[instance.stage] and not instance.parent then
      number = number + 1
      if instance.used then list[#list + 1] = tostring(number) else all = false end
    end
  end
  return not all and table.concat(list, "|") or nil
end


local function filter(kernels, base)
  local seen, names = {}, {}
  for _, kernel in ipairs(kernels) do
    local name = name_of(kernel, base)
    if not seen[name] then
      seen[name] = true
      names[#names + 1] = name
    end
  end
  return #names > 0 and errors.check("failed", pages.filter_regex(names)) or nil
end


-- { ranges, instances, kernels (ncu's regex), name_base, launches (per launch
--   configuration), expected (launches in all), seconds (predicted), dropped
--   (list of { kernel, launches, seconds }) }. chosen: the selected kernels;
-- those with the most GPU time per launch to measure come first.
function counter_plan.make(chosen, found, cfg)
  local by_worth = table.move(chosen, 1, #chosen, 1, {})
  local worth = {}
  for _, kernel in ipairs(chosen) do
    worth[kernel] = kernel.total_ns / launches_of(kernel, cfg.top_n.launches_per_kernel)
  end
  table.sort(by_worth, function(a, b)
    if worth[a] ~= worth[b] then return worth[a] > worth[b] end
    return a.id < b.id
  end)
  local taken, dropped, seconds, launches = fit(by_worth, cfg)
  local ranges, wanted = ranges_of(taken, found)
  local instances = instances_of(wanted, found)
  if cfg.ncu.nvtx_include then ranges, instances = { cfg.ncu.nvtx_include }, nil end
  local base = cfg.ncu.kernel_name_base == "function" and name_base(taken)
    or cfg.ncu.kernel_name_base
  return { ranges = ranges, instances = instances, kernels = filter(taken, base), name_base = base,
    launches = cfg.top_n.launches_per_kernel, expected = launches, seconds = seconds,
    dropped = dropped }
end


return counter_plan
