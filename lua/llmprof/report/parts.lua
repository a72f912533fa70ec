-- The sections that reports are put together from. Each takes results and gives
-- Markdown; a section without data says what would fill it.
local columns = require "llmprof.report.columns"
local markdown = require "llmprof.markdown"
local rows = require "llmprof.report.rows"
local tables = require "llmprof.tables"
local text = require "llmprof.text"

local parts = {}

local escape = markdown.escape

-- Kernels shown for each operator.
local KERNELS_EACH = 5


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


-- Where the numbers come from, in one paragraph.
function parts.source(results)
  local timeline, counters = results.source.timeline, results.source.counters
  local said = {}
  said[#said + 1] = ("Timeline: %s%s%s."):format(timeline.tool or "an nsys export",
    timeline.from == "recorded" and ", a recorded capture" or "",
    timeline.recorded and " of " .. timeline.recorded or "")
  said[#said + 1] = counters and ("Counters: %s."):format(counters.tool or "Nsight Compute")
    or "Counters: not measured."
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
  if totals and totals.gpu_time_ns then
    lines[#lines + 1] = ("The whole capture: %s kernels, %s copies and sets, %s API calls; the GPU "
      .. "worked %s of %s.%s\n"):format(text.count(totals.kernels),
      text.count(totals.copies + totals.sets), text.count(totals.api_calls), ms(totals.busy_ns),
      ms(totals.span_ns), totals.stage_share
        and (" %s of its GPU time lies inside a stage."):format(percent(totals.stage_share)) or "")
  end
  return table.concat(lines, "\n")
end


function parts.stages(results)
  local nested = false
  for _, stage in ipairs(results.stages) do nested = nested or stage.parent ~= nil end
  return table_of("stages", rows.stages(results))
    .. (nested and "\nStages marked · lie inside their parent and are not added to it.\n" or "")
end


function parts.mfu()
  return "Not computed: the model's cost (FLOP, bytes) is not known. To fill this: describe the "
    .. "architecture in the recipe's `model.arch`, or give the recipe a `flops(stage, metrics, "
    .. "cfg)`.\n"
end


-- The part of the device time that no operator launched.
local function unattributed(operators)
  local whole, rest = operators.device_ns, operators.unattributed_device_ns
  if not whole or not rest or rest == 0 then return "" end
  return ("\nNo operator launched %s of the device time (%s): replays of CUDA graphs do not say "
    .. "which.\n"):format(ms(rest), percent(rest / whole))
end


-- The operators with the most device time; all are in operators.md.
function parts.operators(results, limit)
  local operators = results.operators
  if not operators then
    return not_measured(missing(results, "operators"), "Not measured.")
  end
  local list = operators.operators
  local more = #list > limit
    and ("\n%s more are in operators.md.\n"):format(text.count(#list - limit)) or ""
  return table_of("top_operators", rows.operators(list, limit)) .. unattributed(operators) .. more
end


-- All of operators.md below its title: `limit` operators, and the kernels of
-- the first `detailed` of them.
function parts.all_operators(results, limit, detailed)
  local operators = results.operators
  if not operators then
    return not_measured(missing(results, "operators"), "Not measured.")
  end
  local list = operators.operators
  local out = { ("%s operators and runtime calls; source: %s.\n\n"):format(text.count(#list),
    escape(operators.source or "not recorded")),
    table_of("operators", rows.operators(list, limit)), unattributed(operators) }
  if #list > limit then
    out[#out + 1] = ("\n%s more are in results.json.\n"):format(text.count(#list - limit))
  end
  local kernels = rows.operator_kernels(rows.operators(list, detailed), KERNELS_EACH)
  if #kernels > 0 then
    out[#out + 1] = "\n## What They Launched\n\n" .. table_of("operator_kernels", kernels)
  end
  return table.concat(out)
end


function parts.roofline(results)
  if not results.counters then
    return not_measured(missing(results, "counters"), "Not measured.")
  end
  local list = rows.kernels(results, function(kernel) return kernel.counters ~= nil end)
  return ("%d measured launches stand for %d kernels, which make up %s of the GPU time.\n\n")
    :format(results.counters.matched, results.counters.kernels,
      percent(results.counters.time_share or 0)) .. table_of("kernels", list)
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


-- What holds each stage up, and what to try, in order of what it could give.
local function findings(results)
  local list = {}
  for _, stage in ipairs(results.stages) do
    if stage.wall and not stage.parent and stage.bound == "launch" then
      list[#list + 1] = { stage = stage, gain = stage.gpu_idle_ns }
    end
  end
  table.sort(list, function(a, b)
    if a.gain ~= b.gain then return a.gain > b.gain end
    return a.stage.name < b.stage.name
  end)
  return list
end


-- One line per finding: evidence, and what to do about it.
function parts.advice(results)
  local lines = {}
  for i, finding in ipairs(findings(results)) do
    local stage = finding.stage
    lines[i] = ("%d. **%s: feed the GPU.** It is idle %s of %s (%s), while the CPU issues %s "
      .. "launches. A CUDA graph or `torch.compile(mode=\"reduce-overhead\")` can give back at "
      .. "most that."):format(i, escape(stage.name), ms(stage.gpu_idle_ns), ms(stage.wall.mean_ns),
        percent(stage.idle_share), text.count(math.floor(stage.launches + 0.5)))
  end
  if #lines == 0 then
    return "No stage leaves the GPU idle for half of its time; the largest kernels come first.\n"
  end
  return table.concat(lines, "\n") .. "\n"
end


-- The verdict in up to three lines.
function parts.verdict(results)
  local first = findings(results)[1]
  local lines = {}
  if first then
    local stage = first.stage
    local per_token = stage.kernels_per_token
      and (", %s kernels per token"):format(text.count(math.floor(stage.kernels_per_token + 0.5)))
      or (", %s launches"):format(text.count(math.floor(stage.launches + 0.5)))
    lines[1] = ("**%s is launch-bound.** The GPU works %s of %s; the rest of the time it waits for "
      .. "the CPU%s."):format(escape(stage.name), ms(stage.gpu_busy_ns), ms(stage.wall.mean_ns),
      per_token)
    lines[2] = ("**First move:** run %s as a CUDA graph. At most %s of %s can come back."):format(
      escape(stage.name), ms(stage.gpu_idle_ns), ms(stage.wall.mean_ns))
  else
    local top = results.kernels[1]
    lines[1] = "**The GPU is kept busy.** What remains is the time of the kernels themselves."
    lines[2] = top and ("**First move:** look at %s, %s of the GPU time."):format(
      markdown.code(top.short_name), percent(top.share or 0)) or "No kernel was found."
  end
  local totals = results.totals
  lines[3] = ("**Trust:** %s%s%s"):format(results.integrity
    and results.integrity.verdict .. ". " or "", totals and totals.stage_share
    and ("%s of the GPU time lies in a stage. "):format(percent(totals.stage_share)) or "",
    escape(parts.repeats(results)))
  return lines
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
