-- The tables of results.json by name: what `llmprof show` prints and the page
-- shows. Each section: name, title, columns, rows(results), and subject, what
-- results.missing calls it when it was not measured.
local blocks = require "llmprof.report.blocks"
local columns = require "llmprof.report.columns"
local errors = require "llmprof.process.errors"
local nearest = require "llmprof.tables.suggest"
local rows = require "llmprof.report.rows"
local section_rows = require "llmprof.report.section_rows"

local sections = {}

local by_name = {}


local function operators(results)
  return results.operators and results.operators.operators or {}
end


local function of_marks(key)
  return function(results) return results.modules and results.modules[key] or {} end
end


local function of_ranks(key)
  return function(results) return results.ranks and results.ranks[key] or {} end
end


local list = {
  { "devices", "GPUs", rows = function(results) return results.environment.devices or {} end },
  { "aggregates", "Aggregates" },
  { "latency", "Latency" },
  { "load", "Load", rows = section_rows.load_rows },
  { "load_times", "What clients waited for", rows = section_rows.time_rows },
  { "engine_metrics", "The engine's own numbers", rows = section_rows.engine_rows },
  { "repeats", "Latency of each repeat, profiled" },
  { "stages", "Per-Stage Timings" },
  { "cpu", "The CPU, by stage" },
  { "cpu_samples", "Functions that the CPU was in", subject = "sampled stacks",
    rows = section_rows.function_rows },
  { "cpu_stacks", "Sampled stacks", subject = "sampled stacks", rows = section_rows.frame_rows },
  { "categories", "GPU time by category" },
  { "efficiency", "MFU/MBU", subject = "the model's cost" },
  { "sampled", "Hardware samples" },
  { "gaps", "The longest gaps" },
  { "modules", "Modules", rows = of_marks "modules" },
  { "marked_layers", "Layers, by their ranges", rows = of_marks "layers" },
  { "marked_operators", "Operators, by their ranges", rows = of_marks "operators" },
  { "step_layers", "Layers of a decode step",
    rows = function(results) return results.layers and results.layers.rows or {} end },
  { "findings", "What to do" },
  { "abstained", "Rules that could not tell",
    rows = function(results) return results.advice and results.advice.abstained or {} end },
  { "silent", "Rules that found nothing",
    rows = function(results) return results.advice and results.advice.silent or {} end },
  { "ranks", "Ranks", rows = of_ranks "ranks" },
  { "pipeline", "Stages of the pipeline", rows = section_rows.pipeline },
  { "rank_stages", "Stages by rank", rows = section_rows.stages },
  { "steps", "Steps", rows = section_rows.steps },
  { "idle_threads", "Threads while the GPU waited", rows = of_ranks "idle_threads" },
  { "step_rows", "Single steps", rows = of_ranks "step_rows" },
  { "collectives", "Collectives", rows = of_ranks "collectives" },
  { "late", "Who the others wait for", rows = of_ranks "places" },
  { "layers", "Communication by layer", rows = of_ranks "layers" },
  { "rank_kernels", "Kernels over all ranks", rows = of_ranks "kernels" },
  { "rank_files", "Files and their clocks", rows = of_ranks "files" },
  { "requests", "What clients saw", rows = section_rows.requests },
  { "request_rows", "Requests and their steps", rows = section_rows.request_rows },
  { "kv_transfers", "KV caches between ranks", rows = section_rows.kv_transfers },
  { "engine_looks", "The engine's own numbers beside the steps", rows = section_rows.engine_looks },
  { "left_out", "Left out", rows = section_rows.left_out },
  { "kernels", "Kernels", columns = columns.page_kernels },
  { "ranges", "Counters of whole ranges", subject = "counters" },
  { "headroom", "Headroom" },
  { "operators", "Operators", subject = "operators",
    rows = function(results) return rows.operators(operators(results)) end },
  { "timeline_operators", "Operators on the timeline", subject = "operators",
    rows = function(results) return rows.timeline_operators(results) end },
  { "operator_stages", "Operators of each stage", subject = "operators",
    rows = function(results) return rows.operator_stages(operators(results)) end },
  { "operator_kernels", "Kernels of the operators", subject = "operators",
    rows = function(results) return rows.operator_kernels(results, operators(results)) end },
  { "transfers", "Copies" },
  { "selection", "Selected for counters" },
  { "integrity", "Integrity of the capture",
    rows = function(results) return results.integrity and results.integrity.checks or {} end },
  { "overhead", "What profiling cost" },
  { "missing", "Not measured", rows = function(results) return results.missing end },
}

for _, section in ipairs(list) do
  section.name, section.title = section[1], section[2]
  section.columns = section.columns or columns[section.name]
  section.rows = section.rows or rows[section.name]
  by_name[section.name] = section
end


-- All of them, in the order of the reports.
function sections.all()
  return list
end


function sections.known(name) return by_name[name] ~= nil end


-- A section by its name; an unknown one is an error.
function sections.find(name)
  if by_name[name] then return by_name[name] end
  local known = {}
  for i, entry in ipairs(list) do known[i] = entry.name end
  errors.raise("usage", ("no section '%s'%s"):format(name, nearest.suggestion(name, known)),
    { hint = "llmprof show RUN lists the sections" })
end


-- ---- as blocks ----

-- A table of records; name: of the columns.
function sections.table(name, records)
  return blocks.table { name = name, columns = columns[name], rows = records }
end


-- The table, or the sentence where there is no row.
function sections.either(name, records, otherwise)
  return #records > 0 and sections.table(name, records) or blocks.say(otherwise)
end


-- The title of a declared table.
function sections.title_block(name) return blocks.title(sections.find(name).title) end


-- A declared table under its title, of at most `most` rows; nothing without rows.
-- options: most, filter (a page can search in it), bare (no title), note (a sentence above).
function sections.blocks(results, name, options)
  options = options or {}
  local section = sections.find(name)
  local records = section.rows(results)
  local most = options.most or #records
  if #records == 0 then return nil end
  return blocks.join(not options.bare and blocks.title(section.title), blocks.note(options.note),
    blocks.table { name = name, columns = section.columns, filter = options.filter,
      rows = table.move(records, 1, math.min(#records, most), 1, {}) },
    #records > most and blocks.say(("%d more: llmprof show RUN %s."):format(#records - most, name)))
end


return sections
