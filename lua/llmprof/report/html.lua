-- report.html: one page to look around in. What a reader needs first is on the first
-- screen; sections fold.
local blocks = require "llmprof.report.blocks"
local chapters = require "llmprof.report.chapters"
local document = require "llmprof.report.html.document"
local first_screen = require "llmprof.report.first_screen"
local html = require "llmprof.tables.html"
local json = require "llmprof.json"
local words = require "llmprof.report.words"
local writer = require "llmprof.report.write.html"

local report = {}

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
function report.render(results, order, events)
  local list, title = wanted(results, order), words.title(results)
  events = document.d3() and events
  local out = { "<header>\n", writer.render(blocks.join(
      blocks.heading { level = 1, title = title }, first_screen.blocks(results))), "</header>\n",
    '<section id="timeline">\n',
    writer.render { blocks.timeline { results = results, events = events ~= nil } },
    "</section>\n",
    navigation(list), "<main>\n",
    document.chart_js() and "" or writer.render { blocks.say(NO_CHARTS, "warning") } }
  for _, chapter in ipairs(list) do out[#out + 1] = folded(chapter) end
  out[#out + 1] = "</main>\n" .. footer(results)
  return document.render {
    title = title .. ": where the time goes", generator = "llmprof " .. results.run.llmprof,
    body = table.concat(out), data = drawn(list), events = events, flames = has_flame(list),
  }
end


return report
