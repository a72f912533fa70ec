-- The sections that reports are put together from, each with its title, which stands
-- nowhere else, and what it says: blocks of results, which say what would fill them where there is
-- no data. view: page (there is room for more, and tables can be searched), whole (of a document
-- that has no other section).
local blocks = require "llmprof.report.blocks"
local charts = require "llmprof.report.html.charts"
local columns = require "llmprof.report.columns"
local errors = require "llmprof.process.errors"
local findings = require "llmprof.report.findings"
local key_sets = require "llmprof.tables.keys"
local layout = require "llmprof.bundle.layout"
local lists = require "llmprof.tables.lists"
local pictures = require "llmprof.report.pictures"
local process = require "llmprof.process.child"
local ranks = require "llmprof.report.ranks"
local rows = require "llmprof.report.rows"
local sections = require "llmprof.report.sections"
local text = require "llmprof.text"
local words = require "llmprof.report.words"

local chapters = {}

local say, note, join = blocks.say, blocks.note, blocks.join

-- What each says, by its name.
local make = { advice = findings.blocks, cpu_samples = pictures.blocks, ranks = ranks.blocks }

-- Kernels shown by what they could give back.
local HEADROOM = 15

-- Lines of the program in a report.
local LINES = 15


function make.environment(results)
  return join(say(words.model(results)),
    sections.either("devices", results.environment.devices or {},
      words.is_without_gpu(results) and "No GPU operation is in the trace."
        or "The trace does not name its GPU."),
    say(words.software(results)))
end


-- Latency, of each repeat, too, and what it costs.
function make.aggregates(results)
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


function make.stages(results, view)
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


function make.mfu(results)
  local list = rows.efficiency(results)
  local samples = sections.blocks(results, "sampled", { note = words.sampled(results) })
  if #list == 0 then return join(say(words.not_measured(results, "the model's cost")), samples) end
  return join(sections.table("efficiency", list),
    note(words.basis(results)), note(results.hardware and words.peaks(results.hardware)),
    note(words.unknown_peaks(results)), note(words.hfu(results)), contradictions(results), samples)
end


-- What kernels could give back.
local function headroom(results, view)
  local made = sections.blocks(results, "headroom", { most = not view.page and HEADROOM or nil })
  return made and join(made, note(words.headroom_waits(results)))
end


function make.roofline(results, view)
  local counted = results.counters ~= nil
  if not counted and not view.page then return say(words.not_measured(results, "counters")) end
  return join(counted and note(words.coverage(results)), note(words.padding(results)),
    blocks.chart { name = "roofline", label = "Roofline: FLOP per byte against TFLOP/s",
      data = charts.roofline(results), otherwise = words.not_measured(results, "counters"),
      picture = function() return charts.roofline_text(results) end },
    counted and sections.either("roofline", rows.roofline(results)),
    note(words.without_dot(results)), note(words.roofs(results)),
    #rows.ranges(results) > 0 and sections.blocks(results, "ranges", { note = words.ranges }),
    headroom(results, view))
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
function make.kernels(results, view)
  local times = words.measured_alone(results) and note(words.kernel_times(results))
  if view.page then
    return join(times, sections.blocks(results, "kernels", { filter = true, bare = true })
      or say(words.no_rows(results)), sections.blocks(results, "transfers"))
  end
  return join(times, by_stage(results, "stage_kernels", rows.top_n(results), 3,
    layout.reports.kernels))
end


-- The largest kernels over all stages.
function chapters.largest_kernels(results)
  local list, of = rows.largest(results)
  return join(sections.either("largest_kernels", list, words.no_rows(results)),
    of > #list and say(("%d of %s, over all stages."):format(#list, text.count(of))))
end


-- With their counters, up to a limit of each stage, which is a section of its own.
function chapters.all_kernels(results, limit)
  return join(note(words.kernel_times(results)), results.counters and note(words.coverage(results)),
    by_stage(results, "counted_kernels", limit, 2, layout.results))
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
    local tokens = words.several(one.tokens, "token")
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
        or "", words.several(one.events, "event"))
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
function make.operators(results, view)
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
function make.next(results)
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
function make.trust(results)
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
function make.lines(results, view)
  local made, most = results.lines, view.page and rows.top_n(results) or LINES
  local list = { note("For each launch the innermost line on its stack outside of the frameworks. "
    .. "A kernel of a CUDA graph has the line that captured it in llmprof's own recordings, the "
    .. "one that replayed it in traces of torch.profiler.") }
  list[2] = sections.blocks(results, "lines", { most = most, bare = true, filter = view.page,
    columns = not view.page and "top_lines" or nil })
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
function make.modules(results, view)
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
function make.layers(results)
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


-- ---- load ----

-- Less than this share of the planned rate was not held, of what comes not answered; a second
-- of requests or more says so.
local HELD, ANSWERED, MEANT_S = 0.95, 0.9, 1


local function rate(value) return text.number(value, 2) .. "/s" end


