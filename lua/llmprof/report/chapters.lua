-- The sections that reports are put together from, each with its title, which stands
-- nowhere else, and what it says, as blocks.
local blocks = require "llmprof.report.blocks"
local columns = require "llmprof.report.columns"
local errors = require "llmprof.process.errors"
local findings = require "llmprof.report.findings"
local key_sets = require "llmprof.tables.keys"
local lists = require "llmprof.tables.lists"
local layout = require "llmprof.bundle.layout"
local parts = require "llmprof.report.parts"
local ranks = require "llmprof.report.ranks"
local sections = require "llmprof.report.sections"
local pictures = require "llmprof.report.pictures"
local text = require "llmprof.text"
local words = require "llmprof.report.words"

local chapters = {}

-- ---- load ----

-- Less than this share of the planned rate was not held, of what comes not answered; a second
-- of requests or more says so.
local HELD, ANSWERED, MEANT_S = 0.95, 0.9, 1


local function rate(value) return text.number(value, 2) .. "/s" end


-- What a person should know before believing the latencies.
local function warnings(given)
  local list = {}
  local planned, held = given.planned_per_s, given.held_per_s
  if given.unread then list[1] = given.unread:sub(1, 1):upper() .. given.unread:sub(2) .. "." end
  if not given.requests then return list end
  if planned and held and held < HELD * planned
    and given.completed + given.failed - 1 >= MEANT_S * planned then
    list[#list + 1] = ("The rate was not held: %s were sent of %s planned."):format(rate(held),
      rate(planned))
  end
  local answered, possible = given.completed_per_s, given.unqueued_per_s
  if answered and possible and answered < ANSWERED * possible then
    list[#list + 1] = ("%s were sent and %s answered: requests queued up, and latencies grow "
      .. "with the length of the run."):format(rate(held), rate(answered))
  end
  local unsent = given.requests - given.completed - given.failed
  if unsent > 0 then
    list[#list + 1] = ("%s of %s requests were not sent: the server had ended."):format(
      text.count(unsent), text.count(given.requests))
  end
  for _, entry in ipairs(given.errors or {}) do
    list[#list + 1] = ("%s of %s requests failed: %s"):format(text.count(entry.count),
      text.count(given.requests), entry.text)
  end
  return list
end


