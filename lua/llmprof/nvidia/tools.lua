-- Finding Nsight Systems and Nsight Compute, and what they are able to do.
local errors = require "llmprof.base.errors"
local fs = require "llmprof.fs"
local process = require "llmprof.base.process"
local spawn = require "llmprof.spawn"

local tools = {}

-- Folders below which NVIDIA's installers put version folders. nsys also comes
-- inside Nsight Compute. A "*" stands for one folder name.
local places = {
  nsys = {
    "/opt/nvidia/nsight-systems/*/bin/nsys",
    "/opt/nvidia/nsight-systems/*/target-linux-x64/nsys",
    "/usr/lib/nsight-systems/bin/nsys",
    "/opt/nvidia/nsight-compute/*/host/target-linux-x64/nsys",
  },
  ncu = {
    "/opt/nvidia/nsight-compute/*/ncu",
    "/usr/lib/nsight-compute/ncu",
  },
}

local products = { nsys = "Nsight Systems", ncu = "Nsight Compute" }

-- What to do about a library that nsys's importer lacks.
tools.LIBRARY_HINT = "install them (Debian: libdw1 brings libdw.so.1)"

-- A query of a tool's version that takes longer hangs, in seconds.
local PATIENCE = 60


-- ---- where ----

-- The numbers of a version, padded so that text sorts as they do.
local function sort_key(name)
  return (name:gsub("%d+", function(digits) return ("%010d"):format(digits) end))
end


-- Paths that match a pattern with one "*", newest version first.
local function expand(pattern)
  local before, after = pattern:match "^(.-)/%*(.*)$"
  if not before then return { pattern } end
  local names, list = fs.list(before) or {}, {}
  table.sort(names, function(a, b) return sort_key(a) > sort_key(b) end)
  for i, name in ipairs(names) do list[i] = ("%s/%s%s"):format(before, name, after) end
  return list
end


local function cuda_homes()
  local list = {}
  for _, name in ipairs { "CUDA_HOME", "CUDA_PATH" } do
    local home = os.getenv(name)
    if home and home ~= "" then list[#list + 1] = home end
  end
  list[#list + 1] = "/usr/local/cuda"
  return list
end


-- Every place to look in, best first: PATH, CUDA, the installers' folders with
-- the newest version first.
local function candidates(name)
  local list = {}
  local on_path = spawn.which(name)
  if on_path then list[1] = on_path end
  for _, home in ipairs(cuda_homes()) do list[#list + 1] = home .. "/bin/" .. name end
  for _, pattern in ipairs(places[name]) do
    local found = expand(pattern)
    table.move(found, 1, #found, #list + 1, list)
  end
  return list
end


-- ---- what ----

-- Output of a quick command, and its result; nil, message when it cannot run.
-- options: of spawn; on_idle: of llmprof.process.
function tools.capture(argv, options, on_idle)
  local lines = {}
  local given = { timeout = PATIENCE, on_line = function(line) lines[#lines + 1] = line end }
  for key, value in pairs(options or {}) do given[key] = value end
  local result, message = process.run(argv, given, on_idle)
  if not result then return nil, message end
  if result.interrupted then errors.raise("interrupted", "interrupted") end
  if result.timed_out then
    return nil, ("%s: no answer within %d s"):format(argv[1], given.timeout)
  end
  return table.concat(lines, "\n"), result
end


-- "2025.3.1" out of what --version prints, or nil and why.
local function version_of(path)
  local output, result = tools.capture { path, "--version" }
  if not output then return nil, result end
  local version = output:match "[Vv]ersion%s+(%d+%.%d+%.%d+)"
  if version then return version end
  local first = output:match "[^\n]+" or ("exit status " .. tostring(result.code or result.signal))
  return nil, ("%s --version: %s"):format(path, first)
end


-- A tool may be started in another folder than ours; links are not followed,
-- since some are wrappers that look at their own name.
local function absolute(path)
  return path:sub(1, 1) == "/" and path or fs.cwd() .. "/" .. path
end


-- { name, path, version }, or nil and a list of what was tried and failed.
-- given: a path that the user named; then nothing else is tried.
function tools.find(name, given)
  local tried = {}
  for _, path in ipairs(given and { absolute(given) } or candidates(name)) do
    if fs.access(path, "x") then
      local version, message = version_of(path)
      if version then return { name = name, path = path, version = version } end
      tried[#tried + 1] = message
    elseif given then
      tried[1] = path .. ": not there, or not executable"
    end
  end
  return nil, tried
end


-- ---- can nsys import what it captures? ----

-- The importer that belongs to an nsys binary, or nil.
local function importer(nsys_path)
  local real = fs.realpath(nsys_path)
  local folder = real and real:match "^(.*)/[^/]*$"
  local above = folder and folder:match "^(.*)/[^/]*$"
  for _, base in ipairs { above, above and above:match "^(.*)/[^/]*$" } do
    for _, name in ipairs(fs.list(base) or {}) do
      local path = ("%s/%s/QdstrmImporter"):format(base, name)
      if fs.access(path, "x") then return path end
    end
  end
  return nil
end


-- Shared libraries that the importer lacks: a list, empty when it has all; nil
-- and why when that cannot be told.
function tools.missing_libraries(nsys)
  local path = importer(nsys.path)
  if not path then return nil, "its importer was not found beside it" end
  local output, message = tools.capture { "ldd", path }
  if not output then return nil, message end
  local missing = {}
  for library in output:gmatch "(%S+) => not found" do missing[#missing + 1] = library end
  return missing
end


-- ---- or else ----

-- One line about a tool that find did not find: what is missing.
function tools.lack_text(name, tried)
  return ("%s (%s) was not found%s"):format(products[name], name,
    tried and #tried > 0 and (" (%s)"):format(tried[#tried]) or "")
end


-- What does not work without a tool.
local without = {
  nsys = "without it, capture=recorded analyses a recorded capture",
  ncu = "without it, the timeline is reported and counters are left out",
}


-- The tool, or an error: what is missing, what to install, what still works.
local function ensure(name, cfg)
  local found, tried = tools.find(name, cfg.tools[name])
  if found then return found end
  return errors.raise("tool", tools.lack_text(name, tried),
    { hint = ("install it, or name it with tools.%s=PATH; %s"):format(name, without[name]) })
end


function tools.ensure_nsys(cfg) return ensure("nsys", cfg) end


function tools.ensure_ncu(cfg) return ensure("ncu", cfg) end


-- Raise when nsys (of find) cannot import what it captures.
function tools.check_importer(nsys)
  local libraries = tools.missing_libraries(nsys)
  if not libraries or #libraries == 0 then return end
  errors.raise("tool", ("nsys %s cannot import its own captures: it lacks %s"):format(nsys.version,
    table.concat(libraries, ", ")), { hint = tools.LIBRARY_HINT })
end


return tools
