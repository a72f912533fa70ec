-- Parts of a work that leave something for later ones: fields, each given by one part. A part,
-- a step of a run or a pass of the analysis, is a table:
--
--   name       what it is called
--   where      fields without which dataflow.run leaves it out; it reads them (optional)
--   reads      fields that it reads (optional)
--   gives      fields that it sets: name -> what it is (optional). "rows.column" is what it adds
--              to the rows of another field, and nothing to set
--
-- It gets a view through which it reads what is so named and sets what it gives;
-- anything else raises, so that the declarations are what happens.
local dataflow = {}


-- ---- what parts declare ----

-- Calls visit(field) for all that a part may read before it sets anything.
local function each_read(part, visit)
  for _, field in ipairs(part.where or {}) do visit(field) end
  for _, field in ipairs(part.reads or {}) do visit(field) end
end


-- Field -> the part that gives it. inputs: fields that are there from the beginning, a set.
-- Raises where two give one, where a part reads what none before it gives, and where one
-- requires another that is not before it.
function dataflow.givers(parts, inputs)
  local givers, before = {}, {}
  for _, part in ipairs(parts) do
    for _, name in ipairs(part.requires or {}) do
      assert(before[name], ("'%s' requires '%s', which is not before it"):format(part.name, name))
    end
    for field in pairs(part.gives or {}) do
      assert(not givers[field] and not inputs[field],
        ("'%s' gives '%s', as another does"):format(part.name, field))
      givers[field] = part
    end
    each_read(part, function(field)
      assert(givers[field] or inputs[field],
        ("'%s' reads '%s', which nothing before it gives"):format(part.name, field))
    end)
    before[part.name] = true
  end
  return givers
end


-- The parts whose fields a part reads, each once.
function dataflow.sources(part, givers)
  local list, seen = {}, { [part] = true }
  each_read(part, function(field)
    local giver = givers[field]
    if giver and not seen[giver] then seen[giver], list[#list + 1] = true, giver end
  end)
  return list
end


-- ---- what they touch ----

-- The fields as a part may use them. fields: the table that all views share. await(field) is
-- called before one is read (optional).
function dataflow.view(fields, part, await)
  local read, given = {}, part.gives or {}
  each_read(part, function(field) read[field] = true end)
  return setmetatable({}, {
    __index = function(_, field)
      if await and read[field] then await(field) end
      if read[field] or given[field] then return fields[field] end
      error(("'%s' reads '%s' and does not say so"):format(part.name, field), 2)
    end,
    __newindex = function(_, field, value)
      if not given[field] then
        error(("'%s' sets '%s' and does not say so"):format(part.name, field), 2)
      end
      fields[field] = value
    end,
  })
end


-- Run parts in order over fields that are there: run(view), where all of its `where` is there.
function dataflow.run(parts, fields)
  for _, part in ipairs(parts) do
    local is_needed = true
    for _, field in ipairs(part.where or {}) do is_needed = is_needed and fields[field] ~= nil end
    if is_needed then part.run(dataflow.view(fields, part)) end
  end
end


return dataflow
