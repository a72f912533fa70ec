-- The reports: in Markdown report.md, kernels.md, operators.md and stakeholder_summary.md;
-- report.html, one page to look around in.
local blocks = require "llmprof.report.blocks"
local charts = require "llmprof.report.html.charts"
local chapters = require "llmprof.report.chapters"
local document = require "llmprof.report.html.document"
local findings = require "llmprof.report.findings"
local json = require "llmprof.json"
local lists = require "llmprof.tables.lists"
local layout = require "llmprof.bundle.layout"
local markdown = require "llmprof.report.write.markdown"
local overhead = require "llmprof.analysis.latency.overhead"
local rows = require "llmprof.report.rows"
local sections = require "llmprof.report.sections"
local tables = require "llmprof.tables"
local text = require "llmprof.text"
local words = require "llmprof.report.words"
local writer = require "llmprof.report.write.html"

local documents = {}

-- ---- Markdown ----

-- Kernels of a stage. A page nobody scrolls through helps nobody; results.json has them all.
local MOST = 250


-- A document in Markdown of these blocks. form: of its title.
local function render(results, form, ...)
  return words.of_vendor(results, markdown.render(blocks.join(
    blocks.heading { level = 1, title = form:format(words.title(results)) }, ...)))
end


-- Sections under their titles. entries, here and below: of chapters.layout.
local function under_titles(list)
  return lists.map(list, function(chapter)
    return { blocks.heading { level = 2, title = chapter.title }, chapter.content }
  end)
end


