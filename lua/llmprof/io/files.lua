-- Where recipes, presets and other files are found by name. A name is relative, with
-- forward slashes: "recipes/deepseek_ocr.lua", "conf/nsys/light.yaml". The places, nearest
-- first:
--
--   the folders of a recipe that was named as a path (files.set_project)
--   $LLMPROF_HOME
--   the user's config folder: $XDG_CONFIG_HOME/llmprof
--   what is built in
--   share/llmprof of the installed program or portable folder
--
-- The working directory is none of them: anybody may have written what is there. It counts
-- for a path that somebody typed (files.read_path). Below a place no link is followed.
--
-- llmprof's own files (Lua modules, parts of pages, templates) come from $LLMPROF_HOME and
-- what is built in only.
local digest = require "llmprof.digest"
local errors = require "llmprof.process.errors"
local fs = require "llmprof.fs"
local resources = require "llmprof.resources"
local sys = require "llmprof.sys"

local files = {}

-- What is built in, as a place; before a name, a path to it.
files.BUILT_IN = "built-in:"

local BUILT_IN = files.BUILT_IN

-- Bytes that a recipe, a preset or another text can have.
files.MOST = 16 << 20

local project = {} -- folders of the recipe that was named as a path


local function exists(path, type) return (fs.stat(path) or {}).type == type end


function files.is_file(path) return exists(path, "file") end
function files.is_folder(path) return exists(path, "directory") end


-- ---- places ----

local function home()
  local folder = os.getenv "LLMPROF_HOME"
  return folder ~= "" and folder or nil
end


