-- Which kernels to measure with counters: the largest of each stage (or over
-- all) until they cover enough of its GPU time, or are enough in number. Never those
-- that talk to other GPUs: one that is replayed waits for its peers for ever.
local categories = require "llmprof.analysis.kernels.categories"
local errors = require "llmprof.process.errors"
local ncu = require "llmprof.nvidia.ncu"

local select_kernels = {}


-- The kernels of each group in the order of the list, which is by total time; `others`: what
-- the list only sums up.
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
  for _, other in ipairs(list.others or {}) do
    local group = groups[per_stage and other.stage or "all"] or {}
    group.others = group.others or {}
    table.insert(group.others, other)
  end
  table.sort(order)
  return order, groups
end


local function total(list)
  local sum = 0
  for _, kernel in ipairs(list) do sum = sum + kernel.total_ns end
  for _, other in ipairs(list.others or {}) do sum = sum + other.total_ns end
  return sum
end


local function without_communication(list)
  local taken = {}
  for _, kernel in ipairs(list) do
    if kernel.category ~= categories.COMMUNICATION then taken[#taken + 1] = kernel end
  end
  return taken
end


local function measurable(list)
  local taken = without_communication(list)
  taken.others = without_communication(list.others or {})
  return taken
end


-- The largest, as many as the policy asks for.
local function by_policy(list, policy)
  local whole, covered, taken = total(list), 0, {}
  for _, kernel in ipairs(list) do
    if #taken >= policy.kernels or (whole > 0 and covered / whole >= policy.coverage) then break end
    taken[#taken + 1] = kernel
    covered = covered + kernel.total_ns
  end
  return taken
end


local function those_of(list, wanted)
  local taken = {}
  for _, kernel in ipairs(list) do
    if wanted[kernel] then taken[#taken + 1] = kernel end
  end
  return taken
end


local function share_of(part, list)
  local whole = total(list)
  return whole > 0 and total(part) / whole or nil
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
  return errors.check(ncu.filter_regex(names))
end


-- Apply the policy. policy: kernels, coverage (0..1), per_stage; wanted: a set
-- of kernels of the list that takes the place of the first two. Returns
-- { policy, groups = { name, kernels (ids), coverage, of }, kernels (ids),
--   coverage, filter }, coverage being the share of the GPU time covered.
function select_kernels.apply(list, policy, wanted)
  local chosen, chosen_ids, groups = {}, {}, {}
  local order, members = grouped(list, policy.per_stage)
  for i, name in ipairs(order) do
    local ids, all = {}, members[name]
    local candidates = measurable(all)
    local taken = wanted and those_of(candidates, wanted) or by_policy(candidates, policy)
    for j, kernel in ipairs(taken) do
      ids[j] = kernel.id
      chosen[#chosen + 1] = kernel
      chosen_ids[#chosen_ids + 1] = kernel.id
    end
    groups[i] = { name = name, kernels = ids, coverage = share_of(taken, all), of = #all }
  end
  return { policy = policy, groups = groups, kernels = chosen_ids, chosen = chosen,
    coverage = share_of(chosen, list), filter = filter_of(chosen) }
end


return select_kernels
