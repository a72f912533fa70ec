-- The reports: in Markdown report.md, kernels.md and stakeholder_summary.md; report.html, one page
-- to look around in.
local blocks = require "llmprof.report.blocks"
local chapters = require "llmprof.report.chapters"
local document = require "llmprof.report.html.document"
local findings = require "llmprof.report.findings"
local html = require "llmprof.tables.html"
local json = require "llmprof.json"
local markdown = require "llmprof.report.write.markdown"
local overhead = require "llmprof.analysis.latency.overhead"
local parts = require "llmprof.report.parts"
local text = require "llmprof.text"
local words = require "llmprof.report.words"
local writer = require "llmprof.report.write.html"

local documents = {}

-- ---- Markdown ----

-- Kernels of a stage. A page nobody scrolls through helps nobody; results.json has them all.
local MOST = 250

-- Sections of the short version.
local BRIEF = { "environment", "aggregates", "stages", "ranks", "mfu", "operators", "kernels",
  "advice", "trust", "source" }


local function title(results)
  return blocks.heading { level = 1, title = words.title(results) .. ": where the time goes" }
end


-- report.md: everything, section by section. order: names of sections, as configured by
-- `report`.
function documents.full(results, order)
  return markdown.render(blocks.join(title(results), parts.source(results),
    chapters.blocks(results, chapters.completed(order), {}),
    chapters.blocks(results, { "trust", "missing", "abstained", "silent", "next" }, {})))
end


-- kernels.md: the largest kernels over all stages, then every kernel by stage, by
-- total time.
function documents.kernels(results)
  return markdown.render(blocks.join(parts.title(results, "Kernels: "), parts.model(results),
    parts.source(results), chapters.heading "kernels", parts.largest_kernels(results),
    parts.all_kernels(results, MOST), chapters.blocks(results, "selection", {})))
end


-- stakeholder_summary.md: the short version, to hand on.
function documents.stakeholder(results)
  return markdown.render(blocks.join(title(results),
    blocks.verdict { lines = findings.verdict(results) },
    chapters.blocks(results, BRIEF, { brief = true })))
end


-- ---- the first screen of the page ----

-- What a reader sees first: how fast it is, what it could be, what is wrong, what to do
-- first, how far to trust it. As blocks.

-- Moves on the first screen.
local MOVES = 3


local function tile(label, value, note)
  return { label = label, value = value, note = note }
end


local function spread(measured)
  if measured.p90_ns then
    return ("p50 %s, p90 %s"):format(words.ms(measured.p50_ns), words.ms(measured.p90_ns))
  end
  if not measured.p50_ns then return "of one value" end
  return ("p50 %s, at most %s"):format(words.ms(measured.p50_ns), words.ms(measured.max_ns))
end


-- Below a time: what it is under the profiler, where it is without, else its spread.
local function beside(figure)
  if figure.plain and figure.profiled then
    return words.ms(figure.profiled.mean_ns) .. " under the profiler"
  end
  return spread(figure.first)
end


local function label_of(name, figure)
  return figure.plain and name or name .. ", profiled"
end


local function rate_tile(figure)
  local rate, profiled = figure.first, figure.plain and figure.profiled
  local note = rate.batch and "batch " .. words.batch(rate.batch) or "batch not known"
  if profiled then
    note = ("%s; %s under the profiler"):format(note, text.number(profiled.mean, 1, ","))
  end
  return tile(label_of("throughput", figure), text.number(rate.mean, 1, ",") .. " tokens/s", note)
end


