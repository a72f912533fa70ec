-- A comparison as text for people (table, md) or for programs (json).
local columns = require "llmprof.report.columns"
local json = require "llmprof.json"
local tables = require "llmprof.tables"
local text = require "llmprof.text"
local words = require "llmprof.report.words"

local report = {}

local WIDTH = 90 -- of prose, in columns
local NOTABLE = 0.01 -- share of a stage's change


-- ---- which rows people see ----

-- Of the longest table: what changed, the largest changes first; 0 rows are all.
local function largest(rows, options)
  local list = {}
  for _, row in ipairs(rows) do
    local listed = options.rows == 0 or #list < options.rows
    if listed and (row.difference_ns ~= 0 or row.status ~= "same") then list[#list + 1] = row end
  end
  return list
end


local function notable(rows)
  local list = {}
  for _, row in ipairs(rows) do
    if row.share and row.share >= NOTABLE then list[#list + 1] = row end
  end
  return list
end


-- ---- the sections ----

local function side_row(role, side)
  local results = side.results
  local model = results.model.name and words.model_name(results) or nil
  return { role = role, name = side.name, kind = side.kind, model = model,
    gpu = words.gpu_name(results), recipe = results.run.recipe, runs = #side.runs,
    repeats = results.repeats and results.repeats.used, plain_runs = side.plain_runs }
end


local function side_rows(made)
  return { side_row("before", made.before), side_row("after", made.after) }
end


local times_about = "Times are those of the workload without the profiler (plain) where both "
  .. "sides have them, else those of the timeline (profiled). The interval of 95 % is by "
  .. "processes: how much they differ is what a change is held against. Of one run on each side "
  .. "nothing tells that: a change beyond what single runs are assumed to differ by is one."

local sections = {
  { "sides", "What is compared", rows = side_rows },
  { "differences", "What else differs", rows = function(made) return made.differences end,
    empty = "Nothing that is recorded on both sides." },
  { "limits", "Limits", rows = function(made) return made.limits end },
  { "times", "Times", about = times_about, rows = function(made) return made.times end,
    empty = "Nothing was timed on either side.",
    more = { "path", "samples_before", "samples_after", "processes_before", "processes_after",
      "noise", "assumed", "p" } },
  { "work", "What the stages do",
    about = "Means of the instances on the timeline, with the profiler. All stages' busy times "
      .. "are tested together (Holm).",
    rows = function(made) return made.work end, more = { "busy_p", "busy_why" } },
  { "where", "Where the change is",
    about = "GPU time by category of kernel, and GPU idle time by what the CPU did meanwhile; "
      .. "on the timeline, per instance of the stage. Rows make up 1 % of its change or more.",
    rows = function(made) return made.where end, shown = notable,
    empty = "No stage is on both sides." },
  { "kernels", "Kernels",
    about = "Per instance of the stage, the largest changes first. All kernels that both sides "
      .. "have are tested together (Holm).",
    rows = function(made) return made.kernels end, shown = largest, counts = true,
    more = { "name", "low", "high", "p", "holm_p", "verdict_why" },
    empty = "No kernel ran in a stage of both sides." },
}


local function columns_of(section)
  return columns["compare_" .. section[1]]
end


-- ---- for people ----

-- The columns that any row has a value for.
local function filled(declared, rows)
  local list = {}
  for _, column in ipairs(declared) do
    local any = false
    for _, row in ipairs(rows) do any = any or row[column.key] ~= nil end
    if any then list[#list + 1] = column end
  end
  return list
end


local function counts_by_status(rows)
  local counts, said = {}, {}
  for _, row in ipairs(rows) do counts[row.status] = (counts[row.status] or 0) + 1 end
  for _, status in ipairs { "same", "renamed", "new", "gone" } do
    if counts[status] then said[#said + 1] = ("%d %s"):format(counts[status], status) end
  end
  return table.concat(said, ", ")
end


local function prose(paragraph, options)
  if not tables.format(options.format).terminal then return paragraph .. "\n" end
  return table.concat(text.wrap(paragraph, math.min(options.columns or WIDTH, WIDTH)), "\n") .. "\n"
end


local function section_table(section, made, options)
  local all = section.rows(made)
  local rows = section.shown and section.shown(all, options) or all
  if #all == 0 then return section.empty .. "\n" end
  local body = #rows == 0 and "Nothing changed.\n" or tables.render(options.format,
    filled(columns_of(section), rows), rows, { columns = options.columns })
  if not section.counts then return body end
  return ("%s\n%d kernel%s: %s; %d shown.\n"):format(body, #all, #all == 1 and "" or "s",
    counts_by_status(all), #rows)
end


local function section_text(section, made, options)
  if not section.rows(made) then return nil end
  local heading = tables.format(options.format).heading
  local pieces = { heading:gsub("#+", "%0#") .. section[2] .. "\n" }
  if section.about then pieces[2] = prose(section.about, options) end
  pieces[#pieces + 1] = section_table(section, made, options)
  return table.concat(pieces, "\n")
end


local function title_of(made, format)
  local made_as = tables.format(format)
  return made_as.heading
    .. made_as.escape(("%s against %s"):format(made.after.name, made.before.name))
end


-- options: format ("table" or "md"), rows (of the kernels; 0 is all), columns (the
-- width of the terminal, or nil).
function report.text(made, options)
  local pieces = { title_of(made, options.format) .. "\n" }
  for _, note in ipairs(made.notes) do
    pieces[#pieces + 1] = tables.format(options.format).escape(note) .. "\n"
  end
  for _, section in ipairs(sections) do
    pieces[#pieces + 1] = section_text(section, made, options)
  end
  return table.concat(pieces, "\n")
end


-- ---- for programs ----

local function objects(section, rows)
  local keys, list = {}, json.list {}
  for i, column in ipairs(columns_of(section)) do keys[i] = column.key end
  for _, key in ipairs(section.more or {}) do keys[#keys + 1] = key end
  for i, row in ipairs(rows) do
    local object = {}
    for _, key in ipairs(keys) do object[key] = row[key] == nil and json.null or row[key] end
    list[i] = json.ordered(object, keys)
  end
  return list
end


-- Every row of every table, unrounded, in the units of the keys.
function report.object(made)
  local object, keys = { notes = json.list(made.notes) }, {}
  for _, section in ipairs(sections) do
    local rows = section.rows(made)
    if rows then
      keys[#keys + 1] = section[1]
      object[section[1]] = objects(section, rows)
    end
  end
  keys[#keys + 1] = "notes"
  return json.ordered(object, keys)
end


return report
