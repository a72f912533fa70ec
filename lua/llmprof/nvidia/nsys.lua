-- Nsight Systems: its command line, and what its output means.
--
-- nsys passes the workload's exit status on and says nothing about its report
-- with it, so the report is what the lines after "Generated:" name, if the file
-- is there.
local errors = require "llmprof.process.errors"
local fs = require "llmprof.fs"
local layout = require "llmprof.bundle.layout"
local lists = require "llmprof.tables.lists"
local range_name = require "llmprof.trace.nvtx_names"
local tools = require "llmprof.nvidia.tools"
local process = require "llmprof.process.child"
local digest = require "llmprof.digest"
local private = require "llmprof.bundle.private"
local scrub = require "llmprof.scrub"
local folders = require "llmprof.io.files"

local nsys = {
  name = "nsys",
  product = "Nsight Systems",
  install = "install nsight-systems, or name it with tools.nsys=PATH",
  -- nsys also comes inside Nsight Compute
  places = {
    "/opt/nvidia/nsight-systems/*/bin/nsys",
    "/opt/nvidia/nsight-systems/*/target-linux-x64/nsys",
    "/usr/lib/nsight-systems/bin/nsys",
    "/opt/nvidia/nsight-compute/*/host/target-linux-x64/nsys",
  },
  without = "without it, llmprof's own collector records where `llmprof doctor` finds that, and "
    .. "capture=recorded analyses a recorded capture",
  files = layout.nsys,
}

-- What to do about a library that the importer lacks.
nsys.LIBRARY_HINT = "install them (Debian: libdw1 brings libdw.so.1)"


-- ---- command line ----

local function flag(value) return value and "true" or "false" end


local function joined(list) return table.concat(list, ",") end


-- Configuration key, option, how the value is written; and whether `nsys start` has it, or `nsys
-- launch`: `nsys profile` has both. In this order.
local mapping = {
  { "trace", "--trace", joined, at = "launch" },
  { "sample", "--sample", at = "start" },
  { "cpuctxsw", "--cpuctxsw", at = "start" },
  { "capture_range", "--capture-range" },
  { "nvtx_capture", "--nvtx-capture", range_name.nsys_capture },
  { "capture_range_end", "--capture-range-end" },
  { "nvtx_domain_include", "--nvtx-domain-include", joined, at = "launch" },
  { "nvtx_domain_exclude", "--nvtx-domain-exclude", joined, at = "launch" },
  { "cuda_graph_trace", "--cuda-graph-trace", at = "launch" },
  { "cuda_memory_usage", "--cuda-memory-usage", flag, at = "launch" },
  { "gpu_metrics", "--gpu-metrics-devices", function() return "all" end, at = "start" },
  { "wait", "--wait" },
  { "kill", "--kill" },
  { "trace_fork_before_exec", "--trace-fork-before-exec", flag, at = "launch" },
}


-- Options that llmprof gives, whose values are words of nsys: option -> true.
nsys.options = { ["--force-overwrite"] = true, ["--output"] = true }

for _, entry in ipairs(mapping) do nsys.options[entry[2]] = true end


