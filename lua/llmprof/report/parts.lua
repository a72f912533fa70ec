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

-- Kernels named below the roofline's picture.
local LEGEND = 20

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
    note(words.nesting(results)), view.page and note(words.times_of(results)),
    not view.page and blocks.timeline { results = results,
      picture = function() return charts.mermaid_timeline(results) end },
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


-- What kernels could give back; all without a limit.
function parts.headroom(results, limit)
  if words.measured_alone(results) then return say(words.no_rows(results)) end
  local list = rows.headroom(results, limit)
  if #list == 0 then return say "No kernel was found." end
  return { sections.table("headroom", list), note(words.headroom_waits(results)) }
end


function parts.roofline(results, view)
  local counted = results.counters ~= nil
  if not counted and not view.page then return say(words.not_measured(results, "counters")) end
  return join(counted and note(words.coverage(results)), note(words.padding(results)),
    blocks.chart { name = "roofline", label = "Roofline: FLOP per byte against TFLOP/s",
      data = charts.roofline(results), otherwise = words.not_measured(results, "counters") },
    counted and sections.either("roofline", rows.roofline(results, view.page and LEGEND or nil)),
    note(words.without_dot(results)), note(words.roofs(results)),
    #rows.ranges(results) > 0 and sections.blocks(results, "ranges", { note = words.ranges }),
    sections.title_block "headroom", parts.headroom(results, not view.page and HEADROOM or nil))
end


-- The largest kernels of each stage, its title at a level. name: of the columns; rest:
-- where the others are.
local function by_stage(results, name, limit, level, rest)
  local list, stages, counts = {}, rows.kernel_stages(results)
  for _, stage in ipairs(stages) do
    local of, shown = counts[stage], rows.kernels(results, function(kernel)
      return kernel.stage == stage
    end, limit)
    list[#list + 1] = of > 0 and join(blocks.heading { level = level, title = stage },
      sections.table(name, shown),
      of > #shown and say(("%s smaller ones are in %s."):format(text.count(of - #shown),
        rest))) or nil
  end
  return #list > 0 and list or say "No kernel ran inside a stage."
end


-- By stage (as many as the policy names), all in a page.
function parts.kernels(results, view)
  local times = words.measured_alone(results) and note(words.kernel_times(results))
  if view.page then
    return join(times, sections.blocks(results, "kernels", { filter = true, bare = true })
      or say(words.no_rows(results)), sections.blocks(results, "transfers"),
      sections.blocks(results, "selection"))
  end
  return join(times, by_stage(results, "stage_kernels", rows.top_n(results), 3,
    layout.reports.kernels))
end


-- With their counters, up to a limit of each stage, which is a section of its own.
function parts.all_kernels(results, limit)
  return join(note(words.kernel_times(results)), by_stage(results, "kernels", limit, 2,
    layout.results))
end


function parts.selection(results)
  local selection = results.selection
  if not selection or not selection.filter or words.is_amd(results) then
    return say "No kernel was selected."
  end
  return join(sections.table("selection", rows.selection(results)),
    say "The filter for ncu that matches exactly these functions:",
    blocks.code { text = "--kernel-name " .. text.clean(selection.filter) })
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
  list[2] = view.page and sections.blocks(results, "lines", { most = most, bare = true,
    filter = true }) or sections.table("top_lines", lists.first(rows.lines(results), most))
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
