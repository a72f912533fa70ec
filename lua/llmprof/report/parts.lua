-- The sections that reports are put together from. Each takes results and gives
-- Markdown; a section without data says what would fill it.
local columns = require "llmprof.report.columns"
local markdown = require "llmprof.markdown"
local rows = require "llmprof.report.rows"
local sorted_keys = require "llmprof.sorted_keys"
local tables = require "llmprof.tables"
local text = require "llmprof.text"

local parts = {}

local escape = markdown.escape

-- Kernels shown by what they could give back.
local HEADROOM = 15


-- A duration in ms, as the tables give it.
local function ms(ns)
  return text.number(ns / 1e6, ns < 1e6 and 2 or 1, ",") .. " ms"
end

parts.ms = ms


local function percent(share)
  return text.number(share * 100, 0) .. " %"
end

parts.percent = percent


local function table_of(name, list)
  return tables.render("md", columns[name], list)
end

parts.table = table_of


-- The missing entry for a subject, or nil.
local function missing(results, what)
  for _, entry in ipairs(results.missing) do
    if entry.what == what then return entry end
  end
  return nil
end


local function not_measured(entry, otherwise)
  if not entry then return otherwise .. "\n" end
  return ("Not measured: %s. To fill this: %s.\n"):format(escape(entry.why), escape(entry.how))
end


-- ---- who, where, from what ----

function parts.model_name(results)
  local model = results.model or {}
  local name = model.name or results.run.recipe
  return model.variant and name .. " " .. model.variant or name
end


function parts.gpu_name(results)
  local device = (results.environment.devices or {})[1]
  return device and device.name or "an unknown GPU"
end


function parts.title(results)
  return escape(("%s on %s"):format(parts.model_name(results), parts.gpu_name(results)))
end


-- How stages were inferred, where no range marks them; nil where one does.
local function inferred_text(inferred)
  if not inferred then return nil end
  return ("No range marks the stages: they are inferred from %s, which comes back every %s, "
    .. "%s times in %s generation%s; confidence %s of 1.")
    :format(inferred.anchor, ms(inferred.period_ns), text.count(inferred.steps),
      text.count(inferred.generations), inferred.generations == 1 and "" or "s",
      text.number(inferred.confidence, 2))
end


