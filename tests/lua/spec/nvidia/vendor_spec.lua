-- What nsys and ncu print, and where they are looked for.
local fs = require "llmprof.fs"
local live = require "tests.lua.support.live"
local ncu = require "llmprof.nvidia.ncu.command"
local nsys = require "llmprof.nvidia.nsys"
local tools = require "llmprof.nvidia.tools"


describe("nsys.read_output", function()
  local function generated(...)
    return nsys.read_output { ... }.generated
  end

  it("takes the paths from both layouts", function()
    assert.same({ "/r/run.nsys-rep" }, generated("Generated:", "\t/r/run.nsys-rep"))
    assert.same({ "/r/run.nsys-rep" }, generated("Generated:", "    /r/run.nsys-rep", ""))
    assert.same({ "/r/run.nsys-rep" }, generated "Generated:\t/r/run.nsys-rep")
    assert.same({ "/r/a b.1.nsys-rep", "/r/a b.2.nsys-rep" },
      generated("Generated:", "\t/r/a b.1.nsys-rep", "\t/r/a b.2.nsys-rep"))
    assert.same({ "/tmp/x.qdstrm" }, generated("Generated:", "\t/tmp/x.qdstrm"))
    assert.same({}, generated "Generated:")
  end)

  it("is not fooled by the workload", function()
    assert.same({ "/r/run.nsys-rep" }, generated("Generated: 64 tokens", "Generated:",
      "  /data/page.png", "Generated: /data/out.txt", "  /r/not.nsys-rep is no path",
      "text", "  /r/elsewhere.nsys-rep", "Generated:", "\t/r/run.nsys-rep"))
  end)

  it("sees ranges start and end", function()
    local said = nsys.read_output { "Capture range started in the application.",
      "Capture range ended in the application." }
    assert.same({ true, true }, { said.range_started, said.range_ended })
    said = nsys.read_output { "tokens: 5" }
    assert.same({ false, false }, { said.range_started, said.range_ended })
  end)

  it("knows its complaints", function()
    local function complaint(line)
      local found = nsys.read_output { line }.complaints[1]
      return found and found.message
    end
    assert.equal("nsys does not know a value of --trace",
      complaint "Illegal --trace argument 'bogus'.")
    assert.equal("nsys does not know the option --bogus",
      complaint "unrecognised option '--bogus'")
    assert.equal("nsys did not find the workload's program",
      complaint "Executable not found in current directory or standard search paths")
    assert.equal("another nsys session is running",
      complaint "Unable to lock file /tmp/x. Is Daemon already running?")
    assert.equal("nsys stopped recording: its buffer is full",
      complaint "Reached the size limit on recording trace events for this process.")
    assert.equal("CUPTI dropped events",
      complaint "Couldn't allocate CUPTI bufer 3 times. Some CUPTI events may be missing.")
    assert.is_nil(complaint "all is well")
  end)

  it("tells progress", function()
    assert.equal("writing the report, 50 %",
      nsys.progress "[1/2] [====50%          ] run.nsys-rep")
    assert.equal("capture range started", nsys.progress "Capture range started in the application.")
    assert.is_nil(nsys.progress "step 3 of 5: 50%")
  end)
end)


describe("ncu.read_output", function()
  it("counts launches and keeps the report", function()
    assert.same({ profiled = 2, passes = 38, report = "/r/run.ncu-rep" }, ncu.read_output {
      "==PROF== Connected to process 5268 (/usr/bin/python3.12)",
      'step ==PROF== Profiling "no line of its own"',
      '==PROF== Profiling "a" - 0: 0%....50%....100% - 18 passes',
      '==PROF== Profiling "b (c) - 1" - 1: 0%....50%....100% - 38 passes',
      "==PROF== Disconnected from process 5268",
      "==PROF== Report: /r/run.ncu-rep" })
  end)

  it("says that nothing was profiled", function()
    assert.same({ profiled = 0, none = true },
      ncu.read_output { "==WARNING== No kernels were profiled." })
    assert.same({ profiled = 0, none = true },
      ncu.read_output { "==WARNING== No ranges were profiled." })
  end)

  it("knows its failures, the first of which is the cause", function()
    local said = ncu.read_output { "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission",
      "==ERROR== Profiling failed because a driver resource was unavailable." }
    assert.equal("permission", said.failure.kind)
    assert.equal("Profiling failed because a driver resource was unavailable.", said.last_error)
    for line, kind in pairs {
      ["==ERROR== Option '--section Nope' did not match any section."] = "section",
      ["==ERROR== unrecognised option '--bogus'. Use --help for further details."] = "option",
      ["==ERROR== Failed to find metric dram__bogus"] = "metric",
      ["==ERROR== Out of memory"] = "memory",
      ["==ERROR== Nsight Compute failed to connect to the CUDA driver (stub libcuda.so?)."] =
        "driver",
    } do
      assert.equal(kind, ncu.read_output { line }.failure.kind)
    end
    assert.is_nil(ncu.read_output { "the workload: out of memory" }.failure)
  end)

  it("keeps the workload's exit code", function()
    assert.equal(11, ncu.read_output {
      "==ERROR== The application returned an error code (11)." }.application_exit)
  end)
end)


describe("tools.find", function()
  it("gives path and version", function()
    assert.same({ name = "nsys", path = fs.cwd() .. "/" .. live.BROKEN_NSYS,
      version = "2025.3.1" }, tools.find(nsys, live.BROKEN_NSYS))
  end)

  it("says why not", function()
    assert.same({ nil, { "/none: not there, or not executable" } }, { tools.find(ncu, "/none") })
    assert.same({ nil, { fs.cwd() .. "/tests/standin/broken/ldd --version: \tlibdw.so.1 => "
      .. "not found" } }, { tools.find(ncu, "tests/standin/broken/ldd") })
  end)

  it("ensures a tool, or says what is missing, what to do and what works without", function()
    local function refused(vendor)
      local ok, err = pcall(tools.ensure, vendor, { tools = { [vendor.name] = "/none" } })
      assert.is_false(ok)
      return { err.kind, err.message, err.hint }
    end
    assert.same({ "tool", "Nsight Systems (nsys) was not found (/none: not there, or not "
      .. "executable)", "install nsight-systems, or name it with tools.nsys=PATH; without "
      .. "it, llmprof's own collector records where `llmprof doctor` finds that, and "
      .. "capture=recorded analyses a recorded capture" }, refused(nsys))
    assert.same({ "tool", "Nsight Compute (ncu) was not found (/none: not there, or not "
      .. "executable)", "install nsight-compute, or name it with tools.ncu=PATH; without "
      .. "it, the timeline is reported and counters are left out" }, refused(ncu))
    assert.equal("2025.3.1", tools.ensure(nsys, { tools = { nsys = live.BROKEN_NSYS } }).version)
  end)

  it("takes the newest of several versions", function()
    local list = fs.list
    fs.list = function(folder)
      return folder == "/opt/nvidia/nsight-compute" and { "2025.10.0", "2025.3.1", "2025.9.1" }
        or list(folder)
    end
    local asked, access = {}, fs.access
    fs.access = function(path, mode)
      if path:find "^/opt/nvidia/nsight%-compute" then asked[#asked + 1] = path end
      return not path:find "/ncu$" and access(path, mode)
    end
    tools.find(ncu)
    fs.list, fs.access = list, access
    assert.same({ "/opt/nvidia/nsight-compute/2025.10.0/ncu",
      "/opt/nvidia/nsight-compute/2025.9.1/ncu", "/opt/nvidia/nsight-compute/2025.3.1/ncu" }, asked)
  end)
end)
