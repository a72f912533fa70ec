-- Nsight Compute: its command line, and what its output means.
--
-- One process measures everything: kernels by exact mangled name, in the NVTX
-- ranges of the stages, in the repeats that count, and of each launch
-- configuration (kernel, grid, block, shared memory) the first few launches.
-- Seen on an H200 with 2025.3.1: --filter-mode per-launch-config tells kernels
-- apart by the name of --kernel-name-base, so with base function two
-- instances of a template count as one kernel; --kernel-id cannot be given
-- twice; --range-filter numbers the ranges of all --nvtx-include together.
-- With range replay a result is a whole range: no filter of kernels is given.
local layout = require "llmprof.bundle.layout"
local metrics = require "llmprof.nvidia.metrics"
local lists = require "llmprof.tables.lists"

local ncu = {
  name = "ncu",
  product = "Nsight Compute",
  install = "install nsight-compute, or name it with tools.ncu=PATH",
  places = { "/opt/nvidia/nsight-compute/*/ncu", "/usr/lib/nsight-compute/ncu" },
  without = "without it, the timeline is reported and counters are left out",
  files = layout.ncu,
  tried_from = "2024.1", -- the oldest that takes every option that is given here, as far as tried
}


-- ---- command line ----

local function add(argv, ...) return lists.add(argv, { ... }) end


-- Is a whole range measured, and not launches?
function ncu.measures_ranges(cfg)
  return cfg.replay_mode == "range" or cfg.replay_mode == "app-range"
end


local function add_filters(argv, cfg, given)
  local ranges = given.ranges or {}
  if #ranges > 0 then add(argv, "--nvtx") end
  for _, range in ipairs(ranges) do add(argv, "--nvtx-include", range) end
  if #ranges > 0 and given.instances then add(argv, "--range-filter", "::" .. given.instances) end
  if ncu.measures_ranges(cfg) then return end
  if given.kernels then
    add(argv, "--kernel-name-base", given.name_base, "--kernel-name", given.kernels)
  end
  if given.launches then
    add(argv, "--filter-mode", "per-launch-config", "--launch-count", tostring(given.launches))
  end
end


-- Nothing that the configuration can say is known to fail.
function ncu.check() end


-- argv of a profiling run. cfg: the ncu group; given: path, output (without
-- suffix), argv (workload), metrics (list), no_sections (leave those of the
-- configuration out), and filters: ranges (expressions),
-- instances ("3|4": which of the matching ranges, counted together), kernels
-- (name or regex:), name_base, launches (per launch configuration); range modes
-- leave those of kernels out. window: measure between the calls of the profiler API only.
function ncu.profile_argv(cfg, given)
  local argv = { given.path, "--config-file", "off", "--target-processes", cfg.target_processes }
  if given.window then add(argv, "--profile-from-start", "off") end
  add_filters(argv, cfg, given)
  if cfg.set then add(argv, "--set", cfg.set) end
  for _, section in ipairs(given.no_sections and {} or cfg.sections or {}) do
    add(argv, "--section", section)
  end
  local names = given.metrics or {}
  if #names > 0 then add(argv, "--metrics", table.concat(names, ",")) end
  add(argv, "--replay-mode", cfg.replay_mode)
  add(argv, "--clock-control", cfg.clock_control, "--cache-control", cfg.cache_control)
  add(argv, "--rename-kernels", "no", "--import-sass", "no")
  if cfg.force_overwrite then add(argv, "--force-overwrite") end
  add(argv, "--export", given.output)
  return lists.add(lists.add(argv, cfg.extra_args or {}), given.argv)
end


-- A filter of kernel names that none of these Lua patterns for lower-case names is
-- found in. They may hold letters, digits, "_", ":" and "?".
function ncu.names_without(patterns)
  local list = {}
  for i, pattern in ipairs(patterns) do
    assert(not pattern:find "[^%w_:?]", "names_without: " .. pattern)
    list[i] = pattern:gsub("%l", function(letter)
      return ("[%s%s]"):format(letter, letter:upper())
    end)
  end
  return ("regex:^(?!.*(%s))"):format(table.concat(list, "|"))
