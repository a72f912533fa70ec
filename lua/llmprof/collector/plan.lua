-- The plan of a collector: lines of KEY = VALUE, as docs/collector.md has them.
local errors = require "llmprof.process.errors"

local plan = {}


-- One line; a value that would be two is refused.
function plan.line(key, value)
  local text = tostring(value)
  if not key:find "^[%w_.]+$" or text:find "[\r\n]" then
    errors.raise("usage", ("plan: '%s' cannot be a line of the plan"):format(key))
  end
  return ("%s = %s\n"):format(key, text)
end


-- Of words KEY=VALUE, in their order.
function plan.of_words(words)
  local lines = {}
  for i, word in ipairs(words) do
    local key, value = word:match "^([^=]+)=(.*)$"
    if not key then
      errors.raise("usage", ("plan: '%s' is not KEY=VALUE"):format(word),
        { hint = "llmprof help collector lists the keys" })
    end
    lines[i] = plan.line(key, value)
  end
  return table.concat(lines)
end


-- What a plan says of a key: its last line of it; nil without one.
function plan.value(lines, key)
  local value
  for name, text in lines:gmatch "([^\n=]-)[ \t]*=[ \t]*([^\n]*)" do
    if name == key then value = text end
  end
  return value
end


return plan
