-- Configuration: layers of values over declared keys, each value with where it
-- came from.
--
-- Layers, later wins: built-in defaults, presets (conf/nsys, conf/ncu), the user's
-- own file (llmprof.recipe.user), the recipe, the mode (conf/mode), a file given with
-- --config, the command line.
-- A preset is chosen by the last layer that names one, and its values stay
-- below the recipe's.
--
-- Command line: a.b=value sets a key that exists, +a.b=value adds one, ~a.b
-- removes a value, nsys=light chooses a preset. Lists are [a,b]. Text that is
-- declared as text is taken as it stands.
local contract = require "llmprof.recipe"
local defaults = require "llmprof.recipe.defaults"
local errors = require "llmprof.process.errors"
local files = require "llmprof.io.files"
local foreign = require "llmprof.recipe.foreign"
local keys = require "llmprof.tables.keys"
local lists = require "llmprof.tables.lists"
local settings = require "llmprof.recipe.settings"
local user = require "llmprof.recipe.user"
local yaml = require "llmprof.yaml"

local config = {}

local sorted_keys, has_group = keys.sorted, keys.has_group

-- The origin of what words of the command line set.
config.COMMAND_LINE = "command line"

-- Where a bundle's configuration has what a recorded capture was made with; no key.
config.CAPTURED_WITH = "captured_with"

-- Groups of keys with presets in conf/<group>: those that have a key `preset`.
config.preset_groups = {}

for _, key in ipairs(sorted_keys(defaults)) do
  local group = key:match "^(%w+)%.preset$"
  if group then table.insert(config.preset_groups, group) end
end


-- Why a configuration takes no timeline, and what would have one; nil when it does.
function config.untimed(cfg)
  if cfg.capture == "none" then
    return "capture=none", "capture=auto takes a timeline, under a profiler"
  end
  if cfg.timeline ~= "off" then return nil end
  return "timeline=off", "timeline=on captures one"
end


local function bad(message, hint) errors.raise("usage", message, { hint = hint }) end


config.type_of = settings.type_of

-- The built-in keys and the recipe's, by name. sections: what the recipe's report has.
function config.declare(recipe_options, sections)
  local declared = keys.merged(defaults)
  if sections then
    local known = defaults.report
    local own = lists.map(lists.filtered(sections, "title"), "name")
    declared.report = { known[1], known[2], choices = lists.joined(known.choices, own) }
  end
  for key, declaration in pairs(recipe_options or {}) do
    local known = defaults[key]
    if known and settings.type_of(known) ~= settings.type_of(declaration) then
      bad(("recipe option '%s' is a key of llmprof's own, of type %s"):format(key,
        settings.type_of(known)))
    end
    declared[key] = declaration
  end
  return declared
end


-- ---- layers ----

-- The values being composed: by key, with the origin of each.
local Layers = {}
Layers.__index = Layers


-- The key that a group's own name stands for, `nsys=light`, `counters=off`; nil without one.
local function main_key(declared, group)
  for _, name in ipairs { "preset", "by" } do
    local key = ("%s.%s"):format(group, name)
    if declared[key] then return key end
  end
  return nil
end


local function unknown(key, declared, where)
  if has_group(declared, key) then
    bad(("%s: '%s' is a group of keys"):format(where, key),
      "--print-config lists them; write " .. key .. ".NAME=value")
  end
  bad(("%s: no key '%s'%s"):format(where, key, keys.suggestion(key, sorted_keys(declared))),
    where == config.COMMAND_LINE and "--print-config lists every key; +" .. key .. "=value adds one"
      or "--print-config lists every key")
end


-- A key that may be without a value: it has no default, or an empty text.
local function is_optional(declaration) return declaration[2] == nil or declaration[2] == "" end


function Layers:set(key, value, where)
  local declaration = self.declared[key] or unknown(key, self.declared, where)
  if value == yaml.null or value == nil or value == "" and is_optional(declaration) then
    self.values[key] = declaration[2] == "" and "" or nil
  else
    self.values[key] = settings.check(key, declaration, value, where)
  end
  self.origins[key] = where
  if not self.untrusted[where] then self.trusted[key] = self.values[key] end
