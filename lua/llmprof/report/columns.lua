-- Every table that a report shows, declared once: used for Markdown, HTML, CSV,
-- JSON and the terminal alike. Rows are made in llmprof.report.rows.
--
-- A column has its key, its title and what it means, but where another of this key and title says
-- so (llmprof.report.sections); and more that llmprof.tables knows.
local keys = require "llmprof.tables.keys"
local lists = require "llmprof.tables.lists"

local columns = {}


-- What declares columns of a kind, by key and title, what they mean and more fields. fields: that
-- all of it have; unit: behind the title; third: the field that comes after the title.
local function kind(fields, unit, third)
  return function(key, title, ...)
    local made = keys.merged(fields, { key = key, title = title .. (unit or "") })
    for i, given in ipairs { ... } do
      if type(given) == "table" then
        made = keys.merged(made, given)
      else
        made[i == 1 and third or "meaning"] = given
      end
    end
    return made
  end
end


local number, count = kind({}, nil, "digits"), kind { digits = 0 }
local ms, us = kind({ scale = 1e-6 }, " ms", "digits"), kind({ scale = 1e-3, digits = 1 }, " µs")
local percent = kind({ scale = 100, digits = 1 }, " %")
local bar = kind({ scale = 100, digits = 1, bar = true }, " %") -- that a page also draws
local id, word = kind { type = "id" }, kind { type = "text" }
local name = kind({ type = "text", code = true }, nil, "max")

-- For programs only.
local function data(key) return { key = key, title = key, type = "text", data = true } end


-- Columns of a table, by their keys, in another order.
local function pick(declared, ...)
  local by_key, picked = {}, {}
  for _, one in ipairs(declared) do by_key[one.key] = one end
  for i, key in ipairs { ... } do picked[i] = assert(by_key[key]) end
  return picked
end


columns.kernels = {
  id("id", "#", "number of the kernel in the bundle"),
  name("label", "kernel", 72, "what it does, its types or tile; one for each full name"),
  word("where", "stage", "that launched it, and the part of it"),
  word("category", "category"),
  count("calls", "calls", "launches"),
  ms("total_ns", "total", 3, "sum of their durations"),
  ms("mean_ns", "mean", 4, "mean of them"),
  bar("share", "of kernels", "of the time of all kernels, without copies and whole graphs"),
  word("counted", "counters", "of `own` launches, those `of` another stage, `other shapes`"),
  word("bound", "bound", "the busiest unit, from 60 % of its peak on; below that `latency`, "
    .. "where every unit is known; `unknown` with what was not measured; `waiting` for other "
    .. "ranks. `some SM unit` and `L2 or L1` are sums over units"),
  count("bound_percent", "at %", "how busy that unit is; with `latency`, the busiest one"),
  word("second", "second", "the next busiest unit, and its percent", { optional = true }),
  word("stalls", "warps wait for", "the two largest reasons, of the cycles of all warps; with "
    .. "`counters.set=full`, or ncu's WarpStateStats", { optional = true }),
  number("sm_percent", "SM %", 1, "compute throughput, of the peak"),
  number("dram_percent", "DRAM %", 1, "memory throughput of DRAM, of the peak"),
  number("occupancy_percent", "occupancy %", 1, "warps that an SM held, of those it could"),
  count("theoretical_percent", "theoretical %", "warps that the blocks of its main shape fill at "
    .. "most, by registers, shared memory, threads and the chip; no counter", { optional = true }),
  word("limiter", "limited by", "what keeps more of its warps from an SM; with less than one wave "
    .. "the grid's size", { optional = true }),
  number("waves", "waves", 2, "its grid over the blocks that SMs hold", { optional = true }),
  number("tail_share", "tail %", 0, "places for blocks that stay empty in the last wave, of all: "
    .. "the most that whole waves would save", { scale = 100, optional = true }),
  number("intensity", "AI FLOP/B", 2, "FLOP of all precisions by bytes moved to and from DRAM"),
  count("padding", "tiles x", "FLOP and AI of full tiles by what tokens need", { optional = true }),
  name("line", "line", 64, "that launched most of its time", { optional = true }),
  name("name", "full name", 64, "demangled; the whole in a footnote", { lesser = true }),
}

local of_stage = table.move(columns.kernels, 1, #columns.kernels, 5, {
  word("device_name", "device", "GPU, and its number"),
  word("part", "part", "the part of the stage that launched it"),
  percent("stage_share", "of the stage's", "of the time of the stage's kernels"),
  percent("stage_cumulative", "cumulative", "that, with the stage's larger ones"),
})

-- Of all stages together.
columns.largest_kernels = pick(of_stage, "label", "device_name", "total_ns", "calls",
  "mean_ns", "share", "name")

-- Of one stage, with counters and in short.
columns.counted_kernels = pick(of_stage, "id", "label", "device_name", "part", "total_ns", "calls",
  "mean_ns", "stage_share", "stage_cumulative", "counted", "bound", "bound_percent", "second",
  "stalls", "sm_percent", "dram_percent", "occupancy_percent", "theoretical_percent", "limiter",
  "waves", "tail_share", "intensity", "padding", "line", "name")
columns.stage_kernels = pick(of_stage, "label", "part", "calls", "total_ns", "mean_ns",
  "stage_share", "stage_cumulative", "counted", "bound", "bound_percent", "padding", "line", "name")

