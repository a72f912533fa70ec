-- llmprof doctor: is this machine ready to profile?
local config = require "llmprof.recipe.config"
local errors = require "llmprof.process.errors"
local table_options = require "llmprof.cli.table_options"
local fs = require "llmprof.fs"
local gpu = require "llmprof.gpu"
local lists = require "llmprof.tables.lists"
local ncu = require "llmprof.nvidia.ncu.command"
local nsys = require "llmprof.nvidia.nsys"
local process = require "llmprof.process.child"
local spawn = require "llmprof.spawn"
local spool = require "llmprof.spool"
local collector = require "llmprof.collector"
local sys = require "llmprof.sys"
local text = require "llmprof.text"
local tools = require "llmprof.nvidia.tools"
local trace_file = require "llmprof.trace.file"

local command = {
  name = "doctor",
  usage = "doctor [OPTION...] [KEY=VALUE...]",
  details = "Exit status 3 when something that profiling needs is missing.",
  options = { table_options.format, table_options.json },
  completes = "settings",
}


function command.run(given, words)
  local composed = config.compose { words = words }
  local list = command.examine(composed.tree)
  table_options.print_checks(list, given)
  return table_options.has_problem(list) and errors.status.tool or 0
end


-- Less free disk than this is too little for a report, in bytes.
local ENOUGH_DISK = 5e9

-- Seconds for a kernel.
local PATIENCE = 120

-- The program of one kernel.
local ONE_KERNEL = { sys.executable(), "-e",
  'local done, why = require("llmprof.cuda").probe(); if not done then error(why, 0) end' }


local ok, warn, problem = table_options.ok, table_options.warning, table_options.problem


-- ---- the GPU ----

local function check_gpu(state)
  local devices, reason = gpu.list()
  state.devices = lists.filtered(devices, function(device) return not device.error end)
  local names = lists.map(devices, function(device)
    return device.error or ("%s, %s"):format(device.name or "GPU",
      device.memory_total_bytes and text.bytes(device.memory_total_bytes, { digits = 0 }) or "?")
  end)
  if #state.devices == 0 then
    return problem("GPU", reason or table.concat(names, "; "),
      "without a GPU, capture=recorded and every command that reads files still work")
  end
  return ok("GPU", table.concat(names, "; "))
end


local function check_driver(state)
  local device = state.devices[1]
  if not device then return nil end
  if not device.driver_version then
    return warn("driver", "its version is not known", "nvidia-smi should print it")
  end
  return ok("driver", ("%s, CUDA up to %s"):format(device.driver_version,
    device.cuda_version or "?"))
end


-- ---- the tools ----

-- Leaves the tool in the state for the checks that need it.
local function check_tool(state, vendor)
  local name = vendor.name
  local found, tried = tools.find(vendor, state.cfg.tools[name])
  state[name] = found
  local oldest = vendor.tried_from
  if found and oldest and tools.is_older(found.version, oldest) then
    return warn(name, ("%s, %s: older than %s, the oldest that was tried"):format(found.version,
      found.path, oldest), vendor.install)
  elseif found then
    return ok(name, ("%s, %s%s"):format(found.version, found.path,
      oldest and (" (%s or newer)"):format(oldest) or ""))
  end
  return problem(name, tools.lack_text(vendor, tried), vendor.install)
end


local function check_importer(state)
  if not state.nsys then return nil end
  local missing, why = nsys.missing_libraries(state.nsys)
  if not missing then return warn("nsys import", why, "try: nsys profile true") end
  if #missing > 0 then
    return problem("nsys import", "its importer lacks " .. table.concat(missing, ", "),
      nsys.LIBRARY_HINT)
  end
  return ok("nsys import", "its importer finds all its libraries")
end


-- One empty kernel under ncu tells what no setting does.
local function check_counters(state)
  if not state.ncu or not state.devices[1] then return nil end
  local read, said = ncu.reader()
  local output, result = tools.capture(
    ncu.probe_argv(state.ncu.path, ONE_KERNEL), { timeout = PATIENCE, on_line = read })
  if not output then return warn("counters", result, "try ncu by hand") end
  if said.failure then
    return problem("counters", said.failure.message, said.failure.hint)
  elseif said.profiled == 0 then
    return problem("counters", said.last_error or "ncu profiled nothing", "try ncu by hand")
  end
  return ok("counters", "ncu measured a kernel")
