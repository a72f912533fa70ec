-- The kernels that matter, and what ncu is to be asked to measure exactly those.
local breakdown = require "llmprof.analysis.stages.breakdown"
local categories = require "llmprof.analysis.kernels.categories"
local counter_plan = require "llmprof.analysis.counters.plan"
local errors = require "llmprof.process.errors"
local kernels = require "llmprof.analysis.kernels.table"
local layout = require "llmprof.bundle.layout"
local merged = require("llmprof.tables.keys").merged
local recipe = require "llmprof.recipe"
local ncu = require "llmprof.nvidia.ncu"
local sorted_keys = require("llmprof.tables.keys").sorted
local lists = require "llmprof.tables.lists"

local step = { name = "select", summary = "choose the kernels to measure",
  requires = { "timeline" }, needs = { layout.timeline }, makes = { layout.selection },
  reads = { "capture", "tools", "environment", "samples", "trace", "found" },
  gives = {
    kernels = "every kernel of the stages: llmprof.analysis.kernels.table",
    selection = "those that are worth measuring: step.apply",
    plan = "what to ask ncu for: llmprof.analysis.counters.plan",
  } }


-- ---- the policy ----

-- The largest of each stage (or over all) until they cover enough of its GPU time, or are
-- enough in number. Never those that talk to other GPUs: one that is replayed waits for its
-- peers for ever.

-- The kernels of each group in the order of the list, which is by total time; `others`: what
-- the list only sums up.
local function grouped(list, per_stage)
  local function name_of(kernel) return per_stage and kernel.stage or "all" end
  local _, groups = lists.grouped(list, name_of)
  for _, other in ipairs(list.others or {}) do
    local group = groups[name_of(other)] or {}
    group.others = group.others or {}
    table.insert(group.others, other)
  end
  return sorted_keys(groups), groups
end


local function total(list)
  return lists.sum(list, "total_ns") + lists.sum(list.others or {}, "total_ns")
end


local function measurable(list)
  local function is_alone(kernel) return kernel.category ~= categories.COMMUNICATION end
  local taken = lists.filtered(list, is_alone)
  taken.others = lists.filtered(list.others or {}, is_alone)
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


local function share_of(part, list)
  local whole = total(list)
  return whole > 0 and total(part) / whole or nil
end