columns.roofline = lists.joined(
  pick(columns.kernels, "id", "label", "where", "mean_ns", "share", "counted", "bound",
    "bound_percent", "sm_percent", "dram_percent", "intensity"),
  { number("l2_intensity", "AI L2 FLOP/B", 2, "the same by bytes moved through L2") },
  pick(columns.kernels, "padding", "name"))

-- Of the summary and the terminal, in short.
columns.top_kernels = {
  name("label", "kernel", 72), word("where", "stage"), count("calls", "calls"),
  ms("total_ns", "total", 2), percent("share", "of kernels"), word("bound", "bound"),
}

columns.ranges = {
  word("range", "range", "NVTX range, innermost, or `CUDA graph N`"),
  word("stage", "stage"),
  count("occurrence", "occurrence", "which of those measured of the range, from 1"),
  ms("duration_ns", "measured", 3, "from its begin to its end, while it was measured"),
  number("dram_bytes", "DRAM MB", 3, "read and written", { scale = 1e-6 }),
  number("fp64", "FP64 GFLOP", 3, "of the vector units", { scale = 1e-9 }),
  number("fp32", "FP32 GFLOP", 3, "of the vector units", { scale = 1e-9 }),
  number("fp16", "FP16 GFLOP", 3, "of the vector units, an upper bound", { scale = 1e-9 }),
  number("tensor", "tensor GFLOP", 3, "of tensor cores, padding included", { scale = 1e-9 }),
  number("sm_percent", "SM %", 1), number("dram_percent", "DRAM %", 1),
  number("intensity", "AI FLOP/B", 2),
  number("tensor_percent", "tensor %", 1, "of its time in which tensor pipes were active"),
}

columns.stages = {
  word("label", "stage", "NVTX range of the recipe; `·` marks a part of the stage above"),
  count("count", "count", "ranges that were used"),
  ms("time_ns", "time", 2, "mean time, from when the GPU could begin to its last operation or the "
    .. "end of the range; without the profiler where plain runs were timed"),
  ms("profiled_ns", "profiled", 2, "the same under the profiler", { optional = true }),
  ms("cpu_ns", "CPU", 2, "length of the ranges, where it differs by 5 %", { optional = true }),
  ms("std_ns", "std", 2, "of the profiled ranges: sample standard deviation", { lesser = true }),
  ms("min_ns", "min", 2, "the shortest", { lesser = true }),
  ms("max_ns", "max", 2, "the longest", { lesser = true }),
  ms("gpu_busy_ns", "GPU busy", 2, "an operation that the stage launched ran, mean of its ranges"),
  ms("gpu_idle_ns", "GPU idle", 2, "part of the time in which nothing at all ran on the GPUs; of a "
    .. "time without the profiler, what it is longer than GPU busy", { lesser = true }),
  bar("idle_share", "idle", "that, of the time"),
  count("launches", "launches", "API calls that launched something, mean", { lesser = true }),
  count("kernels_per_token", "kernels/token", "of the workload's tokens", { lesser = true }),
  percent("share", "GPU time", "share of the GPU time of all stages", { lesser = true }),
  word("bound", "bound by", "what takes half of the time or more: `launch`, `CPU`: the GPU is "
    .. "idle; `ranks`: so with the time in which collectives wait; `GPU`; `both`: GPU and CPU in "
    .. "similar parts ([metrics](metrics.md))"),
  data "parent",
}

columns.summary_stages = pick(columns.stages, "label", "count", "time_ns", "gpu_busy_ns",
  "idle_share", "bound")
table.insert(columns.summary_stages, 4, word("bar", "all of them", "of the time of all stages "
  .. "without a parent, as a bar"))

-- Of the first screen what no stage has is left out.
columns.digest_stages = {
  word("label", "stage"), ms("time_ns", "time", 2, "a mean, without the profiler if timed"),
  ms("gpu_busy_ns", "GPU busy", 2, "something ran", { optional = true }),
  percent("idle_share", "idle", "of the time", { optional = true }),
  number("mfu", "MFU %", 3, "as of efficiency", { optional = true, scale = 100 }),
  number("mbu", "MBU %", 3, "likewise", { optional = true, scale = 100 }),
  word("bound", "bound", { optional = true }),
}

columns.cpu = {
  word("label", "stage"),
  count("launch_calls", "launch calls", "API calls that launch, mean of the ranges"),
  ms("launch_call_ns", "in them", 2, "time in those calls"),
  count("sync_calls", "sync calls", "API calls that wait for the GPU"),
  ms("sync_call_ns", "in them", 2, "time in those calls"),
  ms("launch_ns", "GPU idle in launches", 2, "idle time while the CPU was in launching calls"),
  ms("sync_ns", "in syncs", 2, "in waiting calls"),
  ms("memory_ns", "in allocations", 2, "in calls that allocate or free"),
  ms("other_ns", "in other calls", 2, "in other CUDA calls"),
  ms("host_ns", "outside CUDA", 2, "in none: the program itself"),
  ms("graph_ns", "in replays of graphs", 2, "of CUDA graphs, or before them", { optional = true }),
  us("median_ns", "launch delay p50", "from the end of the call to the kernel, median"),
  us("p90_ns", "p90", "the same, nine of ten are below"),
}

columns.categories = {
  word("stage", "stage"),
  word("category", "category", "kind of kernel, by its name: `conf/categories.yaml`"),
  count("calls", "kernels"),
  ms("gpu_time_ns", "GPU time", 2, "of the kernels of that kind"),
  bar("share", "share"),
}

