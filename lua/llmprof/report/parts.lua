-- What sections of reports say: each takes results and gives blocks, and says what would
-- fill it where it has no data. view: page (there is room for more, and tables can be searched).
local blocks = require "llmprof.report.blocks"
local process = require "llmprof.process.child"
local charts = require "llmprof.report.html.charts"
local lists = require "llmprof.tables.lists"
local layout = require "llmprof.bundle.layout"
local pictures = require "llmprof.report.pictures"
local rows = require "llmprof.report.rows"
local sections = require "llmprof.report.sections"
local text = require "llmprof.text"
local words = require "llmprof.report.words"

local parts = {}

local say, note, join = blocks.say, blocks.note, blocks.join

-- Kernels shown by what they could give back.
local HEADROOM = 15

-- Lines of the program in a report.
local LINES = 15


-- ---- sections ----

function parts.environment(results)
  return join(say(words.model(results)),
    sections.either("devices", results.environment.devices or {},
      words.is_without_gpu(results) and "No GPU operation is in the trace."
        or "The trace does not name its GPU."),
    say(words.software(results)))
end


-- Latency, of each repeat, too, and what it costs.
function parts.aggregates(results)
  local latency = sections.either("latency", rows.latency(results), nil)
  return join(latency or say(words.no_latency(results)), note(words.latency_basis(results)),
    note(words.totals(results)),
    latency and blocks.chart { name = "tpot", label = "Histogram of the time per output token",
      data = charts.tpot(results),
      otherwise = "No histogram: results.json has fewer than two times per output token." },
    latency and sections.either("repeats", rows.repeats(results),
      "The repeats were not told apart."),
    sections.blocks(results, "running_cost", { note = words.running_cost(results) }))
end


function parts.stages(results, view)
  local cpu, categories = rows.cpu(results), rows.categories(results)
  local under = results.overhead and " under the profiler" or ""
  return join(sections.either("stages", rows.stages(results),
      words.no_rows(results)),
    view.page and note(words.times_of(results)),
    blocks.chart { name = "categories", label = "GPU time of each stage by category of kernel",
      data = charts.categories(results),
      picture = function() return charts.mermaid_categories(results) end },
    #cpu + #categories == 0 and say "No stage was broken down.",
    #cpu > 0 and { note("What the CPU did" .. under .. ", and where it was while the GPU was "
      .. "idle. The launch delay is from the end of the launching call to the start of the "
      .. "kernel."),
      sections.table("cpu", cpu) },
    #categories > 0 and sections.table("categories", categories))
end


-- Every quantity that cannot be.
local function contradictions(results)
  return lists.flat(lists.filtered(results.stages, "efficiency"), function(stage)
    return lists.map({ "mfu", "mfu_at_clock", "mbu", "hfu", "floor_share" }, function(key)
      local made = stage.efficiency[key]
      return made and made.contradiction
        and blocks.say({ { strong = ("Contradiction in %s:"):format(stage.name) },
          (" %s (%s)."):format(made.contradiction, words.inputs(made.inputs)) }, "warning") or nil
    end)
  end)
end


function parts.efficiency(results)
  local list = rows.efficiency(results)
  local samples = sections.blocks(results, "sampled", { note = words.sampled(results) })
  if #list == 0 then return join(say(words.not_measured(results, "the model's cost")), samples) end
  return join(sections.table("efficiency", list),
    note(words.basis(results)), note(results.hardware and words.peaks(results.hardware)),
    note(words.unknown_peaks(results)), note(words.hfu(results)),
    contradictions(results), samples)
end


-- What kernels could give back.
local function headroom(results, view)
  if words.measured_alone(results) then return say(words.no_rows(results)) end
  local made = sections.blocks(results, "headroom",
    { bare = true, most = not view.page and HEADROOM or nil })
  return made and join(made, note(words.headroom_waits(results))) or say "No kernel was found."
end


function parts.roofline(results, view)
  local counted = results.counters ~= nil
  if not counted and not view.page then return say(words.not_measured(results, "counters")) end
  return join(counted and note(words.coverage(results)), note(words.padding(results)),
    blocks.chart { name = "roofline", label = "Roofline: FLOP per byte against TFLOP/s",
      data = charts.roofline(results), otherwise = words.not_measured(results, "counters"),
      picture = function() return charts.roofline_text(results) end },
    counted and sections.either("roofline", rows.roofline(results)),
    note(words.without_dot(results)), note(words.roofs(results)),
    #rows.ranges(results) > 0 and sections.blocks(results, "ranges", { note = words.ranges }),
    sections.title_block "headroom", headroom(results, view))
end


