-- Every table that a report shows, declared once: used for Markdown, HTML, CSV,
-- JSON and the terminal alike. Rows are made in llmprof.report.rows.
local columns = {}

local ABSENT = "not measured"

local function ms(key, title, digits)
  return { key = key, title = title .. " ms", scale = 1e-6, digits = digits or 2 }
end
local function percent(key, title)
  return { key = key, title = title .. " %", scale = 100, digits = 1 }
end
local function id(key, title) return { key = key, title = title, type = "id" } end
local function count(key, title) return { key = key, title = title, digits = 0 } end
local function name(key, title, max)
  return { key = key, title = title, type = "text", max = max, code = true }
end
-- For programs only.
local function data(key) return { key = key, title = key, type = "text", data = true } end
-- A share that a page also draws.
local function bar(key, title)
  local column = percent(key, title)
  column.bar = true
  return column
end
local function word(key, title) return { key = key, title = title, type = "text" } end
-- Of a terminal that is too narrow left out first.
local function lesser(column)
  column.lesser = true
  return column
end

-- Optional columns.
local note = { key = "note", title = "", type = "text", optional = true }


-- Columns of a table, by their keys, in another order.
local function pick(declared, ...)
  local by_key, picked = {}, {}
  for _, column in ipairs(declared) do by_key[column.key] = column end
  for i, key in ipairs { ... } do picked[i] = assert(by_key[key]) end
  return picked
end


local kernel = {
  id("id", "#"), name("label", "kernel", 72), word("device_name", "device"),
  word("where", "stage"), word("category", "category"), ms("total_ns", "total", 3),
  count("calls", "calls"), ms("mean_ns", "mean", 4), bar("share", "of kernels"),
  percent("cumulative", "cumulative"), word("counted", "counters"),
  word("bound", "bound"), { key = "bound_percent", title = "at %", digits = 0 },
  { key = "sm_percent", title = "SM %", digits = 1 },
  { key = "dram_percent", title = "DRAM %", digits = 1 },
  { key = "occupancy_percent", title = "occupancy %", digits = 1 },
  { key = "second", title = "second", type = "text", optional = true },
  { key = "stalls", title = "warps wait for", type = "text", optional = true },
  { key = "theoretical_percent", title = "theoretical %", digits = 0, optional = true },
  { key = "limiter", title = "limited by", type = "text", optional = true },
  { key = "waves", title = "waves", digits = 2, optional = true },
  { key = "tail_share", title = "tail %", scale = 100, digits = 0, optional = true },
  { key = "intensity", title = "AI FLOP/B", digits = 2 },
  { key = "l2_intensity", title = "AI L2 FLOP/B", digits = 2 },
  { key = "padding", title = "tiles x", digits = 0, optional = true },
  { key = "line", title = "line", type = "text", max = 64, code = true, optional = true },
  { key = "name", title = "full name", type = "text", max = 64, code = true, lesser = true },
}

-- Of all stages together.
columns.largest_kernels = pick(kernel, "label", "device_name", "total_ns", "calls", "mean_ns",
  "share", "name")

columns.roofline = pick(kernel, "id", "label", "where", "mean_ns", "share", "counted",
  "bound", "bound_percent", "sm_percent", "dram_percent", "intensity", "l2_intensity", "padding",
  "name")

-- Of the page, which has room for more, and sorts.
columns.page_kernels = pick(kernel, "id", "label", "where", "category", "calls", "total_ns",
  "mean_ns", "share", "counted", "bound", "bound_percent", "second", "stalls", "sm_percent",
  "dram_percent", "occupancy_percent", "theoretical_percent", "limiter", "waves", "tail_share",
  "intensity", "padding", "line", "name")

local function gflop(key, kind)
  return { key = key, title = kind .. " GFLOP", scale = 1e-9, digits = 3 }
end