columns.latency = {
  word("label", "latency", "which: TTFT, TPOT or throughput"),
  number("mean", "mean", 2, "of the repeats that are used, or of the steps where they are marked"),
  number("std", "std", 2, "sample standard deviation"),
  number("p50", "p50", 2, "median"),
  number("p90", "p90", 2, "nine of ten are below; of 10 values or more"),
  number("p99", "p99", 2, "99 of 100 are below; of 100 values or more"),
  number("max", "max", 2, "the largest"),
  count("count", "n"),
  word("unit", "unit", "ms, or tokens/s"),
  word("note", "", { optional = true }),
}

columns.repeats = {
  count("rep", "repeat", "number of the repeat"),
  ms("ttft_ns", "TTFT", 2, "time to the first token: prefill"),
  ms("tpot_ns", "TPOT", 2, "time from one token to the next: decode"),
  number("tokens_per_s", "tokens/s", 2, "tokens of all samples side by side"),
  word("note", "", { optional = true }),
}

columns.findings = {
  count("rank", "#"),
  word("title", "finding", "what is wrong"),
  word("stage", "stage"),
  ms("gain_ns", "gain", 2, "what a replay with the change gives back of one range of the stage"),
  word("between", "between ms", "its interval; or it is known what it is at most"),
  ms("of_ns", "of", 2, "the time it is part of"),
  bar("gain_share", "share"),
  word("spends", "taken from", "`waiting`, or `GPU work`"),
  word("confidence", "confidence", "that the finding is right"),
  word("rule", "rule", "the rule that found it, or could not look"),
  data "try", data "changes", data "no_gain", data "assumption", data "after", data "unlocks",
  data "evidence", data "kernels",
}

columns.gaps = {
  count("number", "#"),
  ms("ns", "long", 3, "how long"),
  ms("start_ns", "at", 3, "when it began, since the trace did"),
  id("rank", "rank", "whose GPU, where there are several", { optional = true }),
  id("rep", "repeat"), word("stage", "stage"),
  id("step", "step", "of that stage, from 0, as the timeline's lanes have it (`turn` of `steps`)"),
  id("layer", "layer"),
  word("cpu", "the CPU was in", "the call that took most of it, where one took half; else what "
    .. "kind of call, or none, and its part, with the function that launched what ended it or, "
    .. "without stacks of launches, the one that most samples of the CPU in it were in"),
  name("before", "after", 48, "what ended when it began"),
  name("ended_by", "ended by", 48, "what began when it ended; stage, step and layer are its own"),
  name("line", "launched in", 64, "line that launched it", { optional = true }),
  word("module", "module", "torch module of that line", { max = 48, optional = true }),
}

columns.modules = {
  word("stage", "stage"),
  name("label", "module", 60, "numbers as `*`; of stacks below the module above, with a `·`"),
  count("calls", "calls", { optional = true }),
  ms("gpu_ns", "GPU time", 3, "of what was launched in it, with the modules in it"),
  ms("gpu_self_ns", "itself", 3, "of what no module in it launched"),
  bar("share", "share"),
  ms("idle_ns", "idle before", 3, "of stacks: the GPU had nothing to do", { optional = true }),
  count("kernels", "kernels", "of stacks: operations", { optional = true }),
  ms("host_ns", "CPU", 3, "length of its ranges; of stacks as of lines"),
  ms("host_self_ns", "CPU itself", 3, "without ranges inside, of any name"),
  data "name",
}

columns.lines = {
  word("stage", "stage"),
  name("line", "line", 96, "file and line; `torch.compile/` is a file that it generated"),
  name("function", "function", 32, "that the line is in"),
  ms("gpu_ns", "GPU time", 3, "of what it launched, in CUDA graphs what it put into them"),
  bar("share", "share", "of the stage's GPU time"),
  ms("idle_ns", "idle before", 3, "the GPU had nothing to do before these operations"),
  count("kernels", "kernels", "operations"),
  ms("host_ns", "CPU", 3, "from the return of the call before each launch to its own"),
  name("module", "module", 72, "torch module of most of it, numbers as `*`"),
  name("launched", "launched", 72, "what took most of it", { lesser = true }),
}

-- In short, for reports.
columns.top_lines = pick(columns.lines, "stage", "line", "function", "gpu_ns", "share", "idle_ns",
  "kernels")

columns.marked_layers = {
  word("stage", "stage"),
  name("name", "layer", 60, "the path of one, its number too"),
  count("calls", "calls", { optional = true }), ms("gpu_self_ns", "GPU time", 3),
  bar("share", "share"),
  ms("idle_ns", "idle before", 3, "the GPU had nothing to do before", { optional = true }),
  count("kernels", "kernels", { optional = true }), ms("host_ns", "CPU", 3, "as of modules"),
}

columns.marked_operators = {
  word("stage", "stage"),
  name("name", "operator", 60, "of the framework"),
  count("calls", "calls"), ms("gpu_self_ns", "GPU time", 3), bar("share", "share"),
  ms("host_ns", "CPU", 3, "length of its ranges"), ms("host_self_ns", "CPU itself", 3),
}

columns.cpu_samples = {
  word("stage", "stage"),
  word("file", "file", "that the stacks are from, if not the timeline", { optional = true }),
  name("name", "function", 72, "what has no name is its library in brackets"),
  word("module", "of", "its library or script"),
  count("self", "in itself", "samples with it innermost"),
  bar("self_share", "share", "of the samples of the stage"),
  count("total", "with what it called", "samples with it on the stack"),
  percent("total_share", "share"),
}