end


-- argv that measures one kernel of a program, whatever the configuration says.
function ncu.probe_argv(path, program)
  return lists.joined({ path, "--config-file", "off", "--metrics", "gpu__time_duration.sum" },
    program)
end


-- By page, what is printed of a report: numbers in base units, with their names, and as text.
local PAGES = { raw = { "--page", "raw", "--csv", "--print-units", "base" },
  details = { "--page", "details", "--csv" },
  sections = { "--page", "details", "--print-details", "all" } }

-- argv that prints such a page of a report.
function ncu.import_argv(path, report, page)
  return lists.add({ path, "--config-file", "off", "--import", report, "--rename-kernels", "no" },
    PAGES[page])
end


-- ---- metrics of a chip ----

-- What light mode asks for, and older versions need beside their sections:
-- sources are in llmprof.ncu's formulas. The units that tell what bounds a launch cost no
-- pass: sm__throughput and gpu__compute_memory_throughput are made of them.
local minimal = {
  "gpu__time_duration.sum",
  "dram__bytes_read.sum", "dram__bytes_write.sum", "dram__bytes.sum.peak_sustained",
  "dram__cycles_elapsed.avg.per_second", "sm__cycles_elapsed.avg.per_second",
  "dram__throughput.avg.pct_of_peak_sustained_elapsed",
  "sm__throughput.avg.pct_of_peak_sustained_elapsed",
  "breakdown:sm__throughput.avg.pct_of_peak_sustained_elapsed",
  "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
  "lts__throughput.avg.pct_of_peak_sustained_elapsed",
  "l1tex__throughput.avg.pct_of_peak_sustained_active",
  "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum",
  "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum",
  "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum",
  "sm__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained",
  "launch__waves_per_multiprocessor",
}


-- argv that lists the metrics of a chip; of the GPU that is there without one.
function ncu.query_argv(path, chip)
  local argv = { path, "--config-file", "off", "--query-metrics" }
  if chip then add(argv, "--chips", chip:lower()) end
  return argv
end


-- Base names that --query-metrics printed, as a set.
function ncu.read_query(text)
  local names = {}
  for line in text:gmatch "[^\n]+" do
    local name = line:match "^([%l%d_]+__[%w_]+)%s"
    if name then names[name] = true end
  end
  return names
end


-- Tensor formats that inference does without: each one more costs passes.
local rare = { fp64 = true, int1 = true, int4 = true }


