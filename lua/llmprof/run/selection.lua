-- Which kernels of a timeline are to be measured, by the recipe or by the policy of the
-- configuration.
local counter_plan = require "llmprof.analysis.counters.plan"
local errors = require "llmprof.process.errors"
local recipe = require "llmprof.recipe"
local select_kernels = require "llmprof.analysis.counters.select"

local selection = {}

-- So many times as many kernels of each stage where they cost little.
local CHEAP = 2


-- The kernels a recipe chose, as a set.
local function set_of(chosen, list)
  local known, wanted = {}, {}
  for _, kernel in ipairs(list) do known[kernel] = true end
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
  local shown = table.move(list, 1, #list, 1, {})
  local chosen = recipe.call("select_kernels", ctx.recipe.select_kernels, shown, ctx.cfg)
  local made = select_kernels.apply(list, ctx.cfg.top_n, set_of(chosen, list))
  made.policy = { by = "recipe", per_stage = ctx.cfg.top_n.per_stage }
  return made
end


-- The kernels to choose from: those of the stages that ncu.nvtx_include names, or
-- all.
local function in_focus(ctx, list, found)
  local focus = counter_plan.focus(ctx.cfg.ncu.nvtx_include, found)
  local taken = {}
  for _, kernel in ipairs(list) do
    if not focus or focus[kernel.stage] then taken[#taken + 1] = kernel end
  end
  return taken
end


-- What the configuration says of how many. Where a kernel costs little there may be more of
-- them until they cover as much as is wanted.
local function policy_of(ctx)
  local policy, source = ctx.cfg.top_n, ctx.state.capture
  if not (source and source.cheap and source.cheap(ctx)) then return policy end
  local more = {}
  for key, value in pairs(policy) do more[key] = value end
  more.kernels = CHEAP * policy.kernels
  return more
end


-- Of a list of llmprof.analysis.kernels.table with categories; found: of
-- llmprof.analysis.stages.find.
function selection.make(ctx, list, found)
  local candidates = in_focus(ctx, list, found)
  return ctx.recipe.select_kernels and by_recipe(ctx, candidates)
    or select_kernels.apply(candidates, policy_of(ctx))
end


return selection