end


-- A tree of tables as dotted keys.
function Layers:apply(tree, where, prefix)
  settings.check_tree(tree, where)
  for _, name in ipairs(sorted_keys(tree)) do
    local key = prefix and prefix .. "." .. name or tostring(name)
    local value = tree[name]
    if type(value) == "table" and not self.declared[key]
      and has_group(self.declared, key) then
      self.try(self.apply, self, value, where, key)
    elseif type(value) == "string" and not self.declared[key] and main_key(self.declared, key) then
      self.try(self.set, self, main_key(self.declared, key), value, where)
    else
      self.try(self.set, self, key, value, where)
    end
  end
end


-- A user's file, such as config.yaml of a bundle: foreign names become the keys that
-- they stand for.
local function load_file(declared, name)
  local contents, where = files.read_path(name)
  if not contents then bad(where) end
  local tree = settings.decode(contents, where)
  tree[config.CAPTURED_WITH] = nil
  return foreign.tree(tree, function(key) return declared[key] ~= nil end), where
end


-- Its tree and the file, which is noted if it is of the recipe's folders.
function Layers:preset(group, name)
  local contents, where, untrusted
  if name:find "^[%w_-]+$" then
    contents, where, untrusted = files.read(("conf/%s/%s.yaml"):format(group, name))
  end
  if not contents then
    local names = files.names("conf/" .. group, ".yaml")
    bad(("no %s preset '%s'%s"):format(group, name, keys.suggestion(name, names)),
      "there are: " .. table.concat(names, ", "))
  end
  if untrusted then self.untrusted[where] = true end
  return settings.decode(contents, where), where
end


-- ---- command line ----

-- Words that stand for no value, where a key may be without one.
local unset_words = { [""] = true, ["null"] = true, ["''"] = true, ['""'] = true }


