-- What collectives cost each step: waiting and transfer beside its other measures.
local rows = require "llmprof.ranks.rows"
local spans = require "llmprof.spans"

local per_step = {}

local function key_of(world, start)
  return ("%d/%d"):format(world, start)
end


-- Add the start of its step to each row.
local function add_start(all, steps)
  return spans.look_up(all, "number", steps, "start", "step_start")
end


-- Columns that only steps have which are ranges; absent of others.
local function add_lacking(steps)
  for _, name in ipairs { "cpu", "cpu_after" } do
    if not rows.has(steps, name) then
      rows.extend(steps, {}, { { name = name, type = "integer", unit = "ns",
        get = function() return nil end } })
    end
  end
end


-- Add `waiting` and `transfer` (ns) to steps: the sums of its matched collectives;
-- absent where it has none. made: of llmprof.ranks.merged.
function per_step.add(made)
  add_lacking(made.steps)
  local all, sums = made.met and made.met.steps, {}
  if all then
    add_start(all, made.steps)
    local found = made.collectives
    if found and rows.has(found, "number") then add_start(found, made.steps) end
    local matched = all:where { { "step_start", "~=", false } }
    for _, group in ipairs(matched:group { by = { "world", "step_start" },
      sum = { "waiting", "transfer" } }) do
      sums[key_of(group.world, group.step_start)] = group
    end
  end
  local function sum_of(key, name)
    local group = key.world and sums[key_of(key.world, key.start)]
    return group and group[name].total
  end
  rows.extend(made.steps, { "world", "start" }, {
    { name = "waiting", type = "integer", unit = "ns",
      get = function(key) return sum_of(key, "waiting") end },
    { name = "transfer", type = "integer", unit = "ns",
      get = function(key) return sum_of(key, "transfer") end },
  })
end


return per_step
