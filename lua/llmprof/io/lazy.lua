-- A module that is loaded when one of its fields is first read, for commands: the
-- list of them needs a line of each, not what they are made of.
--   local sweep = lazy "llmprof.compare.sweep"
-- Only for modules that are tables of functions, as most are.
local function lazy(name)
  return setmetatable({}, {
    __index = function(_, field) return require(name)[field] end,
  })
end


return lazy
