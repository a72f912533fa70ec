-- Where recipes, presets and recorded captures are found: on disk first, then
-- in the binary. A name is relative, with forward slashes:
-- "recipes/deepseek_ocr.lua", "conf/nsys/light.yaml".
--
-- Disk means, in this order: the name as it stands (the working directory),
-- $LLMPROF_HOME, and share/llmprof of the installed program or portable folder.
local fs = require "llmprof.fs"
local resources = require "llmprof.resources"
local sorted_keys = require "llmprof.base.sorted_keys"
local sys = require "llmprof.sys"

local files = {}


local function exists(path, type)
  local info = fs.stat(path)
  return info ~= nil and info.type == type
end


local function is_absolute(name)
  return name:sub(1, 1) == "/"
end


local function join(folder, name)
  return folder == "" and name or folder .. "/" .. name
end


-- Folders that may hold recipes/, conf/ and lua/, nearest first.
local function roots()
  local list = { "" }
  local home = os.getenv "LLMPROF_HOME"
  if home and home ~= "" then list[#list + 1] = home end
  local program = sys.executable()
  local folder = program and program:match "^(.*)/[^/]*$"
  if folder then
    list[#list + 1] = folder .. "/../share/llmprof"
    list[#list + 1] = folder .. "/share/llmprof"
  end
  return list
end


local function find(name, type)
  if is_absolute(name) then return exists(name, type) and name or nil end
  for _, root in ipairs(roots()) do
    local path = join(root, name)
    if exists(path, type) then return path end
  end
  return nil
end


-- The path of a file or folder on disk, or nil.
function files.find_file(name) return find(name, "file") end
function files.find_folder(name) return find(name, "directory") end


-- Contents, and how to call the file in messages ("@"-less); nil, message when
-- it is nowhere.
function files.read(name)
  local path = find(name, "file")
  if path then
    local contents, message = fs.read(path)
    return contents, contents and path or message
  end
  local contents = resources.get(name)
  if contents then return contents, name end
  if name == "" then return nil, "an empty file name" end
  if fs.stat(name) then return nil, name .. ": not a file" end
  return nil, name .. ": no such file, nor is it built in"
end


-- The name of the file of a recipe that is called as llmprof's are, "deepseek_ocr"; nil
-- when no recipe is called so.
function files.recipe(called)
  local name = "recipes/" .. called .. ".lua"
  if not called:find "^[%w_-]+$" then return nil end
  return (find(name, "file") or resources.get(name)) and name or nil
end


-- The names of all files directly in a folder, built-in ones included, sorted,
-- without their ending: files.names("conf/nsys", ".yaml") -> { "default", ... }
function files.names(folder, ending)
  local names = {}
  local function add(file)
    if file:sub(-#ending) == ending then names[file:sub(1, -#ending - 1)] = true end
  end
  for _, root in ipairs(roots()) do
    for _, file in ipairs(fs.list(join(root, folder)) or {}) do add(file) end
  end
  for _, path in ipairs(resources.list(folder .. "/")) do
    local file = path:sub(#folder + 2)
    if not file:find("/", 1, true) then add(file) end
  end
  return sorted_keys(names)
end


return files
