-- What steps leave for later ones: fields, each given by one step. A step gets a view
-- through which it reads what it `reads` or `gives` and sets what it `gives`; anything
-- else raises, so that the declarations are what happens.
local sorted_keys = require("llmprof.tables.keys").sorted

local state = {}

-- What is not in the results, and why: the pipeline's own, by ctx.lack.
state.MISSING = "missing"


-- ---- what steps declare ----

-- Field -> the step that gives it. Raises where two do, where a step reads what none
-- before it gives, and where one requires what is not before it.
function state.givers(steps)
  local givers, before = {}, {}
  for _, step in ipairs(steps) do
    for _, name in ipairs(step.requires or {}) do
      assert(before[name], ("step '%s' requires '%s', which is not before it"):format(step.name,
        name))
    end
    for _, field in ipairs(sorted_keys(step.gives or {})) do
      assert(not givers[field] and field ~= state.MISSING,
        ("step '%s' gives '%s', as another does"):format(step.name, field))
      givers[field] = step
    end
    for _, field in ipairs(step.reads or {}) do
      assert(givers[field] or field == state.MISSING,
        ("step '%s' reads '%s', which no step before it gives"):format(step.name, field))
    end
    before[step.name] = true
  end
  return givers
end


-- The steps whose fields a step reads, each once.
function state.sources(step, givers)
  local list, seen = {}, { [step] = true }
  for _, field in ipairs(step.reads or {}) do
    local giver = givers[field]
    if giver and not seen[giver] then seen[giver], list[#list + 1] = true, giver end
  end
  return list
end


-- ---- what they touch ----

-- The fields as a step may use them. fields: the table that all views share. await(field) is
-- called before one is read.
function state.view(fields, step, await)
  local read, given = {}, step.gives or {}
  for _, field in ipairs(step.reads or {}) do read[field] = true end
  return setmetatable({}, {
    __index = function(_, field)
      if read[field] then await(field) end
      if read[field] or given[field] then return fields[field] end
      error(("step '%s' reads the state's '%s' and does not say so"):format(step.name, field), 2)
    end,
    __newindex = function(_, field, value)
      if not given[field] then
        error(("step '%s' sets the state's '%s' and does not say so"):format(step.name, field), 2)
      end
      fields[field] = value
    end,
  })
end


return state
