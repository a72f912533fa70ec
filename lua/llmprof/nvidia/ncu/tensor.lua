-- Which tensor-core counters a file holds and what they mean. The names are
--
--   sm__ops_path_tensor_src_bf16_dst_fp32                 all paths together
--   sm__ops_path_tensor_src_fp8_sparsity_off, ..._on      the same in two parts
--   sm__ops_path_tensor_op_hgmma_src_bf16_..._sparsity_on one path of several
--
-- and differ by chip. src_ columns hold the sum of the op_ columns, and a name
-- without _sparsity_ the sum of off and on, so only one of each may be counted.
-- They count operations (a fused multiply-add is 2), tile padding included.
local formula = require "llmprof.nvidia.ncu.formula"
local sorted_keys = require("llmprof.tables.keys").sorted

local tensor = {}

local COUNTS = { "", ".per_cycle_elapsed", ".per_second" } -- after ".sum"
local PEAKS = { ".peak_sustained", ".peak_sustained_elapsed.per_second" }


local function has_any(names, stem, suffixes)
  for _, suffix in ipairs(suffixes) do
    if names[stem .. ".sum" .. suffix] then return true end
  end
  return false
end


-- Every ops_path_tensor stem among the names, sorted: sm__ before smsp__.
local function stems(names)
  local found = {}
  for name in pairs(names) do
    local stem = name:match "^(sms?p?__ops_path_tensor_[%w_]+)%.sum"
    if stem then found[stem] = true end
  end
  return sorted_keys(found)
end


local function describe(stem)
  local body = stem:match "__ops_path_tensor_(.*)$"
  local base, sparsity = body:match "^(.-)_sparsity_(o[nf]f?)$"
  base = base or body
  local source = ("_" .. base .. "_dst_"):match "_src_(.-)_dst_"
  return { stem = stem, base = base, sparsity = sparsity or "both", type = source,
    kind = base:match "^op_" and "op" or "src" }
end


-- groups[kind][type][base] = { both =, off =, on = } (stems)
local function collect(columns)
  local groups = { src = {}, op = {} }
  for _, column in ipairs(columns) do
    local types = groups[column.kind]
    local bases = types[column.type] or {}
    types[column.type] = bases
    bases[column.base] = bases[column.base] or {}
    local group = bases[column.base]
    group[column.sparsity] = group[column.sparsity] or column.stem
  end
  return groups
end


-- In a fixed order; src_X alone where there is also src_X_dst_Y, its part.
local function ordered(types)
  local list = {}
  for _, source in ipairs(sorted_keys(types)) do
    local bases = types[source]
    local whole = bases["src_" .. source]
    local groups = {}
    for _, base in ipairs(whole and { "src_" .. source } or sorted_keys(bases)) do
      groups[#groups + 1] = bases[base]
    end
    list[#list + 1] = { type = source, groups = groups }
  end
  return list
end


-- Stems whose peak is that of dense operation. The plain src_ peak is the
-- sparse one, twice as high, except for types that have no sparse mode.
local function dense(groups)
  local by_type = {}
  for _, kind in ipairs { "op", "src" } do
    for _, entry in ipairs(ordered(groups[kind])) do
      local candidates = {}
      for _, group in ipairs(entry.groups) do
        local no_sparse_mode = entry.type == "fp64" or entry.type == "int1"
        candidates[#candidates + 1] = group.off or no_sparse_mode and group.both or nil
      end
      if #candidates > 0 then by_type[entry.type] = by_type[entry.type] or candidates end
    end
  end
  return by_type
end


-- tensor.plan(names) -> plan; names is a set of metric names. Once per file.
function tensor.plan(names)
  local counted, peaked = {}, {}
  for _, stem in ipairs(stems(names)) do
    local column = describe(stem)
    if column.type then
      if has_any(names, stem, COUNTS) then counted[#counted + 1] = column end
      if has_any(names, stem, PEAKS) then peaked[#peaked + 1] = column end
    end
  end
  local groups = collect(counted)
  local peaks = dense(collect(peaked))
  return {
    counts = { ordered(groups.src), ordered(groups.op) },
    peaks = peaks,
    peak_types = sorted_keys(peaks),
  }
end


-- A group's number, by its stems: of both modes, or put together from two.
local function count_group(group, count)
  local both = group.off and group.on and formula.add(count(group.off), count(group.on))
  local part = group.off or group.on
  local apart = both or part and count(part)
  if not group.both then return apart end
  return formula.first { count(group.both), apart }
end


local function totals(entries, count)
  local list = {}
  for i, entry in ipairs(entries) do
    local groups = {}
    for g, group in ipairs(entry.groups) do groups[g] = count_group(group, count) end
    list[i] = { type = entry.type, tree = formula.sum(groups) }
  end
  return list
end


-- tensor.counts(plan, count) -> list of { type, tree }: operations by source type, as
-- formulas. count(stem) gives one, which a launch may have no value of. The paths
-- (op_) count only where a launch has none of the sums (src_).
function tensor.counts(plan, count)
  local sums, paths = totals(plan.counts[1], count), totals(plan.counts[2], count)
  local trees, any = {}, {}
  for i, total in ipairs(sums) do
    trees[total.type] = { total.tree }
    any[i] = total.tree
  end
  for _, total in ipairs(paths) do
    trees[total.type] = trees[total.type] or {}
    table.insert(trees[total.type], formula.unless(total.tree, formula.first(any)))
  end
  local list = {}
  for i, source in ipairs(sorted_keys(trees)) do
    list[i] = { type = source, tree = formula.first(trees[source]) }
  end
  return list
end


-- tensor.peaks(plan, peak) -> list of { type, tree }: the fastest dense path of
-- each source type. peak(stem) gives a formula in operations per second.
function tensor.peaks(plan, peak)
  local list = {}
  for i, source in ipairs(plan.peak_types) do
    local trees = {}
    for s, stem in ipairs(plan.peaks[source]) do trees[s] = peak(stem) end
    list[i] = { type = source, tree = formula.largest(trees) }
  end
  return list
end


-- The number format whose peak operations on this source type have.
function tensor.format(source)
  return source == "fp4_fp6_fp8" and "fp8" or source
end


-- Whether operations on this source type are floating point.
function tensor.is_float(source)
  return not source:match "^u?int%d"
end


return tensor