end


local function check_dcgm()
  for _, name in ipairs(fs.list "/proc" or {}) do
    local program = name:find "^%d+$" and fs.read(("/proc/%s/comm"):format(name), 64)
    if program and program:find "^nv%-hostengine" then
      return warn("DCGM", "its host engine is running and may hold the counters",
        "if ncu finds them busy: dcgmi profile --pause")
    end
  end
  return ok("DCGM", "not running here")
end


local function check_cupti(state)
  local found
  for _, folder in ipairs { "/usr/local/cuda/extras/CUPTI/lib64", "/usr/local/cuda/lib64",
    "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu" } do
    for _, name in ipairs(fs.list(folder) or {}) do
      if name:find "^libcupti%.so%.%d+$" then found = found or folder .. "/" .. name end
    end
  end
  if found then return ok("CUPTI", found) end
  return state.nsys and ok("CUPTI", "no copy of its own is needed: nsys brings one")
    or warn("CUPTI", "libcupti was not found", "install the CUDA Toolkit's CUPTI")
end


-- ---- the collector ----

-- What capture=builtin takes in place of nsys and ncu.
local function check_collector(state)
  local found, tried = tools.find(collector.vendor, state.cfg.tools.collector)
  state.collector = found
  if found then return ok("collector", found.path .. ", for capture=builtin") end
  return warn("collector", tried[1], "for capture=builtin: " .. collector.vendor.install)
end


-- What of the collector works on this machine: a program of one kernel is run under it, once
-- for the timeline and once for counters.

-- Runs it with a plan: read(trace, path) of what was recorded, or nil and why not.
local function try(path, words, read)
  local folder <close> = collector.scratch(os.getenv "TMPDIR" or "/tmp")
  local environment = collector.environment(path, { folder = folder.path,
    plan = folder.path .. "/plan" })
  errors.check(fs.write(environment.LLMPROF_COLLECTOR_PLAN, collector.plan_of_words(words)))
  local result, message = process.run(ONE_KERNEL, { env = environment,
    on_line = function() end, kill_group = true, helper = true,
    timeout = PATIENCE })
  if not result then return nil, message end
  local all = folder.path .. "/all"
  if collector.gather(folder.path, all) == 0 then
    return nil, "it was not loaded into a program that uses CUDA"
  end
  local trace <close> = trace_file.open(all)
  local said = lists.filtered(errors.check(trace:diagnostics()), function(one)
    return one.severity ~= "info"
  end)[1]
  return read(trace, all), said and said.text
    or result.ok and "nothing was recorded" or "the program of one kernel failed"
end


local function check_part(state, name, fix, words, read)
  if not state.collector or not state.devices[1] then return nil end
  local done, found, why = errors.call(try, state.collector.path, words, read)
  if done and found then return ok(name, found) end
  return warn(name, "the collector: " .. text.clean(why or found.message), fix)
end


local function check_timeline(state)
  return check_part(state, "timeline", "capture=nsys takes it with Nsight Systems",
    { "units=timeline" }, function(trace)
      local kernels = #errors.check(trace:frame "kernels")
      return kernels > 0 and ("recorded %d kernel%s"):format(kernels, kernels == 1 and "" or "s")
    end)
end


