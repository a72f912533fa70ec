-- Kernel categories by name: rules of the recipe, then of conf/categories.yaml.
local errors = require "llmprof.base.errors"
local files = require "llmprof.base.files"
local name_rules = require "llmprof.rules"
local yaml = require "llmprof.yaml"

local categories = {}

local FILE = "conf/categories.yaml"

local FORM = "{ category, match = { pattern, ... }, function = { pattern, ... } }"

categories.MEMORY = "memory" -- copies and sets that are no kernels
categories.OTHER = "other"
categories.COMMUNICATION = "communication"


-- ---- rules ----

local function check_pattern(pattern, where)
  local made, message = name_rules.new { { tostring(pattern), 0 } }
  if not made then
    errors.raise("usage", ("%s: pattern '%s': %s"):format(where, tostring(pattern), message))
  end
end


-- All at once, which is one look where nothing is wrong.
local function check_patterns(patterns, where)
  local list = {}
  for i, pattern in ipairs(patterns) do list[i] = { tostring(pattern), 0 } end
  if name_rules.new(list) then return end
  for _, pattern in ipairs(patterns) do check_pattern(pattern, where) end
end


local function is_rule(rule)
  if type(rule) ~= "table" or type(rule.category) ~= "string" then return false end
  local whole, own = rule.match, rule["function"]
  return (whole or own) and (whole == nil or type(whole) == "table")
    and (own == nil or type(own) == "table")
end


local function check_rules(rules, where)
  if type(rules) ~= "table" then
    errors.raise("usage", where .. ": a list of { category, match } is expected")
  end
  for i, rule in ipairs(rules) do
    if not is_rule(rule) then
      errors.raise("usage", ("%s: rule %d: %s is expected"):format(where, i, FORM))
    end
    check_patterns(rule.match or {}, where)
    check_patterns(rule["function"] or {}, where)
  end
  return rules
end


local function built_in()
  local contents, where = files.read(FILE)
  if not contents then errors.raise("usage", where) end
  return check_rules(errors.check("usage", yaml.decode(contents, { name = where })), where)
end


-- ---- names ----

-- Rules as llmprof.rules has them, numbered by category in `names`: those of all of a name,
-- those of a function's own.
local function flat(rules)
  local list, names, numbers = {}, {}, {}
  local function add(category, patterns, view)
    if not numbers[category] then
      names[#names + 1], numbers[category] = category, #names + 1
    end
    for _, pattern in ipairs(patterns or {}) do
      list[#list + 1] = { tostring(pattern), numbers[category], view }
    end
  end
  for _, rule in ipairs(rules) do
    add(rule.category, rule.match, "whole")
    add(rule.category, rule["function"], "function")
  end
  return list, names
end


-- The recipe's rules, then those of all.
local function all_rules(own)
  local list, known = {}, built_in()
  table.move(own, 1, #own, 1, list)
  return table.move(known, 1, #known, #list + 1, list)
end


-- What was made once is known, with what it said of names: by the recipe's rules, and of none.
local told_by, of_all = setmetatable({}, { __mode = "k" }), nil

-- What names are told by: { find (rules), names (of categories, by number) }. own: rules of
-- the recipe.
local function telling(own)
  local rules = check_rules(own or {}, "recipe categories")
  if #rules == 0 and of_all then return of_all end
  if told_by[rules] then return told_by[rules] end
  local list, names = flat(all_rules(rules))
  local made = { rules = errors.check("usage", name_rules.new(list)), names = names }
  if #rules == 0 then of_all = made else told_by[rules] = made end
  return made
end


-- A function from a kernel's name, and its mangled one if known, to its category.
-- own: rules of the recipe.
function categories.classifier(own)
  local told = telling(own)
  local rules, names, said = told.rules, told.names, {}
  local function number(name)
    if said[name] == nil then said[name] = rules:find(name) or false end
    return said[name]
  end
  return function(name, mangled)
    return names[number(name) or mangled and number(mangled)] or categories.OTHER
  end
end


-- A function from a frame and a column of names that adds the column `as`, numbers of which
-- its field `category` knows the names; absent where the name tells nothing.
function categories.numbers(own)
  local told = telling(own)
  return setmetatable({ category = function(number)
    return told.names[number] or categories.OTHER
  end }, { __call = function(_, frame, column, as)
    return name_rules.number(frame, column, told.rules, as)
  end })
end


-- The number of a category among these names; behind them all where it is not there.
local function number_of(category, names)
  for number, name in ipairs(names) do
    if name == category then return number end
  end
  return #names + 1
end


-- A function from a frame and its column of kernels' names that adds the column `as`: 1 for
-- names of the category, 0 for those of another. own: rules of the recipe.
function categories.marker(own, category)
  return function(frame, column, as)
    local told = telling(own)
    return name_rules.number(frame, column, told.rules, as, number_of(category, told.names))
  end
end


-- The patterns that put a name into a category, of conf/categories.yaml alone.
function categories.patterns(name)
  local list = {}
  for _, rule in ipairs(built_in()) do
    for _, patterns in ipairs(rule.category == name and { rule.match or {},
      rule["function"] or {} } or {}) do
      table.move(patterns, 1, #patterns, #list + 1, list)
    end
  end
  return list
end


return categories
