-- Which kernels to measure with counters: the largest of each stage (or over
-- all) until they cover enough of its GPU time, or are enough in number.
local errors = require "llmprof.errors"
local ncu = require "llmprof.ncu"

local select_kernels = {}


-- The kernels of each group in the order of the list, which is by total time.
local function grouped(list, per_stage)
  local order, groups = {}, {}
  for _, kernel in ipairs(list) do
    local name = per_stage and kernel.stage or "all"
    if not groups[name] then
      groups[name] = {}
      order[#order + 1] = name
    end
    table.insert(groups[name], kernel)
  end
  table.sort(order)
  return order, groups
end


local function total(list)
  local sum = 0
  for _, kernel in ipairs(list) do sum = sum + kernel.total_ns end
  return sum
end


local function take(list, policy)
  local whole, covered, taken = total(list), 0, {}
  for _, kernel in ipairs(list) do
    if #taken >= policy.kernels or (whole > 0 and covered / whole >= policy.coverage) then break end
    taken[#taken + 1] = kernel
    covered = covered + kernel.total_ns
  end
  return taken, whole > 0 and covered / whole or nil
end


-- The ncu filter that matches exactly the functions of these kernels.
local function filter_of(list)
  local seen, names = {}, {}
  for _, kernel in ipairs(list) do
    if not seen[kernel.short_name] then
      seen[kernel.short_name] = true
      names[#names + 1] = kernel.short_name
    end
  end
  if #names == 0 then return nil end
  return errors.check("failed", ncu.filter_regex(names))
end


-- Apply the policy. policy: kernels, coverage (0..1), per_stage. Returns
-- { policy, groups = { name, kernels (ids), coverage, of }, kernels (ids),
--   coverage, filter }, coverage being the share of the GPU time covered.
function select_kernels.apply(list, policy)
  local chosen, chosen_ids, groups = {}, {}, {}
  local order, members = grouped(list, policy.per_stage)
  for i, name in ipairs(order) do
    local taken, coverage = take(members[name], policy)
    local ids = {}
    for j, kernel in ipairs(taken) do
      ids[j] = kernel.id
      chosen[#chosen + 1] = kernel
      chosen_ids[#chosen_ids + 1] = kernel.id
    end
    groups[i] = { name = name, kernels = ids, coverage = coverage, of = #members[name] }
  end
  local whole = total(list)
  return { policy = policy, groups = groups, kernels = chosen_ids, chosen = chosen,
    coverage = whole > 0 and total(chosen) / whole or nil, filter = filter_of(chosen) }
end


return select_kernels
