-- Every configuration key that llmprof itself knows: text, default (the type
-- follows from it) or type where there is no default, choices.
-- one: a single value stands for a list of it. instead_of: the recipe's key whose
-- place the value takes, so it has to fit that one. Recipes declare their own keys
-- in the same form.
return {
  ["capture"] = { "Where the timeline comes from; none: the program runs by itself, and what it "
    .. "says of itself is all", "auto",
    choices = { "auto", "nsys", "builtin", "recorded", "files", "none" } },
  ["files"] = { "With capture=files: traces of any format that is read, and folders of them",
    type = "list", one = true },
  ["recorded"] = { "Folder of the recorded capture; recorded/<recipe> next to the recipe",
    type = "string" },
  ["mode"] = { "A preset of presets: how deep to measure; default unless set",
    type = "string" },
  ["out"] = { "Write the bundle into this folder instead of tmp/stage2/<run id>", type = "string" },
  ["run.id"] = { "Name of the run; UTC time and recipe unless set", type = "string" },
  ["run.root"] = { "Where runs are kept", "tmp/stage2" },
  ["python"] = { "The Python that runs the workload", "python3", runs = true },
  ["run.representative_max_new_tokens"] = { "Tokens generated in every capture of the run, in "
    .. "place of infer.max_new_tokens", type = "integer", min = 1,
    instead_of = "infer.max_new_tokens" },
  ["launch.ranks"] = { "Ranks to start the workload as, with a capture of each", 1, min = 1 },
  ["launch.with"] = { "What starts them", "local",
    choices = { "local", "torchrun", "mpirun", "srun" } },
  ["launch.gpus"] = { "Each rank sees all GPUs and LOCAL_RANK says which is its own, or that one "
    .. "alone", "all", choices = { "all", "one" } },
  ["launch.grace_s"] = { "Seconds that the others have when a rank has failed", 30, min = 0 },
  ["launch.args"] = { "More arguments for what starts them, word by word", {}, runs = true },
  ["workload.timeout_s"] = { "Seconds after which the workload is ended", type = "integer",
    min = 1 },
  ["workload.stall_s"] = { "Seconds without progress after which a program is ended: no line "
    .. "printed, no file written where it may, and no processor time used but under ncu", 300,
    min = 1 },
  ["workload.operators_trace"] = { "Chrome trace of torch.profiler to take the operators from, "
    .. "instead of a run under it", type = "string" },
  ["cpu_stacks"] = { "Files of collapsed stacks that a sampler such as py-spy or perf took of "
    .. "the run, STAGE=FILE of one stage", type = "list", one = true },
  ["operators"] = { "Run the workload once more under its own profiler", "on",
    choices = { "on", "off" } },
  ["counters.by"] = { "counters=WORD: measure the selected kernels with hardware counters: on and "
    .. "auto by what took the timeline, builtin by llmprof's collector in the same run, or by ncu",
    "on", choices = { "on", "auto", "builtin", "ncu", "off" } },
  ["counters.set"] = { "What to measure, by the collector and by ncu alike: light, roofline, full "
    .. "(help counters), or a file with a metric a line; unless set roofline by the collector, the "
    .. "ncu preset's request by ncu", type = "string" },
  ["counters.budget_s"] = { "Seconds that the collector may take for them, after which launches "
    .. "go without; unless set 12, of a server 30, with light and a file 60",
    type = "integer", min = 1 },
  ["timeline"] = { "Capture a timeline; off measures counters alone", "on",
    choices = { "on", "off" } },
  ["overhead"] = { "Time the workload without the profiler: in a plain run before the timeline, "
    .. "in one before and one after it (measure), or not; servers are not unless this is set",
    "before", choices = { "before", "measure", "off" } },
  ["tools.nsys"] = { "Path of nsys; found by itself unless set", type = "string", runs = true },
  ["tools.ncu"] = { "Path of ncu; found by itself unless set", type = "string", runs = true },
  ["repeats.skip_first"] = { "Leave the first repeat out of the figures: auto does so when it "
    .. "took far longer than the others", "auto", choices = { "auto", "yes", "no" } },

  ["compare.assumed"] = { "Two single runs of the same thing are assumed to differ by this many "
    .. "percent, where nothing tells by how much", 10, type = "float", min = 0 },

  ["limits.rows"] = { "Rows of a table that are read at most; a thousand million unless set",
    type = "integer", min = 0 },
  ["limits.bytes"] = { "Memory to take at most; half of the machine's unless set",
    type = "integer", min = 0 },
  ["limits.ratio"] = { "What comes out of a packed file to what goes in, at most; 200 unless set",
    type = "integer", min = 0 },
  ["limits.seconds"] = { "Reading one file takes at most; 600 unless set", type = "integer",
    min = 0 },
  ["limits.threads"] = { "Threads that read and write traces at once; as many as there are "
    .. "processors unless set", type = "integer", min = 0 },
  ["cache.bytes"] = { "Disk that what was read from traces may take in the cache, where the next "
    .. "command finds it; 4 GB, or a tenth of what is free, unless set; 0 keeps nothing",
    type = "integer", min = 0 },
  ["model.name"] = { "The model, as reports call it", type = "string" },
  ["model.variant"] = { "Its size or flavour", type = "string" },
  ["model.dtype"] = { "What it computes in", type = "string" },
  ["model.arch"] = { "Its architecture: a name of conf/model, or a file", type = "string" },
  ["model.config"] = { "Its architecture, a Hugging Face config.json; goes before model.arch",
    type = "string" },
  ["model.weight_dtype"] = { "What its weights are stored in; as its architecture says unless set",
    type = "string" },
  ["model.kv_dtype"] = { "What its KV cache is stored in; as its architecture says unless set",
    type = "string" },

  ["hardware.name"] = { "The GPU, a file in conf/hardware; found by the device's name unless set",
    type = "string" },
  ["hardware.peak_per_s"] = { "Dense FLOP/s of the GPU in the model's number format; as "
    .. "conf/hardware says unless set", type = "float", min = 1 },
  ["hardware.bandwidth_bytes_per_s"] = { "Memory bandwidth of the GPU in bytes/s; as "
    .. "conf/hardware says unless set", type = "float", min = 1 },

  ["price.per_hour"] = { "What an hour of one GPU costs; an example from conf/hardware unless set",
    type = "float", min = 0 },
  ["price.currency"] = { "What price.per_hour is in", "USD" },

  ["tools.collector"] = { "Path of libllmprof_collector.so; found by itself unless set",
    type = "string", runs = true },
  ["collector.memory"] = { "Most memory of the collector's buffers in a process", "256M" },
  ["collector.graphs"] = { "CUDA graphs as a row per node, or as one", "node",
    choices = { "node", "graph" } },
  ["collector.sources"] = { "Lines of Python that launch kernels: auto, of CUDA graphs too where "
    .. "they are captured after plain repeats; python, with CUPTI there from the start, which "
    .. "makes graphs of plain repeats 3 to 10 % slower; native, likewise, functions of C and C++; "
    .. "off", "auto", choices = { "auto", "python", "native", "off" } },
  ["collector.units"] = { "What units of the workload are, as docs/collector.md has it; as the "
    .. "counters ask for unless set", type = "string" },
  ["collector.samples_hz"] = { "Hardware samples per second in the timeline; 0: none", 0,
    min = 0 },
  ["collector.yield"] = { "A torch.profiler of the workload's own gets CUPTI when it starts, and "
    .. "the timeline ends there; no samples and counters", "off",
    choices = { "on", "off" } },
  ["collector.plan"] = { "More lines of the collector's plan, KEY=VALUE each", type = "list" },

  ["nsys.preset"] = { "Preset of Nsight Systems options", "default" },
  ["nsys.trace"] = { "What to trace", { "cuda", "nvtx", "osrt" } },
  ["nsys.sample"] = { "CPU sampling", "none",
    choices = { "none", "process-tree", "system-wide" } },
  ["nsys.cpuctxsw"] = { "Context switch tracing", "none",
    choices = { "none", "process-tree", "system-wide" } },
  ["nsys.capture_range"] = { "What starts and ends the capture", "none",
    choices = { "none", "nvtx", "cudaProfilerApi" } },
  ["nsys.nvtx_capture"] = { "With capture_range=nvtx: range or range@domain", type = "string" },
  ["nsys.capture_range_end"] = { "What happens at the end of a capture range: none, stop, "
    .. "stop-shutdown, repeat, repeat:N or repeat-shutdown:N", type = "string" },
  ["nsys.nvtx_domain_include"] = { "Trace these NVTX domains only", type = "list" },
  ["nsys.nvtx_domain_exclude"] = { "Leave these NVTX domains out", type = "list" },
  ["nsys.cuda_graph_trace"] = { "CUDA graphs as one row, or a row per node", "node",
    choices = { "node", "graph" } },
  ["nsys.cuda_memory_usage"] = { "Record memory allocation events", type = "boolean" },
  ["nsys.gpu_metrics"] = { "Sample hardware counters of all GPUs over time", "off",
    choices = { "on", "off" } },
  ["nsys.wait"] = { "Wait for the first process or for all", type = "string",
    choices = { "primary", "all" } },
  ["nsys.kill"] = { "Signal to the workload when the session ends", type = "string" },
  ["nsys.trace_fork_before_exec"] = { "Trace children before they exec", type = "boolean" },
  ["nsys.keep_report"] = { "Keep run.nsys-rep, which holds the environment of the workload", true },
  ["nsys.scrub"] = { "Keep the export without environment, command lines and paths", true },
  ["nsys.export_timeout_s"] = { "Seconds after which exporting is given up", 1800, min = 1 },
  ["nsys.extra_args"] = { "More options for nsys profile, word by word", type = "list",
    runs = true },

  ["ncu.preset"] = { "Preset of Nsight Compute options", "default" },
  ["ncu.nvtx_include"] = { "Select and profile kernels in these NVTX ranges, decode* in stages "
    .. "that begin so; in the recipe's stages unless set", type = "list", one = true },
  ["ncu.set"] = { "Section set", type = "string" },
  ["ncu.sections"] = { "More sections, by identifier", type = "list" },
  ["ncu.metrics"] = { "More metrics", type = "list" },
  ["ncu.target_processes"] = { "Which processes", "all", choices = { "all", "application-only" } },
  ["ncu.replay_mode"] = { "How passes are repeated", "kernel",
    choices = { "kernel", "application", "range", "app-range" } },
  ["ncu.kernel_name_base"] = { "What kernel filters match: auto takes mangled names where the "
    .. "timeline has them, else function", "auto",
    choices = { "auto", "function", "demangled", "mangled" } },
  ["ncu.clock_control"] = { "Clocks while profiling", "none",
    choices = { "none", "base", "boost", "reset" } },
  ["ncu.cache_control"] = { "Caches before each pass", "all", choices = { "all", "none" } },
  ["ncu.force_overwrite"] = { "Overwrite an existing report", true },
  ["ncu.max_new_tokens"] = { "Tokens generated while counters are measured; as many as for the "
    .. "timeline unless set", type = "integer", min = 1, instead_of = "infer.max_new_tokens" },
  ["ncu.budget_s"] = { "Seconds that counters under ncu may take, as predicted", 120, min = 1 },
  ["ncu.timeout_s"] = { "Seconds after which a counter run is ended", 3600, min = 1 },
  ["ncu.extra_args"] = { "More options for ncu, word by word", type = "list", runs = true },

  ["top_n.kernels"] = { "Kernels to select, at most", 20, min = 1 },
  ["top_n.coverage"] = { "Stop when these cover this share of GPU time", 0.95, min = 0, max = 1 },
  ["top_n.per_stage"] = { "Select for each stage, not over all", true },
  ["top_n.launches_per_kernel"] = { "Launches of each to measure", 2, min = 1 },

  ["report"] = { "Sections of the report, the page and the summary, in order; all: those not named",
    { "all" },
    choices = { "all", "advice", "aggregates", "load", "first_token",
      "kv_cache", "stages", "cpu_samples",
      "gaps", "lines", "modules", "layers", "ranks", "mfu", "roofline", "kernels", "operators",
      "trust", "missing", "abstained", "silent", "environment", "next" } },
}