local function own_places()
  local list = { home() }
  list[#list + 1] = BUILT_IN
  return list
end


-- All but the recipe's folders.
local function trusted_places()
  local list = { home() }
  list[#list + 1] = files.folder "config"
  list[#list + 1] = BUILT_IN
  local program = sys.executable()
  local folder = program and program:match "^(.*)/[^/]*$"
  if folder then
    list[#list + 1] = folder .. "/../share/llmprof"
    list[#list + 1] = folder .. "/share/llmprof"
  end
  return list
end


local function places()
  local list, others = table.move(project, 1, #project, 1, {}), trusted_places()
  return table.move(others, 1, #others, #list + 1, list)
end


-- Is a place a folder of the recipe's, and not the user's own?
local function is_untrusted(place)
  local is_project = false
  for _, folder in ipairs(project) do is_project = is_project or folder == place end
  if not is_project then return false end
  local real = fs.realpath(place)
  for _, own in ipairs { home() or false, files.folder "config" or false } do
    if own and real and fs.realpath(own) == real then return false end
  end
  return true
end


-- Names are found in the folders of a recipe's file too: in its own, and in that which
-- holds the nearest recipes/ above it. nil: of no recipe.
function files.set_project(path)
  project = {}
  if not path then return end
  local folder = path:match "^(.*)/[^/]*$" or "."
  project[1] = folder == "" and "/" or folder
  local above = ("/" .. folder .. "/"):match "^(.*)/recipes/"
  if not above then return end
  project[2] = above == "" and "." or above == "/" and "/" or above:sub(2)
end


-- ---- one file or folder ----

-- The path of a name in a folder if it is of that type; nil and a message where it is a link.
local function path_in(folder, name, type)
  if name:sub(1, 1) == "/" or ("/" .. name .. "/"):find("/../", 1, true) then return nil end
  local path, message = fs.beneath(folder, name)
  if not path then return nil, message end
  if folder == "." then path = path:sub(3) end
  return exists(path, type) and path or nil
end


local unpacked -- the path of a folder that is built in

-- The path of a file, or of what else it is, and its place, nil when it is in none of them; and
-- what is wrong with it in a nearer one.
local function locate(list, name, type)
  local wrong
  for _, place in ipairs(list) do
    local path, message
    if place ~= BUILT_IN then
      path, message = path_in(place, name, type or "file")
    elseif type then
      path = unpacked(name)
    elseif resources.get(name) then
      path = BUILT_IN .. name
    end
    wrong = wrong or message
    if path then return path, place, wrong end
  end
  return nil, nil, wrong
end


-- The name of what a path says is built in; nil when it is a path on disk.
function files.built_in(path)
  return path:sub(1, #BUILT_IN) == BUILT_IN and path:sub(#BUILT_IN + 1) or nil
end


-- Contents, and how to call the file in messages; nil, message.
local function read(path)
  local name = files.built_in(path)
  if name then
    local contents = resources.get(name)
    return contents, contents and name or name .. ": not built in"
  end
  local contents, message = fs.read(path, files.MOST)
  return contents, contents and path or message
end


-- The path of a recipe, or of a program of one, that has a name: files.read_path takes it;
-- nil when it is nowhere. It is run, so no recipe's folders count.
function files.locate(name) return (locate(trusted_places(), name)) end


-- Contents of a file that has a name, how to call it in messages, and whether it is of the
-- recipe's folders, which may be a stranger's; nil, message when it is nowhere. Raises
-- where a link is in its place.
function files.read(name)
  local path, place, wrong = locate(places(), name)
  if wrong then errors.raise("usage", wrong) end
  if not path then return nil, name .. ": no such file, nor is it built in" end
  local contents, where = read(path)
  return contents, where, is_untrusted(place)
end


-- The same of a path that somebody typed, or of files.locate: what lies there, else the
-- file of that name.
function files.read_path(path)
  if path == "" then return nil, "an empty file name" end
  if files.built_in(path) or files.is_file(path) then return read(path) end
  if fs.stat(path) then return nil, path .. ": not a file" end
  return files.read(path)
end


-- Where folders that are built in are written to; nil without a home.
-- Write a folder that is built in, at once or not at all.
local function unpack(name, parent, folder)
  local making, lock = fs.private_dir(parent)
  if not making then errors.raise("failed", lock) end
  local fresh = making .. "/capture"
  errors.check(fs.mkdirs(fresh))
  local made, message = resources.unpack(name, fresh)
  if made then made, message = fs.rename(fresh, folder) end
  fs.remove_tree(making)
  lock:close()
  if not made and not files.is_folder(folder) then errors.raise("failed", message) end
end


-- In the cache, where those of other versions of the program go; nil when there is none.
function unpacked(name)
  local packed = resources.get(name .. ".packed")
  if not packed then return nil end
  local parent, own = files.folder("cache", "captures"), name:match "[^/]*$" .. "-"
  if not parent then
    errors.raise("usage", name .. ": no folder to unpack it into",
      { hint = "set HOME, or XDG_CACHE_HOME to the absolute path of a folder" })
  end
  local version = digest.sha256(packed):sub(1, 6)
  local folder = ("%s/%s%012x"):format(parent, own, (">I6"):unpack(version))
  if files.is_folder(folder) then return folder end
  errors.check(fs.mkdirs(parent))
  fs.sweep(parent)
  for _, other in ipairs(files.list(parent)) do
    if other:sub(1, #own) == own then fs.remove_tree(parent .. "/" .. other) end
  end
  unpack(name .. ".packed", parent, folder)
  return folder
end


-- The folders that were written so, sorted.
function files.unpacked()
  local parent, list = files.folder("cache", "captures"), {}
  for i, name in ipairs(parent and files.list(parent) or {}) do list[i] = parent .. "/" .. name end
  return list
end


-- The folder on disk that has a name, or nil.
function files.find_folder(name) return (locate(places(), name, "directory")) end


-- Contents of a file of llmprof's own; nil, message.
function files.own(name)
  local path = locate(own_places(), name)
  if not path then return nil, name .. ": not built in" end
  return (read(path))
end


-- ---- all of a folder ----

local function names_in(list, folder, ending)
  local names = {}
  local function add(file)
    if file:sub(-#ending) == ending then names[file:sub(1, -#ending - 1)] = true end
  end
  for _, place in ipairs(list) do
    local path = place ~= BUILT_IN and path_in(place, folder, "directory")
    for _, file in ipairs(path and fs.list(path) or {}) do add(file) end
  end
  for _, path in ipairs(resources.list(folder .. "/")) do
    local file = path:sub(#folder + 2)
    if not file:find("/", 1, true) then add(file) end
  end
  local sorted = {}
  for name in pairs(names) do sorted[#sorted + 1] = name end
  table.sort(sorted)
  return sorted
end


-- The names of all files directly in a folder, built-in ones included, sorted,
-- without their ending: files.names("conf/nsys", ".yaml") -> { "default", ... }
function files.names(folder, ending) return names_in(places(), folder, ending) end


-- The same of llmprof's own files.
function files.own_names(folder, ending) return names_in(own_places(), folder, ending) end


-- ---- modules ----

-- The Lua modules of a folder of lua/llmprof: those built in and those in
-- $LLMPROF_HOME, where `require` finds them too.

-- Names without "init", sorted: files.module_names "engines" -> { "dynamo", ... }
function files.module_names(folder)
  local names = {}
  for _, name in ipairs(files.own_names("lua/llmprof/" .. folder, ".lua")) do
    if name ~= "init" and name:find "^[%w_]+$" then names[#names + 1] = name end
  end
  return names
end


-- ---- a person's folders, what is in one, libraries ----

local kinds = {
  config = { variable = "XDG_CONFIG_HOME", below_home = "/.config" },
  cache = { variable = "XDG_CACHE_HOME", below_home = "/.cache" },
  state = { variable = "XDG_STATE_HOME", below_home = "/.local/state" },
}


local function absolute(path) return path and path:sub(1, 1) == "/" and path or nil end


-- llmprof's folder for "config", "cache" or "state", which need not exist: in that of the
-- variable, which counts if it is absolute, or of the home; nil without either. name: of a folder
-- in it (optional).
function files.folder(kind, name)
  local place = kinds[kind]
  local own = absolute(os.getenv "HOME")
  local base = absolute(os.getenv(place.variable)) or (own and own .. place.below_home)
  return base and base .. "/llmprof" .. (name and "/" .. name or "")
end


-- The files with such names in a folder of the cache, the newest first: { path, bytes, mtime_ns }.
function files.kept(folder, pattern)
  local place, list = files.folder("cache", folder), {}
  for _, name in ipairs(place and files.list(place) or {}) do
    local path = place .. "/" .. name
    local info = name:find(pattern) and fs.lstat(path)
    if info and info.type == "file" then
      list[#list + 1] = { path = path, bytes = info.size, mtime_ns = info.mtime_ns }
    end
  end
  table.sort(list, function(a, b) return a.mtime_ns > b.mtime_ns end)
  return list
end


-- ---- what is in a folder ----

-- What is in a folder, sorted; nothing where there is no folder. One that is there and
-- cannot be looked into raises, so that nothing is taken for absent. hint: optional.
function files.list(path, hint)
  local names, message, code = fs.list(path)
  if names then return names end
  if code == "notfound" then return {} end
  errors.raise_systems(message, code)
  return errors.raise("failed", message, { hint = hint })
end


-- ---- libraries ----

local FOLDERS = { "/../lib/llmprof/", "/../lib/", "/" }


-- The absolute path of a library, or nil and what was looked for. given: a path that the
-- user named; then nothing else is tried.
function files.library(name, given)
  if given then
    local path = fs.realpath(given)
    return path, not path and given .. ": not there" or nil
  end
  local folder = (sys.executable() or ""):match "^(.*)/[^/]*$" or "."
  for _, place in ipairs(FOLDERS) do
    local path = fs.realpath(folder .. place .. name)
    if path then return path end
  end
  return nil, name .. " was not found next to the program"
end


return files