-- Tensor operations by source type, and the dense peaks beside them.
local function tensor_metrics(available)
  local list = {}
  for name in pairs(available) do
    local source = name:match "^sm__ops_path_tensor_src_([%w_]+)$"
    if source and not rare[source] and not source:find "_sparsity_" then
      list[#list + 1] = name .. ".sum"
    elseif name:find "^sm__ops_path_tensor_op_hgmma_.*_sparsity_off$" then
      list[#list + 1] = name .. ".sum.peak_sustained"
    end
  end
  return lists.sort(list)
end


-- The metrics of the minimal request that a chip has. available: of read_query;
-- nil when that is not known: then all, without the tensor metrics of a chip.
-- whole_ranges: replay by range refuses what patched kernels count.
function ncu.roofline_metrics(available, whole_ranges)
  local list = {}
  for _, metric in ipairs(minimal) do
    local base = metric:match "^[^.]+":gsub("^breakdown:", "")
    local known = not available or available[base] or base:find "^launch__"
    if known and not (whole_ranges and base:find("_sass_", 1, true)) then
      list[#list + 1] = metric
    end
  end
  if not available then return list end
  return lists.add(list, tensor_metrics(available))
end


-- ---- output ----

-- Known failures: a pattern, what it means, what to do, a kind.
ncu.complaints = {
  { "ERR_NVGPUCTRPERM", "this user may not read GPU performance counters",
    "run as root or with CAP_PERFMON, in a container with --cap-add=SYS_ADMIN, or have the driver "
      .. "loaded with NVreg_RestrictProfilingToAdminUsers=0", kind = "permission" },
  { "driver resource was unavailable", "another profiler holds the GPU's counters",
    "stop it; DCGM lets go with `dcgmi profile --pause`", kind = "busy" },
  { "[Oo]ut of [Mm]emory", "the GPU has too little free memory to save a kernel's data",
    "use ncu.replay_mode=application, or a smaller batch", kind = "memory" },
  { "[Ff]ailed to connect to the CUDA driver", "ncu found no usable CUDA driver",
    "is there a GPU, and does nvidia-smi work?", kind = "driver" },
  { "did not match any section", "ncu does not know a section that was asked for",
    "ncu --list-sections lists them; a pattern is written regex:...", kind = "section" },
  { "Failed to find metric", "ncu does not know a metric that was asked for",
    "ncu --query-metrics lists them", kind = "metric" },
  { "unrecognised option", "ncu does not know an option that was given",
    "take it out of ncu.extra_args, or use a newer ncu", kind = "option" },
}


-- The pass that a line of application replay tells of: each launch or range has
-- a line in every run of the application. nil for other lines.
local function replay_pass(line)
  return tonumber(line:match '^==PROF== Profiling ".*".*: Application replay pass (%d+)')
end


-- The name in a line that tells of a launch, or a range, for the first time; nil for other lines.
function ncu.launch_name(line)
  local name = line:match '^==PROF== Profiling "(.*)"'
  return (replay_pass(line) or 1) == 1 and name or nil
end


-- The process that ncu has found using a GPU; nil for other lines.
function ncu.connected(line)
  return math.tointeger(tonumber(line:match "^==PROF== Connected to process (%d+) "))
end


-- What a profiling run prints, a line at a time: a function to be called with each, and
-- what they have said so far: { profiled (launches or ranges), none (nothing was profiled),
-- application_exit, last_error, failure = { kind, message, hint, line } }.
function ncu.reader()
  local said = { profiled = 0 }
  return function(line)
    if line:find '^==PROF== Profiling ".*".*%s%d+ pass' or replay_pass(line) then
      said.profiled = said.profiled + (ncu.launch_name(line) and 1 or 0)
    elseif line:find "^==WARNING== No %a+ were profiled" then
      said.none = true
    elseif line:find "^==ERROR==" or line:find "^==WARNING==" then
      said.application_exit = said.application_exit
        or tonumber(line:match "The application returned an error code %((%-?%d+)%)")
      for _, entry in ipairs(ncu.complaints) do
        local pattern, meaning, remedy = table.unpack(entry)
        said.failure = said.failure or line:find(pattern) and { kind = entry.kind,
          message = meaning, hint = remedy, line = line } or nil
      end
      if line:find "^==ERROR==" then said.last_error = line:gsub("^==ERROR==%s*", "") end
    end
  end, said
end


-- ---- how long it will take ----

-- Passes that a set needs, and what a pass costs beside the kernel itself, in
-- seconds: measured on an H200 with 2025.3.1, 0.02 s for a toy and 0.057 s for a
-- model with 7 GB of weights, whose memory is saved and restored.
local passes = { basic = 9, detailed = 25, roofline = 18, full = 38 }
local MINIMAL_PASSES = 16
local SECONDS_PER_PASS = 0.06

-- { passes, seconds }: what measuring launches (of mean duration ns) will cost. pass_s:
-- seconds of a pass beside the kernel, where they are known; set: of counters, in place of
-- the configuration's (optional).
function ncu.predict(cfg, launches, mean_ns, pass_s, set)
  local count = set and metrics.most_passes(set) or passes[cfg.set or ""] or MINIMAL_PASSES
  return { passes = count,
    seconds = launches * count * ((pass_s or SECONDS_PER_PASS) + mean_ns / 1e9) }
end


return ncu
