-- Finding the program of a vendor (llmprof.nvidia.vendors), and asking it things.
local errors = require "llmprof.process.errors"
local fs = require "llmprof.fs"
local lists = require "llmprof.tables.lists"
local merged = require("llmprof.tables.keys").merged
local process = require "llmprof.process.child"
local spawn = require "llmprof.spawn"

local tools = {}

-- A query of a tool's version that takes longer hangs, in seconds.
local PATIENCE = 60


-- ---- where ----

-- The numbers of a version, padded so that text sorts as they do.
local function sort_key(name)
  return (name:gsub("%d+", function(digits) return ("%010d"):format(digits) end))
end


-- Is a version an older one than another?
function tools.is_older(version, other) return sort_key(version) < sort_key(other) end


-- Every place to look in for a program (name, places), best first: PATH, CUDA, the
-- installers' folders with the newest version first.
function tools.places(vendor)
  local list = { spawn.which(vendor.name) or nil }
  for _, home in ipairs { os.getenv "CUDA_HOME" or "", os.getenv "CUDA_PATH" or "",
    "/usr/local/cuda" } do
    if home ~= "" then list[#list + 1] = home .. "/bin/" .. vendor.name end
  end
  for _, pattern in ipairs(vendor.places) do
    local before, after = pattern:match "^(.-)/%*(.*)$"
    local names = before and fs.list(before) or {}
    table.sort(names, function(a, b) return sort_key(a) > sort_key(b) end)
    lists.add(list, before and lists.map(names, function(name)
      return ("%s/%s%s"):format(before, name, after)
    end) or { pattern })
  end
  return list
end


-- ---- what ----

-- Output of a quick command, and its result; nil, message when it cannot run.
-- options: of spawn; on_idle: of llmprof.process.
function tools.capture(argv, options, on_idle)
  local lines = {}
  local given = merged({ timeout = PATIENCE,
    on_line = function(line) lines[#lines + 1] = line end }, options or {})
  local result, message = process.run(argv, given, on_idle)
  if not result then return nil, message end
  if result.interrupted then errors.raise("interrupted", "interrupted") end
  if result.timed_out then
    return nil, ("%s: no answer within %d s"):format(argv[1], given.timeout)
  end
  return table.concat(lines, "\n"), result
end


-- Does nothing for this many seconds; it can be interrupted.
function tools.pause(seconds, on_idle)
  errors.check(tools.capture({ "sleep", tostring(seconds) }, nil, on_idle))
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


-- { name, path, version }, or nil and a list of what was tried and failed.
-- given: a path that the user named; then nothing else is tried.
function tools.find(vendor, given)
  if vendor.find then return vendor.find(given) end -- it is no program
  local tried = {}
  -- a tool may be started in another folder than ours; links are not followed, since some are
  -- wrappers that look at their own name
  if given and given:sub(1, 1) ~= "/" then given = fs.cwd() .. "/" .. given end
  for _, path in ipairs(given and { given } or tools.places(vendor)) do
    if fs.access(path, "x") then
      local version, message = version_of(path)
      if version then return { name = vendor.name, path = path, version = version } end
      tried[#tried + 1] = message
    elseif given then
      tried[1] = path .. ": not there, or not executable"
    end
  end
  return nil, tried
end


-- ---- or else ----

-- One line about a tool that find did not find: what is missing.
function tools.lack_text(vendor, tried)
  return ("%s (%s) was not found%s"):format(vendor.product, vendor.name,
    tried and #tried > 0 and (" (%s)"):format(tried[#tried]) or "")
end


-- The tool, or an error: what is missing, what to install, what still works.
function tools.ensure(vendor, cfg)
  local found, tried = tools.find(vendor, cfg.tools[vendor.name])
  if found then return found end
  return errors.raise("tool", tools.lack_text(vendor, tried),
    { hint = vendor.install .. "; " .. vendor.without })
end


return tools
