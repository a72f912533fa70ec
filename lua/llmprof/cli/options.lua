-- Declared command line options: one table says name, argument, default and
-- text; parsing, --help and completion come from it.
--
--   local spec = {
--     { "report", short = "r", arg = "A,B", type = "list", help = "Reports to print" },
--     { "quiet",  short = "q", help = "Print nothing but errors" },
--   }
--   local given, rest = options.parse(spec, argv)
--
-- An option without arg is a flag. A value may be joined on: --format=csv, -n5.
-- Types: string (default), integer, number (both from min to max), list (comma separated).
-- choices limits the values; values (a function) lists some for completion. many collects
-- repeats.
local errors = require "llmprof.process.errors"
local lists = require "llmprof.tables.lists"
local nearest = require "llmprof.tables.keys"

local options = {}


local function bad(message, hint) errors.raise("usage", message, { hint = hint }) end


-- The option that a word names, nil when it is none.
function options.named(spec, word)
  return lists.filtered(spec, function(option)
    return word == "--" .. option[1] or option.short and word == "-" .. option.short
  end)[1]
end


local function find(spec, name)
  local found = options.named(spec, name)
  if found then return found end
  local names = lists.map(spec, function(option) return "--" .. option[1] end)
  bad("unknown option " .. name .. nearest.suggestion(name, names), "--help lists the options")
end


local function check_choice(option, name, value)
  if not option.choices or lists.has(option.choices, value) then return end
  bad(("%s: '%s' is not one of %s%s"):format(name, value, table.concat(option.choices, ", "),
    nearest.suggestion(value, option.choices)))
end


local function to_number(option, name, text)
  local number = tonumber(text)
  if option.type == "integer" then number = math.tointeger(number) end
  if not number then
    bad(("%s: '%s' is not a %s"):format(name, text,
      option.type == "integer" and "whole number" or "number"))
  elseif option.min and number < option.min then
    bad(("--%s: at least %s"):format(option[1], option.min))
  elseif option.max and number > option.max then
    bad(("--%s: at most %s"):format(option[1], option.max))
  end
  return number
end


local function convert(option, name, text)
  if option.type == "integer" or option.type == "number" then
    return to_number(option, name, text)
  elseif option.type == "list" then
    local list = {}
    for item in text:gmatch "[^,]+" do
      check_choice(option, name, item)
      list[#list + 1] = item
    end
    return #list > 0 and list or bad(name .. ": an empty list")
  end
  if text == "" then bad(name .. ": an empty value") end
  check_choice(option, name, text)
  return text
end


-- Lists given in parts grow; of anything else given twice the last counts.
local function store(given, option, value)
  local name, before = option[1], given[option[1]]
  if option.many then
    given[name] = before or {}
    table.insert(given[name], value)
  elseif option.type == "list" and before then
    lists.add(before, value)
  else
    given[name] = value
  end
end


-- One word of argv that starts with "-"; returns how many words it took.
local function parse_option(spec, argv, i, given)
  local name, value = argv[i]:match "^(%-%-[^=]+)=(.*)$"
  if not name then name, value = argv[i]:match "^(%-[^-])(.+)$" end
  name = name or argv[i]
  local option = find(spec, name)
  if not option.arg then
    if value then bad(name .. " takes no value") end
    store(given, option, true)
    return 1
  end
  local taken = 1
  if not value then
    value, taken = argv[i + 1], 2
    if not value then bad(("%s needs a value: %s %s"):format(name, name, option.arg)) end
  end
  store(given, option, convert(option, name, value))
  return taken
end


-- What an option is without being given; some defaults are found out when they are asked.
local function default_of(option)
  if type(option.default) == "function" then return option.default() end
  return option.default
end


-- Options and the other words, in order. "--" ends the options; a lone "-" is
-- a word.
function options.parse(spec, argv)
  local given, rest = {}, {}
  for _, option in ipairs(spec) do given[option[1]] = default_of(option) end
  local i = 1
  while i <= #argv do
    local word = argv[i]
    if word == "--" then
      table.move(argv, i + 1, #argv, #rest + 1, rest)
      break
    elseif word:sub(1, 1) == "-" and word ~= "-" then
      i = i + parse_option(spec, argv, i, given)
    else
      rest[#rest + 1] = word
      i = i + 1
    end
  end
  return given, rest
end


local function left_column(option)
  local short = option.short and "-" .. option.short .. ", " or "    "
  return "  " .. short .. "--" .. option[1] .. (option.arg and " " .. option.arg or "")
end


-- The option lines of a help text.
function options.help(spec)
  local lines = {}
  local _, width = lists.largest(spec, function(option) return #left_column(option) end)
  for _, option in ipairs(spec) do
    local text = option.help
    if option.choices then text = text .. ": " .. table.concat(option.choices, ", ") end
    local default = default_of(option)
    if default ~= nil and default ~= false then
      text = ("%s (%s)"):format(text, tostring(default))
    end
    lines[#lines + 1] = ("%-" .. width .. "s  %s\n"):format(left_column(option), text)
  end
  return table.concat(lines)
end


return options
