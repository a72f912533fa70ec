-- What reports say in sentences, as plain text: each format escapes it in its
-- own way. nil where there is nothing to say.
local lists = require "llmprof.tables.lists"
local overhead = require "llmprof.analysis.latency.overhead"
local counter_plan = require "llmprof.analysis.counters.plan"
local hardware = require "llmprof.model.hardware"
local sorted_keys = require("llmprof.tables.keys").sorted
local text = require "llmprof.text"

local words = {}

-- The CPU is ahead of the GPU when a token is there this many of its steps later.
local AHEAD = 0.5


-- A duration in ms, as the tables give it; one too short or too long for that
-- in its own unit.
function words.ms(ns)
  if ns > 0 and ns < 1e4 or ns >= 1e9 then return text.duration(ns) end
  return text.number(ns / 1e6, ns < 1e6 and 2 or 1, ",") .. " ms"
end


-- A number with `digits` significant digits: 13885.7 -> "13,900", 0.00463 -> "0.0046".
function words.rounded(value, digits)
  if value == 0 then return "0" end
  local places = digits - 1 - math.floor(math.log(math.abs(value), 10))
  local unit = 10.0 ^ places
  return text.number(math.floor(value * unit + 0.5) / unit, math.max(places, 0), ",")
end


-- Sequences side by side: a count, or a mean of several.
function words.batch(batch)
  return math.tointeger(batch) and text.count(math.tointeger(batch)) or text.number(batch, 1)
end


function words.percent(share) return text.number(share * 100, 0) .. " %" end


-- "1 file", "3 files".
function words.several(count, what)
  return ("%s %s%s"):format(text.count(count), what, count == 1 and "" or "s")
end


-- With a capital and a full stop.
function words.sentence(said) return said:gsub("^%l", string.upper) .. "." end


-- ---- what is not there ----

-- Why a subject was not measured, and what would; nil when nothing says so.
function words.reason(results, what)
  local entry = lists.find(results.missing, "what", what)
  return entry and ("Not measured: %s. To fill this: %s."):format(entry.why, entry.how)
end


function words.not_measured(results, what) return words.reason(results, what) or "Not measured." end


-- Why a table of the timeline has no rows: there is none, or the GPU did nothing.
function words.no_rows(results)
  local tool = ((results.source or {}).timeline or {}).tool or ""
  if tool:find "%.profiler" and words.is_without_gpu(results) then
    return "No GPU operation is in the trace: the program ran on the CPU, or the profiler was "
      .. "not asked for its GPU."
  end
  return words.reason(results, "the timeline")
    or "The GPU did nothing in the capture. To fill this: profile a workload that uses it, with "
    .. "CUDA and NVTX traced (nsys.trace=[cuda,nvtx])."
end