-- A list as --help prints it, [*.png,*.jpg], where its words mean something else in YAML; nil
-- where they have brackets, quotes or comments of their own.
local function plain_list(text)
  local inner = text:match "^%[([^%[%]{}\"'#]*)%]$"
  if not inner then return nil end
  local list = {}
  for word in (inner .. ","):gmatch "%s*([^,]-)%s*," do list[#list + 1] = word end
  return list
end


local function parse_value(key, declaration, text)
  if unset_words[text] and is_optional(declaration) then return nil end
  local kind = settings.type_of(declaration)
  if kind == "string" then return text end
  if text == "" then
    bad(("command line: %s: an empty value"):format(key), "~" .. key .. " removes a value")
  end
  local value, message = yaml.decode(text, { name = key })
  if value == nil and kind == "list" then value = plain_list(text) end
  if value == nil then bad(message) end
  return value
end


-- { action = "set" | "add" | "remove", key =, text = } for each word.
local function parse_override(word)
  local removed = word:match "^~([%w_%.-]+)$"
  if removed then return { action = "remove", key = removed } end
  local plus, key, text = word:match "^(%+?)([%w_%.-]+)=(.*)$"
  if not key then
    bad(("'%s' is no setting"):format(word), word:find "^%+?[%w_/]+@"
      and "a preset is chosen by its group, nsys=light; the keys of a dataset are set one by one"
      or "write key=value, +key=value or ~key")
  end
  return { action = plus == "+" and "add" or "set", key = key, text = text }
end


-- What the words set, in their order, with the keys that foreign names stand for. A word that takes
-- away what a group's name stands for sets that which is there without.
local function overrides_of(declared, words, try)
  local function is_known(key) return declared[key] ~= nil end
  local function read(word)
    local entry = parse_override(word)
    local key, text = foreign.resolve(entry.key, entry.text, is_known)
    if key then entry.key, entry.text = key, text end
    local main = entry.action == "remove" and main_key(defaults, entry.key)
    if main then entry.action, entry.text = "set", defaults[main][2] end
    return entry
  end
  return lists.map(words, function(word) return try(read, word) end)
end


-- A key cannot be a group of keys as well.
local function check_place(declared, key)
  if has_group(declared, key) then
    bad(("command line: '%s' is a group of keys"):format(key))
  end
  for at in key:gmatch "()%." do
    local above = key:sub(1, at - 1)
    if declared[above] then
      bad(("command line: '%s' is a value and holds no keys: +%s"):format(above, key))
    end
  end
end


function Layers:override(entry)
  local where = config.COMMAND_LINE
  local key = main_key(self.declared, entry.key) or entry.key
  local declaration = self.declared[key]
  if entry.action == "add" and not declaration then
    local value = errors.check_as("usage", yaml.decode(entry.text, { name = key }))
    check_place(self.declared, key)
    declaration = { "Added on the command line", value }
    self.declared[key] = declaration
  end
  if not declaration then unknown(key, self.declared, where) end
  if entry.action == "remove" then
    self:set(key, nil, where)
  else
    self:set(key, parse_value(key, declaration, entry.text), where)
  end
end


-- The dotted values as a tree of tables; a group whose values are all absent is
-- an empty table, so that recipes can look into it.
local function as_tree(declared, values)
  local tree = {}
  for key in pairs(declared) do keys.put(tree, key, values[key]) end
  return tree
end


-- What the recipe's identify() says of the model, for keys that nothing else sets.
function Layers:identify(identify, where)
  if not identify then return end
  local said = contract.call("identify", identify, as_tree(self.declared, self.values))
  if type(said) ~= "table" then bad("identify: a table is expected, got " .. type(said)) end
  for _, name in ipairs(sorted_keys(said)) do
    local key = "model." .. name
    if not self.declared[key] then unknown(key, self.declared, "identify") end
    if self.origins[key] == "default" then self:set(key, said[name], where) end
  end
end


-- A value that takes the place of another key's fits that key, which there is.
function Layers:check_substitutes()
  for _, key in ipairs(sorted_keys(self.declared)) do
    local other, value = self.declared[key].instead_of, self.values[key]
    if other and value ~= nil then
      if not self.declared[other] then
        bad(("%s: %s: this recipe has no %s"):format(self.origins[key], key, other),
          "~" .. key .. " removes it")
      end
      settings.check(key, self.declared[other], value, self.origins[key])
    end
  end
end


-- ---- composing ----

-- The mode, or the preset of a group, that the last of some trees names.
local function last_named(trees, group, default)
  local name = default
  for _, tree in ipairs(trees) do
    local value = tree[group]
    if type(value) == "table" then value = value.preset end
    if value == yaml.null then name = default end
    if type(value) == "string" then name = value end
  end
  return name
end


-- What the command line names of these, as such a tree.
local function named_by(overrides)
  local tree = {}
  for _, entry in ipairs(overrides) do
    local group = entry.key:match "^(.*)%.preset$" or entry.key
    local unset = entry.action == "remove" or unset_words[entry.text]
    if group == "mode" or defaults[group .. ".preset"] then
      tree[group] = unset and yaml.null or entry.text
    end
  end
  return tree
end


-- Compose. given: options (declared by the recipe), sections (of its report), recipe (its values as
-- a tree), recipe_name, identify (the recipe's function), file (path), words (of the command line),
-- problems (a list: what is wrong is added to it, and the settings are composed without that; nil:
-- all of it is raised as one error).
-- The result: values (by dotted key), origins, declared, tree, file (the origin of the file's
-- values; nil without), untrusted (the origins that may be a stranger's: the file, presets of
-- the recipe's folders), trusted (the values without these).
function config.compose(given)
  local try, raise, kept = errors.gather()
  local layers = setmetatable({
    declared = config.declare(given.options, given.sections), values = {}, origins = {},
    untrusted = {}, trusted = {}, try = try,
  }, Layers)
  for _, key in ipairs(sorted_keys(layers.declared)) do
    local own = given.options and given.options[key]
    layers:set(key, layers.declared[key][2], own and given.recipe_name or "default")
  end
  local file, file_name
  if given.file then file, file_name = try(load_file, layers.declared, given.file) end
  if file_name then layers.untrusted[file_name], layers.file = true, file_name end
  file = file or {}
  local own, own_name = user.settings()
  local recipe = given.recipe or {}
  local overrides = overrides_of(layers.declared, given.words or {}, try)
  local line = named_by(overrides)
  local mode_name, mode, mode_file = last_named({ own, recipe, file, line }, "mode"), {}, nil
  if mode_name then mode, mode_file = try(layers.preset, layers, "mode", mode_name) end
  mode = mode or {}
  for _, group in ipairs(config.preset_groups) do
    local name = last_named({ own, recipe, mode, file, line }, group,
      defaults[group .. ".preset"][2])
    local tree, where = try(layers.preset, layers, group, name)
    layers:apply({ [group] = tree }, where)
  end
  layers:apply(own, own_name)
  layers:apply(recipe, given.recipe_name or "recipe")
  layers:apply(mode, mode_file)
  layers:apply(file, file_name)
  for _, entry in ipairs(overrides) do try(layers.override, layers, entry) end
  layers.values.mode = layers.values.mode or "default"
  if #kept == 0 then
    layers:identify(given.identify, given.recipe_name)
    try(layers.check_substitutes, layers)
  end
  if given.problems then lists.add(given.problems, kept) else raise() end
  layers.tree = as_tree(layers.declared, layers.values)
  return layers
end


-- Does a word of the command line set a key of llmprof's own, or what looks like a slip in one?
-- Other words are a recipe's options.
function config.is_own(word)
  local key = word:match "^[+~]?([%w_%.-]+)"
  return key and (defaults[key] or keys.suggestion(key, sorted_keys(defaults)) ~= "")
end


-- The configuration of a recipe (of llmprof.recipe): file is that of --config
-- or nil, words the settings of the command line; problems: of config.compose.
function config.of_recipe(made, file, words, problems)
  return config.compose { options = made.options, sections = made.sections,
    recipe = made.config, recipe_name = made.file, identify = made.identify, file = file,
    words = words, problems = problems }
end


local function shown(value)
  if value == nil then return "null" end
  if type(value) == "table" and not next(value) then return "[]" end
  return assert(yaml.encode_line(value))
end


-- What the file of --config, and presets of the recipe's folders, have run that would not be
-- run without them: a list of { file, "key=value" }, of keys that are declared with `runs`.
-- Nothing is run of what was recorded before.
function config.untrusted_runs(composed)
  local list, capture = {}, composed.tree.capture
  if capture == "recorded" or capture == "files" then return list end
  for _, key in ipairs(sorted_keys(composed.declared)) do
    local here, there = composed.values[key], composed.trusted[key]
    if composed.declared[key].runs and shown(here) ~= shown(there) then
      list[#list + 1] = { composed.origins[key], ("%s=%s"):format(key, shown(here)) }
    end
  end
  return list
end


-- ---- showing ----

-- group: keys by their last name, and groups of such, values before groups.
local function add_group(lines, composed, group, indent)
  local values, groups = lists.parted(sorted_keys(group), function(name)
    return type(group[name]) == "string"
  end)
  for _, name in ipairs(values) do
    local key = group[name]
    local text = ("%s%s: %s"):format(indent, name, shown(composed.values[key]))
    lines[#lines + 1] = ("%-48s # %s"):format(text, composed.origins[key])
  end
  for _, name in ipairs(groups) do
    lines[#lines + 1] = indent .. name .. ":"
    add_group(lines, composed, group[name], indent .. "  ")
  end
end


-- Every key as YAML, which --config takes, each with a comment that says where
-- its value came from; below, what a recorded capture was made with (a tree), if that
-- is given.
function config.to_yaml(composed, captured_with)
  local lines, names = {}, {}
  for key in pairs(composed.declared) do names[key] = key end
  add_group(lines, composed, as_tree(names, names), "")
  local text = table.concat(lines, "\n") .. "\n"
  if not captured_with then return text end
  return ("# Asked for when this was analysed.\n%s\n# What the capture was made with.\n%s"):format(
    text, yaml.encode { [config.CAPTURED_WITH] = captured_with })
end


return config
