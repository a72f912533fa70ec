-- A comparison as text for people (table, md) or for programs (json).
local blocks = require "llmprof.report.blocks"
local charts = require "llmprof.report.html.charts"
local columns = require "llmprof.report.columns"
local document = require "llmprof.report.html.document"
local json = require "llmprof.json"
local limits = require "llmprof.compare.limits"
local lists = require "llmprof.tables.lists"
local tables = require "llmprof.tables"
local text = require "llmprof.text"
local version = require "llmprof.version"
local verdict = require "llmprof.compare.verdict"
local words = require "llmprof.report.words"
local writer = require "llmprof.report.write.html"

local report = {}

local WIDTH = 90 -- of prose, in columns
local NOTABLE = 0.01 -- share of a stage's change


-- ---- which rows people see ----

-- Of the longest table: what changed, the largest changes first; 0 rows are all.
local function largest(rows, options)
  local changed = lists.filtered(rows, function(row)
    return row.difference_ns ~= 0 or row.status and row.status ~= "same"
  end)
  return options.rows == 0 and changed or lists.first(changed, options.rows)
end


local times_about = "Times are those of the workload without the profiler (plain) where both "
  .. "sides have them, else those of the timeline (profiled). The interval of 95 % is by "
  .. "processes. With one run per side how much runs differ is not known: a change counts beyond "
  .. "what single runs are assumed to differ by."

local sections = {
  { "sides", "What is compared" },
  { "differences", "What else differs", empty = "Nothing that is recorded on both sides." },
  { "limits", "Limits" },
  { "times", "Times", about = times_about,
    empty = "Nothing was timed on either side.",
    more = { "path", "samples_before", "samples_after", "processes_before", "processes_after",
      "noise", "assumed", "p" } },
  { "work", "What the stages do",
    about = "Means of the instances on the timeline, with the profiler. All stages' busy times "
      .. "are tested together (Holm).",
    more = { "busy_p", "busy_why" } },
  { "where", "Where the change is",
    about = "GPU time by category of kernel, and GPU idle time by what the CPU did meanwhile; "
      .. "on the timeline, per instance of the stage. Rows make up 1 % of its change or more.",
    shown = function(rows)
      return lists.filtered(rows, function(row) return row.share and row.share >= NOTABLE end)
    end,
    empty = "No stage is on both sides." },
  { "lines", "Lines of the program",
    about = "GPU time of what each line launched, and the GPU's idle time before, per instance of "
      .. "the stage; a line that moved within its function is one. The largest changes first.",
    shown = largest, empty = "No line launched anything in a stage of both sides." },
  { "modules", "Modules",
    about = "GPU time of what each torch module launched itself, per instance of the stage. The "
      .. "largest changes first.",
    shown = largest, empty = "No module launched anything in a stage of both sides." },
  { "kernels", "Kernels",
    about = "Per instance of the stage, the largest changes first. All kernels that both sides "
      .. "have are tested together (Holm).",
    shown = largest, counts = true,
    more = { "name", "low", "high", "p", "holm_p", "verdict_why" },
    empty = "No kernel ran in a stage of both sides." },
}


local function rows_of(section, made)
  if section[1] ~= "sides" then return made[section[1]] end
  return lists.map({ "before", "after" }, function(role)
    local side = made[role]
    local results = side.results
    return { role = role, name = side.name, kind = side.kind, gpu = words.gpu_name(results),
      model = results.model.name and words.model_name(results) or nil,
      recipe = results.run.recipe, runs = #side.runs,
      repeats = results.repeats and results.repeats.used, plain_runs = side.plain_runs }
  end)
end


-- The columns of a table by its section's name, those in which a row has a value.
local function filled(name, rows)
  return blocks.filled { columns = columns["compare_" .. name], rows = rows }
end


-- ---- the verdict, in a line ----

local SAID = 3 -- stages in it

