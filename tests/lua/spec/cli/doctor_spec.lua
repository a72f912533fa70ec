-- Every check of llmprof doctor: ok, warning and problem, with its fix. The
-- tools are stand-ins; the GPU is the one of the fake NVML of the C tests.
local bundle = require "tests.lua.support.bundle"
local config = require "llmprof.recipe.config"
local doctor = require "llmprof.cli.commands.doctor"
local fs = require "llmprof.fs"
local json = require "llmprof.json"
local live = require "tests.lua.support.live"
local sys = require "llmprof.sys"

local ALL = "llmprof: torch 2.8.0+cu129\nllmprof: transformers 4.57.1\nllmprof: python 3.12.3"


-- Run doctor on a good machine, but for these variables and settings.
local function examine(env, settings)
  local given = { LD_LIBRARY_PATH = live.nvml "full", HOME = live.folder(), TMPDIR = live.folder(),
    STANDIN_PYTHON = ALL }
  for name, value in pairs(env or {}) do given[name] = value end
  local words = { "doctor", "--json", "python=tests/standin/python" }
  local run = live.llmprof(table.move(settings or {}, 1, #(settings or {}), 4, words), given)
  local checks = {}
  for _, check in ipairs(assert(json.decode(run.output), run.output)) do
    checks[check.name] = check
  end
  return checks, run.code
end


-- What the check of that name says.
local function said(name, env, settings)
  local checks, code = examine(env, settings)
  local check = assert(checks[name], name .. " was not checked")
  return { check.level, check.text, check.fix }, code
end


describe("llmprof doctor", function()
  after_each(live.clean)

  it("finds nothing wrong where nothing is", function()
    local checks, code = examine()
    assert.equal(0, code)
    local here = fs.realpath "tests/standin"
    for name, text in pairs {
      GPU = "NVIDIA H200, 151 GB; GPU 1: Insufficient Permissions; NVIDIA H200, 151 GB",
      driver = "580.159.04, CUDA up to 12.8",
      nsys = "2025.3.1, " .. here .. "/nsys",
      ncu = "2025.3.1, " .. here .. "/ncu (2024.1 or newer)",
      counters = "ncu measured a kernel",
      ["ncu config"] = "no config.ncu-cfg changes options",
      python = "torch 2.8.0+cu129, transformers 4.57.1, python 3.12.3",
    } do
      assert.same({ "ok", text }, { checks[name].level, checks[name].text })
    end
    assert.same({ "ok", "ok" }, { checks.HOME.level, checks.TMPDIR.level })
  end)

  it("tries what of the collector works", function()
    local none = "the collector: it was not loaded into a program that uses CUDA"
    local checks = examine()
    if checks.collector.level ~= "ok" then -- built without headers of CUPTI
      return assert.same({}, { checks.timeline, checks["own counters"] })
    end
    assert.same({ "warning", none, "capture=nsys takes it with Nsight Systems" },
      (said "timeline"))
    assert.equal(none, (said "own counters")[2])
  end)

  it("exits with 3 for a problem and with 0 for a warning", function()
    local _, code = examine { STANDIN_PYTHON_EXIT = "1" }
    assert.equal(0, code)
    _, code = examine { LD_LIBRARY_PATH = live.nvml "empty" }
    assert.equal(3, code)
  end)

  it("prints a line per check, and how to mend what is wrong", function()
    local run = live.llmprof({ "doctor", "tools.ncu=/none/ncu", "python=tests/standin/python" },
      { STANDIN_PYTHON = ALL, LD_LIBRARY_PATH = live.nvml "full" })
    assert.equal(3, run.code)
    assert.matches("ok       driver       580.159.04, CUDA up to 12.8\n", run.output, 1, true)
    assert.matches("problem  ncu          Nsight Compute (ncu) was not found (/none/ncu: not "
      .. "there, or not executable)\n                      install nsight-compute", run.output, 1,
      true)
  end)
end)


describe("doctor on the GPU", function()
  after_each(live.clean)

  local FIX = "without a GPU, capture=recorded and every command that reads files still work"

  it("says why there is none", function()
    assert.same({ "problem", "NVML: no device", FIX },
      said("GPU", { LD_LIBRARY_PATH = live.nvml "empty" }))
    assert.same({ "problem", "NVML: Driver Not Loaded", FIX },
      said("GPU", { LD_LIBRARY_PATH = live.nvml "nodriver" }))
  end)

  it("leaves out what needs one", function()
    local checks = examine { LD_LIBRARY_PATH = live.nvml "empty" }
    assert.same({}, { checks.driver, checks.counters })
  end)

  it("tells what keeps counters away", function()
    assert.same({ "problem", "this user may not read GPU performance counters",
      "run as root or with CAP_PERFMON, in a container with --cap-add=SYS_ADMIN, or have the "
        .. "driver loaded with NVreg_RestrictProfilingToAdminUsers=0" },
      said("counters", { STANDIN_NCU = "permission" }))
    assert.same({ "problem", "another profiler holds the GPU's counters",
      "stop it; DCGM lets go with `dcgmi profile --pause`" },
      said("counters", { STANDIN_NCU = "busy" }))
    assert.same({ "problem", "ncu profiled nothing", "try ncu by hand" },
      said("counters", { STANDIN_NCU = "unmatched" }))
  end)
end)


describe("doctor on the tools", function()
  after_each(live.clean)

  it("says which is missing", function()
    local checks, code = examine({}, { "tools.nsys=/none/nsys", "tools.ncu=/none/ncu" })
    assert.equal(3, code)
    assert.same({ "problem", "Nsight Systems (nsys) was not found (/none/nsys: not there, or not "
      .. "executable)", "install nsight-systems, or name it with tools.nsys=PATH" },
      { checks.nsys.level, checks.nsys.text, checks.nsys.fix })
    assert.same({ "problem", "Nsight Compute (ncu) was not found (/none/ncu: not there, or not "
      .. "executable)" }, { checks.ncu.level, checks.ncu.text })
    assert.is_nil(checks["nsys import"])
  end)

  it("names the oldest ncu that was tried", function()
    local path = fs.realpath "tests/standin" .. "/ncu"
    assert.same({ "warning", "2022.3.0, " .. path .. ": older than 2024.1, the oldest that was "
      .. "tried" }, { table.unpack(said("ncu", { STANDIN_NCU_VERSION = "2022.3.0" }), 1, 2) })
  end)

  it("names a library that the importer lacks", function()
    assert.same({ "problem", "its importer lacks libdw.so.1",
      "install them (Debian: libdw1 brings libdw.so.1)" },
      said("nsys import", { PATH = live.BROKEN_PATH }, { "tools.nsys=" .. live.BROKEN_NSYS }))
  end)

  it("warns where the importer is not beside nsys", function()
    assert.same({ "warning", "its importer was not found next to it", "try: nsys profile true" },
      said "nsys import")
  end)

  it("finds options that change ncu's", function()
    local home = live.folder()
    assert(fs.mkdirs(home .. "/.config/NVIDIA Corporation"))
    assert(fs.write(home .. "/.config/NVIDIA Corporation/config.ncu-cfg", ""))
    assert.same({ "warning",
      home .. "/.config/NVIDIA Corporation/config.ncu-cfg changes ncu's options",
      "llmprof passes --config-file off; your own ncu calls do not" },
      said("ncu config", { HOME = home }))
  end)
end)


describe("doctor on the machine", function()
  after_each(live.clean)

  it("says when another llmprof comes first on the PATH", function()
    local folder, own = live.folder(), sys.executable()
    local env = { PATH = folder .. ":" .. os.getenv "PATH" }
    assert(fs.symlink(own, folder .. "/llmprof"))
    assert.is_nil(examine(env).PATH)
    assert(fs.remove(folder .. "/llmprof"))
    bundle.shell(folder .. "/llmprof", "")
    assert.same({ "warning", "llmprof is another one there: " .. folder .. "/llmprof",
      ("this one is %s; put its folder first, or call it by that name"):format(own) },
      said("PATH", env))
  end)

  it("wants folders that it can write to", function()
    assert.same({ "problem", "/none/home cannot be written to",
      "point HOME to a folder that can" }, said("HOME", { HOME = "/none/home" }))
    assert.same({ "warning", "is not set", "set it: ncu and nsys write below HOME" },
      said("HOME", { HOME = false }))
    assert.same({ "problem", "/none/tmp cannot be written to",
      "point TMPDIR to a folder that can" }, said("TMPDIR", { TMPDIR = "/none/tmp" }))
  end)

  it("looks at the workload's Python", function()
    assert.same({ "warning", "torch missing, python 3.12.3",
      "PyTorch workloads need torch; others do not" }, said("python",
      { STANDIN_PYTHON = "a warning\nllmprof: torch missing\nllmprof: python 3.12.3" }))
    assert.same({ "warning", "torch 2.8.0, transformers broken:RuntimeError",
      "checkpoints need transformers; random weights do not" }, said("python",
      { STANDIN_PYTHON = "llmprof: torch 2.8.0\nllmprof: transformers broken:RuntimeError" }))
    assert.same({ "warning", "tests/standin/python does not run: no such module",
      "name the workload's Python with python=PATH" }, said("python",
      { STANDIN_PYTHON = "no such module", STANDIN_PYTHON_EXIT = "1" }))
  end)
end)


-- What cannot be arranged on a machine is put in place of the file functions.
describe("doctor.examine", function()
  local real = {}

  local function replace(name, with)
    real[name] = fs[name]
    fs[name] = with
  end

  after_each(function()
    for name, original in pairs(real) do fs[name] = original end
    real = {}
  end)

  local function check(name)
    local cfg = config.compose { words = {
      "tools.nsys=/none", "tools.ncu=/none", "python=/none/python" } }.tree
    for _, found in ipairs(doctor.examine(cfg)) do
      if found.name == name then return { found.level, found.text, found.fix } end
    end
    return nil
  end

  it("wants room for reports", function()
    replace("free_space", function(path) return path == "." and 9e9 or 4e9 end)
    local folder = os.getenv "TMPDIR" or "/tmp"
    assert.same({ "warning", "4 GB free in " .. folder,
      "free some, or point TMPDIR and run.root elsewhere" }, check "disk")
    fs.free_space = function() return 6e9 end
    assert.same({ "ok", "6 GB free in ." }, check "disk")
    fs.free_space = function() return nil, "no answer" end
    assert.same({ "warning", "free space is not known", "df -h" }, check "disk")
  end)

  it("sees the collector, which runs without nsys and ncu", function()
    replace("realpath", function(path)
      return path:find "libllmprof_collector" and "/opt/lib/libllmprof_collector.so"
        or real.realpath(path)
    end)
    assert.same({ "ok", "/opt/lib/libllmprof_collector.so, for capture=builtin" },
      check "collector")
    fs.realpath = function(path)
      return not path:find "libllmprof_collector" and real.realpath(path) or nil
    end
    assert.same({ "warning", "libllmprof_collector.so was not found next to the program",
      "for capture=builtin: ./bootstrap.sh builds it in a clone, packages of llmprof have it, "
      .. "tools.collector=PATH names one" }, check "collector")
  end)

  it("sees DCGM's host engine", function()
    replace("list", function(path)
      if path == "/proc" then return { "1", "42", "self" } end
      return path:find "^conf/" and real.list(path) or {}
    end)
    replace("read", function(path)
      if path == "/proc/42/comm" then return "nv-hostengine\n" end
      return path:find "^/proc/" and "sh\n" or real.read(path)
    end)
    assert.same({ "warning", "its host engine is running and may hold the counters",
      "if ncu finds them busy: dcgmi profile --pause" }, check "DCGM")
    assert.same({ "warning", "libcupti was not found", "install the CUDA Toolkit's CUPTI" },
      check "CUPTI")
    fs.list = real.list
    fs.read = function(path) return path:find "^/proc/" and "sh\n" or real.read(path) end
    assert.same({ "ok", "not running here" }, check "DCGM")
  end)
end)