-- The figures that everybody asks for first, without the profiler where that was
-- measured; those that were not measured are not there. nil without any.
local function tiles(results)
  local latency, whole, list = overhead.latency_of(results), results.efficiency or {}, {}
  for _, key in ipairs { "ttft", "tpot" } do
    local figure = latency[key]
    if figure then
      list[#list + 1] = tile(label_of(key:upper(), figure), words.ms(figure.first.mean_ns),
        beside(figure))
    end
  end
  if latency.tokens_per_s then list[#list + 1] = rate_tile(latency.tokens_per_s) end
  for _, key in ipairs { "mfu", "mbu" } do
    local value = whole[key] and whole[key].value
    if value then
      list[#list + 1] = tile(whole.time_source
        and ("%s, %s"):format(key:upper(), whole.time_source) or key:upper(),
        text.number(value * 100, 2) .. " %", "all stages together")
    end
  end
  return #list > 0 and blocks.tiles { list = list } or nil
end


-- The stage in which most of the run's time goes, no part of another, and its time.
local function longest(results)
  local stage, taken, most = nil, nil, 0
  for _, one in ipairs(results.stages) do
    local time = not one.parent and one.wall and overhead.time_of(results, one)
    if time and time * one.wall.count > most then
      stage, taken, most = one, time, time * one.wall.count
    end
  end
  return stage, taken
end


-- What that stage would take if the GPU never waited, and what the hardware needs
-- for the model's work; nil where neither is known or there is nothing to win.
local function could_be(results)
  local stage, time = longest(results)
  local said, least = {}, stage and stage.efficiency and stage.efficiency.floor_ns
  if not stage then return nil end
  if stage.gpu_busy_ns > 0 and stage.gpu_busy_ns < time then
    said[1] = ("%s if the GPU never waited"):format(words.ms(stage.gpu_busy_ns))
  end
  if least and least.value and least.value > 0 and least.value < time then
    said[#said + 1] = ("%s at the limit of the hardware"):format(words.ms(least.value))
  end
  return #said > 0 and ("%s would take, instead of %s: %s."):format(stage.name, words.ms(time),
    table.concat(said, ", ")) or nil
end


-- Without the line on the first move, which stands among the moves.
local function verdict_lines(results)
  local lines, trust = {}, nil
  for _, line in ipairs(findings.verdict(results)) do
    if line.head == "Trust:" then
      trust = line
    elseif line.head ~= "First move:" then
      lines[#lines + 1] = line
    end
  end
  return lines, trust
end


-- All of it.
local function first_screen(results)
  local lines, trust = verdict_lines(results)
  local could = could_be(results)
  if could then lines[#lines + 1] = { head = "It could be faster.", text = could } end
  return blocks.join(blocks.note(words.model(results)), tiles(results),
    blocks.verdict { lines = lines }, findings.moves(results, MOVES),
    blocks.say({ { strong = trust.head }, " " .. trust.text }, "note"))
end


-- ---- the page ----

-- In the order of the page. Those of `keys` are left out where `report` does not name
-- them.
local ORDER = { "advice", "load", "stages", "cpu_samples", "gaps", "modules", "layers", "ranks",
  "aggregates", "mfu", "roofline", "kernels", "operators", "trust", "missing", "abstained",
  "silent", "environment", "source", "next" }
local KEYS = { advice = true, stages = true, aggregates = true, mfu = true, roofline = true,
  kernels = true, operators = true, environment = true }

local VIEW = { page = true }

local NO_CHARTS = "llmprof was built without Chart.js: charts are left out, all figures are in the "
  .. "tables. Debian's package is libjs-chart.js."


-- Those that are there: { name, title, gist, content } each.
local function wanted(results, order)
  local configured, list = {}, {}
  for _, name in ipairs(order) do configured[name] = true end
  for _, name in ipairs(ORDER) do
    local content = (not KEYS[name] or configured[name])
      and chapters.content(results, name, VIEW)
    list[#list + 1] = content and { name = name, title = chapters.title(name),
      gist = chapters.gist(results, name), content = content } or nil
  end
  return list
end


local function navigation(list)
  local links = {}
  for i, chapter in ipairs(list) do
    links[i] = ('<a href="#%s">%s</a>'):format(chapter.name, html.escape(chapter.title))
  end
  return ("<nav>%s</nav>\n"):format(table.concat(links, "\n"))
end


local function folded(chapter)
  return ('<details class="chapter" id="%s">\n<summary><h2>%s</h2><span class="note">%s</span>'
    .. "</summary>\n%s</details>\n"):format(chapter.name, html.escape(chapter.title),
    html.escape(chapter.gist or ""), writer.render(chapter.content))
end


local function has_flame(list)
  for _, chapter in ipairs(list) do
    for _, block in ipairs(chapter.content) do
      if block.kind == "flame" then return true end
    end
  end
  return false
end


-- What the charts of the page draw, by their names.
local function drawn(list)
  local data = {}
  for _, chapter in ipairs(list) do
    for _, block in ipairs(chapter.content) do
      if block.kind == "chart" then data[block.name] = block.data or json.null end
    end
  end
  return data
end


local function footer(results)
  return ('<footer class="note"><p>Run %s of recipe %s, written by llmprof %s on %s.</p>\n'
    .. "</footer>\n"):format(html.escape(results.run.id), html.escape(results.run.recipe),
    html.escape(results.run.llmprof), html.escape(results.run.created))
end


-- order: names of sections, as configured by `report`; the page has an order of its own.
-- events: the bytes of what the timeline draws, of llmprof.analysis.timeline.events; nil without.
function documents.page(results, order, events)
  local list, heading = wanted(results, order), words.title(results)
  events = document.d3() and events
  local out = { "<header>\n", writer.render(blocks.join(
      blocks.heading { level = 1, title = heading }, first_screen(results))), "</header>\n",
    '<section id="timeline">\n',
    writer.render { blocks.timeline { results = results, events = events ~= nil } },
    "</section>\n",
    navigation(list), "<main>\n",
    document.chart_js() and "" or writer.render { blocks.say(NO_CHARTS, "warning") } }
  for _, chapter in ipairs(list) do out[#out + 1] = folded(chapter) end
  out[#out + 1] = "</main>\n" .. footer(results)
  return document.render {
    title = heading .. ": where the time goes", generator = "llmprof " .. results.run.llmprof,
    body = table.concat(out), data = drawn(list), events = events, flames = has_flame(list),
  }
end


return documents
