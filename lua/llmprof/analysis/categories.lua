-- Kernel categories by name: rules of the recipe, then of conf/categories.yaml.
local errors = require "llmprof.base.errors"
local files = require "llmprof.base.files"
local tuple = require "llmprof.base.tuple"
local yaml = require "llmprof.yaml"

local categories = {}

local FILE = "conf/categories.yaml"

-- Longer names are read to here: patterns may take the square of a name's length.
local LONGEST = 4096

local FORM = "{ category, match = { pattern, ... }, function = { pattern, ... } }"

categories.MEMORY = "memory" -- copies and sets that are no kernels
categories.OTHER = "other"
categories.COMMUNICATION = "communication"


-- ---- rules ----

local function check_patterns(patterns, where)
  for _, pattern in ipairs(patterns) do
    local ok, message = pcall(string.find, "", tostring(pattern))
    if not ok then
      errors.raise("usage", ("%s: pattern '%s': %s"):format(where, tostring(pattern), message))
    end
  end
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

-- Where the parameters of a function begin, or the length of its name and one:
-- the first bracket that no template argument holds.
local function parameters_at(name)
  local from = 1
  while true do
    local at = name:find("[<(]", from)
    if not at then return #name + 1 end
    if name:sub(at, at) == "(" then return at end
    local _, last = name:find("^%b<>", at)
    if not last then return #name + 1 end
    from = last + 1
  end
end


-- Where each bracket that is closed is closed.
local function closed(name)
  local open, closes = {}, {}
  for at, mark in name:gmatch "()([<>])" do
    if mark == "<" then
      open[#open + 1] = at
    elseif #open > 0 then
      closes[table.remove(open)] = at
    end
  end
  return closes
end


-- A name without what is between brackets: gsub("%b<>", ""), which takes the square of the
-- length where many are not closed.
local function without_arguments(name)
  local closes, kept, from = closed(name), {}, 1
  for at in name:gmatch "()<" do
    if at >= from and closes[at] then
      kept[#kept + 1] = name:sub(from, at - 1)
      from = closes[at] + 1
    end
  end
  kept[#kept + 1] = name:sub(from)
  return table.concat(kept)
end


-- A name in lower case without its parameters; and the function's own, without
-- template arguments and return type.
local function parse(name)
  local plain = name:sub(1, LONGEST):lower():gsub("<unnamed>::", "")
    :gsub("%(anonymous namespace%)::", "")
  local whole = plain:sub(1, parameters_at(plain) - 1):gsub("^void ", "")
  local trimmed = without_arguments(whole):match "^.*%S" or ""
  return whole, trimmed:match "^.*%s(.*)$" or trimmed
end


-- The patterns of rules, in their order: those of all of a name, those of a function's own.
local function flat(rules)
  local list = {}
  for _, rule in ipairs(rules) do
    for _, pattern in ipairs(rule.match or {}) do
      list[#list + 1] = { pattern = pattern, category = rule.category }
    end
    for _, pattern in ipairs(rule["function"] or {}) do
      list[#list + 1] = { pattern = pattern, category = rule.category, own = true }
    end
  end
  return list
end


local function first_match(patterns, name)
  local find, whole, own = string.find, parse(name)
  for i = 1, #patterns do
    local entry = patterns[i]
    if find(entry.own and own or whole, entry.pattern) then return entry.category end
  end
  return nil
end


-- Of rules that are not the recipe's: what was found out once is known.
local of_all

-- A function from a kernel's name, and its mangled one if known, to its category.
-- own: rules of the recipe.
function categories.classifier(own)
  local rules = check_rules(own or {}, "recipe categories")
  if #rules == 0 and of_all then return of_all end
  rules = table.move(rules, 1, #rules, 1, {})
  local known, seen = built_in(), {}
  table.move(known, 1, #known, #rules + 1, rules)
  local patterns = flat(rules)
  local function classify(name, mangled)
    local key = tuple(name, mangled)
    if not seen[key] then
      seen[key] = first_match(patterns, name) or (mangled and first_match(patterns, mangled))
        or categories.OTHER
    end
    return seen[key]
  end
  if #rules == #known then of_all = classify end
  return classify
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