-- Of one stage.
columns.stage_functions = pick(columns.cpu_samples, "name", "module", "self", "self_share", "total",
  "total_share")

columns.step_layers = {
  count("index", "layer", "from 0; the last one, or the first one, has no row"),
  count("kernels", "kernels", "from its kernel to that of the next"),
  ms("mean_ns", "time", 3, "mean over the steps"),
  ms("std_ns", "spread", 3, "standard deviation over the steps"),
  count("count", "steps", "how many steps"),
  name("module", "module", 60, "where stacks name it", { optional = true }),
}

columns.silent = {
  word("rule", "rule"), word("stage", "stage"),
  word("why", "what it saw", "why it found nothing"),
}

columns.abstained = {
  word("rule", "rule"),
  word("why", "what is missing", "why it could not look"),
}

columns.efficiency = {
  word("label", "stage"),
  ms("time_ns", "time", 2, "of a range of the stage, without the profiler where timed"),
  number("flops", "model GFLOP", 1, "of matmuls, convolutions and attention", { scale = 1e-9 }),
  number("bytes", "must move GB", 3, "weights once a pass, and the KV cache", { scale = 1e-9 }),
  number("intensity", "FLOP/B", 1, "the two, divided"),
  number("mfu", "MFU %", 3, "model FLOP by time by the GPU's peak", { scale = 100 }),
  number("mbu", "MBU %", 3, "bytes by time by the GPU's memory bandwidth", { scale = 100 }),
  number("hfu", "HFU %", 3, "FLOP that ncu counted, by time by the peak", { scale = 100 }),
  ms("floor_ns", "floor", 3, "the longer of FLOP by peak and bytes by bandwidth"),
  word("floor_bound", "floor by", "which of the two: `compute` or `memory`"),
  number("times_floor", "time / floor", 1, "how many times longer than that it took"),
}

columns.sampled = {
  word("label", "stage"),
  percent("gpu", "GPU active", "of the stage's time in which the GPU's front end was active"),
  percent("sm", "SMs active", "mean share of the SMs that had a warp"),
  percent("tensor", "tensor active", "mean share of the tensor pipes that worked"),
  number("dram_read_bytes", "read GB", 3, "read from memory in one instance", { scale = 1e-9 }),
  number("dram_write_bytes", "written GB", 3, "written, likewise", { scale = 1e-9 }),
  number("mbu", "MBU sampled %", 3, "both by time by the GPU's memory bandwidth", { scale = 100 }),
  number("hfu", "HFU sampled %", 3, "time of the tensor pipes, as HFU %", { scale = 100 }),
  number("bytes", "must move GB", 3, "as above", { scale = 1e-9 }),
  number("times_bytes", "sampled / must move", 2, "moved, as a multiple of what must be"),
  number("counted_bytes", "counted GB", 3, "moved by counters, of kernels", { scale = 1e-9 }),
  percent("counted_share", "counted of time", "of the time of the stage's kernels that these are"),
  percent("covered", "sampled of time", "of the stage's time that samples cover"),
}

columns.headroom = {
  name("label", "kernel", 72), word("where", "stage"),
  ms("per_instance_ns", "of the stage", 3, "a kernel's time above its floor, in one range"),
  us("per_token_ns", "per token", "the same, for each token"),
  bar("stage_share", "GPU time"),
  word("kind", "how sure", "`measured`, or an upper bound where counters are missing"),
}

columns.operators = {
  name("name", "operator", 48, "its name"),
  count("calls", "calls", "how often, in that pass"),
  ms("host_total_ns", "host total", 3, "with what it called, of its own name once"),
  ms("host_self_ns", "host self", 3, "without"),
  ms("device_total_ns", "device total", 3, "GPU time of what was launched in it"),
  ms("device_self_ns", "device self", 3, "of what it launched by itself"),
  bar("share", "device share", "device self, of all GPU time of that pass"),
  name("shapes", "most frequent input shapes", 60, "a list per argument, empty for no tensor"),
}

columns.timeline_operators = {
  word("stage", "stage"),
  name("name", "operator", 48, "what launched it in the operators pass"),
  count("launches", "launches", "how many joined"),
  ms("gpu_time_ns", "GPU time", 3, "theirs, on the timeline"),
  bar("share", "of the stage's", "of the GPU time of all launches of the stage"),
  ms("outside_ns", "GPU idle before, outside CUDA", 3, "the CPU was in the framework"),
  name("line", "launched in", 64, "line that launched most of it", { optional = true }),
  word("function", "function", "that the line is in", { max = 32, optional = true }),
}

columns.summary_operators = pick(columns.timeline_operators, "name", "stage", "launches",
  "gpu_time_ns", "share")

columns.operator_stages = {
  word("stage", "stage"), name("name", "operator", 48, "that launched it"), count("calls", "calls"),
  ms("host_self_ns", "host self", 3, "without the operators that it called"),
  bar("host_share", "of the stage's", "of that of all operators in the stage"),
  ms("device_self_ns", "device self", 3, "GPU time of what it launched itself"),
}

columns.operator_kernels = {
  name("operator", "operator", 48, "that launched it"),
  name("label", "kernel", 64, "its name"),
  count("calls", "calls"),
  ms("device_ns", "total", 3, "its GPU time"),
  percent("share", "of the operator", "of what the operator launched itself"),
  name("name", "full name", 64, { lesser = true }),
}