local function goal(given)
  local slo = given.slo
  if not slo then return nil end
  local limits = {}
  if slo.ttft_ns then limits[#limits + 1] = "TTFT " .. words.ms(slo.ttft_ns) end
  if slo.tpot_ns then limits[#limits + 1] = "TPOT " .. words.ms(slo.tpot_ns) end
  return ("Good requests are within %s: %s of %s."):format(table.concat(limits, " and "),
    text.count(slo.met), text.count(given.requests))
end


local function load_blocks(results)
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


-- A section that is its table, or the sentence where that has no row.
local function table_or(name, otherwise)
  return function(results)
    return sections.either(name, sections.find(name).rows(results), otherwise)
  end
end

-- Samples of the cache that a report shows; the page has all.
local SAMPLES = 16

-- name, title, blocks(results, view); when(results, view): not there otherwise; tables: those in
-- it, by their columns, of which a recipe may pick. In the order of reports that say nothing else.
local list = {
  { "advice", "What to Do", findings.blocks, tables = { "findings" } },
  { "aggregates", "Aggregates", parts.aggregates,
    tables = { "latency", "repeats", "running_cost" } },
  { "load", sections.find("load").title, load_blocks,
    tables = { "load", "load_times", "engine_metrics" },
    when = function(results) return results.load or results.engine_metrics end },
  { "first_token", "Where TTFT Goes", function(results)
      return { blocks.say(words.first_token(results)) or {},
        sections.blocks(results, "first_token", { bare = true }) }
    end, tables = { "first_token" }, when = function(results) return results.first_token end },
  { "kv_cache", "KV Cache", function(results, view)
      return { blocks.say(words.kv_cache(results)) or {}, sections.blocks(results, "kv_cache",
        { bare = true, most = not view.page and SAMPLES or nil }) }
    end, tables = { "kv_cache" },
    when = function(results) return results.kv_cache end },
  { "stages", "Per-Stage Timings", parts.stages,
    tables = { "stages", "summary_stages", "cpu", "categories" } },
  { "cpu_samples", "CPU Samples", pictures.blocks, tables = { "stage_functions" },
    when = function(results) return results.cpu_samples end },
  { "gaps", "Longest Gaps", function(results)
      return { blocks.note("Times within a repeat in which the GPU did nothing, each with the "
        .. "stage of what ended it."), sections.blocks(results, "gaps", { bare = true }) }
    end, tables = { "gaps" },
    when = function(results) return results.gaps and #results.gaps > 0 end },
  { "lines", "Lines of the Program", parts.lines, tables = { "lines" },
    when = function(results) return results.lines end },
  { "modules", "Modules and Operators", parts.modules,
    tables = { "modules" },
    when = function(results) return results.modules end },
  { "layers", "Layers of a Decode Step", parts.layers, tables = { "step_layers" },
    when = function(results) return results.layers end },
  { "ranks", "Steps, Ranks and Collectives", ranks.blocks,
    tables = { "ranks", "pipeline", "rank_stages", "steps", "idle_threads", "requests",
      "request_rows", "kv_transfers", "engine_looks", "collectives", "late", "layers",
      "rank_kernels", "rank_files" },
    when = function(results) return results.ranks end },
  { "mfu", "MFU/MBU", parts.efficiency, tables = { "efficiency", "sampled" } },
  { "roofline", "Roofline", parts.roofline, tables = { "roofline", "ranges", "headroom" } },
  { "kernels", "Top Kernels", parts.kernels,
    tables = { "stage_kernels", "kernels", "top_kernels", "transfers" } },
  { "operators", "Top Operators", parts.operators,
    tables = { "operators", "timeline_operators", "summary_operators", "operator_stages",
      "operator_kernels" } },
  { "trust", "How Far to Trust It", parts.trust, tables = { "integrity", "overhead" } },
  { "missing", "Not Measured", table_or("missing", "Nothing that the recipe asked for."),
    tables = { "missing" } },
  { "abstained", "Rules That Could Not Tell",
    table_or("abstained", "Every rule had the data it needs."), tables = { "abstained" } },
  { "silent", "Rules That Found Nothing", table_or "silent", tables = { "silent" },
    when = function(results) return results.advice and #(results.advice.silent or {}) > 0 end },
  { "environment", "Environment", parts.environment, tables = { "devices" } },
  { "next", "Ask Further", parts.next, tables = {} },
}

local by_name = {}
for _, chapter in ipairs(list) do
  chapter.name, chapter.title, chapter.make = table.unpack(chapter, 1, 3)
  by_name[chapter.name] = chapter
end


-- All of them, by their names in the order above.
function chapters.names() return lists.map(list, "name") end


function chapters.heading(name) return blocks.heading { level = 2, title = by_name[name].title } end


-- What a section says, without its title; nil where it is not there.
function chapters.content(results, name, view)
  local chapter = by_name[name]
  if chapter.when and not chapter.when(results, view) then return nil end
  return blocks.join(chapter.make(results, view))
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
  local function add(name)
    local entry = lists.find(own or {}, "name", name) or { name = name }
    if not entry.title and entry.columns then check_columns(entry) end
    made[#made + 1] = entry
  end
  local function add_others()
    for _, name in ipairs(chapters.names()) do
      if not named[name] then add(name) end
    end
    for _, entry in ipairs(own or {}) do
      if entry.title and not named[entry.name] then add(entry.name) end
    end
  end
  local seen = {}
  for _, name in ipairs(order) do
    if name == ALL and not seen[name] then add_others() elseif not seen[name] then add(name) end
    seen[name] = true
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
local function own_column(given, rows)
  given = type(given) == "table" and given or { given }
  local key = given[1]
  local values = lists.map(rows, key)
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
  local rows = lists.map(given, function(one)
    local row = {}
    for key, value in pairs(one) do
      key = tostring(key)
      row[key], keys[key] = type(value) == "number" and value or tostring(value), true
    end
    return row
  end)
  local made = lists.map(entry.columns or key_sets.sorted(keys), function(column)
    return own_column(column, rows)
  end)
  return blocks.join(blocks.table { name = entry.name, columns = made,
    rows = lists.first(rows, most) })
end


-- Sections of a layout that are there: a list of { name, title, content }. make(results, entry):
-- what ours say; of the view's otherwise.
function chapters.laid_out(results, entries, view, make)
  return lists.map(entries, function(entry)
    local content
    if entry.title then
      content = own_blocks(results, entry, view.rows)
    else
      content = make and make(results, entry) or not make
        and chapters.content(results, entry.name, view)
      content = content and fitted(content, entry, make ~= nil)
    end
    return content and #content > 0 and { name = entry.name, content = content,
      title = entry.title or by_name[entry.name].title } or nil
  end)
end


return chapters