columns.ranges = {
  word("range", "range"), word("stage", "stage"), count("occurrence", "occurrence"),
  ms("duration_ns", "measured", 3),
  { key = "dram_bytes", title = "DRAM MB", scale = 1e-6, digits = 3 }, gflop("fp64", "FP64"),
  gflop("fp32", "FP32"), gflop("fp16", "FP16"), gflop("tensor", "tensor"),
}
for _, column in ipairs(pick(kernel, "sm_percent", "dram_percent", "intensity")) do
  table.insert(columns.ranges, column)
end
table.insert(columns.ranges, { key = "tensor_percent", title = "tensor %", digits = 1 })

local of_stage = {
  word("part", "part"), percent("stage_share", "of kernels"),
  percent("stage_cumulative", "cumulative"),
}
table.move(kernel, 1, #kernel, #of_stage + 1, of_stage)

columns.kernels = pick(of_stage, "id", "label", "device_name", "part", "total_ns", "calls",
  "mean_ns", "stage_share", "stage_cumulative", "counted", "bound", "bound_percent", "second",
  "stalls", "sm_percent", "dram_percent", "occupancy_percent", "theoretical_percent", "limiter",
  "waves", "tail_share", "intensity", "padding", "line", "name")

columns.stage_kernels = pick(of_stage, "label", "part", "calls", "total_ns", "mean_ns",
  "stage_share", "stage_cumulative", "counted", "bound", "bound_percent", "padding", "line", "name")

columns.top_kernels = {
  name("label", "kernel", 72), word("where", "stage"), count("calls", "calls"),
  ms("total_ns", "total"), percent("share", "of kernels"), word("bound", "bound"),
}

-- The profiled time, beside one without the profiler.
local profiled = ms("profiled_ns", "profiled")
profiled.optional = true

-- The range on the CPU, where it is not the stage's time.
local on_cpu = ms("cpu_ns", "CPU")
on_cpu.optional = true

columns.stages = {
  word("label", "stage"), count("count", "count"), ms("time_ns", "time"), profiled,
  on_cpu, ms("std_ns", "std"), ms("min_ns", "min"), ms("max_ns", "max"),
  ms("gpu_busy_ns", "GPU busy"),
  ms("gpu_idle_ns", "GPU idle"), bar("idle_share", "idle"), count("launches", "launches"),
  count("kernels_per_token", "kernels/token"), percent("share", "GPU time"),
  word("bound", "bound by"), data "parent",
}

columns.summary_stages = pick(columns.stages, "label", "time_ns", "gpu_busy_ns", "idle_share",
  "bound")
table.insert(columns.summary_stages, 3, word("bar", "of all"))

-- Of the first screen what no stage has is left out.
columns.digest_stages = { word("label", "stage"), ms("time_ns", "time") }
for _, column in ipairs { ms("gpu_busy_ns", "GPU busy"), percent("idle_share", "idle"),
  percent("mfu", "MFU"), percent("mbu", "MBU"), word("bound", "bound") } do
  column.optional = true
  table.insert(columns.digest_stages, column)
end

columns.cpu = {
  word("label", "stage"), count("launch_calls", "launch calls"), ms("launch_call_ns", "in them"),
  count("sync_calls", "sync calls"), ms("sync_call_ns", "in them"),
  ms("launch_ns", "GPU idle in launches"), ms("sync_ns", "in syncs"),
  ms("memory_ns", "in allocations"), ms("other_ns", "in other calls"),
  ms("host_ns", "outside CUDA"),
  { key = "graph_ns", title = "in replays of graphs ms", scale = 1e-6, digits = 2,
    optional = true },
  { key = "median_ns", title = "launch delay p50 µs", scale = 1e-3, digits = 1 },
  { key = "p90_ns", title = "p90 µs", scale = 1e-3, digits = 1 },
}

columns.categories = {
  word("stage", "stage"), word("category", "category"), count("calls", "kernels"),
  ms("gpu_time_ns", "GPU time"), bar("share", "share"),
}

columns.aggregates = {
  word("label", ""), ms("time_ns", "time"), profiled, ms("std_ns", "std"), count("count", "n"),
}
columns.aggregates[4].absent = ABSENT

columns.latency = {
  word("label", "latency"), { key = "mean", title = "mean", digits = 2 },
  { key = "std", title = "std", digits = 2 }, { key = "p50", title = "p50", digits = 2 },
  { key = "p90", title = "p90", digits = 2 }, { key = "p99", title = "p99", digits = 2 },
  { key = "max", title = "max", digits = 2 }, count("count", "n"), word("unit", "unit"), note,
}

columns.repeats = {
  count("rep", "repeat"), ms("ttft_ns", "TTFT"), ms("tpot_ns", "TPOT"),
  { key = "tokens_per_s", title = "tokens/s", digits = 2 }, note,
}

columns.findings = {
  count("rank", "#"), word("title", "finding"), word("stage", "stage"),
  ms("gain_ns", "gain"), word("between", "between ms"), ms("of_ns", "of"),
  bar("gain_share", "share"),
  word("spends", "taken from"), word("confidence", "confidence"), word("rule", "rule"),
  data "try", data "changes", data "no_gain", data "assumption",
  data "after", data "unlocks", data "evidence", data "kernels",
}

columns.gaps = {
  count("number", "#"), ms("ns", "long", 3), ms("start_ns", "at", 3),
  { key = "rank", title = "rank", type = "id", optional = true }, id("rep", "repeat"),
  word("stage", "stage"), id("step", "step"), id("layer", "layer"), word("cpu", "the CPU was in"),
  name("before", "after", 48), name("ended_by", "ended by", 48),
  { key = "line", title = "launched in", type = "text", max = 64, code = true, optional = true },
  { key = "module", title = "module", type = "text", max = 48, optional = true },
}

-- Columns that only ranges or only stacks tell.
local function of_some(column)
  column.optional = true
  return column
end

columns.modules = {
  word("stage", "stage"), name("label", "module", 60), of_some(count("calls", "calls")),
  ms("gpu_ns", "GPU time", 3), ms("gpu_self_ns", "itself", 3), bar("share", "share"),
  of_some(ms("idle_ns", "idle before", 3)), of_some(count("kernels", "kernels")),
  ms("host_ns", "CPU", 3), ms("host_self_ns", "CPU itself", 3), data "name",
}

columns.lines = {
  word("stage", "stage"), name("line", "line", 96), name("function", "function", 32),
  ms("gpu_ns", "GPU time", 3), bar("share", "share"), ms("idle_ns", "idle before", 3),
  count("kernels", "kernels"), ms("host_ns", "CPU", 3), name("module", "module", 72),
  lesser(name("launched", "launched", 72)),
}

columns.top_lines = pick(columns.lines, "stage", "line", "function", "gpu_ns", "share", "idle_ns",
  "kernels")

columns.marked_layers = {
  word("stage", "stage"), name("name", "layer", 60), of_some(count("calls", "calls")),
  ms("gpu_self_ns", "GPU time", 3), bar("share", "share"),
  of_some(ms("idle_ns", "idle before", 3)), of_some(count("kernels", "kernels")),
  ms("host_ns", "CPU", 3),
}

columns.marked_operators = {
  word("stage", "stage"), name("name", "operator", 60), count("calls", "calls"),
  ms("gpu_self_ns", "GPU time", 3), bar("share", "share"), ms("host_ns", "CPU", 3),
  ms("host_self_ns", "CPU itself", 3),
}

-- Samples of a stack or function, and their share of those of the stage.
local samples = { word("stage", "stage"),
  { key = "file", title = "file", type = "text", optional = true } }
local of_samples = { count("self", "in itself"), bar("self_share", "share"),
  count("total", "with what it called"), percent("total_share", "share") }

columns.cpu_samples = { samples[1], samples[2], name("name", "function", 72),
  word("module", "of"), table.unpack(of_samples) }

-- Of one stage.
columns.stage_functions = { name("name", "function", 72), word("module", "of"),
  table.unpack(of_samples) }

columns.cpu_stacks = { samples[1], samples[2], count("depth", "depth"),
  name("name", "function", 72), word("module", "of"), table.unpack(of_samples) }

columns.step_layers = {
  count("index", "layer"), count("kernels", "kernels"), ms("mean_ns", "time", 3),
  ms("std_ns", "spread", 3), count("count", "steps"),
  of_some(name("module", "module", 60)),
}

columns.silent = { word("rule", "rule"), word("stage", "stage"), word("why", "what it saw") }

columns.abstained = { word("rule", "rule"), word("why", "what is missing") }

columns.efficiency = {
  word("label", "stage"), ms("time_ns", "time"),
  { key = "flops", title = "model GFLOP", scale = 1e-9, digits = 1 },
  { key = "bytes", title = "must move GB", scale = 1e-9, digits = 3 },
  { key = "intensity", title = "FLOP/B", digits = 1 },
  { key = "mfu", title = "MFU %", scale = 100, digits = 3 },
  { key = "mbu", title = "MBU %", scale = 100, digits = 3 },
  { key = "hfu", title = "HFU %", scale = 100, digits = 3 },
  ms("floor_ns", "floor", 3), word("floor_bound", "floor by"),
  { key = "times_floor", title = "time / floor", digits = 1 },
}

columns.sampled = {
  word("label", "stage"), percent("gpu", "GPU active"), percent("sm", "SMs active"),
  percent("tensor", "tensor active"),
  { key = "dram_read_bytes", title = "read GB", scale = 1e-9, digits = 3 },
  { key = "dram_write_bytes", title = "written GB", scale = 1e-9, digits = 3 },
  { key = "mbu", title = "MBU sampled %", scale = 100, digits = 3 },
  { key = "hfu", title = "HFU sampled %", scale = 100, digits = 3 },
  { key = "bytes", title = "must move GB", scale = 1e-9, digits = 3 },
  { key = "times_bytes", title = "sampled / must move", digits = 2 },
  { key = "counted_bytes", title = "counted GB", scale = 1e-9, digits = 3 },
  percent("counted_share", "counted of time"), percent("covered", "sampled of time"),
}

columns.headroom = {
  name("label", "kernel", 72), word("where", "stage"),
  ms("per_instance_ns", "of the stage", 3),
  { key = "per_token_ns", title = "per token µs", scale = 1e-3, digits = 1 },
  bar("stage_share", "GPU time"), word("kind", "how sure"),
}

columns.top_operators = {
  name("name", "operator", 48), count("calls", "calls"), ms("host_total_ns", "host total", 3),
  ms("host_self_ns", "host self", 3), ms("device_total_ns", "device total", 3),
  ms("device_self_ns", "device self", 3), bar("share", "device share"),
}

columns.operators = table.move(columns.top_operators, 1, #columns.top_operators, 1, {})
table.insert(columns.operators, name("shapes", "most frequent input shapes", 60))

columns.timeline_operators = {
  word("stage", "stage"), name("name", "operator", 48), count("launches", "launches"),
  ms("gpu_time_ns", "GPU time", 3), bar("share", "of the stage's"),
  ms("outside_ns", "GPU idle before, outside CUDA", 3),
  { key = "line", title = "launched in", type = "text", max = 64, code = true, optional = true },
  { key = "function", title = "function", type = "text", max = 32, optional = true },
}

columns.summary_operators = pick(columns.timeline_operators, "name", "stage", "launches",
  "gpu_time_ns", "share")

columns.operator_stages = {
  word("stage", "stage"), name("name", "operator", 48), count("calls", "calls"),
  ms("host_self_ns", "host self", 3), bar("host_share", "of the stage's"),
  ms("device_self_ns", "device self", 3),
}

columns.operator_kernels = {
  name("operator", "operator", 48), name("label", "kernel", 64), count("calls", "calls"),
  ms("device_ns", "total", 3), percent("share", "of the operator"),
  { key = "name", title = "full name", type = "text", max = 64, code = true, lesser = true },
}

columns.transfers = {
  word("stage", "stage"), word("direction", "direction"), word("memory", "host memory"),
  count("calls", "calls"), { key = "bytes", title = "moved MB", scale = 1e-6, digits = 3 },
  ms("gpu_time_ns", "GPU time", 3), { key = "bytes_per_s", title = "GB/s", scale = 1e-9,
    digits = 1 },
}

columns.selection = {
  word("name", "stage"), count("selected", "kernels"), count("of", "of"),
  percent("coverage", "counters cover"),
}

columns.integrity = { word("name", "check"), word("level", ""), word("text", "seen"),
  word("fix", "capture again with") }

columns.overhead = {
  word("name", "stage"), { key = "plain_ms", title = "plain ms", digits = 2 },
  { key = "plain_min_ms", title = "least ms", digits = 2 },
  { key = "plain_max_ms", title = "most ms", digits = 2 },
  { key = "profiled_ms", title = "profiled ms", digits = 2 }, percent("inflation", "inflation"),
  word("verdict", "profiled is"),
}

columns.running_cost = {
  word("stage", "stage"), ms("time_ns", "time"), { key = "tokens", title = "tokens", digits = 1 },
  { key = "per_million_tokens", title = "cost of 1M tokens", digits = 2 },
  { key = "energy_j", title = "energy J", digits = 2, optional = true },
  { key = "energy_j_per_token", title = "J/token", digits = 3, optional = true },
  { key = "idle_share", title = "of it idle %", scale = 100, digits = 1, optional = true },
}

columns.missing = { word("what", "not measured"), word("why", "why"), word("how", "what would") }

columns.devices = {
  id("id", "device"), word("name", "GPU"), { key = "memory_bytes", title = "memory GB",
    scale = 1e-9, digits = 1 },
  { key = "bandwidth_bytes_per_s", title = "bandwidth TB/s", scale = 1e-12, digits = 2 },
  { key = "max_clock_hz", title = "maximal clock MHz", scale = 1e-6, digits = 0 },
  count("sm_count", "SMs"), word("compute_capability", "compute capability"),
}

-- ---- ranks ----

local function us(key, title)
  return { key = key, title = title .. " µs", scale = 1e-3, digits = 1 }
end

columns.ranks = {
  id("rank", "rank"), word("gpu", "GPU"), id("device", "device"), id("tp", "TP"),
  id("pp", "PP"), ms("gpu_time_ns", "kernels"), ms("collective_ns", "collectives"),
  ms("waiting_ns", "waiting"), ms("exposed_ns", "exposed"), ms("hidden_ns", "hidden"),
  count("last", "last to come"), ms("caused_ns", "others wait for it"), ms("expert_ns", "experts"),
}

-- What only several ranks or their collectives have: without any the column is left out.
local of_several = { tp = true, pp = true, collective_ns = true, waiting_ns = true,
  transfer_ns = true, exposed_ns = true, hidden_ns = true, last = true, caused_ns = true,
  expert_ns = true, spread_ns = true, cpu_ns = true }

local function mark_several(list)
  for _, column in ipairs(list) do column.optional = column.optional or of_several[column.key] end
end

mark_several(columns.ranks)

columns.pipeline = {
  id("stage", "PP"), id("dp", "DP"), word("who", "ranks"), ms("busy_ns", "works"),
  ms("bubble_ns", "bubbles"), percent("share", "bubbles"), ms("in_p2p_ns", "of them in receives"),
}
columns.pipeline[2].optional = true

columns.rank_stages = {
  word("phase", "stage"), word("who", "rank"), count("count", "steps"), ms("mean_ns", "mean", 3),
  ms("p50_ns", "p50", 3), ms("p90_ns", "p90", 3), ms("max_ns", "max", 3), ms("cpu_ns", "CPU", 3),
  ms("busy_ns", "busy", 3), ms("idle_ns", "idle before", 3), ms("exposed_ns", "exposed", 3),
  ms("hidden_ns", "hidden", 3), ms("waiting_ns", "waiting", 3), ms("transfer_ns", "transfer", 3),
  ms("spread_ns", "spread", 3),
}

columns.steps = {
  word("phase", "stage"), count("batch", "batch"), count("tokens", "tokens"),
  count("count", "steps"), ms("mean_ns", "mean", 3), ms("p50_ns", "p50", 3),
  ms("p90_ns", "p90", 3), ms("max_ns", "max", 3), ms("interval_ns", "interval", 3),
  ms("idle_ns", "idle before", 3), count("kernels", "kernels"), word("how", "launched"),
  ms("waiting_ns", "waiting", 3), ms("transfer_ns", "transfer", 3),
  { key = "tokens_per_s", title = "tokens/s", digits = 0 },
  { key = "mfu", title = "MFU %", scale = 100, digits = 1, optional = true },
  { key = "mbu", title = "MBU %", scale = 100, digits = 1, optional = true },
}

mark_several(columns.rank_stages)
mark_several(columns.steps)

columns.step_rows = {
  id("rank", "rank"), word("phase", "stage"), count("batch", "batch"), count("tokens", "tokens"),
  id("turn", "turn"), ms("begin_ns", "begin", 3), ms("length_ns", "length", 3),
  ms("interval_ns", "interval", 3), ms("idle_ns", "idle before", 3), ms("cpu_ns", "CPU", 3),
  ms("busy_ns", "busy", 3), count("kernels", "kernels"), count("graphed", "graphed"),
  ms("waiting_ns", "waiting", 3), ms("transfer_ns", "transfer", 3),
}

columns.collectives = {
  name("name", "kernel", 48), word("op", "operation"), word("library", "by"),
  count("count", "a rank"), count("matched", "matched"),
  ms("total_ns", "all ranks"), ms("waiting_ns", "waiting"),
  ms("transfer_ns", "transfer"), us("transfer_p50_ns", "transfer p50"),
  us("skew_p50_ns", "skew p50"),
  { key = "bytes", title = "message KB", scale = 1e-3, digits = 1, optional = true },
  { key = "algbw", title = "alg GB/s", scale = 1e-9, digits = 1, optional = true },
  { key = "busbw", title = "bus GB/s", scale = 1e-9, digits = 1, optional = true },
  { key = "link", title = "link", type = "text", optional = true },
  { key = "link_share", title = "link %", scale = 100, digits = 1, optional = true },
}

columns.late = {
  id("rank", "late rank"), word("phase", "stage"), id("layer", "layer"), count("count", "times"),
  ms("caused_ns", "others wait"), ms("late_ns", "late by"), ms("more_work_ns", "more computing"),
  ms("more_gap_ns", "more idle"), { key = "more_kernels", title = "more kernels", digits = 1 },
}

columns.layers = {
  word("phase", "stage"), id("layer", "layer"), count("collectives", "collectives"),
  ms("collective_ns", "all ranks"), ms("exposed_ns", "exposed"), ms("hidden_ns", "hidden"),
  ms("waiting_ns", "waiting"), ms("transfer_ns", "transfer"),
}

columns.rank_kernels = {
  name("name", "kernel", 48), count("calls", "calls"), ms("total_ns", "all ranks"),
  us("mean_ns", "mean"), us("median_ns", "p50"), id("slowest_rank", "slowest rank"),
  us("slowest_ns", "mean there"), us("fastest_ns", "fastest rank"),
}

columns.rank_files = {
  word("file", "file"), count("ranks", "ranks"), word("clock", "clock by"),
  ms("offset_ns", "offset", 6), { key = "drift", title = "drift ppm", scale = 1e6, digits = 2 },
  count("pairs", "pairs"), us("apart_ns", "apart"), us("residual_ns", "residual"),
}

columns.requests = {
  word("label", "clients saw"), count("count", "n"), ms("mean_ns", "mean"), ms("p50_ns", "p50"),
  ms("p90_ns", "p90"), ms("p99_ns", "p99"), ms("max_ns", "max"),
}

columns.load = {
  word("label", "load"), count("requests", "requests"), count("completed", "answered"),
  count("failed", "failed"), { key = "held_per_s", title = "sent/s", digits = 2 },
  { key = "completed_per_s", title = "answered/s", digits = 2 },
  { key = "tokens_per_s", title = "tokens/s", digits = 1 },
  { key = "prompt_tokens_per_s", title = "prompt tokens/s", digits = 1 },
  percent("good_share", "good"), { key = "good_per_s", title = "good/s", digits = 2 },
}

columns.load_times = columns.requests

columns.engine_metrics = {
  word("label", "the engine says"), { key = "mean", title = "mean", digits = 2 },
  { key = "min", title = "least", digits = 2 }, { key = "max", title = "most", digits = 2 },
}

columns.first_token = {
  word("label", "part of TTFT"), ms("ns", "mean"), bar("share", "share"),
  count("count", "requests"), word("source", "as told by"), data "part",
}

columns.kv_cache = {
  id("number", "sample"),
  { key = "at_ns", title = "at s", scale = 1e-9, digits = 1, optional = true },
  bar("use", "in use"), { key = "bytes", title = "in use GB", scale = 1e-9, digits = 2,
    optional = true },
  { key = "running", title = "running", digits = 0 },
  { key = "waiting", title = "waiting", digits = 0 },
}

columns.idle_threads = {
  word("phase", "stage"), id("rank", "rank"), ms("idle_ns", "idle"), id("tid", "thread"),
  word("thread", "its name"), ms("calls_ns", "in CUDA calls"), word("call", "mostly in"),
  ms("waiting_ns", "waiting for the GPU"), ms("ranges_ns", "in ranges"),
  word("range", "the longest"),
}

columns.request_rows = {
  ms("sent_ns", "sent"), ms("ttft_ns", "TTFT"), ms("tpot_ns", "TPOT"), ms("length_ns", "answered"),
  count("tokens", "tokens"), id("first_step", "first step"), count("steps", "steps"),
  id("prefill_step", "prefill step"), ms("stall_ns", "stalls"),
}

columns.kv_transfers = {
  ms("start_ns", "prefilled at"), ms("end_ns", "taken up at"), ms("length_ns", "KV transfer", 3),
}

columns.engine_looks = {
  ms("at_ns", "sampled at"), { key = "running", title = "running", digits = 0 },
  { key = "waiting", title = "waiting", digits = 0 },
  { key = "kv_percent", title = "KV cache %", digits = 1 },
  { key = "preemptions", title = "preemptions", digits = 0 }, count("steps", "steps since"),
  { key = "batch", title = "mean batch", digits = 1 }, ms("step_ns", "mean step"),
}

columns.left_out = { word("text", "left out") }

-- ---- llmprof compare ----

-- Values in the row's own unit.
local function value(key, title) return { key = key, title = title, digits = 2 } end

columns.compare_sides = {
  word("role", ""), word("name", "run"), word("kind", "kind"), word("model", "model"),
  word("gpu", "GPU"), word("recipe", "recipe"), count("runs", "runs"),
  count("repeats", "repeats"), count("plain_runs", "plain runs"),
}

columns.compare_differences = {
  word("group", "of"), word("name", "differs"), word("before", "before"), word("after", "after"),
}

columns.compare_times = {
  word("label", "time of"), value("before", "before"), value("after", "after"),
  word("unit", "unit"), value("difference", "change"), percent("share", "change"),
  lesser(percent("low", "from")), lesser(percent("high", "to")), word("verdict", "verdict"),
  lesser(percent("of_change", "of the change")), lesser(word("basis", "times")),
  lesser(word("why", "because")),
}

columns.compare_work = {
  word("label", "stage"), count("kernels_before", "kernels before"),
  count("kernels_after", "after"), lesser(count("launches_before", "launches before")),
  lesser(count("launches_after", "after")), lesser(count("copies_before", "copies before")),
  lesser(count("copies_after", "after")), ms("gpu_busy_ns_before", "GPU busy before"),
  ms("gpu_busy_ns_after", "after"), percent("busy_share", "change"),
  word("busy_verdict", "busy is"), ms("gpu_idle_ns_before", "GPU idle before"),
  ms("gpu_idle_ns_after", "after"),
}

columns.compare_where = {
  word("stage", "stage"), word("what", "GPU time or idle time"), ms("before_ns", "before"),
  ms("after_ns", "after"), ms("difference_ns", "change"), percent("share", "of the change"),
}

columns.compare_lines = {
  name("line", "line", 72), name("function", "function", 32), word("stage", "stage"),
  ms("before_ns", "before", 3), ms("after_ns", "after", 3), ms("difference_ns", "change", 3),
  ms("idle_ns", "change of idle before", 3), lesser(percent("share", "of the change")),
  lesser(name("module", "module", 72)), lesser(name("was", "was", 48)),
}

columns.compare_modules = {
  name("name", "module", 72), word("stage", "stage"), ms("before_ns", "before", 3),
  ms("after_ns", "after", 3), ms("difference_ns", "change", 3), percent("share", "of the change"),
}

columns.compare_kernels = {
  name("label", "kernel", 72), word("where", "stage"), word("status", ""),
  lesser(count("calls_before", "calls before")), lesser(count("calls_after", "after")),
  ms("before_ns", "before", 3), ms("after_ns", "after", 3), ms("difference_ns", "change", 3),
  lesser(percent("share", "of the change")), word("verdict", "verdict"),
  lesser(word("category", "category")),
  name("was", "was", 48),
}

columns.compare_limits = {
  word("limit", "limit"), value("before", "before"), value("after", "after"),
  word("unit", "unit"), percent("share", "change"), lesser(percent("low", "from")),
  lesser(percent("high", "to")), word("verdict", "verdict"), word("outcome", "limit is"),
  lesser(word("basis", "times")), lesser(word("why", "because")),
}

columns.baselines = {
  word("name", "baseline"), word("run", "run"), word("recipe", "recipe"),
  word("saved", "saved (UTC)"), word("state", ""), count("runs", "runs"),
}

-- ---- llmprof sweep ----

columns.sweep_runs = {
  word("label", "settings"), word("status", "status"), value("ttft", "TTFT ms"),
  value("tpot", "TPOT ms"), value("tokens_per_s", "tokens/s"),
  { key = "cost", title = "cost of 1M tokens", digits = 2, optional = true },
  { key = "energy", title = "J/token", digits = 3, optional = true },
  { key = "mfu", title = "MFU %", scale = 100, digits = 3 }, word("basis", "times"),
  word("run", "run"), word("message", "because"),
}

columns.sweep_loads = {
  word("label", "settings"), { key = "offered_per_s", title = "sent/s", digits = 2 },
  { key = "completed_per_s", title = "answered/s", digits = 2 },
  { key = "tokens_per_s", title = "tokens/s", digits = 1 }, ms("ttft_p50_ns", "TTFT p50"),
  ms("ttft_p99_ns", "TTFT p99"), ms("tpot_p50_ns", "TPOT p50"), ms("tpot_p99_ns", "TPOT p99"),
  { key = "good_per_s", title = "good/s", digits = 2 }, percent("kv_max", "KV cache"),
  count("failed", "failed"), word("mark", ""),
}

columns.sweep_stages = {
  word("label", "settings"), word("stage", "stage"), value("ms", "mean ms"),
  ms("gpu_busy_ns", "GPU busy"), percent("idle_share", "idle"), count("kernels", "kernels"),
  count("launches", "launches"), { key = "mfu", title = "MFU %", scale = 100, digits = 3 },
  word("basis", "times"),
}

return columns