columns.transfers = {
  word("stage", "stage"),
  word("direction", "direction", "from where to where"),
  word("memory", "host memory", "`pageable` or `pinned`; empty where no host memory is part of it"),
  count("calls", "calls"),
  number("bytes", "moved MB", 3, "sum over the copies", { scale = 1e-6 }),
  ms("gpu_time_ns", "GPU time", 3),
  number("bytes_per_s", "GB/s", 1, "that, by their GPU time", { scale = 1e-9 }),
}

columns.integrity = {
  word("name", "check", "what was looked at: lost records, open ranges, coverage, clocks"),
  word("level", ""),
  word("text", "seen", "what was found"),
  word("fix", "capture again with", "what would mend it"),
}

columns.overhead = {
  word("name", "stage"),
  number("plain_ms", "plain ms", 2, "the stage without a profiler"),
  number("plain_min_ms", "least ms", 2, "the fastest plain run"),
  number("plain_max_ms", "most ms", 2, "the slowest plain run"),
  number("profiled_ms", "profiled ms", 2, "the stage with nsys"),
  percent("inflation", "inflation", "what profiling adds"),
  word("verdict", "profiled is", "slower, faster, or can't tell"),
}

columns.running_cost = {
  word("stage", "stage"),
  ms("time_ns", "time", 2, "without the profiler where that was timed"),
  number("tokens", "tokens", 1, "that prefill takes and decode makes, of all sequences"),
  number("per_million_tokens", "cost of 1M tokens", 2, "of all GPUs that ran it, for its tokens"),
  word("currency", "currency", "what the cost is in: `price.currency`", { optional = true }),
  number("energy_j", "energy J", 2, "under the profiler", { optional = true }),
  number("energy_j_per_token", "J/token", 3, "that, by its tokens", { optional = true }),
  percent("idle_share", "of it idle", "drawn while no kernel runs", { optional = true }),
}

columns.missing = {
  word("what", "not measured", "what is missing"),
  word("why", "why", "the reason"),
  word("how", "what would", "what would fill it"),
}

columns.devices = {
  id("id", "device"),
  word("name", "GPU", "its name"),
  number("memory_bytes", "memory GB", 1, "memory of the device", { scale = 1e-9 }),
  number("bandwidth_bytes_per_s", "bandwidth TB/s", 2, "peak of its memory", { scale = 1e-12 }),
  number("max_clock_hz", "maximal clock MHz", 0, "of the SMs", { scale = 1e-6 }),
  count("sm_count", "SMs", "how many"),
  word("compute_capability", "compute capability", "of the device"),
}

-- ---- ranks ----

-- What only several ranks or their collectives have is left out without any.
columns.ranks = {
  id("rank", "rank", "place among all ranks; `all`: the mean over them"),
  word("gpu", "GPU", "its name"),
  id("device", "device", "its CUDA number in the rank's process"),
  id("tp", "TP", "place in tensor parallel", { optional = true }),
  id("pp", "PP", "stage of the pipeline; place in pipeline parallel", { optional = true }),
  ms("gpu_time_ns", "kernels", 2, "sum of all kernels"),
  ms("collective_ns", "collectives", 2, "sum of the kernels of collectives", { optional = true }),
  ms("waiting_ns", "waiting", 2, "in them, until the last rank arrived", { optional = true }),
  ms("exposed_ns", "exposed", 2, "in them, while the rank did not compute", { optional = true }),
  ms("hidden_ns", "hidden", 2, "in them, while it did", { optional = true }),
  count("last", "last to come", "how often it arrived last", { optional = true }),
  ms("caused_ns", "others wait for it", 2, "the waiting of the others then", { optional = true }),
  ms("expert_ns", "experts", 2, "kernels of experts", { optional = true }),
}

columns.pipeline = {
  id("stage", "PP", "stage of the pipeline"),
  id("dp", "DP", "place in data parallel", { optional = true }),
  word("who", "ranks", "of the stage"),
  ms("busy_ns", "works", 2, "the GPU ran more than sends and receives, mean over ranks"),
  ms("bubble_ns", "bubbles", 2, "it did not, and another stage did"),
  percent("share", "bubbles", "the same of the time in which any stage did"),
  ms("in_p2p_ns", "of them in receives", 2, "a send or a receive was under way"),
}

columns.rank_stages = {
  word("phase", "stage", "phase of the step"),
  word("who", "rank", "place among all ranks, or that all are meant"),
  count("count", "steps", "how many; over ranks those of the rank with the most"),
  ms("mean_ns", "mean", 3, "length of a step; p50, p90 and max, too"),
  ms("p50_ns", "p50", 3, "median"),
  ms("p90_ns", "p90", 3, "nine of ten are below"),
  ms("max_ns", "max", 3, "the longest"),
  ms("cpu_ns", "CPU", 3, "its range less calls that wait for the GPU", { optional = true }),
  ms("busy_ns", "busy", 3, "any operation of the step ran"),
  ms("idle_ns", "idle before", 3, "nothing ran on the GPU before its first operation"),
  ms("exposed_ns", "exposed", 3, { optional = true }),
  ms("hidden_ns", "hidden", 3, { optional = true }),
  ms("waiting_ns", "waiting", 3, { optional = true }),
  ms("transfer_ns", "transfer", 3, "after the last rank had arrived", { optional = true }),
  ms("spread_ns", "spread", 3, "the slowest rank over the fastest", { optional = true }),
}

