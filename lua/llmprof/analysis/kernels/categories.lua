-- Kernel categories by name: rules of the recipe, then of conf/categories.yaml.
local errors = require "llmprof.process.errors"
local files = require "llmprof.io.files"
local lists = require "llmprof.tables.lists"
local rows = require "llmprof.ranks.rows"
local yaml = require "llmprof.yaml"

local categories = {}

local FILE = "conf/categories.yaml"

local FORM = "{ category, match = { pattern, ... }, function = { pattern, ... } }"

categories.MEMORY = "memory" -- copies and sets that are no kernels
categories.OTHER = "other"
categories.COMMUNICATION = "communication"


-- ---- rules ----

-- Lua reads a pattern as far as a text leads it.
local function check_pattern(pattern, where, text)
  local known, message = pcall(string.find, text, pattern)
  if not known then
    errors.raise("usage", ("%s: pattern '%s': %s"):format(where, pattern, message))
  end
end


local function check_patterns(patterns, where)
  for _, pattern in ipairs(patterns) do
    check_pattern(tostring(pattern), where, tostring(pattern)) -- which leads it far
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
  return check_rules(errors.check_as("usage", yaml.decode(contents, { name = where })), where)
end


-- ---- names ----

-- Bytes of a kernel's name that are read: patterns may take the square of it.
local LONGEST = 4096


-- The name without its parameters, which begin at the first round bracket that no template
-- argument holds.
local function whole_of(name)
  local whole = name:sub(1, LONGEST):gsub("<unnamed>::", ""):gsub("%(anonymous namespace%)::", "")
    :gsub("^void ", ""):gsub("^[%w_: ]-enable_if<.->::type ", "") -- may hold a '>' that compares
  local at = whole:gsub("%b<>", function(arguments)
    return (" "):rep(#arguments)
  end):find "[<(]"
  return at and whole:sub(at, at) == "(" and whole:sub(1, at - 1) or whole
end


-- A kernel's name as patterns see it, whole and its function's own, in lower case; and `cased`,
-- the latter as it is written, where capitals begin words: with its namespaces, without template
-- arguments, and without the constants that Triton writes behind it (_kernel_BLOCK_SIZE_M_32).
local function read(name)
  local whole = whole_of(name)
  local cased = whole:gsub("%b<>", "")
  cased = cased:match ".*%s(%S+)%s*$" or cased:match "^%s*(%S*)"
  cased = cased:gsub("(_kernel)_%u%u.*$", "%1")
  return { whole = whole:lower(), own = cased:lower(), cased = cased }
end


-- What is around the end of a word: aB, ABc, a1, 1a, any other character.
local EDGES = { "^%l%u", "^%u%u%l", "^%a%d", "^%d%a", "^[^%w]", "^.[^%w]" }

-- Does a word end at this character of a name?
local function is_edge(cased, at)
  if at == 0 or at == #cased then return true end
  local around = cased:sub(at, at + 2)
  return lists.any(EDGES, function(edge) return around:find(edge) end)
end


-- Is a pattern found in whole words of a name?
local function in_words(sought, text, from, to)
  while from do
    if (sought.from_within or is_edge(text.cased, from - 1))
      and (sought.to_within or is_edge(text.cased, to)) then return true end
    if sought.anchored then return false end
    from, to = text.own:find(sought.text, from + 1, sought.plain)
  end
  return false
end


-- ---- patterns, ready to be sought ----

-- A pattern without its optional characters ("all_?reduce"), once with and once without each;
-- itself where it has more than letters. Plain text is found far faster.
local function variants(pattern)
  local before, optional, after = pattern:match "^([%w_:]*)([%w_])%?([%w_:?]*)$"
  if not before then return { pattern } end
  local list = variants(before .. after)
  return table.move(variants(before .. optional .. after), 1, #list, #list + 1, list)
end


-- What to seek in a name: in words of the function's own, or anywhere in the whole one.
-- '%w*' at an end says that the word goes on there.
local function ready(pattern, own)
  local text, before, after = pattern, 0, 0
  if own then
    text, before = text:gsub("^%%w%*", "")
    text, after = text:gsub("%%w%*$", "")
  end
  return lists.map(variants(text), function(variant)
    return { text = variant, from_within = before > 0, to_within = after > 0,
      anchored = variant:sub(1, 1) == "^", plain = not variant:find "[^%w_:]" }
  end)
end


-- Patterns with their categories, those of the recipe first: { pattern, category, own (is it for
-- the function's own name?), sought }.
local function flat(rules)
  local list = {}
  local function add(category, patterns, own)
    for _, pattern in ipairs(patterns or {}) do
      for _, sought in ipairs(ready(tostring(pattern), own)) do
        list[#list + 1] = { pattern = tostring(pattern), category = category, own = own,
          sought = sought }
      end
    end
  end
  for _, rule in ipairs(rules) do
    add(rule.category, rule.match, false)
    add(rule.category, rule["function"], true)
  end
  return list
end


-- The category of the first pattern that is in a kernel's name, or false.
local function first_in(list, text)
  local whole, own = text.whole, text.own
  for _, rule in ipairs(list) do
    local sought = rule.sought
    local from, to = (rule.own and own or whole):find(sought.text, 1, sought.plain)
    if from and (not rule.own or in_words(sought, text, from, to)) then return rule.category end
  end
  return false
end


local function category_of(list, name)
  local text = read(name)
  local known, category = pcall(first_in, list, text)
  if known then return category end
  for _, rule in ipairs(list) do
    check_pattern(rule.pattern, name, rule.own and text.own or text.whole)
  end
  error(category, 0)
end


-- What was made once is known: by the recipe's rules.
local NONE, told_by = {}, setmetatable({}, { __mode = "k" })

-- A function from a name to its category, false where no pattern is in it; each is looked at once.
-- own: rules of the recipe.
local function telling(own)
  local rules = check_rules(own or NONE, "recipe categories")
  if #rules == 0 then rules = NONE end
  if not told_by[rules] then
    local list, said = flat(lists.joined(rules, built_in())), {}
    told_by[rules] = function(name)
      if said[name] == nil then said[name] = category_of(list, name) end
      return said[name]
    end
  end
  return told_by[rules]
end


-- A function from a kernel's name, and its mangled one if known, to its category.
-- own: rules of the recipe.
function categories.classifier(own)
  local told = telling(own)
  return function(name, mangled)
    return told(name) or mangled and told(mangled) or categories.OTHER
  end
end


-- A function from a frame and its column of kernels' names that adds the column `as`: 1 for
-- names of the category, 0 for those of another. own: rules of the recipe.
function categories.marker(own, category)
  return function(frame, column, as)
    local told = telling(own)
    return rows.extend(frame, { column }, { { name = as, type = "integer", get = function(key)
      return key[column] and (told(key[column]) == category and 1 or 0)
    end } })
  end
end


-- The patterns that put a whole name into a category, of conf/categories.yaml alone.
function categories.patterns(name)
  return lists.flat(built_in(), function(rule)
    return rule.category == name and rule.match or nil
  end)
end


return categories
