-- Does a file name or an identifier of C, Lua or JavaScript use a word that is gone? Run by
-- llmprof exec, in the source tree. docs/architecture.md has the terms to use instead.
local fs = require "llmprof.fs"

local function set(words)
  local made = {}
  for word in words:gmatch "%S+" do made[word] = true end
  return made
end

-- What no part of an identifier, between underscores, may be.
local IDENTIFIERS = set [[ crew aside shelf shelve gallop outline pile twins promise
  promised pauses draft emptying ledger tally survey joint dealt scene scenes gist stray strays ]]

-- What no file may be called: these alone, and the words above.
local FILES = set [[ alone joint book survey tally pair following ends narrow met shares scene
  joined named shorter served closed bare stand asked dealt apart around ]]

local CODE = set "c h lua js"

local faults, seen = {}, 0


local function fault(...) faults[#faults + 1] = (...):format(select(2, ...)) end


local function check_file(path, name)
  local stem = name:match "^[^.]+" or name
  local alone = stem:gsub("^test_", ""):gsub("_spec$", "")
  if FILES[alone] then return fault("%s: no file is called %s alone", path, alone) end
  for word in stem:gmatch "[^_]+" do
    if IDENTIFIERS[word] then return fault("%s: '%s' is a word that is gone", path, word) end
  end
end


-- Without comments and strings, whose lines stay.
local function code_of(text, is_lua)
  local function lines(part) return (part:gsub("[^\n]", "")) end
  if is_lua then
    text = text:gsub("%[=*%[.-%]=*%]", lines):gsub("%-%-[^\n]*", "")
  else
    text = text:gsub("/%*.-%*/", lines):gsub("//[^\n]*", "")
  end
  return (text:gsub('"[^"\n]*"', '""'):gsub("'[^'\n]*'", "''"))
end


-- Words of a name: between underscores, and in camelCase.
local function words_of(name)
  return name:gsub("(%l)(%u)", "%1_%2"):lower():gmatch "[^_]+"
end


local function check_code(path, text)
  local number = 0
  for line in (code_of(text, path:find "%.lua$") .. "\n"):gmatch "(.-)\n" do
    number = number + 1
    for name in line:gmatch "[%a_][%w_]*" do
      for word in words_of(name) do
        if IDENTIFIERS[word] then
          fault("%s:%d: %s: '%s' is a word that is gone", path, number, name, word)
        end
      end
    end
  end
end


local function check(folder)
  for _, name in ipairs(fs.list(folder) or {}) do
    local path = folder .. "/" .. name
    if fs.stat(path).type == "directory" then
      if name ~= "corpus" and name ~= "fixtures" then check(path) end
    else
      seen = seen + 1
      check_file(path, name)
      if CODE[name:match "%.(%a+)$"] then check_code(path, assert(fs.read(path))) end
    end
  end
end


for _, folder in ipairs { "core", "lua", "tests" } do check(folder) end
if seen == 0 then fault "no file was found" end
table.sort(faults)
for _, line in ipairs(faults) do io.stderr:write(line, "\n") end
return #faults > 0 and 1 or 0