columns.steps = {
  word("phase", "stage"),
  count("batch", "batch", "requests in the step"),
  count("tokens", "tokens", "tokens that it worked on"),
  count("count", "steps", "how many of that kind"), ms("mean_ns", "mean", 3),
  ms("p50_ns", "p50", 3), ms("p90_ns", "p90", 3),
  ms("max_ns", "max", 3),
  ms("interval_ns", "interval", 3, "from the end of a step to that of the next"),
  ms("idle_ns", "idle before", 3, "nothing ran on the GPU before its first operation"),
  count("kernels", "kernels", "in a step"),
  word("how", "launched", "by CUDA graphs (`graph`), one by one (`eager`), or both"),
  ms("waiting_ns", "waiting", 3, { optional = true }),
  ms("transfer_ns", "transfer", 3, { optional = true }),
  count("tokens_per_s", "tokens/s", "of a decode step's requests"),
  percent("mfu", "MFU", "of all its GPUs", { optional = true }),
  percent("mbu", "MBU", "of all its GPUs", { optional = true }),
}

columns.step_rows = {
  id("rank", "rank", "that made it"), word("phase", "stage"), count("batch", "batch"),
  count("tokens", "tokens", "in it"),
  id("turn", "turn", "number of the step since the last one of another stage"),
  ms("begin_ns", "begin", 3, "when the GPU could begin it, since the first session began"),
  ms("length_ns", "length", 3, "of the step"),
  ms("interval_ns", "interval", 3), ms("idle_ns", "idle before", 3, "as of steps"),
  ms("cpu_ns", "CPU", 3, "its range less the calls that wait for the GPU"),
  ms("busy_ns", "busy", 3), count("kernels", "kernels"),
  count("graphed", "graphed", "kernels that CUDA graphs ran"),
  ms("waiting_ns", "waiting", 3), ms("transfer_ns", "transfer", 3),
}

columns.collectives = {
  name("name", "kernel", 48, "`..._RING_LL` of NCCL runs all but trees"),
  word("op", "operation", "what the collective does"),
  word("library", "by", "library"),
  count("count", "a rank", "kernels on each rank"),
  count("matched", "matched", "collectives that met on several ranks"),
  ms("total_ns", "all ranks", 2, "sum over the ranks"),
  ms("waiting_ns", "waiting", 2), ms("transfer_ns", "transfer", 2),
  us("transfer_p50_ns", "transfer p50", "median of one collective"),
  us("skew_p50_ns", "skew p50", "from the first arrival to the last, median"),
  number("bytes", "message KB", 1, "of one, median, where NCCL's payloads are there",
    { scale = 1e-3, optional = true }),
  number("algbw", "alg GB/s", 1, "result over transfer time", { scale = 1e-9, optional = true }),
  number("busbw", "bus GB/s", 1, "that a link must have given, as nccl-tests counts it",
    { scale = 1e-9, optional = true }),
  word("link", "link", "between the GPUs, where all such GPUs have it", { optional = true }),
  percent("link_share", "link", "bus GB/s of what one direction carries", { optional = true }),
}

columns.late = {
  id("rank", "late rank", "the rank that arrived last"),
  word("phase", "stage"),
  id("layer", "layer", "from 0; empty: outside of the layers"),
  count("count", "times", "collectives that it reached last"),
  ms("caused_ns", "others wait", 2, "the same, at this place"),
  ms("late_ns", "late by", 2, "after the rank before it"),
  ms("more_work_ns", "more computing", 2, "before that, more than the others as their mean"),
  ms("more_gap_ns", "more idle", 2, "before that, more time without any kernel"),
  number("more_kernels", "more kernels", 1, "before that, as the mean"),
}

columns.layers = {
  word("phase", "stage"), id("layer", "layer"),
  count("collectives", "collectives", "such kernels"),
  ms("collective_ns", "all ranks", 2, "sum over the ranks"),
  ms("exposed_ns", "exposed", 2), ms("hidden_ns", "hidden", 2),
  ms("waiting_ns", "waiting", 2), ms("transfer_ns", "transfer", 2),
}

columns.rank_kernels = {
  name("name", "kernel", 48),
  count("calls", "calls", "on all ranks"),
  ms("total_ns", "all ranks", 2),
  us("mean_ns", "mean", "of a call"),
  us("median_ns", "p50", "of a call, median"),
  id("slowest_rank", "slowest rank", "where the mean is longest"),
  us("slowest_ns", "mean there", "that"),
  us("fastest_ns", "fastest rank", "mean where it is shortest"),
}

columns.rank_files = {
  word("file", "file", "that was read"),
  count("ranks", "ranks", "in it"),
  word("clock", "clock by", "`own` for a single file, `UTC`, `collectives`, or `none`"),
  ms("offset_ns", "offset", 6, "taken away beyond UTC"),
  number("drift", "drift ppm", 2, "taken away", { scale = 1e6 }),
  count("pairs", "pairs", "ends of collectives that say so"),
  us("apart_ns", "apart", "their median distance on UTC"),
  us("residual_ns", "residual", "their median distance in the end"),
}

columns.requests = {
  word("label", "clients saw", "TTFT, TPOT, the time between tokens, or the whole answer"),
  count("count", "n", "requests, or tokens"),
  ms("mean_ns", "mean", 2), ms("p50_ns", "p50", 2, "median"),
  ms("p90_ns", "p90", 2, "nine of ten are below"), ms("p99_ns", "p99", 2, "99 of 100 are below"),
  ms("max_ns", "max", 2),
}