-- report.md: everything, section by section.
function documents.full(results, entries)
  local lines, move, trust = findings.verdict(results)
  return render(results, "%s: where the time goes",
    blocks.verdict { lines = table.move({ move, trust }, 1, 2, #lines + 1, lines) },
    blocks.say(words.source(results)),
    under_titles(chapters.laid_out(results, entries, {})))
end


-- kernels.md: the largest kernels over all stages, then every kernel by stage, by
-- total time.
function documents.kernels(results)
  return render(results, "Kernels: %s",
    blocks.say(words.model(results)), blocks.say(words.source(results)),
    blocks.say(words.repeats(results)),
    chapters.heading "kernels", chapters.largest_kernels(results),
    chapters.all_kernels(results, MOST))
end


-- operators.md.
function documents.operators(results)
  local operators = results.operators
  return render(results, "Operators: %s",
    blocks.say(words.model(results)),
    operators and blocks.say(("%s operators and runtime calls; source: %s."):format(
      text.count(#operators.operators), operators.source or "not recorded")),
    chapters.content(results, "operators", { whole = true }))
end


-- ---- the short version ----

-- Rows of its tables, moves, columns of its bars: it is to fit a page of 60 lines.
local STAGES, ROWS, MOVES, BAR = 6, 4, 3, 16


-- The time of all instances of a stage.
local function whole_time(row) return (row.time_ns or 0) * (row.count or 1) end


-- Stages with a bar of the time of all that have no parent.
function documents.stage_rows(results)
  local list = lists.filtered(rows.first_stages(results, STAGES), "time_ns")
  local all = lists.sum(rows.stages(results), function(row)
    return not row.parent and whole_time(row)
  end)
  for _, row in ipairs(list) do
    row.bar = all > 0 and tables.bar(whole_time(row) / all, BAR) or ""
  end
  return list
end


local function efficiency_line(results)
  local said = lists.map(rows.efficiency(results), function(row)
    local figures = lists.map({ "mfu", "mbu" }, function(key)
      return row[key] and ("%s %s %%"):format(key:upper(), words.rounded(row[key] * 100, 2))
    end)
    if row.parent or #figures == 0 then return nil end
    if row.times_floor then
      figures[#figures + 1] = words.rounded(row.times_floor, 3)
        .. " times as long as the hardware needs"
    end
    return ("%s: %s"):format(row.label, table.concat(figures, ", "))
  end)
  return #said > 0 and table.concat(said, "; ") .. "." or words.unknown_peaks(results)
    or words.not_measured(results, "the model's cost")
end


local function operator_table(results)
  local joined = lists.first(rows.timeline_operators(results), ROWS)
  if #joined > 0 then return sections.table("summary_operators", joined) end
  return sections.either("operators", lists.first(rows.operators(results), ROWS),
    words.not_measured(results, "operators"))
end


-- How far it can be trusted, and where it is from.
local function trust_line(results)
  local _, _, trust = findings.verdict(results)
  local said = { (trust.text:gsub("^%l", string.upper)), words.source(results) }
  if #rows.overhead(results) == 0 then said[3] = words.no_overhead(results) end
  said[#said + 1] = ("Everything else is in %s."):format(layout.reports.full)
  return table.concat(said, " ")
end


-- What sections say in it; the others are left out.
local shorts = {
  advice = function(results) return findings.in_short(results, MOVES) end,
  aggregates = function(results)
    local said = words.latency(results)
    return blocks.say(said and said .. "." or words.no_latency(results))
  end,
  first_token = function(results) return blocks.say(words.first_token(results, true)) end,
  kv_cache = function(results) return blocks.say(words.kv_cache(results, true)) end,
  stages = function(results)
    return sections.either("summary_stages", documents.stage_rows(results), words.no_rows(results))
  end,
  mfu = function(results) return blocks.say(efficiency_line(results)) end,
  kernels = function(results)
    local most = math.min(ROWS, rows.top_n(results))
    return sections.either("top_kernels", lists.first(rows.kernels(results), most),
      words.no_rows(results))
  end,
  operators = operator_table,
  trust = function(results) return blocks.say(trust_line(results)) end,
  environment = function(results)
    return blocks.say(("%s GPU: %s. %s"):format(words.model(results), words.gpu_name(results),
      words.software(results)))
  end,
}

-- What comes first, in plain words, which stand apart before ranks or where `apart` is set; and
-- how far to trust it.
local function opening(results, apart)
  local lines, _, trust = findings.verdict(results)
  local plain, first = findings.in_plain_words(results), lines[1]
  if plain and (apart or first.head == "Ranks:") then
    table.insert(lines, 1, { head = plain, text = "" })
  elseif plain then
    first.head = plain .. " " .. first.head
  end
  return lines, trust
end


-- stakeholder_summary.md: a page to hand on.
function documents.stakeholder(results, entries)
  local lines, cost = opening(results, true), words.running_cost(results, true)
  if cost then lines[#lines + 1] = { head = "Cost:", text = cost } end
  local function make(given, entry)
    return shorts[entry.name] and blocks.join(shorts[entry.name](given))
  end
  return render(results, "%s: where the time goes",
    blocks.verdict { lines = lines, tight = true },
    under_titles(chapters.laid_out(results, entries, { rows = ROWS }, make)))
end


-- ---- the first screen of the page ----

-- A tile of a figure, as `said` makes it of a distribution; below it a note, and what it is under
-- the profiler where it is without.
local function tile(name, figure, said, note)
  local notes = { note }
  if figure.plain and figure.profiled then
    notes[#notes + 1] = said(figure.profiled) .. " under the profiler"
  end
  return { label = figure.plain and name or name .. ", profiled", value = said(figure.first),
    note = table.concat(notes, "; ") }
end


local function mean_of(time) return words.ms(time.mean_ns) end
local function rate_of(rate) return text.number(rate.mean, 1, ",") .. " tokens/s" end
local function share_of(share) return words.rounded(share * 100, 2) .. " %" end


local function spread_of(time)
  if not time.p50_ns then return nil end
  return ("p50 %s, %s %s"):format(words.ms(time.p50_ns), time.p90_ns and "p90" or "at most",
    words.ms(time.p90_ns or time.max_ns))
end


-- The figures that everybody asks for first, without the profiler where that was
-- measured; those that were not measured are not there. nil without any.
local function tiles(results)
  local latency, whole = overhead.latency_of(results), results.efficiency or {}
  local list, rate = lists.map({ "ttft", "tpot" }, function(key)
    local figure = latency[key]
    return figure and tile(key:upper(), figure, mean_of, spread_of(figure.first))
  end), latency.tokens_per_s
  if rate then
    list[#list + 1] = tile("throughput of decode", rate, rate_of, rate.first.batch
      and "batch " .. words.batch(rate.first.batch) or "batch not known")
  end
  for _, key in ipairs { "mfu", "mbu" } do
    local figure = { first = whole[key] and whole[key].value,
      plain = whole.time_source == "plain runs" }
    if figure.first then
      list[#list + 1] = tile(key:upper(), figure, share_of, "all stages together")
    end
  end
  return #list > 0 and blocks.tiles { list = list } or nil
end


-- What the longest stage would take if the GPU were never idle, and what the hardware needs
-- for the model's work; nil where neither is known or there is nothing to win.
local function could_be(results)
  local stage, time = overhead.longest(results)
  local said, least = {}, stage and stage.efficiency and stage.efficiency.floor_ns
  if not stage then return nil end
  if stage.gpu_busy_ns > 0 and stage.gpu_busy_ns < time and stage.bound ~= "ranks" then
    said[1] = ("%s if the GPU were never idle"):format(words.ms(stage.gpu_busy_ns))
  end
  if least and least.value and least.value > 0 and least.value < time then
    said[#said + 1] = ("%s at the limit of the hardware"):format(words.ms(least.value))
  end
  return #said > 0 and { head = "It could be faster.", text = ("Instead of %s %s%s would take %s.")
    :format(words.ms(time), results.engine and "a step of " or "", stage.name,
      table.concat(said, ", ")) } or nil
end


-- Without the line on the first move, which stands among the moves.
local function first_screen(results)
  local lines, trust = opening(results)
  lines[#lines + 1] = could_be(results)
  return blocks.join(blocks.note(words.model(results)), tiles(results),
    blocks.verdict { lines = lines }, findings.moves(results, MOVES),
    blocks.say({ { strong = trust.head }, " " .. trust.text }, "note"))
end


local VIEW = { page = true }

local NO_CHARTS = "llmprof was built without Chart.js: charts are left out, all figures are in the "
  .. "tables. Debian's package is libjs-chart.js."

local NO_TIMELINE = "llmprof was built without D3: the timeline is left out. Debian's package is "
  .. "node-d3."


local function navigation(list)
  local links = lists.map(list, function(chapter)
    return ('<a href="#%s">%s</a>'):format(chapter.name, text.html(chapter.title))
  end)
  return ("<nav>%s</nav>\n"):format(table.concat(links, "\n"))
end


local function folded(chapter)
  return ('<details class="chapter" id="%s">\n<summary><h2>%s</h2></summary>\n%s</details>\n')
    :format(chapter.name, text.html(chapter.title), writer.render(chapter.content))
end


-- What the charts of the page draw, by their names, and the colours of categories; and whether
-- there are flame graphs.
local function drawn(results, list)
  local data, has_flame = { colours = charts.colours(results) }, false
  for _, chapter in ipairs(list) do
    for _, block in ipairs(chapter.content) do
      if block.kind == "chart" then data[block.name] = block.data or json.null end
      has_flame = has_flame or block.kind == "flame"
    end
  end
  return data, has_flame
end


local function footer(results)
  return ('<footer class="note"><p>%s</p>\n<p>Run %s of recipe %s, written by llmprof %s on %s.</p>'
    .. "\n</footer>\n"):format(text.html(words.source(results)), text.html(results.run.id),
    text.html(results.run.recipe), text.html(results.run.llmprof), text.html(results.run.created))
end


-- events: the bytes of what the timeline draws, of llmprof.analysis.timeline.events; nil without.
function documents.page(results, entries, events)
  local list, heading = chapters.laid_out(results, entries, VIEW), words.title(results)
  events = document.d3() and events
  local out = { "<header>\n", writer.render(blocks.join(
      blocks.heading { level = 1, title = heading }, first_screen(results))), "</header>\n",
    '<section id="timeline">\n', writer.render(blocks.join(
      events and blocks.timeline { results = results },
      not document.d3() and blocks.say(NO_TIMELINE, "warning"))),
    "</section>\n",
    navigation(list), "<main>\n",
    document.chart_js() and "" or writer.render { blocks.say(NO_CHARTS, "warning") } }
  for _, chapter in ipairs(list) do out[#out + 1] = folded(chapter) end
  out[#out + 1] = "</main>\n" .. footer(results)
  local data, has_flame = drawn(results, list)
  return document.render {
    title = heading .. ": where the time goes", generator = "llmprof " .. results.run.llmprof,
    body = words.of_vendor(results, table.concat(out)), data = data,
    events = events and { events }, flames = has_flame,
  }
end


return documents
