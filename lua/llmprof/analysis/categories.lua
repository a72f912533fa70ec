-- Kernel categories by name: rules of the recipe, then of conf/categories.yaml.
local errors = require "llmprof.base.errors"
local files = require "llmprof.base.files"
local yaml = require "llmprof.yaml"

local categories = {}

local FILE = "conf/categories.yaml"

categories.MEMORY = "memory" -- copies and sets that are no kernels
categories.OTHER = "other"


local function check_rules(rules, where)
  if type(rules) ~= "table" then
    errors.raise("usage", where .. ": a list of { category, match } is expected")
  end
  for i, rule in ipairs(rules) do
    if type(rule) ~= "table" or type(rule.category) ~= "string" or type(rule.match) ~= "table" then
      errors.raise("usage", ("%s: rule %d: { category, match = { pattern, ... } } is expected")
        :format(where, i))
    end
    for _, pattern in ipairs(rule.match) do
      local ok, message = pcall(string.find, "", tostring(pattern))
      if not ok then
        errors.raise("usage", ("%s: pattern '%s': %s"):format(where, tostring(pattern), message))
      end
    end
  end
  return rules
end


local function built_in()
  local contents, where = files.read(FILE)
  if not contents then errors.raise("usage", where) end
  return check_rules(errors.check("usage", yaml.decode(contents, { name = where })), where)
end


-- A function from a kernel's names to its category. own: rules of the recipe.
function categories.classifier(own)
  local rules = check_rules(own or {}, "recipe categories")
  rules = table.move(rules, 1, #rules, 1, {})
  local known, seen = built_in(), {}
  table.move(known, 1, #known, #rules + 1, rules)
  return function(name)
    local category = seen[name]
    if category then return category end
    local lower = name:lower()
    category = categories.OTHER
    for _, rule in ipairs(rules) do
      for _, pattern in ipairs(rule.match) do
        if lower:find(pattern) then
          seen[name] = rule.category
          return rule.category
        end
      end
    end
    seen[name] = category
    return category
  end
end


return categories
