-- Command lines word by word, and what nsys's own words mean.
local bundle = require "tests.lua.support.bundle"
local failure = require "tests.lua.support.failure"
local fs = require "llmprof.fs"
local nsys = require "llmprof.nvidia.nsys"


local function profile(cfg)
  return nsys.profile_argv(cfg, { path = "/opt/nsys", output = "out/run",
    argv = { "python3", "x y.py", "--n", "3" } })
end


-- What lines of the tool's output mean.
local function read_output(lines)
  local read, said = nsys.reader()
  for _, line in ipairs(lines) do read(line) end
  return said
end


describe("nsys profile", function()
  it("is told nothing that is not set", function()
    assert.same({ "/opt/nsys", "profile", "--force-overwrite=true", "--output=out/run", "python3",
      "x y.py", "--n", "3" }, profile { trace = {}, nvtx_capture = "" })
  end)

  it("is told everything that is set, in this order", function()
    assert.same({ "/opt/nsys", "profile", "--trace=cuda,nvtx", "--sample=process-tree",
      "--cpuctxsw=system-wide", "--capture-range=nvtx", "--nvtx-capture=a@b",
      "--capture-range-end=repeat:2", "--nvtx-domain-include=d,e", "--cuda-graph-trace=graph",
      "--cuda-memory-usage=true", "--gpu-metrics-devices=all",
      "--wait=all", "--kill=none", "--trace-fork-before-exec=false",
      "--env-var=NSYS_NVTX_PROFILER_REGISTER_ONLY=0", "--force-overwrite=true",
      "--output=out/run", "--stats=true", "python3", "x y.py", "--n", "3",
    }, profile { trace = { "cuda", "nvtx" }, sample = "process-tree", cpuctxsw = "system-wide",
      capture_range = "nvtx", nvtx_capture = "a@b", capture_range_end = "repeat:2",
      nvtx_domain_include = { "d", "e" }, cuda_graph_trace = "graph", cuda_memory_usage = true,
      gpu_metrics = "on",
      wait = "all", kill = "none", trace_fork_before_exec = false,
      extra_args = { "--stats=true" } })
  end)

  it("is not told of a range where none is waited for", function()
    assert.same({ "/opt/nsys", "profile", "--capture-range=none", "--force-overwrite=true",
      "--output=out/run", "python3", "x y.py", "--n", "3" },
      profile { capture_range = "none", capture_range_end = "stop", nvtx_capture = "a" })
  end)

  it("is refused what cannot work", function()
    assert.same({ "usage", "nsys.capture_range=nvtx needs nsys.nvtx_capture",
      "name the range: nsys.nvtx_capture=prefill, or prefill@domain" },
      failure(profile, { capture_range = "nvtx" }))
    assert.same({ "usage", "nsys.nvtx_domain_include and nsys.nvtx_domain_exclude exclude each "
      .. "other" }, failure(profile, { nvtx_domain_include = { "a" },
      nvtx_domain_exclude = { "b" } }))
    assert.same({ "usage", "nsys.capture_range_end: 'repeat:x' is not known",
      "none, stop, stop-shutdown, repeat, repeat:N or repeat-shutdown:N" },
      failure(profile, { capture_range = "cudaProfilerApi", capture_range_end = "repeat:x" }))
  end)

  it("ends the workload at the end of a range unless told not to", function()
    assert.is_true(nsys.ends_workload { capture_range = "nvtx" })
    assert.is_true(nsys.ends_workload { capture_range = "nvtx",
      capture_range_end = "repeat-shutdown:2" })
    assert.is_false(nsys.ends_workload { capture_range = "nvtx", capture_range_end = "stop" })
    assert.is_false(nsys.ends_workload { capture_range = "nvtx", kill = "none" })
    assert.is_false(nsys.ends_workload { capture_range = "none" })
    assert.is_true(nsys.was_terminated { code = 143 })
    assert.is_true(nsys.was_terminated { code = 137 })
    assert.is_false(nsys.was_terminated { code = 1 })
  end)
end)


it("nsys export writes SQLite", function()
  assert.same({ "nsys", "export", "--type=sqlite", "--quiet=true", "--force-overwrite=true",
    "--output=a.sqlite", "a.nsys-rep" }, nsys.export_argv("nsys", "a.nsys-rep", "a.sqlite", true))
    assert.equal("--include-blobs=true", nsys.export_argv("nsys", "a.nsys-rep", "a.sqlite")[6])
end)


describe("nsys's output", function()
  local top = bundle.scratch(before_each, after_each)

  it("names the reports", function()
    assert.same({ "/a/run.nsys-rep", "/a b/run.2.nsys-rep", "/c.qdstrm" }, read_output({
      "Collecting data...", "Generated:", "    /a/run.nsys-rep", "    /a b/run.2.nsys-rep",
      "done", "    /not/listed.nsys-rep", "Generated: /c.qdstrm", "Generated:", "\t/notes.txt",
      "Generated:", "\t/no\0path.nsys-rep", "Generated: 64 tokens", "Generated:",
      "  /r/not.nsys-rep is no path", "text", "  /r/elsewhere.nsys-rep",
    }).generated)
  end)

  it("tells ranges and known complaints", function()
    local said = read_output { "Capture range started in the application.",
      "Capture range ended in the application.", "unrecognised option '--x'",
      "Illegal --trace argument 'y'.", "write: No space left on device", "anything else" }
    assert.same({ true, true }, { said.range_started, said.range_ended })
    assert.same({
      { message = "nsys does not know the option --x",
        hint = "take it out of nsys.extra_args, or use a newer nsys" },
      { message = "nsys does not know a value of --trace", hint = "see nsys profile --help" },
      { message = "the disk is full", hint = "free space, or point TMPDIR elsewhere" },
    }, said.complaints)
    for line, message in pairs {
      ["Executable not found in current directory or standard search paths"] =
        "nsys did not find the workload's program",
      ["Unable to lock file /tmp/x. Is Daemon already running?"] =
        "another nsys session is running",
      ["Reached the size limit on recording trace events for this process."] =
        "nsys stopped recording: its buffer is full",
      ["Couldn't allocate CUPTI bufer 3 times. Some CUPTI events may be missing."] =
        "CUPTI dropped events" } do
      assert.equal(message, read_output { line }.complaints[1].message)
    end
    assert.same({ generated = {}, complaints = {} }, read_output {})
  end)

  it("is believed where the files are there", function()
    local good, empty = top() .. "/a.nsys-rep", top() .. "/b.nsys-rep"
    local stream = top() .. "/c.qdstrm"
    assert(fs.write(good, "x"))
    assert(fs.write(empty, ""))
    assert(fs.write(stream, "x"))
    assert.same({ { good }, { empty, stream, "/none.nsys-rep" } },
      { nsys.reports { generated = { good, empty, stream, good, "/none.nsys-rep" } } })
  end)

  it("shows progress", function()
    assert.equal("writing the report, 42 %", nsys.progress "[1/2] [===42%   ] run.nsys-rep")
    assert.equal("capture range started", nsys.progress "Capture range started in the app")
    assert.equal("capture range ended", nsys.progress "Capture range ended in the app")
    assert.is_nil(nsys.progress "token 42%")
  end)
end)