-- Stages without a parent, and the rest of the times.
local function top_rows(rows)
  return lists.filtered(rows, function(row) return row.label:sub(1, #"·") ~= "·" end)
end


-- What became of the stages, those that changed most first: "decode slower (+3.1 %), prefill:
-- can't tell (+0.4 %)".
local function headline(made, names)
  local list = lists.filtered(top_rows(made.times), function(row) return row.path:find "%.ms$" end)
  list = lists.stable(list, function(row) return -(row.of_change or 0) end)
  local said = lists.map(lists.first(list, SAID), function(row)
    local change = row.label .. (row.verdict == verdict.UNKNOWN and ": " or " ") .. row.verdict
    if not row.share or row.difference == 0 then return change end
    return ("%s (%s%s %%)"):format(change, row.share > 0 and "+" or "",
      text.number(row.share * 100, 1))
  end)
  if #list > SAID then said[#said + 1] = ("%d more"):format(#list - SAID) end
  names = names or { made.before.name, made.after.name }
  return ("%s against %s: %s"):format(names[2], names[1],
    #said > 0 and table.concat(said, ", ") or "nothing was timed")
end


-- What became of the limits of comparisons, in a sentence.
function report.outcome(list)
  local counts, all = limits.counts(list)
  local open, what = counts[verdict.UNKNOWN], all == 1 and "limit" or "limits"
  if counts.broken > 0 then
    return ("Broken: %d of %d %s%s."):format(counts.broken, all, what,
      open > 0 and (", %d more may be"):format(open) or "")
  elseif open > 0 then
    return ("Undecided: %d of %d %s may be broken."):format(open, all, what)
  end
  return ("Kept: %d of %d %s."):format(all, all, what)
end


-- ---- for people ----

local function counts_by_status(rows)
  local _, by_status = lists.grouped(rows, "status")
  return table.concat(lists.map({ "same", "renamed", "new", "gone" }, function(status)
    return by_status[status] and ("%d %s"):format(#by_status[status], status)
  end), ", ")
end


local BEFORE_UNIT = "\u{a0}%%" -- no line ends there

local function prose(paragraph, options)
  if not tables.format(options.format).terminal then return paragraph .. "\n" end
  local lines = text.wrap(paragraph:gsub(" %%", BEFORE_UNIT), math.min(options.columns or WIDTH,
    WIDTH))
  return table.concat(lines, "\n"):gsub(BEFORE_UNIT, " %%") .. "\n"
end


local function section_text(section, made, options)
  local all = rows_of(section, made)
  if not all then return nil end
  local about = section.about and prose(section.about, options) .. "\n" or ""
  if #all == 0 then return about .. section.empty .. "\n" end
  local rows = section.shown and section.shown(all, options) or all
  local body = about .. (#rows == 0 and "Nothing changed.\n" or tables.render(options.format,
    filled(section[1], rows), rows, { columns = options.columns }))
  if not section.counts then return body end
  return ("%s\n%d kernel%s: %s; %d shown.\n"):format(body, #all, #all == 1 and "" or "s",
    counts_by_status(all), #rows)
end


-- Rows of limits and of times before the details.
local LIMITS, TIMES = 6, 8

local order = { broken = 1, [verdict.UNKNOWN] = 2, kept = 3 }

-- The first rows as a table, of limits those that are not kept; nil without rows.
local function markdown_table(name, rows, most)
  local first = lists.first(lists.stable(rows, function(row) return order[row.outcome] or 0 end),
    most)
  return #first > 0 and tables.render("md", filled(name, first), first) or nil
end


-- For a comment that people read on a page of a forge: the verdict, the limits and the times,
-- and behind a click all sections.
local function to_markdown(made, options)
  local escape = tables.format("md").escape
  local pieces = { "## " .. escape(headline(made)) .. "\n" }
  if #made.notes > 0 then pieces[2] = escape(table.concat(made.notes, " ")) .. "\n" end
  pieces[#pieces + 1] = markdown_table("limits", made.limits or {}, LIMITS)
  pieces[#pieces + 1] = markdown_table("times", top_rows(made.times), TIMES)
  for _, section in ipairs(sections) do
    local body = section_text(section, made, options)
    pieces[#pieces + 1] = body and ("<details><summary>%s</summary>\n\n%s\n</details>\n"):format(
      section[2], body)
  end
  return table.concat(pieces, "\n")
end


-- options: format ("table" or "md"), rows (of the kernels; 0 is all), columns (the
-- width of the terminal, or nil).
function report.text(made, options)
  if options.format == "md" then return to_markdown(made, options) end
  local pieces = { prose(text.clean(headline(made)), options) }
  for _, note in ipairs(made.notes) do pieces[#pieces + 1] = prose(text.clean(note), options) end
  for _, section in ipairs(sections) do
    local body = section_text(section, made, options)
    pieces[#pieces + 1] = body and section[2] .. "\n\n" .. body
  end
  return table.concat(pieces, "\n")
end


-- Rows of limits, and differences, of the short text.
local BRIEF_LIMITS, BRIEF_DIFFERENCES = 4, 3

-- What explains most comes first: other work, another model, another machine.
local weight = { work = 1, model = 2, run = 3, machine = 4, workload = 5, configuration = 6 }

-- Ten lines of Markdown, the verdict first. ran: a sentence on what ran.
function report.brief(made, ran)
  local escape = tables.format("md").escape
  local list = lists.stable(made.differences, function(row) return weight[row.group] or 7 end)
  local said = lists.map(lists.first(list, BRIEF_DIFFERENCES), function(row)
    return ("%s %s"):format(row.name, text.truncate(("%s -> %s"):format(row.before or "(none)",
      row.after or "(none)"), 60, "middle"))
  end)
  local differs = "Nothing else that is recorded on both sides differs."
  if #list > 0 then
    differs = ("Differs as well: %s%s."):format(table.concat(said, ", "),
      #list > #said and (", and %d more"):format(#list - #said) or "")
  end
  return ("**%s** %s.\n\n%s\n%s\n%s\n"):format(report.outcome { made }, escape(headline(made)),
    markdown_table("limits", made.limits, BRIEF_LIMITS), escape(ran), escape(differs))
end


-- The elements of a test case in JUnit's XML by outcome.
local elements = { broken = "failure", [verdict.UNKNOWN] = "error" }

-- A test case for each limit. complaint(row): why it is not kept; allow_undecided: one that may
-- be broken is skipped.
function report.junit(made, recipe, complaint, allow_undecided)
  local counts, cases = { failure = 0, error = 0, skipped = 0 }, {}
  for i, row in ipairs(made.limits) do
    local element = elements[row.outcome]
    if element == "error" and allow_undecided then element = "skipped" end
    if element then counts[element] = counts[element] + 1 end
    cases[i] = ('  <testcase classname="%s" name="%s">%s</testcase>\n'):format(text.html(recipe),
      text.html(row.limit), element and ('<%s message="%s"/>'):format(element,
        text.html(complaint(row))) or "")
  end
  return ('<?xml version="1.0" encoding="UTF-8"?>\n<testsuite name="llmprof gate" tests="%d" '
    .. 'failures="%d" errors="%d" skipped="%d">\n%s</testsuite>\n'):format(#cases, counts.failure,
    counts.error, counts.skipped, table.concat(cases))
end


-- ---- as a page ----

local OPEN = { times = true, where = true, lines = true, modules = true }

local function page_section(section, made)
  local all = rows_of(section, made)
  if not all then return "" end
  local rows = section.shown and section.shown(all, { rows = 0 }) or all
  local list = blocks.join(blocks.note(section.about), #rows > 0 and blocks.table {
    name = "compare_" .. section[1], title = section[2], rows = rows,
    columns = filled(section[1], rows), filter = section[1] == "kernels" }
    or blocks.say(#all == 0 and section.empty or "Nothing changed."))
  return ('<details class="chapter" id="%s"%s>\n<summary><h2>%s</h2><span class="note">%s</span>'
    .. "</summary>\n%s</details>\n"):format(section[1], OPEN[section[1]] and " open" or "",
    section[2], section.counts and counts_by_status(all) or "", writer.render(list))
end


-- A comparison as one HTML file. events: the bytes of the timelines of both sides, or nil. Of
-- paths the file's name is enough, with its folder where the files are called the same.
function report.page(made, events)
  local before, after = made.before.name, made.after.name
  local function last(name) return name:match "([^/]*)/*$" end
  local function two(name) return name:match "([^/]+)/[^/]+/*$" or name end
  local short = before ~= after and last(before) == last(after) and two or last
  local names = { short(before), short(after) }
  local title = headline(made, names)
  local out, both = { "<header>\n", writer.render(blocks.join(
    blocks.heading { level = 1, title = title },
    blocks.say(#made.notes > 0 and table.concat(made.notes, " ") or nil, "warning"))),
    "</header>\n" }, document.d3() and events
  if both then
    out[#out + 1] = '<section id="timeline">\n' .. writer.render {
      blocks.timeline { results = made.before.results, number = 1, title = names[1] },
      blocks.timeline { results = made.after.results, number = 2, title = names[2] },
    } .. "</section>\n"
  end
  out[#out + 1] = "<main>\n"
  for _, section in ipairs(sections) do out[#out + 1] = page_section(section, made) end
  out[#out + 1] = "</main>\n"
  return document.render { title = title, generator = "llmprof " .. version.version,
    body = table.concat(out), events = both or nil,
    data = { colours = charts.colours(made.before.results, made.after.results) } }
end


-- ---- for programs ----

-- Every row of every table, unrounded, in the units of the keys.
function report.object(made)
  local object, names = { notes = json.list(made.notes) }, {}
  for _, section in ipairs(sections) do
    local rows = rows_of(section, made)
    local fields = lists.joined(lists.map(columns["compare_" .. section[1]], "key"),
      section.more or {})
    names[#names + 1] = rows and section[1]
    object[section[1]] = rows and json.list(lists.map(rows, function(row)
      local one = {}
      for _, key in ipairs(fields) do one[key] = row[key] == nil and json.null or row[key] end
      return json.ordered(one, fields)
    end))
  end
  return json.ordered(object, lists.joined(names, { "notes" }))
end


return report