-- What a person should know before believing the latencies.
local function warnings(given)
  local list = {}
  local planned, held = given.planned_per_s, given.held_per_s
  local answered, possible = given.completed_per_s, given.unqueued_per_s
  if given.unread then list[1] = words.sentence(given.unread) end
  if not given.requests then return list end
  if planned and held and held < HELD * planned
    and given.completed + given.failed - 1 >= MEANT_S * planned then
    list[#list + 1] = ("The rate was not held: %s were sent of %s planned."):format(rate(held),
      rate(planned))
  end
  if answered and possible and answered < ANSWERED * possible then
    list[#list + 1] = ("%s were sent and %s answered: requests queued up, and latencies grow "
      .. "with the length of the run."):format(rate(held), rate(answered))
  end
  local unsent = given.requests - given.completed - given.failed
  local failed = lists.map(given.errors or {}, function(entry)
    return { count = entry.count, text = "failed: " .. entry.text }
  end)
  if unsent > 0 then
    table.insert(failed, 1, { count = unsent, text = "were not sent: the server had ended." })
  end
  return lists.add(list, lists.map(failed, function(entry)
    return ("%s of %s requests %s"):format(text.count(entry.count), text.count(given.requests),
      entry.text)
  end))
end


local function goal(given)
  local slo = given.slo
  if not slo then return nil end
  local limits = lists.map({ "ttft", "tpot" }, function(key)
    local limit = slo[key .. "_ns"]
    return limit and ("%s %s"):format(key:upper(), words.ms(limit))
  end)
  return ("Good requests are within %s: %s of %s."):format(table.concat(limits, " and "),
    text.count(slo.met), text.count(given.requests))
end


function make.load(results)
  local given, engine = results.load, results.engine_metrics
  local list = lists.map(given and warnings(given) or {}, function(line)
    return blocks.say(line, "warning")
  end)
  return blocks.join(list, sections.blocks(results, "load", { bare = true }),
    blocks.note(given and goal(given)), sections.blocks(results, "load_times"),
    sections.blocks(results, "engine_metrics"), engine and engine.complaint and blocks.note(
      ("%s samples of the engine's page failed: %s."):format(text.count(engine.failed or 0),
        engine.complaint)))
end


-- ---- in short ----

-- Samples of the cache that a report shows; the page has all.
local SAMPLES = 16


function make.first_token(results)
  return join(say(words.first_token(results)), sections.blocks(results, "first_token",
    { bare = true }))
end


function make.kv_cache(results, view)
  return join(say(words.kv_cache(results)), sections.blocks(results, "kv_cache",
    { bare = true, most = not view.page and SAMPLES or nil }))
end


function make.gaps(results)
  return sections.blocks(results, "gaps", { bare = true, note = "Times within a repeat in which "
    .. "the GPU did nothing, each with the stage of what ended it." })
end


function make.silent(results) return sections.blocks(results, "silent", { bare = true }) end


-- Sections that are their table, or the sentence where that has no row.
for name, otherwise in pairs { missing = "Nothing that the recipe asked for.",
  abstained = "Every rule had the data it needs." } do
  make[name] = function(results)
    return sections.either(name, sections.find(name).rows(results), otherwise)
  end
end

-- name, title; needs: what results have where there is such a section; tables: those in it, by
-- their columns, of which a recipe may pick (that of its name). In the order of reports that say
-- nothing else.
local list = {
  { "advice", "What to Do", tables = { "findings" } },
  { "aggregates", "Aggregates", tables = { "latency", "repeats", "running_cost" } },
  { "load", "Load", tables = { "load", "load_times", "engine_metrics" } },
  { "first_token", "Where TTFT Goes" },
  { "kv_cache", "KV Cache" },
  { "stages", "Per-Stage Timings", tables = { "stages", "summary_stages", "cpu", "categories" } },
  { "cpu_samples", "CPU Samples", needs = "cpu_samples", tables = { "stage_functions" } },
  { "gaps", "Longest Gaps" },
  { "lines", "Lines of the Program", needs = "lines", tables = { "lines", "top_lines" } },
  { "modules", "Modules and Operators", needs = "modules",
    tables = { "modules", "marked_layers", "marked_operators" } },
  { "layers", "Layers of a Decode Step", needs = "layers", tables = { "step_layers" } },
  { "ranks", "Steps, Ranks and Collectives", needs = "ranks", tables = { "ranks", "pipeline",
    "rank_stages", "steps", "idle_threads", "requests", "request_rows", "kv_transfers",
    "engine_looks", "collectives", "late", "layers", "rank_kernels", "rank_files" } },
  { "mfu", "MFU/MBU", tables = { "efficiency", "sampled" } },
  { "roofline", "Roofline", tables = { "roofline", "ranges", "headroom" } },
  { "kernels", "Top Kernels", tables = { "stage_kernels", "kernels", "top_kernels", "transfers" } },
  { "operators", "Top Operators", tables = { "operators", "timeline_operators",
    "summary_operators", "operator_stages", "operator_kernels" } },
  { "trust", "How Far to Trust It", tables = { "integrity", "overhead" } },
  { "missing", "Not Measured" },
  { "abstained", "Rules That Could Not Tell" },
  { "silent", "Rules That Found Nothing" },
  { "environment", "Environment", tables = { "devices" } },
  { "next", "Ask Further", tables = {} },
}