-- The largest kernels of each stage in their order, its title at a level. name: of the columns;
-- rest: where the others are.
local function by_stage(results, name, limit, level, rest)
  local groups, by_name = lists.grouped(rows.kernels(results), "stage")
  if #groups == 0 then return say "No kernel ran inside a stage." end
  local known = lists.map(results.stages, function(stage) return by_name[stage.name] end)
  local others = lists.filtered(groups, function(group) return not lists.has(known, group) end)
  return lists.map(lists.joined(known, others), function(group)
    local shown = lists.first(group, limit)
    return join(blocks.heading { level = level, title = group[1].stage },
      sections.table(name, shown), #group > #shown and say(("%s smaller ones are in %s."):format(
        text.count(#group - #shown), rest)))
  end)
end


-- By stage (as many as the policy names), all in a page.
function parts.kernels(results, view)
  local times = words.measured_alone(results) and note(words.kernel_times(results))
  if view.page then
    return join(times, sections.blocks(results, "kernels", { filter = true, bare = true })
      or say(words.no_rows(results)), sections.blocks(results, "transfers"))
  end
  return join(times, by_stage(results, "stage_kernels", rows.top_n(results), 3,
    layout.reports.kernels))
end


-- The largest kernels over all stages.
function parts.largest_kernels(results)
  local list, of = rows.largest(results)
  return join(sections.either("largest_kernels", list, words.no_rows(results)),
    of > #list and say(("%d of %s, over all stages."):format(#list, text.count(of))))
end


-- With their counters, up to a limit of each stage, which is a section of its own.
function parts.all_kernels(results, limit)
  return join(note(words.kernel_times(results)), results.counters and note(words.coverage(results)),
    by_stage(results, "kernels", limit, 2, layout.results))
end


-- ---- operators ----

-- Rows of each table of operators.md, where nobody reads further, and of report.md.
local MOST, IN_REPORT = 300, 30

-- Batches that are told.
local INPUTS = 8


local SLOWED = "Under torch.profiler, which slows the CPU: shares are near those of a plain run, "
  .. "times are longer."


-- The device time that no operator launched; nil without.
local function unattributed(operators)
  local whole, rest = operators.device_ns, operators.unattributed_device_ns
  if not whole or not rest or rest == 0 then return nil end
  return note(("No operator launched %s of the device time (%s): replays of CUDA graphs "
    .. "do not say which."):format(text.duration(rest), words.percent(rest / whole)))
end


-- Batches and lengths that shapes tell, the first of them; nil where none do.
local function inputs(operators)
  local list = operators.inputs or {}
  local said = lists.map(lists.first(list, INPUTS), function(one)
    local tokens = text.count(one.tokens) .. (one.tokens == 1 and " token" or " tokens")
    return ("%s (%s)"):format(one.sequences
      and ("%s of %s"):format(text.count(one.sequences), tokens) or tokens,
      one.calls == 1 and "once" or text.count(one.calls) .. " times")
  end)
  if #list > INPUTS then said[#said + 1] = ("%d others"):format(#list - INPUTS) end
  return #said > 0 and note(("Batches by the shapes of embeddings: %s."):format(
    table.concat(said, ", "))) or nil
end


-- What allocators gave out on each device at most; nil where they told nothing.
local function memory(operators)
  local said = lists.map(operators.memory or {}, function(one)
    return ("%s at most %s%s (%s)"):format(
      one.device and "GPU " .. one.device or "the host", text.bytes(one.allocated_bytes or 0),
      (one.reserved_bytes or 0) > 0 and " of " .. text.bytes(one.reserved_bytes) .. " reserved"
        or "", text.count(one.events) .. (one.events == 1 and " event" or " events"))
  end)
  return #said > 0 and note(("Memory that PyTorch's allocators had given out: %s."):format(
    table.concat(said, "; "))) or nil
end


local BY_NAME = "by kernel names that only one operator launches"

-- How much of the timeline joined, and by what.
local function joined_note(results)
  local joined = results.operators.joined
  if not joined then return nil end
  local order, name = joined.by_order.launches, joined.by_name.launches
  local how = order == 0 and BY_NAME .. ", as the order was not recorded"
    or ("%s by their order, %s %s"):format(text.count(order), text.count(name), BY_NAME)
  local time = joined.by_order.gpu_time_ns + joined.by_name.gpu_time_ns
  local share = joined.gpu_time_ns > 0 and time / joined.gpu_time_ns or 0
  local idle = joined.outside_ns or 0
  local before = idle > 0 and (" While the CPU was outside CUDA the GPU was idle for %s, %s of it "
    .. "before them."):format(text.duration(idle),
    words.percent((joined.joined_outside_ns or 0) / idle)) or ""
  return ("%s of the %s launches of the repeats that count have an operator, with "
    .. "%s of the GPU time: %s.%s"):format(text.count(order + name),
    text.count(joined.launches), words.percent(share), how, before)
end


-- The operators with the most device time, as blocks. view.whole: for operators.md, with all
-- tables, as a page has them.
function parts.operators(results, view)
  local operators = results.operators
  if not operators then return say(words.not_measured(results, "operators")) end
  local most = not view.page and (view.whole and MOST or IN_REPORT) or nil
  local function of(name, above)
    return sections.blocks(results, name, { filter = view.page, most = most, note = above })
  end
  local is_whole = view.page or view.whole
  return join(of("timeline_operators", joined_note(results)), of("operators", SLOWED),
    unattributed(operators), is_whole and of("operator_stages", SLOWED),
    is_whole and of "operator_kernels", inputs(operators), memory(operators))