-- A value of the configuration; nil when it is empty.
local function given(cfg, key)
  local value = cfg[key]
  if value == "" or (type(value) == "table" and #value == 0) then return nil end
  return value
end


-- What can happen at the end of a capture range; N is a count of ranges.
local range_ends = { "none", "stop", "stop%-shutdown", "repeat", "repeat:%d+",
  "repeat%-shutdown:%d+" }


-- What cannot work is said before anything runs.
function nsys.check(cfg)
  local range, at_end = given(cfg, "nvtx_capture"), given(cfg, "capture_range_end")
  if at_end and not lists.any(range_ends, function(pattern)
    return at_end:find("^" .. pattern .. "$")
  end) then
    errors.raise("usage", ("nsys.capture_range_end: '%s' is not known"):format(at_end),
      { hint = "none, stop, stop-shutdown, repeat, repeat:N or repeat-shutdown:N" })
  elseif cfg.capture_range == "nvtx" and not range then
    errors.raise("usage", "nsys.capture_range=nvtx needs nsys.nvtx_capture",
      { hint = "name the range: nsys.nvtx_capture=prefill, or prefill@domain" })
  elseif given(cfg, "nvtx_domain_include") and given(cfg, "nvtx_domain_exclude") then
    errors.raise("usage",
      "nsys.nvtx_domain_include and nsys.nvtx_domain_exclude exclude each other")
  end
end


-- nsys's own default shuts its session down, and the workload with it.
function nsys.ends_workload(cfg)
  local at_end = given(cfg, "capture_range_end") or "stop-shutdown"
  return cfg.capture_range ~= "none" and at_end:find "shutdown" ~= nil and cfg.kill ~= "none"
end


-- Is a result of spawn that of a workload which SIGTERM or SIGKILL ended?
function nsys.was_terminated(result) return result.code == 128 + 15 or result.code == 128 + 9 end


-- Add the options of the configuration to argv, but those that say nothing with the others; at: of
-- that command alone.
local function add_options(argv, cfg, at)
  local says_nothing = { capture_range_end = cfg.capture_range == "none",
    nvtx_capture = cfg.capture_range ~= "nvtx", gpu_metrics = cfg.gpu_metrics == "off" }
  for _, entry in ipairs(mapping) do
    local key, option, write = table.unpack(entry)
    local value
    if not at or entry.at == at then value = given(cfg, key) end
    if value ~= nil and not says_nothing[key] then
      argv[#argv + 1] = ("%s=%s"):format(option, write and write(value) or value)
    end
  end
  return argv
end


-- argv of `nsys profile`. cfg: the nsys group of the configuration; run: path
-- (of nsys), output (without suffix), argv (of the workload).
function nsys.profile_argv(cfg, run)
  nsys.check(cfg)
  local argv = add_options({ run.path, "profile" }, cfg)
  if cfg.capture_range == "nvtx" then
    -- else only registered strings match, and torch's are plain ones
    argv[#argv + 1] = "--env-var=NSYS_NVTX_PROFILER_REGISTER_ONLY=0"
  end
  argv[#argv + 1] = "--force-overwrite=true"
  argv[#argv + 1] = "--output=" .. run.output
  return lists.add(lists.add(argv, cfg.extra_args or {}), run.argv)
end


-- ---- sessions of somebody else ----

-- What a session is in that was launched and collects nothing.
nsys.IDLE = "Launched"

-- argv that would start an engine, up to the engine's own words.
function nsys.launch_argv(cfg, session)
  return add_options({ "nsys", "launch", "--session-new=" .. session }, cfg, "launch")
end


-- argv that has a session collect into a report (without suffix).
function nsys.start_argv(cfg, path, session, output)
  local argv = add_options({ path, "start", "--session=" .. session }, cfg, "start")
  argv[#argv + 1] = "--force-overwrite=true"
  argv[#argv + 1] = "--output=" .. output
  return argv
end


function nsys.stop_argv(path, session) return { path, "stop", "--session=" .. session } end


-- What `nsys sessions list` prints: a list of { id, state, name }.
function nsys.read_sessions(said)
  local list = {}
  for line in said:gmatch "[^\n]+" do
    local id, state, name = line:match "^%s*(%d+)%s+[%d:]+%s+(%S+)%s+%d+%s+(.-)%s*$"
    if id then list[#list + 1] = { id = id, state = state, name = name } end
  end
  return list
end


-- argv of an export. Blobs hold the sizes of NCCL's messages; plain leaves them
-- out, for an nsys that does not know the word.
function nsys.export_argv(path, report, sqlite, plain)
  local argv = { path, "export", "--type=sqlite", "--quiet=true", "--force-overwrite=true" }
  if not plain then argv[#argv + 1] = "--include-blobs=true" end
  argv[#argv + 1] = "--output=" .. sqlite
  argv[#argv + 1] = report
  return argv
end


-- ---- can it import what it captures? ----

-- Shared libraries that the importer of a tool (of llmprof.nvidia.tools) lacks: a
-- list, empty when it has all; nil and why when that cannot be told.
function nsys.missing_libraries(tool)
  local folder, importer = fs.realpath(tool.path), nil
  for _ = 1, 3 do -- it lies in a folder next to that of the program, or to the one above
    folder = folder and folder:match "^(.*)/[^/]*$"
    for _, name in ipairs(folder and fs.list(folder) or {}) do
      local candidate = ("%s/%s/QdstrmImporter"):format(folder, name)
      importer = importer or fs.access(candidate, "x") and candidate
    end
  end
  if not importer then return nil, "its importer was not found next to it" end
  local output, message = tools.capture { "ldd", importer }
  if not output then return nil, message end
  local missing = {}
  for library in output:gmatch "(%S+) => not found" do missing[#missing + 1] = library end
  return missing
end


-- Raise when it cannot import what it captures.
function nsys.check_importer(tool)
  local libraries = nsys.missing_libraries(tool)
  if not libraries or #libraries == 0 then return end
  errors.raise("tool", ("nsys %s cannot import its own captures: it lacks %s"):format(tool.version,
    table.concat(libraries, ", ")), { hint = nsys.LIBRARY_HINT })
end


-- ---- output ----

-- Known complaints: a pattern in nsys's output, what it means, what to do.
nsys.complaints = {
  { "^Illegal (%-%-%S+) argument", "nsys does not know a value of %s", "see nsys profile --help" },
  { "unrecognised option '([^']+)'", "nsys does not know the option %s",
    "take it out of nsys.extra_args, or use a newer nsys" },
  { "Executable not found", "nsys did not find the workload's program",
    "name it by its path, or put it on PATH" },
  { "Daemon already running", "another nsys session is running", "wait for it, or nsys shutdown" },
  { "There are no active sessions", "the nsys session was gone when the window closed",
    "did the engine die? its own output says" },
  { "^Session is not found", "the nsys session was gone when the window closed", -- 2025.3
    "did the engine die? its own output says" },
  { "Collection stop is not allowed in this state", "the nsys session was collecting nothing",
    "somebody else ended it: nsys sessions list" },
  { "Configuring is not allowed in this state", "the nsys session is collecting already",
    "nsys stop --session=NAME, or wait for who began it" },
  { "No space left on device", "the disk is full", "free space, or point TMPDIR elsewhere" },
  { "Reached the size limit on recording trace events",
    "nsys stopped recording: its buffer is full", "capture less, or a shorter range" },
  { "Some CUPTI events may be missing", "CUPTI dropped events", "capture a shorter range" },
}


-- What the workload prints may look like a complaint, too, and without end: this many are
-- kept, each once, and this many names of reports.
local MOST_COMPLAINTS, MOST_REPORTS = 100, 10000


local function note_complaint(list, line)
  for _, entry in ipairs(nsys.complaints) do
    local pattern, meaning, remedy = table.unpack(entry)
    -- find is fast where a pattern is plain text, and most lines are the workload's
    local detail = line:find(pattern) and line:match(pattern)
    if detail then
      local message = meaning:format(detail)
      if #list < MOST_COMPLAINTS and not lists.find(list, "message", message) then
        list[#list + 1] = { message = message, hint = remedy }
      end
      return
    end
  end
end


-- What `nsys profile` prints, a line at a time: a function to be called with each, and
-- what they have said so far: { generated = paths, complaints = list of { message,
-- hint }, range_started, range_ended }.
function nsys.reader()
  local said, listing = { generated = {}, complaints = {} }, false
  return function(line)
    -- below "Generated:", or on that line itself, of a report or one not imported; the workload
    -- may print lines of its own that look like nsys's
    local path = line:match "^Generated:%s*(/.-)%s*$" or (listing and line:match "^%s+(/.-)%s*$")
    local is_path = path and not path:find "%z" and (nsys.is_report(path)
      or path:find "%.qdstrm$")
    listing = line:find "^Generated:" ~= nil or (listing and line:find "^%s+/" ~= nil)
    if is_path then
      if #said.generated < MOST_REPORTS then said.generated[#said.generated + 1] = path end
    elseif not listing then
      said.range_started = said.range_started or nsys.begins_range(line)
      said.range_ended = said.range_ended or line:find("Capture range ended", 1, true) ~= nil
      note_complaint(said.complaints, line)
    end
  end, said
end


-- Reports that were generated and are there, each once; others is what else was
-- named (a .qdstrm that could not be imported).
function nsys.reports(said)
  local reports, others, seen = {}, {}, {}
  for _, path in ipairs(said.generated) do
    local info = fs.stat(path)
    local good = not path:find "%.qdstrm$" and info and info.size > 0
    if not seen[path] then table.insert(good and reports or others, path) end
    seen[path] = true
  end
  return reports, others
end


-- Does the line say that the workload has opened the window of a session?
function nsys.begins_window(line) return line:find("^the window is open") ~= nil end


-- Does the line say that the range which gates the capture has begun?
function nsys.begins_range(line) return line:find("Capture range started", 1, true) ~= nil end


-- Progress for people out of a line, or nil.
function nsys.progress(line)
  local percent = line:find("%", 1, true) and line:match "%[%d+/%d+%].-(%d+)%%"
  if percent then return ("writing the report, %s %%"):format(percent) end
  if nsys.begins_range(line) then return "capture range started" end
  if line:find("Capture range ended", 1, true) then return "capture range ended" end
  return nil
end


-- ---- exports ----

-- Reports of nsys (.nsys-rep) exported to SQLite: for a run, or into the cache for commands
-- that take a trace.

-- Reports whose exports the cache keeps, and how long one may take: seconds.
local MOST_KEPT, PATIENCE = 10, 1800


function nsys.is_report(path)
  return path:find "%.nsys%-rep$" ~= nil or path:find "%.qdrep$" ~= nil
end


-- The command that exports a report by hand.
local function by_hand(report)
  return process.shown { "nsys", "export", "--type=sqlite", report }
end


-- Export a report; raises what nsys says where it cannot. An nsys that refuses
-- --include-blobs is asked again without. path: of nsys; options: timeout (s), on_command
-- (gets each argv), on_idle, name (of the report in messages), version (of nsys, where another
-- may have made the report); all but the first may be nil.
-- Only its owner may read the export, which holds the environment of the workload.
function nsys.export(path, report, target, options)
  local made, said, plain
  local function export()
    local argv = nsys.export_argv(path, report, target, plain)
    if options.on_command then options.on_command(argv) end
    local output, result = tools.capture(argv, { timeout = options.timeout }, options.on_idle)
    local info = fs.stat(target)
    made, said = output and info and info.size > 0, output or result
  end
  export()
  plain = not made and said:find("include-blobs", 1, true) -- which it does not know
  if plain then export() end
  if not made then
    local last = "" -- line that it printed
    for line in said:gmatch "[^\n]*%w[^\n]*" do last = ": " .. line:match "^%s*(.-)%s*$" end
    local version = options.version
    errors.raise("failed", ("nsys%s could not export %s%s"):format(version and " " .. version or "",
      options.name or report, version and last or ""), { detail = not version and said or nil,
      hint = version and "a report opens in the nsys that made it or a newer one: "
        .. by_hand(report) or "try it by hand: "
        .. process.shown(nsys.export_argv(path, report, "run.sqlite", plain)) })
  end
  errors.check(fs.chmod(target, private.FILE_MODE))
end


-- ---- in the cache ----

-- The exports that are kept: { path, bytes }, the newest first.
function nsys.kept_exports() return folders.kept("exports", "%.sqlite$") end


-- The export of a report, scrubbed, made now unless the cache has it. Raises where it
-- cannot be made: without nsys the error has the command to run where there is one.
function nsys.exported(report)
  local info = errors.check_as("usage", fs.stat(report))
  local folder = folders.folder("cache", "exports")
  if not folder then
    errors.raise("usage", report .. ": there is no home to keep its export in",
      { hint = "export it first: " .. by_hand(report) })
  end
  local said = ("%s %d %d"):format(errors.check(fs.realpath(report)), info.size, info.mtime_ns)
  local stem = report:match "([^/]*)%.[^./]*$":gsub("[^%w_-]", "_")
  local target = ("%s/%s-%s.sqlite"):format(folder, stem,
    digest.base64(digest.sha256(said)):sub(1, 12):gsub("[^%w]", "_"))
  if fs.stat(target) then return target end
  local found, tried = tools.find(nsys)
  if not found then
    errors.raise("tool", ("%s: %s, which exports it"):format(report,
      tools.lack_text(nsys, tried)), { hint = "where there is one: " .. by_hand(report) })
  end
  errors.check(fs.mkdirs(folder))
  local kept = nsys.kept_exports()
  for i = MOST_KEPT, #kept do errors.check(fs.remove(kept[i].path)) end
  local made <close> = private.folder(folder)
  local raw = made.path .. "/run.sqlite"
  nsys.export(found.path, report, raw, { timeout = PATIENCE, version = found.version })
  errors.check(scrub.copy(raw, target))
  return target
end


return nsys
