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

local function total(list) return lists.sum(list, "total_ns") end


local function share_of(part, list)
  local whole = total(list)
  return whole > 0 and total(part) / whole or nil
end


-- Of a list by total time the largest, as many as the policy asks for. whole: of all that may be
-- measured.
local function by_policy(list, policy, whole)
  local covered, taken = 0, {}
  for _, kernel in ipairs(list) do
    if #taken >= policy.kernels or (whole > 0 and covered / whole >= policy.coverage) then break end
    taken[#taken + 1] = kernel
    covered = covered + kernel.total_ns
  end
  return taken
end


-- Apply the policy. policy: kernels, coverage (0..1), per_stage; wanted: a set
-- of kernels of the list that takes the place of the first two. Returns
-- { policy, groups = { name, kernels (ids), coverage, of }, kernels (ids),
--   coverage, filter }, coverage being the share of the GPU time covered, of which list.others
--   sums up a part.
function step.apply(list, policy, wanted)
  local chosen, groups, others = {}, {}, list.others or {}
  local is_other, every = lists.set(others), lists.joined(list, others)
  local _, members = lists.grouped(every, function(kernel)
    return policy.per_stage and kernel.stage or "all"
  end)
  for _, name in ipairs(sorted_keys(members)) do
    local all = members[name]
    local measurable = lists.filtered(all, function(kernel)
      return kernel.category ~= categories.COMMUNICATION
    end)
    local candidates = lists.filtered(measurable, function(kernel)
      return not is_other[kernel] and (not wanted or wanted[kernel])
    end)
    local taken = wanted and candidates or by_policy(candidates, policy, total(measurable))
    local of = #lists.filtered(all, function(kernel) return not is_other[kernel] end)
    if of > 0 then
      lists.add(chosen, taken)
      groups[#groups + 1] = { name = name, kernels = lists.map(taken, "id"),
        coverage = share_of(taken, all), of = of }
    end
  end
  local names = lists.map(chosen, "short_name")
  return { policy = policy, groups = groups, kernels = lists.map(chosen, "id"), chosen = chosen,
    coverage = share_of(chosen, every),
    filter = #names > 0 and errors.check(ncu.filter_regex(names)) or nil }
end


-- ---- selection ----

-- Which kernels of a timeline are to be measured, by the recipe or by the policy of the
-- configuration.

-- This many times as many kernels of each stage where they cost little, until they cover as much
-- as is wanted.
local CHEAP = 2


-- Of a list of llmprof.analysis.kernels.table with categories; found: of
-- llmprof.analysis.stages.find.
function step.select_kernels(ctx, list, found)
  local focus = counter_plan.focus(ctx.cfg.ncu.nvtx_include, found)
  local function is_in_focus(kernel) return not focus or focus[kernel.stage] end
  local candidates = lists.filtered(list, is_in_focus)
  candidates.others = lists.filtered(list.others or {}, is_in_focus)
  local policy, source, choose = ctx.cfg.top_n, ctx.state.capture, ctx.recipe.select_kernels
  if choose then -- from the list itself
    local chosen = recipe.call("select_kernels", choose, lists.joined(candidates), ctx.cfg)
    if type(chosen) ~= "table" then
      errors.raise("usage", "select_kernels: a list of kernels is expected, got " .. type(chosen))
    end
    local known = lists.set(candidates)
    for i, kernel in ipairs(chosen) do
      if not known[kernel] then
        errors.raise("usage", ("select_kernels: item %d is no kernel of the list"):format(i))
      end
    end
    local made = step.apply(candidates, policy, lists.set(chosen))
    made.policy = { by = "recipe", per_stage = policy.per_stage }
    return made
  elseif source and source.cheap and source.cheap(ctx) then
    policy = merged(policy, { kernels = CHEAP * policy.kernels })
  end
  return step.apply(candidates, policy)
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


function step.run(ctx)
  local said = step.restore(ctx)
  local selection, plan = ctx.state.selection, ctx.state.plan
  local chosen = lists.map(selection.chosen, function(kernel)
    return { id = kernel.id, stage = kernel.stage, part = kernel.part,
      name = kernel.name, function_name = kernel.short_name, total_ns = kernel.total_ns,
      calls = kernel.calls, shapes = #kernel.shapes }
  end)
  ctx.run:write_document(layout.selection, "selection", { policy = selection.policy,
    coverage = selection.coverage, filter = selection.filter, kernels = chosen,
    counters = { kernel_name_base = plan.name_base, kernel_name = plan.kernels,
      nvtx_include = plan.ranges, range_instances = plan.instances,
      launches_per_shape = plan.launches, expected_launches = plan.expected,
      shortened = plan.changes, overhead_s = plan.overhead_s, predicted_s = plan.seconds,
      dropped = plan.dropped } })
  return said
end


return step