end


-- ---- what to ask next ----

-- A line of the prompt for the stage that has most to tell, else for all.
local function prompt_line(results)
  local whole = results.repeats and results.repeats.whole_run
  local stage = not whole and results.stages[#results.stages]
  return ('kernels%s:group("category"):sum("dur"):top(5, "dur")'):format(
    stage and (":where { stage = %q }"):format(text.clean(stage.parent or stage.name)) or "")
end


-- Commands that show more of this run.
function parts.next(results)
  local run = results.run.id
  local lines = lists.map({ { "show", run }, { "-e", prompt_line(results), run }, { "repl", run },
    { "export", run } }, function(argv) return "llmprof " .. process.shown(argv) end)
  return { say "Look further into this run:",
    blocks.code { text = table.concat(lines, "\n") },
    note("show lists tables and prints each, -e and repl answer questions over every kernel, copy, "
      .. "call and range, export writes the timeline for ui.perfetto.dev; llmprof help metrics, "
      .. "repl, bundle and advice say more.") }
end


-- ---- trust ----

-- How far the capture can be trusted, and what it cost.
function parts.trust(results)
  local integrity, overhead = results.integrity, results.overhead
  return join(integrity and { say { "Verdict: ", { strong = integrity.verdict }, "." },
      #integrity.checks > 0 and sections.table("integrity", integrity.checks) or nil },
    overhead and { say(("What profiling cost, against %d plain run%s:"):format(overhead.runs,
      overhead.runs == 1 and "" or "s")),
      sections.table("overhead", rows.overhead(results)) } or say(words.no_overhead(results)))
end


-- What stacks call kernels by: the label, where all that are called so have the same, and the
-- category of the one with the most time.
local function by_short_name(kernels)
  local known = {}
  for _, kernel in ipairs(kernels) do
    local name, label = kernel.short_name or kernel.name, kernel.label or kernel.name
    known[name] = known[name] or { label = label, category = kernel.category }
    if known[name].label ~= label then known[name].label = name end
  end
  return known
end


-- The lines of the program, and the stacks of each stage.
function parts.lines(results, view)
  local made, most = results.lines, view.page and rows.top_n(results) or LINES
  local list = { note("For each launch the innermost line on its stack outside of the frameworks. "
    .. "A kernel of a CUDA graph has the line that captured it in llmprof's own recordings, the "
    .. "one that replayed it in traces of torch.profiler.") }
  list[2] = sections.blocks(results, "lines", { most = most, bare = true, filter = view.page })
  local launched = by_short_name(results.kernels)
  for i, stage in ipairs(made.stages) do
    local function share(ns) return words.percent(ns / math.max(stage.gpu_ns, 1)) end
    list[#list + 1] = { blocks.title(stage.stage), note(("%s of its GPU time has a line, %s%s a "
      .. "module."):format(share(stage.line_ns), stage.generated_ns and ("%s one of a file that "
      .. "torch.compile generated, "):format(share(stage.generated_ns)) or "",
      share(stage.module_ns))),
      blocks.flame { name = "lines-" .. i, samples = stage.gpu_ns, of = "ns", tree = stage.tree,
        launched = launched, colours = view.page and charts.colours(results),
        label = ("%s of GPU time of %s: the program's outermost function on top, below it what it "
          .. "called and launched, each as wide as its share"):format(
          text.duration(stage.gpu_ns), stage.stage) } }
  end
  return list
end


-- What stacks or ranges name: modules, layers, operators, as many rows of each as of kernels.
function parts.modules(results, view)
  local by_stacks = results.lines and #results.modules.operators == 0
  local by = by_stacks
    and "By the torch modules on the stacks of launches. Work of the GPU belongs to the innermost"
    or "By the NVTX ranges that name them. Work of the GPU belongs to the innermost range around "
      .. "its launch"
  local has_layers = #sections.find("marked_layers").rows(results) > 0
  local made = { note(by .. "; a module's GPU time includes the modules in it, \"itself\" does not."
    .. (has_layers and " Layers are told apart in the second table only." or "")) }
  for _, section in ipairs { "modules", "marked_layers", "marked_operators" } do
    made[#made + 1] = sections.blocks(results, section,
      { most = not (by_stacks and view.page) and rows.top_n(results) or nil })
  end
  return made
end


-- The layers of a decode step, a row each.
function parts.layers(results)
  local made = results.layers
  local said = ("A step of decode has %d layers, as torch modules say%s."):format(made.count,
    made.module and ": " .. made.module or "")
  if made.kernel then
    said = ("A step of decode has %d layers, by %s, which runs once in each%s. A layer %s, "
      .. "and has no row."):format(made.count, made.kernel,
      made.named and "" or ", as most of its kernels do",
      made.ends and "ends with it; the first one begins with the step"
        or "ends where it runs again; the last one has no end of its own")
  end
  return { note(said), pictures.layers(results) or {},
    sections.table("step_layers", rows.step_layers(results)) }
end


return parts
