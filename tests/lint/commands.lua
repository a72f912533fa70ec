-- Does the program take every command that the manual names? Run by llmprof exec,
-- in the source tree; pages may be given.
--
-- Console blocks run in e2e.docs, so a page with one has to be in its list. All
-- other lines and pieces of code that begin with llmprof, or with bootstrap.sh run,
-- are parsed as the program would: command, options, recipe and its keys.
package.path = "tests/e2e/?.lua;" .. package.path

local commands = require "llmprof.cli.commands"
local config = require "llmprof.recipe.config"
local errors = require "llmprof.process.errors"
local fs = require "llmprof.fs"
local sweep = require "llmprof.compare.sweep"
local options = require "llmprof.cli.options"
local parse = require "transcript.parse"
local recipe = require "llmprof.recipe"

-- Recipes that stand for the reader's own, and what is parsed in their place.
local stand_ins = { ["RECIPE.lua"] = "recipes/alt_llm.lua",
  ["my_model.lua"] = "recipes/alt_llm.lua" }

-- Words that stand for any number of others.
local any = { ["..."] = true, ["[KEY=VALUE...]"] = true }

local faults, checked = {}, 0


local function fault(format, ...)
  faults[#faults + 1] = format:format(...)
end


-- ---- a command ----

-- Words as a shell has them, up to a pipe, a redirection, a comment or the two
-- spaces before a remark.
local function words_of(line)
  local words, at = {}, 1
  line = line:gsub("  .*", "")
  while at <= #line do
    local word, after = line:match("^'([^']*)' ?()", at)
    if not word then word, after = line:match('^"([^"]*)" ?()', at) end
    if not word then word, after = line:match("^([^|<>#%s]%S*) ?()", at) end
    if not word then break end
    if not any[word] then words[#words + 1] = word end
    at = after
  end
  return words
end


-- The recipe of that name: one that the page writes, or one of the tree.
local function load_recipe(name, folder)
  if fs.stat(folder .. "/" .. name) then return recipe.load(folder .. "/" .. name) end
  return recipe.load(stand_ins[name] or name)
end


-- words: a recipe and its settings, for a sweep with several values each.
local function check_settings(words, folder, sweeps)
  local made, settings = load_recipe(words[1], folder), table.move(words, 2, #words, 1, {})
  for _, entry in ipairs(sweeps and sweep.combinations(settings) or { { words = settings } }) do
    config.of_recipe(made, nil, entry.words)
  end
end


-- Raises what the program would say of them.
local function check_words(words, folder)
  local first = words[1]
  if first == "-e" or first == "--version" or first == "--help" then return end
  local name = commands.has(first) and table.remove(words, 1) or "run"
  local command = commands.load(name)
  if command.raw then
    local script = name == "exec" and words[1]
    if script and script:find "/" and not fs.stat(script) then
      errors.raise("usage", script .. ": no such script")
    end
    return
  end
  local given, rest = options.parse(commands.options_of(command), words)
  if command.completes == "recipe" and #rest > 0 and not given.help then
    check_settings(rest, folder, name == "sweep")
  end
end


local function check(line, place, folder)
  local words = words_of(line)
  if #words == 0 then return end
  checked = checked + 1
  local ok, err = xpcall(check_words, errors.handler, words, folder)
  if not ok then fault("%s: llmprof %s: %s", place, line, err.message) end
end


-- ---- a page ----

-- What follows the program's name in a line of code; nil for other programs.
local function arguments(code)
  code = code:match "%$%((llmprof [^)]*)%)" or code:gsub("^%$ ", "")
  return code:match "^llmprof (.+)$" or code:match "^%./bootstrap%.sh run (.+)$"
end


local function check_code(lines, place, folder)
  for _, line in ipairs(lines) do
    local found = arguments(line)
    if found then check(found, place, folder) end
  end
end


-- Indented lines, and spans of code, which may go over the end of a line.
local function check_prose(lines, path, folder)
  local prose = {}
  for _, line in ipairs(lines) do
    local code = line:match "^    (.*)$"
    if code then check_code({ code }, path, folder) end
    prose[#prose + 1] = code and "" or line
  end
  for span in table.concat(prose, "\n"):gmatch "`([^`]+)`" do
    check_code({ (span:gsub("%s*\n%s*", " ")) }, path, folder)
  end
end


local function check_page(path, played, folder)
  local prose, document = {}, parse.document(assert(fs.read(path)), path)
  for _, block in ipairs(document.blocks) do
    if block.file then assert(fs.write(folder .. "/" .. block.file, block.contents)) end
  end
  for _, part in ipairs(document.parts) do
    if type(part) == "string" then
      prose[#prose + 1] = part
    elseif not part.commands then
      check_code(part.lines, path, folder)
    elseif not played[path] then
      fault("%s: has console blocks, but is not in the list of e2e.docs", path)
    end
  end
  check_prose(prose, path, folder)
end


local function manual()
  local pages = { "README.md" }
  for _, name in ipairs(fs.list "docs") do
    if name:find "%.md$" then pages[#pages + 1] = "docs/" .. name end
  end
  return pages
end


-- Pages that the test e2e.docs is given.
local function played_pages()
  local played = {}
  local list = assert(fs.read "tests/CMakeLists.txt"):match "llmprof_test%(e2e%.docs(.-)%)"
  for path in list:gmatch "%S+%.md" do played[path] = true end
  return played
end


local played = played_pages()
for _, path in ipairs(#arg > 0 and arg or manual()) do
  local folder = assert(fs.temp_dir "llmprof-commands")
  local ok, err = xpcall(check_page, errors.handler, path, played, folder)
  assert(fs.remove_tree(folder))
  if not ok then error(err, 0) end
end
if checked == 0 then fault "no command was found" end
for _, line in ipairs(faults) do io.stderr:write(line, "\n") end
return #faults > 0 and 1 or 0