local by_name = {}
for _, chapter in ipairs(list) do
  chapter.name, chapter.title = chapter[1], chapter[2]
  chapter.tables = chapter.tables or { chapter.name }
  by_name[chapter.name] = chapter
end


-- All of them, by their names in the order above.
function chapters.names() return lists.map(list, "name") end


function chapters.heading(name) return blocks.heading { level = 2, title = by_name[name].title } end


-- What a section says, without its title; nothing where it is not there.
function chapters.content(results, name, view)
  local needs = by_name[name].needs
  return needs and not results[needs] and {} or join(make[name](results, view))
end


-- ---- the layout ----

local ALL = "all"


-- Columns of these keys, in their order; nil and the place of the first key that is none.
local function picked(known, wanted)
  local made = {}
  for i, key in ipairs(wanted) do
    made[i] = lists.find(known, "key", key)
    if not made[i] then return nil, i end
  end
  return made
end


local function check_columns(entry)
  local best, best_known = 0, nil
  for _, name in ipairs(by_name[entry.name].tables) do
    local made, place = picked(columns[name], entry.columns)
    if made then return end
    if place > best then best, best_known = place, lists.map(columns[name], "key") end
  end
  if not best_known then
    errors.raise("usage", ("report: section '%s' has no table"):format(entry.name))
  end
  local unknown = entry.columns[best]
  errors.raise("usage", ("report: no table of section '%s' has the column '%s'%s"):format(
    entry.name, unknown, key_sets.suggestion(unknown, best_known)),
    { hint = "columns: " .. table.concat(best_known, ", ") })
end


-- The sections of a configuration's `report`, in order: entries of a recipe's sections (of
-- llmprof.recipe; optional). Columns that no table has are an error.
function chapters.layout(order, own)
  local named, made = lists.set(order), {}
  local titled = lists.map(lists.filtered(own or {}, "title"), "name")
  local others = lists.filtered(lists.joined(chapters.names(), titled), function(name)
    return not named[name]
  end)
  local names = lists.flat(order, function(name) return name == ALL and others or { name } end)
  for _, name in ipairs(names) do
    local entry = lists.find(own or {}, "name", name) or { name = name }
    if not entry.title and entry.columns then check_columns(entry) end
    if not lists.find(made, "name", name) then made[#made + 1] = entry end
  end
  return made
end


-- Blocks with the rows and columns that an entry names: columns of tables that have them all.
local function fitted(content, entry, is_summary)
  local made = {}
  for i, block in ipairs(content) do
    made[i] = block
    if block.kind == "table" then
      local kept = lists.first(block.rows, entry.most)
      local rest = not is_summary and #block.rows - #kept or 0
      made[i] = { blocks.table { name = block.name, filter = block.filter, title = block.title,
        columns = entry.columns and picked(block.columns, entry.columns) or block.columns,
        rows = kept },
        rest > 0 and blocks.note(("%d more rows are in %s."):format(rest, layout.results)) }
    end
  end
  return blocks.join(made)
end


-- A recipe's own column: a key or { "key", "Title", digits = 2 }.
local function own_column(given, listed)
  given = type(given) == "table" and given or { given }
  local key = given[1]
  local values = lists.map(listed, key)
  local is_text = lists.any(values, function(value) return type(value) ~= "number" end)
  local has_parts = lists.any(values, function(value) return math.type(value) == "float" end)
  return { key = key, title = given[2] or key:gsub("_", " "), type = is_text and "text" or nil,
    digits = given.digits or has_parts and 2 or 0 }
end


-- A section of a recipe's own, as many rows as `most`; nil where it gives none.
local function own_blocks(results, entry, most)
  local given, keys = entry.rows(results), {}
  if not given then return nil end
  if #given == 0 then return blocks.join(blocks.say "No rows.") end
  local listed = lists.map(given, function(one)
    local row = {}
    for key, value in pairs(one) do
      key = tostring(key)
      row[key], keys[key] = type(value) == "number" and value or tostring(value), true
    end
    return row
  end)
  local made = lists.map(entry.columns or key_sets.sorted(keys), function(column)
    return own_column(column, listed)
  end)
  return blocks.join(blocks.table { name = entry.name, columns = made,
    rows = lists.first(listed, most) })
end


-- Sections of a layout that are there: a list of { name, title, content }. short(results, entry):
-- what ours say; of the view's otherwise.
function chapters.laid_out(results, entries, view, short)
  return lists.map(entries, function(entry)
    local content
    if entry.title then
      content = own_blocks(results, entry, view.rows)
    else
      content = short and short(results, entry) or not short
        and chapters.content(results, entry.name, view)
      content = content and fitted(content, entry, short ~= nil)
    end
    return content and #content > 0 and { name = entry.name, content = content,
      title = entry.title or by_name[entry.name].title } or nil
  end)
end


return chapters
