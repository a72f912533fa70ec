-- Columns of the steps of a rank that ran something, in the order in which they began: a
-- list each, by name.
return function(frame, world, names)
  local own = frame:where({ world = world, { "begin", "~=", false } }):sort { { "begin" } }
  local made = {}
  for _, name in ipairs(names) do made[name] = own:values(name) end
  return made
end