-- Where the numbers come from, in one paragraph.
function parts.source(results)
  local timeline, counters = results.source.timeline, results.source.counters
  local said = {}
  said[#said + 1] = ("Timeline: %s%s%s."):format(timeline.tool or "an nsys export",
    timeline.from == "recorded" and ", a recorded capture" or "",
    timeline.recorded and " of " .. timeline.recorded or "")
  said[#said + 1] = counters and ("Counters: %s."):format(counters.tool or "Nsight Compute")
    or "Counters: not measured."
  said[#said + 1] = inferred_text(results.inferred)
  said[#said + 1] = parts.repeats(results)
  return escape(table.concat(said, " ")) .. "\n"
end


-- Which repeats the figures are from.
function parts.repeats(results)
  local repeats = results.repeats
  if repeats.whole_run then
    return "The trace has no stage of the recipe: the whole run is taken as one."
  elseif repeats.skipped_first then
    local excess = repeats.first_excess_ns
    return ("Figures are from %d of %d repeats: the first is left out%s."):format(repeats.used,
      repeats.count, excess and (", it took %s longer than the others (one-time costs)")
        :format(ms(excess)) or "")
  elseif repeats.count == 1 then
    return "Figures are from one repeat."
  end
  return ("Figures are from all %d repeats."):format(repeats.count)
end


-- ---- sections ----

function parts.environment(results)
  local lines, environment = {}, results.environment
  if environment.devices and #environment.devices > 0 then
    lines[#lines + 1] = table_of("devices", environment.devices)
  else
    lines[#lines + 1] = "The trace does not name its GPU.\n"
  end
  local software = {}
  for _, key in ipairs { "driver", "cuda", "torch", "transformers" } do
    local value = environment[key]
    software[#software + 1] = ("%s %s"):format(key == "cuda" and "CUDA" or key,
      value and tostring(value) or "not recorded")
  end
  lines[#lines + 1] = escape(table.concat(software, ", ")) .. ".\n"
  return table.concat(lines, "\n")
end


function parts.aggregates(results)
  local totals = results.totals
  local lines = { table_of("aggregates", rows.aggregates(results)) }
  local latency = rows.latency(results)
  if #latency > 0 then lines[#lines + 1] = table_of("latency", latency) end
  if totals and totals.gpu_time_ns then
    lines[#lines + 1] = ("The whole capture: %s kernels, %s copies and sets, %s API calls; the GPU "
      .. "worked %s of %s.%s\n"):format(text.count(totals.kernels),
      text.count(totals.copies + totals.sets), text.count(totals.api_calls), ms(totals.busy_ns),
      ms(totals.span_ns), totals.stage_share
        and (" %s of its GPU time lies inside a stage."):format(percent(totals.stage_share)) or "")
  end
  return table.concat(lines, "\n")
end


-- Latency of each repeat.
function parts.each_repeat(results)
  local list = rows.repeats(results)
  return #list > 0 and table_of("repeats", list) or "The repeats were not told apart.\n"
end


function parts.stages(results)
  local nested = false
  for _, stage in ipairs(results.stages) do nested = nested or stage.parent ~= nil end
  return table_of("stages", rows.stages(results))
    .. (nested and "\nStages marked · lie inside their parent and are not added to it.\n" or "")
end


-- What the CPU did in each stage, and the GPU time by category.
function parts.breakdown(results)
  local cpu, categories = rows.cpu(results), rows.categories(results)
  local lines = {}
  if #cpu > 0 then
    lines[1] = "What the CPU did, and what it was in while the GPU was idle. The launch delay is "
      .. "from the end of the launching call to the start of the kernel.\n"
    lines[2] = table_of("cpu", cpu)
  end
  if #categories > 0 then lines[#lines + 1] = table_of("categories", categories) end
  return #lines > 0 and table.concat(lines, "\n") or "No stage was broken down.\n"
end


-- "989.4 TFLOP/s (conf/hardware/h200.yaml)", and what that is at the clock that
-- was held.
local function peak_text(peak, unit, count)
  local said = ("%s T%s (%s)"):format(text.number(peak.per_s * count / 1e12, 1, ","), unit,
    peak.source)
  if not peak.at_held_clock_per_s then return said end
  return ("%s, stated for %s MHz; at the clock that was held %s T%s"):format(said,
    text.number(peak.clock_hz / 1e6, 0), text.number(peak.at_held_clock_per_s * count / 1e12, 1),
    unit)
end


-- What the shares are of.
local function peaks_text(gpu)
  local compute, said = gpu.peaks[gpu.format], {}
  said[1] = compute and ("Peak in %s: %s."):format(gpu.format, peak_text(compute, "FLOP/s",
    gpu.count)) or ("Peak in %s: not known."):format(gpu.format)
  said[2] = gpu.memory and ("Memory: %s."):format(peak_text(gpu.memory, "B/s", gpu.count))
    or "Memory bandwidth: not known."
  if gpu.clock then
    said[3] = ("Clock held: %s MHz (%s)."):format(text.number(gpu.clock.hz / 1e6, 0),
      gpu.clock.source)
  end
  return escape(table.concat(said, " ")) .. "\n"
end


-- Which times the shares are of, and what describes the model.
local function basis_text(results)
  for _, stage in ipairs(results.stages) do
    if stage.efficiency then
      return escape(("Times: %s. The model's work: %s."):format(stage.efficiency.time_source,
        stage.cost.source)) .. "\n"
    end
  end
  return ""
end


-- What HFU counts, or why it is not there, by stage.
local function hfu_text(results)
  local said = {}
  for _, stage in ipairs(results.stages) do
    local note = not stage.parent and stage.efficiency and stage.efficiency.hfu_note
    if note then said[#said + 1] = ("%s: %s"):format(stage.name, note) end
  end
  return #said > 0 and escape(("HFU of %s."):format(table.concat(said, "; "))) .. "\n" or ""
end


-- Why figures of the hardware are not known, and how to say them.
local function unknown_peaks(results)
  local lines = {}
  for _, what in ipairs { "peak FLOP/s in " .. results.hardware.format, "memory bandwidth" } do
    local entry = missing(results, what)
    if entry then
      lines[#lines + 1] = ("The %s is not known: %s. To fill this: %s.\n"):format(escape(what),
        escape(entry.why), escape(entry.how))
    end
  end
  return table.concat(lines)
end


local function inputs_text(inputs)
  local said = {}
  for _, key in ipairs(sorted_keys(inputs)) do
    said[#said + 1] = ("%s = %.6g"):format(key, inputs[key])
  end
  return table.concat(said, ", ")
end


function parts.mfu(results)
  local list = rows.efficiency(results)
  if #list == 0 then
    return not_measured(missing(results, "the model's cost"), "The model's cost is not known.")
  end
  local pieces = { table_of("efficiency", list), "\n", basis_text(results), "\n",
    peaks_text(results.hardware), unknown_peaks(results), "\n", hfu_text(results) }
  for _, wrong in ipairs(rows.contradictions(results)) do
    pieces[#pieces + 1] = ("\n**Contradiction in %s:** %s (%s).\n"):format(escape(wrong.label),
      escape(wrong.text), escape(inputs_text(wrong.inputs)))
  end
  return table.concat(pieces)
end


-- What kernels could give back.
function parts.headroom(results, limit)
  if not results.headroom or #results.headroom == 0 then return "No kernel was found.\n" end
  local waiting = {}
  for _, stage in ipairs(results.stages) do
    if stage.bound == "launch" and not stage.parent then waiting[#waiting + 1] = stage.name end
  end
  return table_of("headroom", rows.headroom(results, limit))
    .. (#waiting > 0 and ("\nWhile the GPU waits for the CPU (%s), faster kernels make it wait "
      .. "longer: these figures hold once it does not.\n"):format(
        escape(table.concat(waiting, ", "))) or "")
end


function parts.operators(results)
  if not results.operators then
    return not_measured(missing(results, "operators"), "Not measured.")
  end
  return table_of("operators", results.operators.operators)
end


function parts.roofline(results)
  if not results.counters then
    return not_measured(missing(results, "counters"), "Not measured.")
  end
  local list = rows.kernels(results, function(kernel) return kernel.counters ~= nil end)
  return ("%d measured launches stand for %d kernels, which make up %s of the GPU time.\n\n")
    :format(results.counters.matched, results.counters.kernels,
      percent(results.counters.time_share or 0)) .. table_of("kernels", list)
    .. "\n### Headroom\n\n" .. parts.headroom(results, HEADROOM)
end


-- The largest kernels of each stage.
function parts.kernels(results, limit)
  local pieces = {}
  for _, stage in ipairs(results.stages) do
    local list = rows.kernels(results, function(kernel) return kernel.stage == stage.name end)
    if #list > 0 then
      local shown = table.move(list, 1, math.min(#list, limit), 1, {})
      pieces[#pieces + 1] = ("### %s\n\n%s"):format(escape(stage.name),
        table_of("stage_kernels", shown))
      if #list > #shown then
        pieces[#pieces + 1] = ("%d smaller ones are in kernels.md.\n"):format(#list - #shown)
      end
    end
  end
  if #pieces == 0 then return "No kernel ran inside a stage.\n" end
  return table.concat(pieces, "\n")
end


-- How far the capture can be trusted, and what it cost.
function parts.trust(results)
  local pieces = {}
  if results.integrity then
    pieces[1] = ("Verdict: **%s**.\n"):format(results.integrity.verdict)
    pieces[2] = table_of("integrity", results.integrity.checks)
  end
  if results.overhead then
    pieces[#pieces + 1] = ("What profiling cost, against %d plain runs:\n")
      :format(results.overhead.runs)
    pieces[#pieces + 1] = table_of("overhead", results.overhead.stages)
  else
    pieces[#pieces + 1] = "What profiling cost was not measured. To fill this: "
      .. "`overhead=measure` runs the workload plain before and after.\n"
  end
  return table.concat(pieces, "\n")
end


function parts.missing(results)
  if #results.missing == 0 then return "Nothing that the recipe asked for.\n" end
  return table_of("missing", results.missing)
end


return parts
