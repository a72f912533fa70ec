-- The combinations of a sweep: infer.batch=1,4 nsys=light,deep are four.
--
-- A comma outside brackets and quotes separates values: [a,b] is one value, a,b
-- are two. Settings with one value are the same for all combinations.
local digest = require "llmprof.digest"
local errors = require "llmprof.process.errors"

local grid = {}

-- Keys that name a run: the sweep sets them.
local own_keys = { ["out"] = true, ["run.id"] = true }

local MOST_NAME = 60 -- bytes of a run's name before its hash


-- ---- values ----

local closing = { ["["] = "]", ["{"] = "}", ["("] = ")" }

-- The values of a text, at its outermost commas.
local function split(text)
  local list, start, open, quote = {}, 1, {}, nil
  for i = 1, #text do
    local char = text:sub(i, i)
    if quote then
      if char == quote then quote = nil end
    elseif char == '"' or char == "'" then
      quote = char
    elseif closing[char] then
      open[#open + 1] = closing[char]
    elseif char == open[#open] then
      open[#open] = nil
    elseif char == "," and #open == 0 then
      list[#list + 1] = text:sub(start, i - 1)
      start = i + 1
    end
  end
  list[#list + 1] = text:sub(start)
  return list
end


local function check_values(word, values)
  local seen = {}
  for _, value in ipairs(values) do
    if value == "" then
      errors.raise("usage", ("'%s': an empty value"):format(word),
        { hint = "infer.batch=1,4,16 are three values; [a,b] is one" })
    elseif seen[value] then
      errors.raise("usage", ("'%s': %s is there twice"):format(word, value))
    end
    seen[value] = true
  end
end


-- ---- combinations ----

-- Fixed words, and axes { key, prefix ("key=" or "+key="), values }.
local function parse(words)
  local fixed, axes = {}, {}
  for _, word in ipairs(words) do
    local prefix, key, text = word:match "^(%+?([%w_%.-]+)=)(.*)$"
    if key and own_keys[key] then
      errors.raise("usage", ("sweep sets %s itself"):format(key),
        { hint = "run.root=DIR chooses where its folder lies" })
    end
    local values = key and split(text)
    if values and #values > 1 then
      check_values(word, values)
      axes[#axes + 1] = { key = key, prefix = prefix, values = values }
    else
      fixed[#fixed + 1] = word
    end
  end
  return fixed, axes
end


-- "batch-4_preset-light-1a2b3c4d": what is swept, for people, and a hash of
-- everything that was set.
local function name_of(settings, words)
  local pieces = {}
  for i, setting in ipairs(settings) do
    local value = setting.value:gsub("[^%w.]+", "-"):gsub("^%-", ""):gsub("%-$", "")
    pieces[i] = ("%s-%s"):format(setting.key:match "[^.]+$", value)
  end
  local hash = digest.sha256(table.concat(words, "\0")):sub(1, 4)
    :gsub(".", function(byte) return ("%02x"):format(byte:byte()) end)
  return ("%s-%s"):format(table.concat(pieces, "_"):sub(1, MOST_NAME), hash)
end


local function combination(fixed, settings)
  local words, label, short, keys = table.move(fixed, 1, #fixed, 1, {}), {}, {}, {}
  for i, setting in ipairs(settings) do
    keys[i] = setting.key
    words[#words + 1] = setting.prefix .. setting.value
    label[i] = ("%s=%s"):format(setting.key, setting.value)
    short[i] = label[i]:match("^[^=]*%.(.*)$") or label[i]
  end
  return { words = words, label = table.concat(label, " "), short = table.concat(short, " "),
    keys = keys, id = name_of(settings, words) }
end


-- words: settings as on the command line. Returns the combinations, the last axis
-- varying fastest: { words (settings of that run), label ("infer.batch=4 nsys=light"),
-- short ("batch=4 nsys=light"), keys (that vary), id (name of its run) }. Without any
-- axis that is an error.
function grid.combinations(words)
  local fixed, axes = parse(words)
  if #axes == 0 then
    errors.raise("usage", "nothing to vary: no setting has several values",
      { hint = "llmprof sweep RECIPE.lua infer.batch=1,4,16" })
  end
  local list = {}
  local function visit(depth, settings)
    if depth > #axes then
      list[#list + 1] = combination(fixed, settings)
      return
    end
    local axis = axes[depth]
    for _, value in ipairs(axis.values) do
      settings[depth] = { key = axis.key, prefix = axis.prefix, value = value }
      visit(depth + 1, settings)
    end
  end
  visit(1, {})
  return list
end


return grid
