-- The sections that reports are put together from. Each takes results and gives
-- Markdown; a section without data says what would fill it.
local columns = require "llmprof.report.columns"
local layout = require "llmprof.bundle.layout"
local markdown = require "llmprof.markdown"
local rows = require "llmprof.report.rows"
local sections = require "llmprof.report.sections"
local tables = require "llmprof.base.tables"
local text = require "llmprof.text"
local words = require "llmprof.report.words"

local parts = {}

local escape = markdown.escape

-- Kernels shown by what they could give back.
local HEADROOM = 15


local function table_of(name, list)
  return tables.render("md", columns[name], list)
end

parts.table = table_of


-- A sentence as a paragraph; nothing for nil.
local function paragraph(said)
  return said and escape(said) .. "\n" or ""
end

parts.paragraph = paragraph


-- Why a subject was not measured, and what would.
function parts.not_measured(results, what)
  return paragraph(words.not_measured(results, what))
end


function parts.title(results)
  return escape(words.title(results))
end


-- Which model, in one line.
function parts.model(results)
  return paragraph(words.model(results))
end


-- Where the numbers come from, in one paragraph.
function parts.source(results)
  return paragraph(words.source(results))
end


-- ---- sections ----

function parts.environment(results)
  local lines, environment = { parts.model(results) }, results.environment
  if environment.devices and #environment.devices > 0 then
    lines[#lines + 1] = table_of("devices", environment.devices)
  else
    lines[#lines + 1] = "The trace does not name its GPU.\n"
  end
  lines[#lines + 1] = paragraph(words.software(results))
  return table.concat(lines, "\n")
end


-- The table, or what would fill it where the GPU did nothing.
local function table_or_reason(results, name, list)
  if #list > 0 then return table_of(name, list) end
  return paragraph(words.no_rows(results))
end


-- Tables, then what is said of their latency and of the whole capture.
local function with_totals(results, ...)
  local lines = { ... }
  for _, said in ipairs { words.latency_basis(results) or "", words.totals(results) or "" } do
    if said ~= "" then lines[#lines + 1] = paragraph(said) end
  end
  return table.concat(lines, "\n")
end


function parts.aggregates(results)
  local latency = rows.latency(results)
  return with_totals(results, table_or_reason(results, "aggregates", rows.aggregates(results)),
    #latency > 0 and table_of("latency", latency) or nil)
end


-- Latency, or where it was not measured the length of the stages.
function parts.brief_aggregates(results)
  local latency = rows.latency(results)
  return with_totals(results, #latency > 0 and table_of("latency", latency)
    or table_or_reason(results, "aggregates", rows.aggregates(results)))
end


-- Latency of each repeat.
function parts.each_repeat(results)
  local list = rows.repeats(results)
  return #list > 0 and table_of("repeats", list) or "The repeats were not told apart.\n"
end


-- name: of the columns.
local function stages(name, results)
  local nesting = words.nesting(results)
  return table_or_reason(results, name, rows.stages(results))
    .. (nesting and "\n" .. paragraph(nesting) or "")
end

function parts.stages(results) return stages("stages", results) end
function parts.brief_stages(results) return stages("brief_stages", results) end


-- Functions by GPU time, over all stages.
function parts.top_kernels(results)
  if words.measured_alone(results) then
    return paragraph(words.kernel_times(results)) .. "\n"
      .. table_of("top_kernels", rows.functions(results))
  end
  return table_or_reason(results, "top_kernels", rows.functions(results))
end


-- The largest kernels over all stages, under a title.
function parts.largest_kernels(results)
  local list, of = rows.largest(results)
  return ("## Top Kernels\n\n%s%s"):format(table_or_reason(results, "largest_kernels", list),
    of > #list and ("\n%d of %s, over all stages.\n"):format(#list, text.count(of)) or "")
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


-- name: of the columns; more: what follows the peaks.
local function efficiency(name, results, more)
  local list = rows.efficiency(results)
  if #list == 0 then return parts.not_measured(results, "the model's cost") end
  local pieces = { table_of(name, list), "\n", paragraph(words.basis(results)), "\n",
    paragraph(words.peaks(results.hardware)), paragraph(words.unknown_peaks(results)), more }
  for _, wrong in ipairs(rows.contradictions(results)) do
    pieces[#pieces + 1] = ("\n**Contradiction in %s:** %s (%s).\n"):format(escape(wrong.label),
      escape(wrong.text), escape(words.inputs(wrong.inputs)))
  end
  return table.concat(pieces)
end


function parts.mfu(results)
  return efficiency("efficiency", results, "\n" .. paragraph(words.hfu(results)))
end


function parts.brief_mfu(results)
  return efficiency("brief_efficiency", results, "")
end


-- What kernels could give back.
function parts.headroom(results, limit)
  if words.measured_alone(results) then return paragraph(words.no_rows(results)) end
  if not results.headroom or #results.headroom == 0 then return "No kernel was found.\n" end
  local waits = words.headroom_waits(results)
  return table_of("headroom", rows.headroom(results, limit))
    .. (waits and "\n" .. paragraph(waits) or "")
end


-- Counters of whole ranges, under a title; nil without.
local function ranges(results)
  local list = rows.ranges(results)
  return #list > 0 and ("### %s\n\n%s\n%s"):format(sections.find("ranges").title,
    paragraph(words.ranges), table_of("ranges", list)) or nil
end


function parts.roofline(results)
  if not results.counters then return parts.not_measured(results, "counters") end
  local pieces = { paragraph(words.coverage(results)), paragraph(words.padding(results)) }
  local list, roofs = rows.roofline(results), words.roofs(results)
  if #list > 0 then pieces[#pieces + 1] = table_of("roofline", list) end
  if roofs then pieces[#pieces + 1] = paragraph(roofs) end
  pieces[#pieces + 1] = ranges(results)
  pieces[#pieces + 1] = "### Headroom\n\n" .. parts.headroom(results, HEADROOM)
  return table.concat(pieces, "\n")
end


-- The largest kernels of each stage, its title marked by `mark`. name: of the columns;
-- rest: where the others are.
local function by_stage(results, name, limit, mark, rest)
  local pieces = {}
  for _, stage in ipairs(rows.kernel_stages(results)) do
    local list = rows.kernels(results, function(kernel) return kernel.stage == stage end)
    if #list > 0 then
      local shown = table.move(list, 1, math.min(#list, limit), 1, {})
      pieces[#pieces + 1] = ("%s %s\n\n%s"):format(mark, escape(stage),
        table_of(name, shown))
      if #list > #shown then
        pieces[#pieces + 1] = ("%s smaller ones are in %s.\n"):format(
          text.count(#list - #shown), rest)
      end
    end
  end
  if #pieces == 0 then return "No kernel ran inside a stage.\n" end
  return table.concat(pieces, "\n")
end


-- As many as the policy names.
function parts.kernels(results)
  local marked = words.measured_alone(results)
    and paragraph(words.kernel_times(results)) .. "\n" or ""
  return marked .. by_stage(results, "stage_kernels", rows.top_n(results), "###", "kernels.md")
end


-- With their counters, up to a limit of each stage.
function parts.all_kernels(results, limit)
  return by_stage(results, "kernels", limit, "##", layout.results)
end


-- checks: those of the integrity that are shown.
local function trust(results, checks)
  local pieces = {}
  if results.integrity then
    pieces[1] = ("Verdict: **%s**.%s\n"):format(results.integrity.verdict,
      #checks < #results.integrity.checks and (" Nothing to see in %d of %d checks.")
        :format(#results.integrity.checks - #checks, #results.integrity.checks) or "")
    if #checks > 0 then pieces[2] = table_of("integrity", checks) end
  end
  if results.overhead then
    pieces[#pieces + 1] = ("What profiling cost, against %d plain runs:\n")
      :format(results.overhead.runs)
    pieces[#pieces + 1] = table_of("overhead", rows.overhead(results))
  else
    pieces[#pieces + 1] = paragraph(words.no_overhead)
  end
  return table.concat(pieces, "\n")
end


-- How far the capture can be trusted, and what it cost.
function parts.trust(results)
  return trust(results, results.integrity and results.integrity.checks)
end


-- The same without the checks that found nothing.
function parts.brief_trust(results)
  local checks = {}
  for _, check in ipairs(results.integrity and results.integrity.checks or {}) do
    if check.level ~= "ok" then checks[#checks + 1] = check end
  end
  return trust(results, checks)
end


function parts.missing(results)
  if #results.missing == 0 then return "Nothing that the recipe asked for.\n" end
  return table_of("missing", results.missing)
end


-- The layers of a decode step, a row each.
function parts.layers(results)
  local made = results.layers
  local said = ("%s has %d layers, by %s, which comes once in each%s. A layer lasts until it comes "
    .. "again; the last one goes on into what follows the layers, and has no row."):format(
    "A step of decode", made.count, escape(made.kernel),
    made.named and "" or ", as most of its kernels do")
  return parts.paragraph(said) .. "\n" .. parts.table("step_layers", made.rows)
end


return parts