columns.load = {
  word("label", "load", "arrivals and rate as they were asked for, or `load.command`"),
  count("requests", "requests", "asked for"),
  count("completed", "answered", "to their end"),
  count("failed", "failed", "sent, and not answered so"),
  number("held_per_s", "sent/s", 2, "from the first that was sent to the last"),
  number("completed_per_s", "answered/s", 2, "from the first that was sent to the last answer"),
  number("tokens_per_s", "tokens/s", 1, "of answers, over the same time"),
  number("prompt_tokens_per_s", "prompt tokens/s", 1, "of prompts, over the same time"),
  percent("good_share", "good", "requests within `load.slo`, of all"),
  number("good_per_s", "good/s", 2, "goodput: such requests per second"),
}

columns.load_times = columns.requests

columns.engine_metrics = {
  word("label", "the engine says", "requests, shares, or a count since the first sample"),
  number("mean", "mean", 2),
  number("min", "least", 2, "of all samples"),
  number("max", "most", 2, "of all samples"),
}

columns.first_token = {
  word("label", "part of TTFT", "what no source explains has rows of its own"),
  ms("ns", "mean", 2, "below 0 where means are of different requests"),
  bar("share", "share", "of the mean TTFT"),
  count("count", "requests", "that it is the mean of"),
  word("source", "as told by", "the engine's page, steps on the timeline, or the clients"),
  data "part",
}

columns.kv_cache = {
  id("number", "sample", "of the page, or a line of the log"),
  number("at_ns", "at s", 1, "after the first sample", { scale = 1e-9, optional = true }),
  bar("use", "in use", "of the cache"),
  number("bytes", "in use GB", 2, "where a log says the tokens", { scale = 1e-9, optional = true }),
  count("running", "running", "requests"),
  count("waiting", "waiting", "requests in the queue"),
}

columns.idle_threads = {
  word("phase", "stage"), id("rank", "rank", "place among all"),
  ms("idle_ns", "idle", 2, "of the GPU before such steps, all together"),
  id("tid", "thread", "its number"),
  word("thread", "its name", "as the program set it"),
  ms("calls_ns", "in CUDA calls", 2, "that do not wait for the GPU, while it was idle"),
  word("call", "mostly in", "the call with most of that"),
  ms("waiting_ns", "waiting for the GPU", 2, "in calls that do"),
  ms("ranges_ns", "in ranges", 2, "of NVTX"),
  word("range", "the longest", "range of that time"),
}

columns.request_rows = {
  ms("sent_ns", "sent", 2, "by the client, since the first session began"),
  ms("ttft_ns", "TTFT", 2, "until its first token"),
  ms("tpot_ns", "TPOT", 2, "per token after it"),
  ms("length_ns", "answered", 2, "until its last"),
  count("tokens", "tokens", "that were made"),
  id("first_step", "first step", "that overlaps it, from 0, of the first rank with steps"),
  count("steps", "steps", "that overlap it"),
  id("prefill_step", "prefill step", "the only one that can have prefilled it"),
  ms("stall_ns", "stalls", 2, "prefill of others while it was in decode"),
}

columns.kv_transfers = {
  ms("start_ns", "prefilled at", 2, "end of the request's prefill"),
  ms("end_ns", "taken up at", 2, "beginning of its first step on the rank that decodes"),
  ms("length_ns", "KV transfer", 3, "between the two"),
}

columns.engine_looks = {
  ms("at_ns", "sampled at", 2, "the engine's page, since the first session began"),
  count("running", "running", "requests, as the engine says"),
  count("waiting", "waiting", "the same of those that wait"),
  number("kv_percent", "KV cache %", 1, "in use, as the engine says"),
  count("preemptions", "preemptions", "since the sample before, as the engine says"),
  count("steps", "steps since", "since the sample before, of the first rank with any"),
  number("batch", "mean batch", 1, "of these steps, where labels give it"),
  ms("step_ns", "mean step", 2, "length of these steps"),
}

columns.left_out = {
  word("text", "left out", "what, and why"),
}

-- ---- llmprof compare ----

columns.compare_sides = {
  word("role", ""),
  word("name", "run", "the side, as it was named"),
  word("kind", "kind", "`run`, `runs`, `baseline` or `trace`"),
  word("model", "model", "its name"),
  word("gpu", "GPU", "of the capture"),
  word("recipe", "recipe", "of the run"),
  count("runs", "runs", "of the side"),
  count("repeats", "repeats", "that count, in the first of them"),
  count("plain_runs", "plain runs", "of the workload, without the profiler"),
}

columns.compare_differences = {
  word("group", "of", "model, machine, clocks, capture, work, workload or configuration"),
  word("name", "differs", "its name"),
  word("before", "before", "of the first side"),
  word("after", "after", "of the other"),
}

columns.compare_times = {
  word("label", "time of", "stage or latency; · marks stages inside the one above"),
  number("before", "before", 2), number("after", "after", 2),
  word("unit", "unit", "of before, after and change"),
  number("difference", "change", 2, "after less before"),
  percent("share", "change", "of before"),
  percent("low", "from", "lower end of the interval, of before", { lesser = true }),
  percent("high", "to", "upper end", { lesser = true }),
  word("verdict", "verdict", "see above"),
  percent("of_change", "of the change", "of all changes beside it", { lesser = true }),
  word("basis", "times", "plain or profiled", { lesser = true }),
  word("why", "because", "what the verdict rests on", { lesser = true }),
}