-- Apply the policy. policy: kernels, coverage (0..1), per_stage; wanted: a set
-- of kernels of the list that takes the place of the first two. Returns
-- { policy, groups = { name, kernels (ids), coverage, of }, kernels (ids),
--   coverage, filter }, coverage being the share of the GPU time covered.
function step.apply(list, policy, wanted)
  local chosen, groups = {}, {}
  local order, members = grouped(list, policy.per_stage)
  for i, name in ipairs(order) do
    local all = members[name]
    local candidates = measurable(all)
    local taken = wanted
      and lists.filtered(candidates, function(kernel) return wanted[kernel] end)
      or by_policy(candidates, policy)
    lists.add(chosen, taken)
    groups[i] = { name = name, kernels = lists.map(taken, "id"), coverage = share_of(taken, all),
      of = #all }
  end
  local names = lists.map(chosen, "short_name")
  return { policy = policy, groups = groups, kernels = lists.map(chosen, "id"), chosen = chosen,
    coverage = share_of(chosen, list),
    filter = #names > 0 and errors.check(ncu.filter_regex(names)) or nil }
end


-- ---- selection ----

-- Which kernels of a timeline are to be measured, by the recipe or by the policy of the
-- configuration.

-- This many times as many kernels of each stage where they cost little.
local CHEAP = 2


-- The kernels a recipe chose, as a set.
local function set_of(chosen, list)
  local known, wanted = lists.set(list), {}
  if type(chosen) ~= "table" then
    errors.raise("usage", "select_kernels: a list of kernels is expected, got " .. type(chosen))
  end
  for i, kernel in ipairs(chosen) do
    if not known[kernel] then
      errors.raise("usage", ("select_kernels: item %d is no kernel of the list"):format(i))
    end
    wanted[kernel] = true
  end
  return wanted
end


-- The recipe may choose from the list itself: it returns the kernels it wants.
local function by_recipe(ctx, list)
  local shown = lists.joined(list)
  local chosen = recipe.call("select_kernels", ctx.recipe.select_kernels, shown, ctx.cfg)
  local made = step.apply(list, ctx.cfg.top_n, set_of(chosen, list))
  made.policy = { by = "recipe", per_stage = ctx.cfg.top_n.per_stage }
  return made
end


-- What the configuration says of how many. Where a kernel costs little there may be more of
-- them until they cover as much as is wanted.
local function policy_of(ctx)
  local policy, source = ctx.cfg.top_n, ctx.state.capture
  if not (source and source.cheap and source.cheap(ctx)) then return policy end
  return merged(policy, { kernels = CHEAP * policy.kernels })
end


-- Of a list of llmprof.analysis.kernels.table with categories; found: of
-- llmprof.analysis.stages.find.
function step.select_kernels(ctx, list, found)
  local focus = counter_plan.focus(ctx.cfg.ncu.nvtx_include, found)
  local candidates = lists.filtered(list, function(kernel)
    return not focus or focus[kernel.stage]
  end)
  return ctx.recipe.select_kernels and by_recipe(ctx, candidates)
    or step.apply(candidates, policy_of(ctx))
end


-- plan: nil where ncu is not what measures.
local function note(selection, plan)
  local notes = lists.map(selection.groups, function(group)
    return ("%d of %d kernels of %s"):format(#group.kernels, group.of, group.name)
  end)
  if #notes == 0 then return "no kernel to select" end
  if not plan then return table.concat(notes, ", ") end
  local unnamed = #lists.filtered(plan.dropped, "why") -- not measured for their names
  if #plan.dropped > unnamed then
    notes[#notes + 1] = ("%d too costly to measure"):format(#plan.dropped - unnamed)
  end
  if unnamed > 0 then notes[#notes + 1] = ("%d with names too long for ncu"):format(unnamed) end
  return table.concat(notes, ", ")
end


function step.restore(ctx)
  local list = kernels.list(ctx.state.trace, ctx.state.found, ctx.recipe.categories)
  breakdown.categorize(list, ctx.recipe.categories)
  ctx.state.kernels = list
  ctx.state.selection = step.select_kernels(ctx, list, ctx.state.found)
  local source = ctx.state.capture
  -- nil for a run that was made, and on paper
  local room = source and source.room and source.room(ctx) or nil
  ctx.state.plan = counter_plan.make(ctx.state.selection.chosen, list, ctx.state.found, ctx.cfg,
    room)
  local cheap = source and source.cheap and source.cheap(ctx)
  return note(ctx.state.selection, not cheap and ctx.state.plan or nil)
end


local function plan_record(plan)
  return { kernel_name_base = plan.name_base, kernel_name = plan.kernels,
    nvtx_include = plan.ranges, range_instances = plan.instances,
    launches_per_shape = plan.launches, expected_launches = plan.expected,
    shortened = plan.changes, overhead_s = plan.overhead_s, predicted_s = plan.seconds,
    dropped = plan.dropped }
end


function step.run(ctx)
  local said = step.restore(ctx)
  local selection, plan = ctx.state.selection, ctx.state.plan
  local chosen = lists.map(selection.chosen, function(kernel)
    return { id = kernel.id, stage = kernel.stage, part = kernel.part,
      name = kernel.name, function_name = kernel.short_name, total_ns = kernel.total_ns,
      calls = kernel.calls, shapes = #kernel.shapes }
  end)
  ctx.run:write_document(layout.selection, "selection", { policy = selection.policy,
    coverage = selection.coverage, filter = selection.filter, counters = plan_record(plan),
    kernels = chosen })
  return said
end


return step