local function check_own_counters(state)
  return check_part(state, "own counters",
    "counters=ncu measures with Nsight Compute; counters=off leaves them out",
    { "units=counters", "launch=*|*|*|*|*|0" }, function(_, all)
      local opened = errors.check(spool.open(all))
      local launches = errors.check(opened:frame "counters"):where { error = 0 }
      local passes = launches:values("passes")[1]
      return passes and ("%d metrics of a kernel in %d pass%s"):format(
        #errors.check(opened:frame "metrics"), passes, passes == 1 and "" or "es")
    end)
end


-- ---- this program ----

local function folder_of(path) return path:match "^(.*)/[^/]*$" end


-- Of another package, say, which has a command of this name. In a wheel this program is
-- llmprof-gpu, and the llmprof next to it starts it; links lead there, too.
local function check_path()
  local first, own = spawn.which "llmprof", sys.executable()
  local path = first and fs.realpath(first)
  if not path or not own or folder_of(path) == folder_of(own) then return nil end
  return warn("PATH", ("llmprof is another one there: %s"):format(first),
    ("this one is %s; put its folder first, or call it by that name"):format(own))
end


-- ---- room and rights ----

local function check_folder(_, name, path)
  if not path or path == "" then
    return warn(name, "is not set", ("set it: ncu and nsys write below %s"):format(name))
  elseif not fs.access(path, "w") then
    return problem(name, path .. " cannot be written to", ("point %s to a folder that can"):format(
      name))
  end
  return ok(name, path .. " can be written to")
end


local function check_disk()
  local folder = os.getenv "TMPDIR" or "/tmp"
  local least, where
  for _, path in ipairs { ".", folder } do
    local free = fs.free_space(path)
    if free and (not least or free < least) then least, where = free, path end
  end
  if not least then return warn("disk", "free space is not known", "df -h") end
  local said = ("%s free in %s"):format(text.bytes(least, { digits = 0 }), where)
  if least < ENOUGH_DISK then
    return warn("disk", said, "free some, or point TMPDIR and run.root elsewhere")
  end
  return ok("disk", said)
end


local function check_ncu_config()
  local home = os.getenv "HOME"
  local folders = { ".", home and home .. "/.config/NVIDIA Corporation" }
  local found = lists.map(folders, function(folder)
    return fs.stat(folder .. "/config.ncu-cfg") and folder .. "/config.ncu-cfg"
  end)
  if #found > 0 then
    return warn("ncu config", table.concat(found, ", ") .. " changes ncu's options",
      "llmprof passes --config-file off; your own ncu calls do not")
  end
  return ok("ncu config", "no config.ncu-cfg changes options")
end


-- ---- the workload's Python ----

-- A line "llmprof: NAME VERSION" each; other lines are the libraries' own. Modules of the
-- working directory, the empty path of -c, may be a stranger's.
local PYTHON = [[
import sys
sys.path = [path for path in sys.path if path]
for name in ("torch", "transformers"):
    try:
        version = __import__(name).__version__
    except ModuleNotFoundError:
        version = "missing"
    except Exception as error:
        version = "broken:" + type(error).__name__
    print("llmprof:", name, version)
print("llmprof:", "python", sys.version.split()[0])
]]

-- Who needs a library of the workload's Python.
local python_needs = {
  { "torch", "PyTorch workloads need torch; others do not" },
  { "transformers", "checkpoints need transformers; random weights do not" },
}


local function check_python(state)
  local python = state.cfg.python
  local output, result = tools.capture({ python, "-c", PYTHON }, { timeout = 120 })
  if not output or not result.ok then
    return warn("python", ("%s does not run: %s"):format(python, output and text.clean(output)
      or result), "name the workload's Python with python=PATH")
  end
  local said, versions = {}, {}
  for name, version in output:gmatch "llmprof: (%S+) (%S+)" do
    said[#said + 1], versions[name] = name .. " " .. version, version
  end
  local lack = lists.filtered(python_needs, function(need)
    return not (versions[need[1]] or ""):find "^%d"
  end)[1]
  local message = table.concat(said, ", ")
  return lack and warn("python", message, lack[2]) or ok("python", message)
end


-- In order, each with what it takes besides the state.
local every = { { check_gpu }, { check_driver }, { check_tool, nsys }, { check_importer },
  { check_tool, ncu }, { check_counters }, { check_dcgm }, { check_cupti }, { check_collector },
  { check_timeline }, { check_own_counters }, { check_path },
  { check_folder, "HOME", os.getenv "HOME" },
  { check_folder, "TMPDIR", os.getenv "TMPDIR" or "/tmp" }, { check_disk },
  { check_ncu_config }, { check_python } }

-- All checks in order. cfg: a configuration tree.
function command.examine(cfg)
  local state = { cfg = cfg, devices = {} }
  return lists.map(every, function(check) return check[1](state, table.unpack(check, 2)) end)
end


return command