columns.compare_work = {
  word("label", "stage"),
  count("kernels_before", "kernels before", "mean of the instances"),
  count("kernels_after", "after", "of the other side"),
  count("launches_before", "launches before", "calls that started GPU work", { lesser = true }),
  count("launches_after", "after", "of the other side", { lesser = true }),
  count("copies_before", "copies before", "copies and sets", { lesser = true }),
  count("copies_after", "after", "of the other side", { lesser = true }),
  ms("gpu_busy_ns_before", "GPU busy before", 2, "something that the stage launched ran"),
  ms("gpu_busy_ns_after", "after", 2, "of the other side"),
  percent("busy_share", "change", "of GPU busy"),
  word("busy_verdict", "busy is", "the verdict on it"),
  ms("gpu_idle_ns_before", "GPU idle before", 2, "nothing ran"),
  ms("gpu_idle_ns_after", "after", 2, "of the other side"),
}

columns.compare_where = {
  word("stage", "stage"),
  word("what", "GPU time or idle time", "category of kernels, or what the CPU did meanwhile"),
  ms("before_ns", "before", 2, "per instance of the stage"),
  ms("after_ns", "after", 2, "of the other side"),
  ms("difference_ns", "change", 2, "after less before"),
  percent("share", "of the change", "of the sum of all changes, without their signs"),
}

columns.compare_lines = {
  name("line", "line", 72, "of the program"),
  name("function", "function", 32, "of the line"),
  word("stage", "stage"), ms("before_ns", "before", 3), ms("after_ns", "after", 3),
  ms("difference_ns", "change", 3),
  ms("idle_ns", "change of idle before", 3, "the GPU had nothing to do"),
  percent("share", "of the change", { lesser = true }),
  name("module", "module", 72, "of most of what the line launched", { lesser = true }),
  name("was", "was", 48, "its old name, or the old place of a line", { lesser = true }),
}

columns.compare_modules = {
  name("name", "module", 72, "torch module"), word("stage", "stage"), ms("before_ns", "before", 3),
  ms("after_ns", "after", 3), ms("difference_ns", "change", 3), percent("share", "of the change"),
}

columns.compare_kernels = {
  name("label", "kernel", 72, "its function's name; JSON has the full one as `name`"),
  word("where", "stage"), word("status", ""),
  count("calls_before", "calls before", "per instance of the stage", { lesser = true }),
  count("calls_after", "after", "of the other side", { lesser = true }),
  ms("before_ns", "before", 3),
  ms("after_ns", "after", 3), ms("difference_ns", "change", 3),
  percent("share", "of the change", { lesser = true }), word("verdict", "verdict"),
  word("category", "category", "of kernels", { lesser = true }),
  name("was", "was", 48, { lesser = true }),
}

columns.compare_limits = {
  word("limit", "limit", "as it was given"),
  number("before", "before", 2), number("after", "after", 2), word("unit", "unit", "of both"),
  percent("share", "change"), percent("low", "from", { lesser = true }),
  percent("high", "to", { lesser = true }), word("verdict", "verdict"),
  word("outcome", "limit is", "`kept`, `broken` or `can't tell`"),
  word("basis", "times", { lesser = true }), word("why", "because", { lesser = true }),
}

columns.baselines = {
  word("name", "baseline", "its name"),
  word("run", "run", "the id of the run it was made from"),
  word("recipe", "recipe", "of the run"),
  word("saved", "saved (UTC)", "when"),
  word("state", ""),
  count("runs", "runs", "how many it has"),
}

-- ---- llmprof sweep ----

columns.sweep_runs = {
  word("label", "settings", "those that vary"),
  word("status", "status", "`done`, `kept` from before, or `failed`"),
  number("ttft", "TTFT ms", 2, "as in [metrics.md](metrics.md)"),
  number("tpot", "TPOT ms", 2, "likewise"),
  number("tokens_per_s", "tokens/s", 2, "of all sequences"),
  number("cost", "cost of 1M tokens", 2, "output tokens", { optional = true }),
  word("currency", "currency", "what the cost is in", { optional = true }),
  number("energy", "J/token", 3, "of an output token, under the profiler", { optional = true }),
  number("mfu", "MFU %", 3, "of the whole run, or of the stage", { scale = 100 }),
  word("basis", "times", "plain or profiled"),
  word("run", "run", "its folder, of a run that was made"),
  word("message", "because", "why it failed"),
}

columns.sweep_loads = {
  word("label", "settings"),
  number("offered_per_s", "sent/s", 2, "requests, as they were sent"),
  number("completed_per_s", "answered/s", 2, "from the first sent to the last answer"),
  number("tokens_per_s", "tokens/s", 1, "of all requests"),
  ms("ttft_p50_ns", "TTFT p50", 2, "as clients saw it"),
  ms("ttft_p99_ns", "TTFT p99", 2, "likewise"),
  ms("tpot_p50_ns", "TPOT p50", 2, "as clients saw it"),
  ms("tpot_p99_ns", "TPOT p99", 2, "likewise"),
  number("good_per_s", "good/s", 2, "requests within `load.slo`, per second"),
  percent("kv_max", "KV cache", "most of it that was in use, as the engine says"),
  count("failed", "failed", "requests"),
  word("mark", ""),
}

columns.sweep_stages = {
  word("label", "settings"), word("stage", "stage"),
  number("ms", "mean ms", 2, "time of the stage"),
  ms("gpu_busy_ns", "GPU busy", 2, "something that it launched ran"),
  percent("idle_share", "idle", "of its wall time in which nothing ran"),
  count("kernels", "kernels", "mean of the instances"),
  count("launches", "launches", "calls that started GPU work"),
  number("mfu", "MFU %", 3, "of the stage", { scale = 100 }), word("basis", "times"),
}

return columns