-- What a million output tokens cost and at which price, and what energy one takes; brief: without
-- why energy is not known.
function words.running_cost(results, brief)
  local cost, said = results.running_cost or {}, {}
  local price = cost.price
  if price and cost.per_million_tokens then
    said[1] = ("1M output tokens cost %s %s, prefill included, at %s%s %s an hour%s"):format(
      text.number(cost.per_million_tokens, 2, ","), price.currency,
      cost.gpus > 1 and cost.gpus .. " x " or "", text.number(price.per_hour, 2), price.currency,
      price.example and " (an example; price.per_hour sets yours)" or "")
  end
  if cost.energy_j_per_token then
    said[#said + 1] = ("an output token takes %s J under the profiler, by %s"):format(
      text.number(cost.energy_j_per_token, 2),
      cost.energy_source == "counter" and "NVML's counter" or "the power that NVML samples")
  elseif cost.no_energy and not brief then
    said[#said + 1] = "energy was not measured: " .. cost.no_energy
  end
  return #said > 0 and words.sentence(table.concat(said, "; ")) or nil
end


-- What TTFT is made of.
words.ttft_parts = { network = "network", queue = "queue", prefill = "prefill",
  scheduler = "scheduler and first token", before = "not explained before the prefill",
  after = "not explained after it", unexplained = "not explained" }


-- "queue 40 %, its prefill 25 %, not explained 35 %": where TTFT goes; nil where no client timed it
-- or, brief, nothing tells.
function words.first_token(results, brief)
  local made = results.first_token
  if not made then return nil end
  if made.unknown then
    return not brief and ("Where TTFT goes is not known: %s."):format(made.unknown) or nil
  end
  local said = lists.map(made.parts, function(part)
    return ("%s %s"):format(words.ttft_parts[part.part], words.percent(part.share))
  end)
  return ("TTFT, %s on average, goes to: %s."):format(words.ms(made.ttft_ns),
    table.concat(said, ", "))
end


-- How full the KV cache was, and what fits; nil where nothing is known of it. brief: without why
-- nothing is known of its use.
function words.kv_cache(results, brief)
  local made, said = results.kv_cache, {}
  if not made or brief and not made.use then return nil end
  local bytes, full = made.bytes_per_token, made.fullest
  if made.use then
    said[1] = ("The KV cache was %s full on average and %s at most%s"):format(
      words.percent(made.use.mean), words.percent(made.use.max), full and full.running
        and (", with %s running"):format(text.count(full.running // 1) .. " requests") or "")
    if made.more_requests then
      said[1] = said[1] .. (": %s more as long as these would have fitted"):format(
        text.count(made.more_requests // 1))
    end
  else
    said[1] = "How full the KV cache was is not known: " .. (made.unknown or "nothing tells")
  end
  if made.tokens then
    said[#said + 1] = ("It holds %s tokens%s"):format(text.count(made.tokens // 1), bytes
      and (" (%s)"):format(text.bytes(made.tokens * bytes // 1)) or "")
  end
  if bytes then
    local whole = made.run_tokens and made.run_tokens * bytes // 1
    said[#said + 1] = ("A token takes %s of it, by the model's description%s"):format(
      text.bytes(bytes // 1), whole and ("; this run's sequences take %s at their end"):format(
        text.bytes(whole)) or "")
  end
  return table.concat(said, ". ") .. "."
end


-- A mean this many times the median is that of a few steps.
local APART = 1.25

-- The median of a TPOT (of overhead.latency_of) whose mean is far above it; nil of others.
function words.usual_step(tpot)
  local made = tpot and tpot.first
  return made and made.p50_ns and made.mean_ns > APART * made.p50_ns and made.p50_ns or nil
end


-- "TTFT 60.75 ms · TPOT 16.39 ms, without the profiler", with the tokens/s of decode; nil without.
function words.latency(results)
  local times, said, profiled = overhead.latency_of(results), {}, false
  for _, key in ipairs { "ttft", "tpot", "tokens_per_s" } do
    local time = times[key]
    local usual = key == "tpot" and words.usual_step(time)
    if time then
      profiled = profiled or time.plain == nil
      said[#said + 1] = key == "tokens_per_s"
        and text.number(time.first.mean, 1, ",") .. " tokens/s of decode"
        or ("%s %s%s"):format(key:upper(), text.duration(time.first.mean_ns), usual
          and (" (half of the steps %s or less)"):format(text.duration(usual)) or "")
    end
  end
  return #said > 0 and ("%s, %s the profiler"):format(table.concat(said, " · "),
    profiled and "under" or "without") or nil
end


-- Why there is no such line.
function words.no_latency(results)
  return #results.stages > 0 and "No TTFT and TPOT: they do not follow from these stages."
    or words.no_rows(results)
end


-- That nothing ran without the profiler.
function words.no_overhead(results)
  local timeline = (results.source or {}).timeline
  return "What profiling cost was not measured" .. (timeline and timeline.from == "files"
    and ": a trace does not tell." or ". To fill this: overhead=before runs the workload plain "
    .. "before the timeline, overhead=measure after it, too.")
end


-- ---- who, where, from what ----

-- Are these results of ranks' files alone, put together without a run?
function words.ranks_alone(results)
  return results.ranks ~= nil and not (results.source or {}).timeline and not results.model
end


local function ranks_of(results) return words.several(#results.ranks.ranks, "rank") end


function words.model_name(results)
  local model = results.model or {}
  if words.ranks_alone(results) then return ranks_of(results) end
  local name = model.name or results.run.recipe
  return model.variant and name .. " " .. model.variant or name
end


-- Is there a timeline in which no GPU did anything?
function words.is_without_gpu(results)
  local totals = results.totals
  return totals ~= nil and totals.kernels == 0 and totals.copies == 0 and totals.sets == 0
    and totals.graphs == 0
end


-- As the trace names it, else as NVML did; "the CPU" where no GPU is to be seen.
function words.gpu_name(results)
  local environment = results.environment
  local device = (environment.devices or {})[1] or (environment.gpus or {})[1]
  if not device and words.is_without_gpu(results) then return "the CPU" end
  return device and device.name or "an unknown GPU"
end


-- Random weights are said where a reader looks first.
function words.title(results)
  local random = (results.model or {}).weights == "random" and " (random weights)" or ""
  return ("%s%s on %s"):format(words.model_name(results), random, words.gpu_name(results))
end


-- "3.34 B", "155.3 k": a count of parameters.
local function parameters(count)
  for _, unit in ipairs { { 1e9, "B" }, { 1e6, "M" }, { 1e3, "k" } } do
    if count >= unit[1] then return ("%s %s"):format(text.number(count / unit[1], 2), unit[2]) end
  end
  return text.count(count)
end


-- What the run says that it computes in, else its description.
local function format_of(model)
  local formats = model.described and model.described.formats
  if model.dtype or not formats then return model.dtype end
  local weights = formats.weights ~= formats.activations
    and (", weights in %s"):format(formats.weights) or ""
  return ("%s%s (by its description)"):format(formats.activations, weights)
end


-- Entries { name, value or nil } in a sentence, those without a value behind `lacking`.
local function known_first(entries, lacking)
  local known, others = {}, {}
  for _, entry in ipairs(entries) do
    local list = entry[2] and known or others
    list[#list + 1] = entry[2] or entry[1]
  end
  return (#known > 0 and table.concat(known, ", ") .. "." or "")
    .. (#others > 0 and (" %s: %s."):format(lacking, table.concat(others, ", ")) or "")
end


-- Name, variant, size, number format and where the weights are from.
function words.model(results)
  local model = results.model or {}
  if words.ranks_alone(results) then
    return ("%s of %s; the model is not known."):format(ranks_of(results),
      words.several(#results.ranks.files, "file"))
  end
  local random, format, said = model.weights == "random", format_of(model), model.parameters
  local size = said and said.total and ("%s parameters%s"):format(parameters(said.total),
    said.active and (" (%s active per token)"):format(parameters(said.active)) or "")
  if not (model.name or size or format or model.weights) then return "The model is not known." end
  return "Model: " .. known_first({ { "name", words.model_name(results) }, { "parameters", size },
    { "number format", format },
    { "weights", random and "random weights" or model.weights and "weights: " .. model.weights } },
    "Not known")
end


-- How stages were inferred; nil where a range marks them.
local function inferred(given)
  if not given then return nil end
  return ("No range marks the stages: they are inferred from %s, which comes back every %s, "
    .. "%s times in %s generation%s; confidence %s of 1.")
    :format(given.anchor, words.ms(given.period_ns), text.count(given.steps),
      text.count(given.generations), given.generations == 1 and "" or "s",
      text.number(given.confidence, 2))
end


-- "prefill of repeat 1 (60.3 ms, usually 20.1 ms)"; a step counts in its stage.
local function left_out(entry)
  local what = ("%s%s of repeat %d"):format(entry.step and ("step %d of "):format(entry.step) or "",
    entry.stage, entry.rep or 0)
  if entry.openings then
    what = ("the first step of %s of %s"):format(words.several(entry.openings, "run"), entry.stage)
  elseif entry.first then
    what = ("the first %s of %s%s"):format(words.several(entry.first, "step"), entry.stage,
      entry.rank and (" on rank %d"):format(entry.rank) or "")
  end
  local is_mean = entry.per_step or (entry.first or 1) > 1
  local than = " until the capture ended in it"
    .. (entry.rep == 2 and "; the first may hold one-time costs" or "")
  if not entry.cut then
    than = (", usually %s%s"):format(words.ms(entry.usual_ns),
      (entry.openings or 0) > 1 and ", as means" or "")
  end
  return ("%s (%s%s%s)"):format(what, words.ms(entry.ns), is_mean and " a step" or "", than)
end


-- What does not count, with its time; "" for nothing. Steps do not in TPOT only.
local function all_left_out(repeats)
  local steps, stages = lists.parted(repeats.left_out or {}, function(entry)
    return entry.step or entry.openings
  end)
  local function said(of, list)
    return #list > 0 and (" Left out%s: %s."):format(of, table.concat(lists.map(list, left_out),
      ", ")) or ""
  end
  return said("", stages) .. said(" of TPOT", steps)
end


-- Which repeats the figures are from, and which of them are sums.
function words.repeats(results)
  local repeats = results.repeats
  if not repeats then return nil end
  if repeats.whole_run then
    local from = (results.source.timeline or {}).from
    return (from == "files" and "No stage was found in the trace"
      or "The trace has no stage of the recipe") .. ": the whole run is taken as one."
      .. (results.load and " None is inferred where requests overlap." or "")
  end
  local said = ("Figures are from %d repeats."):format(repeats.count)
  if repeats.skipped_first then
    local without = repeats.count - repeats.used
    said = ("Figures are from %d of %d repeats, without the first%s."):format(repeats.used,
      repeats.count, without == 1 and "" or " " .. without)
  elseif repeats.count == 1 then
    said = "Figures are from one repeat."
  end
  if repeats.used > 1 then
    said = said .. " Stages and steps are means; kernels, copies, operators, lines and modules are "
      .. "sums."
  end
  if repeats.cut then
    said = ("%s The capture ended in %s: the whole of it takes longer."):format(said,
      table.concat(repeats.cut, " and "))
  end
  return said .. all_left_out(repeats)
end


-- The file that stages and kernels are of, where each of several ranks gave one, and how
-- many gave one; nil where one timeline holds all.
function words.one_of(results)
  local files = results.ranks and results.ranks.files
  if not files or #files < 2 or not results.source.timeline then return nil end
  return files[1].file, #files
end


-- What else there is to trust in times of ranks' files alone, as how far their clocks agree; nil
-- for other results.
function words.ranks_trust(results)
  if not words.ranks_alone(results) then return nil end
  local _, worst = lists.largest(results.ranks.files, "residual_ns")
  if #results.ranks.files == 1 then return "All ranks are of one file and one clock." end
  return worst and ("Clocks of the files agree within %s, in the median of collectives' ends.")
    :format(text.duration(worst)) or "Clocks of the files could not be compared."
end


-- Where the numbers come from.
function words.source(results)
  local timeline, counters = results.source.timeline, results.source.counters
  local said = { timeline and ("Timeline: %s%s%s."):format(timeline.tool or "an nsys export",
    timeline.from == "recorded" and ", a recorded capture" or "",
    timeline.recorded and " of " .. timeline.recorded or "") or "Timeline: not measured." }
  said[#said + 1] = counters and ("Counters: %s."):format(counters.tool or "Nsight Compute")
    or "Counters: not measured."
  local name, count = words.one_of(results)
  said[#said + 1] = name and ("Stages, kernels and all that follows from them are of %s alone, the "
    .. "first of %d files; the tables of ranks are of all."):format(name, count)
  said[#said + 1] = inferred(results.inferred)
  return table.concat(said, " ")
end


-- Are kernels those that were measured, for want of a timeline?
function words.measured_alone(results)
  local source = results.source
  return source ~= nil and source.counters ~= nil and not source.timeline
    and #results.kernels > 0
end


-- What the times and calls of kernels are.
function words.kernel_times(results)
  if words.measured_alone(results) then
    return "Without a timeline these are the launches that ncu measured, and no others: calls are "
      .. "their number, not that of the run, times are gpu__time_duration of each, taken alone, "
      .. "and shares are of those times."
  end
  if words.is_amd(results) then return "Times are from the timeline." end
  return "Times are from the timeline. Below, by stage, SM %, DRAM % and AI (arithmetic intensity, "
    .. "FLOP per byte of DRAM) are from ncu, and empty where no launch of the kernel was measured."
end


-- ---- other vendors ----

-- Are its GPUs AMD's?
function words.is_amd(results) return hardware.is_amd(results.environment.devices) end


-- What is called otherwise where the GPUs are AMD's, the longer first.
local AMD = { { ", CUDA not recorded", "" }, { "CUDA graph", "graph" }, { "NVTX range", "range" },
  { "%f[%w_]CUDA%f[^%w_]", "ROCm" }, { "%f[%w]SMs%f[%W]", "CUs" }, { "%f[%w]SM %%", "CU %%" },
  { " %(counters by ncu[^)]*%)", "" }, { "Tensor core", "Matrix core" },
  { "tensor core", "matrix core" },
  { "NVLink", "Infinity Fabric" }, { "nvidia%-smi topo %-m", "rocm-smi --showtopo" } }

-- A text in the words of those who made the GPUs.
function words.of_vendor(results, said)
  for _, pair in ipairs(words.is_amd(results) and AMD or {}) do
    said = said:gsub(pair[1], pair[2])
  end
  return said
end


-- Processor, driver and the versions that matter.
function words.software(results)
  local said = lists.map({ { "cpu", "CPU" }, { "driver", "driver" }, { "cuda", "CUDA" },
    { "torch", "torch" }, { "transformers", "transformers" } }, function(entry)
    local value = results.environment[entry[1]]
    return { entry[2], value and ("%s %s"):format(entry[2], tostring(value)) }
  end)
  local all = known_first(said, "Not recorded")
  return all:find "^ " and all:sub(2) or "Machine: " .. all
end


-- What copies and collectives took beside kernels, and by themselves; "" without any.
local function overlap(made, gpus)
  if not made then return "" end
  local said, between, alone = {}, made.communication_ns, made.exposed_communication_ns
  if between and alone then
    said[1] = ("collectives ran for %s, %s of it without computation"):format(words.ms(between),
      words.ms(alone))
  end
  local moved, exposed = made.transfers_ns, made.exposed_transfers_ns
  if moved and exposed and moved > 0 then
    said[#said + 1] = ("copies and sets ran for %s, %s of it without any kernel"):format(
      words.ms(moved), words.ms(exposed))
  end
  if #said == 0 then return "" end
  local all = table.concat(said, ", ")
  return gpus > 1 and (" On all GPUs together, %s."):format(all)
    or " " .. all:gsub("^%l", string.upper) .. "."
end


function words.totals(results)
  local totals = results.totals
  if not totals or not totals.span_ns then return nil end
  return ("The whole capture: %s kernels, %s copies and sets, %s API calls; the GPU worked %s of "
    .. "%s.%s"):format(text.count(totals.kernels), text.count(totals.copies + totals.sets),
    text.count(totals.api_calls), words.ms(totals.busy_ns), words.ms(totals.span_ns),
    overlap(totals.overlap, #(results.environment.devices or {})))
end


-- Which times are those of what.
function words.latency_basis(results)
  if not results.latency or not (results.latency.ttft or results.latency.tpot) then return nil end
  local said = "All times are under the profiler."
  if results.overhead then
    said = ("Times are from %d run%s without the profiler; \"profiled\" ones, their spread and "
      .. "what the GPU did are from the timeline, under it."):format(results.overhead.runs,
      results.overhead.runs == 1 and "" or "s")
  end
  local wrong, lead = words.contradiction(results), words.host_lead(results)
  return said .. (wrong and " " .. wrong or "") .. (lead and " " .. lead or "")
end


-- The times that tables have of the first stage: which is which. nil where there is one alone.
function words.times_of(results)
  local stage = lists.filtered(results.stages, function(one)
    return not one.parent and one.wall
  end)[1]
  if not stage then return nil end
  local time, profiled = overhead.time_of(results, stage)
  local list = profiled and { words.ms(time) .. " without the profiler (TTFT, cost, MFU)",
    words.ms(profiled) .. " under it (spread, gaps)" } or { words.ms(time) .. " from its beginning "
    .. "to the end of its GPU work" }
  local group = lists.find(results.ranks and results.ranks.stages or {}, "phase", stage.name)
  if group and group.mean_ns then
    list[#list + 1] = words.ms(group.mean_ns) .. " from first to last GPU operation (steps)"
  end
  if stage.host_ns and stage.host_ns > 0 then
    list[#list + 1] = words.ms(stage.host_ns) .. " of range on the CPU"
  end
  if #list < 2 then return nil end
  return ("Times of %s: %s; the GPU works for %s of it."):format(stage.name,
    table.concat(list, ", "), words.ms(stage.gpu_busy_ns))
end


-- How far the CPU is ahead of the tokens, where it does not wait for them.
function words.host_lead(results)
  local host = results.latency and results.latency.host
  if not host or host.lead_ns < AHEAD * host.mean_ns then return nil end
  return ("The CPU does not wait for its tokens: a step takes it %s, and the token follows %s "
    .. "later, at most %s."):format(words.ms(host.mean_ns), words.ms(host.lead_ns),
    words.ms(host.lead_max_ns))
end


-- That the workload's own time of a step is another one; nil where it is not.
function words.contradiction(results)
  local wrong = results.latency and results.latency.contradiction
  if not wrong then return nil end
  return ("TPOT is not known: a step takes %s on the timeline and %s by the workload's own "
    .. "numbers, which differ by %s. One of them times something else."):format(
    words.ms(wrong.timeline_ns), words.ms(wrong.workload_ns), words.percent(wrong.difference))
end


-- ---- efficiency ----

-- "989.4 TFLOP/s (conf/hardware/h200.yaml)", and what that is at the clock that
-- was held.
local function peak(given, unit, count)
  local said = ("%s T%s (%s)"):format(text.number(given.per_s * count / 1e12, 1, ","), unit,
    given.source)
  if not given.at_held_clock_per_s then return said end
  return ("%s, stated for %s MHz; at the clock that was held %s T%s"):format(said,
    text.number(given.clock_hz / 1e6, 0),
    text.number(given.at_held_clock_per_s * count / 1e12, 1), unit)
end


-- What the shares are of.
function words.peaks(gpu)
  local compute, said = gpu.peaks[gpu.format], {}
  said[1] = compute and ("Peak in %s: %s."):format(gpu.format, peak(compute, "FLOP/s", gpu.count))
    or ("Peak in %s: not known."):format(gpu.format)
  said[2] = gpu.memory and ("Memory: %s."):format(peak(gpu.memory, "B/s", gpu.count))
    or "Memory bandwidth: not known."
  if gpu.clock then
    said[3] = ("Clock held: %s MHz (%s)."):format(text.number(gpu.clock.hz / 1e6, 0),
      gpu.clock.source)
  end
  return table.concat(said, " ")
end


-- Kernels that are named of a group of them.
local NAMED = 6

-- Which measured kernels the roofline has no dot of, and why; nil where it has all.
function words.without_dot(results)
  local said, count = {}, 0
  for i, group in ipairs(results.roofline and results.roofline.without_dot or {}) do
    local names = lists.map(lists.first(group.kernels, NAMED), function(id)
      local kernel = results.kernels[id]
      return kernel and (kernel.label or kernel.short_name) or tostring(id)
    end)
    if #group.kernels > NAMED then names[#names + 1] = "..." end
    count = count + #group.kernels
    said[i] = ("%s: %d (%s)"):format(group.why, #group.kernels, table.concat(names, ", "))
  end
  if #said == 0 then return nil end
  return ("Without a dot: %d measured kernel%s: %s."):format(count, count == 1 and "" or "s",
    table.concat(said, "; "))
end


-- The roofline's roofs and where each is from; nil without a roofline.
function words.roofs(results)
  local roofs = results.roofline and results.roofline.roofs
  if not roofs then return nil end
  local said = lists.map({ { "tensor", "Tensor cores in " .. roofs.tensor_format, "FLOP/s" },
    { "vector", "Vector units", "FLOP/s" }, { "dram", "DRAM", "B/s" }, { "l2", "L2", "B/s" } },
    function(roof)
      local key, name, unit = table.unpack(roof)
      return ("%s: %s."):format(name, roofs[key] and peak(roofs[key], unit, 1) or "not known")
    end)
  return "Roofs, of one GPU. " .. table.concat(said, " ")
end


-- Which times the shares are of, and what describes the model.
function words.basis(results)
  local stage = lists.filtered(results.stages, "efficiency")[1]
  if not stage then return nil end
  local source = stage.efficiency.time_source
  return ("%sThe model's work: %s."):format(source and ("Times: %s. "):format(source) or "",
    stage.cost.source)
end


-- What HFU counts, or why it is not there, by stage.
function words.hfu(results)
  local said = lists.map(results.stages, function(stage)
    local note = not stage.parent and stage.efficiency and stage.efficiency.hfu_note
    return note and ("%s: %s"):format(stage.name, note) or nil
  end)
  return #said > 0 and ("HFU of %s."):format(table.concat(said, "; ")) or nil
end


-- Bytes that hardware samples saw a stage move; nil without.
function words.moved(stage)
  local made = stage.sampled or {}
  return made.dram_read_bytes and made.dram_write_bytes
    and made.dram_read_bytes + made.dram_write_bytes
end


-- What samples are, and whether the bytes that they saw agree with counters.
function words.sampled(results)
  local said = lists.map(results.stages, function(stage)
    local made, moved = stage.sampled, words.moved(stage)
    return moved and moved > 0 and made.counted_bytes and not stage.parent
      and ("in %s, by their counters, kernels with %s %% of the time moved %s %% of the sampled "
        .. "bytes"):format(stage.name, text.number(made.counted_share * 100, 0),
        text.number(made.counted_bytes / moved * 100, 0)) or nil
  end)
  local tool = results.source and results.source.timeline and results.source.timeline.tool
  if (tool or ""):find "^Nsight Systems" then
    said[#said + 1] = "nsys gives whole percents: units that are hardly used look busier, and "
      .. "move more, than they do"
  end
  return "Sampled over time on the whole GPU, without replay; MBU and HFU are for the times "
    .. "above." .. (#said > 0 and " " .. table.concat(said, "; "):gsub("^%l", string.upper) .. "."
      or "")
end


-- Why figures of the hardware are not known, and how to say them.
function words.unknown_peaks(results)
  if not results.hardware then return nil end
  local figures = { "peak FLOP/s in " .. results.hardware.format, "memory bandwidth" }
  local said = lists.map(figures, function(what)
    local reason = words.reason(results, what)
    return reason and (reason:gsub("^Not measured", ("The %s is not known"):format(what)))
  end)
  return #said > 0 and table.concat(said, "\n") or nil
end


-- "flops = 1e+12, time_s = 0.5"
function words.inputs(inputs)
  return table.concat(lists.map(sorted_keys(inputs), function(key)
    return ("%s = %.6g"):format(key, inputs[key])
  end), ", ")
end


-- ---- kernels ----

words.ranges = "Each row is all that ran in a range, idle time included, while it was measured: "
  .. "take times from the stages. ncu repeats a range and does not measure every metric then; a "
  .. "launch of a CUDA graph is the program's own, and says nothing of single kernels."


-- "long scoreboard 61 % (memory loads), wait 20 % (a fixed latency)".
function words.stalls(list)
  local pieces = lists.map(list or {}, function(stall)
    local reason = stall.reason:gsub("_", " ")
    return ("%s %.0f %% (%s)"):format(reason, 100 * stall.share, stall.waits_for)
  end)
  return #pieces > 0 and table.concat(pieces, ", ") or nil
end


-- What bounds a kernel, by its counters (which may be nil); where that is not known, why.
function words.bound(counters)
  local bound = counters and counters.bound
  if bound ~= "unknown" or not counters.bound_reason then return bound end
  return ("%s (%s)"):format(bound, counters.bound_reason)
end


-- ", without L2, SM; occupancy 40 %": what counters lack of the kernels that they cover.
-- explained: say of those that some have why others have not.
function words.lacking(lacking, explained)
  local some, none = lists.parted(lacking or {}, function(figure) return figure.coverage > 0 end)
  return (#none > 0 and ", without " .. table.concat(lists.map(none, "name"), ", ") or "")
    .. (#some > 0 and "; " .. table.concat(lists.map(some, function(figure)
      return ("%s %s"):format(figure.name, words.percent(figure.coverage))
    end), ", ") or "")
    .. (#some > 0 and explained and " (others run less often than that takes passes, or "
      .. "counters.budget_s was used up)" or "")
end


-- " (decode 44 %, prefill 17 %)"; "" without stages.
local function coverage_by_stage(stages)
  local said = lists.map(lists.filtered(stages or {}, "coverage"), function(stage)
    return ("%s %s"):format(stage.name, words.percent(stage.coverage))
  end)
  return #said > 0 and (" (%s)"):format(table.concat(said, ", ")) or ""
end


-- How much of the kernels' time lies in launches that were measured, in their
-- stage and with their shapes: the one coverage that there is.
function words.coverage(results)
  local counters = results.counters
  if counters.launches == 0 then
    return "Counters were measured of whole ranges; no kernel has its own."
  end
  local shortened = results.selection and results.selection.shortened
  return ("Launches measured: %d, of %s%s%s%s.%s"):format(counters.matched,
    words.several(counters.kernels, "kernel"),
    counters.coverage and (". Counters cover %s of the kernels' time%s"):format(
      words.percent(counters.coverage), coverage_by_stage(counters.stages)) or "",
    words.lacking(counters.lacking, true),
    (counters.elsewhere or 0) >= 0.005 and ("; %s more was measured with the same shapes in "
      .. "another stage"):format(words.percent(counters.elsewhere)) or "",
    shortened and (" The workload was shortened for that: %s."):format(
      counter_plan.shortened_text(shortened)) or "")
end


-- That products fill their tiles; nil where no kernel is marked.
function words.padding(results)
  local function is_padded(kernel) return kernel.counters and kernel.counters.padding end
  return lists.any(results.kernels, is_padded) and "\"tiles x\": FLOP and intensity of these "
    .. "matmuls are those of whole tiles, at least this many times what their tokens need." or nil
end


-- What the headroom of kernels is worth while the GPU waits.
function words.headroom_waits(results)
  local waiting = lists.map(results.stages, function(stage)
    local is_held_up = stage.bound == "launch" or stage.bound == "CPU"
    return is_held_up and not stage.parent and stage.name or nil
  end)
  if #waiting == 0 then return nil end
  return ("While the GPU waits for the CPU (%s), faster kernels make it wait longer: these figures "
    .. "hold once it does not."):format(table.concat(waiting, ", "))
end


return words
