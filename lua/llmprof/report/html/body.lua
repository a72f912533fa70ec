-- What stands in the page: sections with their paragraphs, tables and charts.
local findings = require "llmprof.report.findings"
local first_times = require "llmprof.analysis.first_times"
local html = require "llmprof.base.html"
local sections = require "llmprof.report.sections"
local tables = require "llmprof.base.tables"
local text = require "llmprof.text"
local words = require "llmprof.report.words"

local body = {}

local escape = html.escape

-- Rows of a table, on the screen and as page.css has it on paper; nobody reads
-- further, and results.json has them all.
local MOST, ON_PAPER = 500, 40


function body.paragraph(said, class)
  if not said then return "" end
  return ("<p%s>%s</p>\n"):format(class and (' class="%s"'):format(class) or "",
    escape(said):gsub("\n", "<br>"))
end


function body.section(id, title, inner)
  return ('<section id="%s">\n<h2>%s</h2>\n%s</section>\n'):format(id, escape(title), inner)
end


-- Above a table of a section; nothing for nil.
function body.heading(title)
  return title and ("<h3>%s</h3>\n"):format(escape(title)) or ""
end


function body.kernel_id(id)
  return ("kernel-%d"):format(id)
end


local row_ids = {
  kernels = function(row) return body.kernel_id(row.id) end,
  findings = function(row) return ("finding-row-%d"):format(row.rank) end,
}


local function count_of(shown, all)
  local paper = shown > ON_PAPER and body.paragraph(("On paper: the first %d of %s.")
    :format(ON_PAPER, text.count(all)), "note print") or ""
  if shown == all then return paper end
  return paper .. body.paragraph(("The first %s of %s; results.json has all, and llmprof show RUN "
    .. "prints them."):format(text.count(shown), text.count(all)), "note")
end


-- A declared table of results; "" when it is empty. options: filter (a field to
-- search in), title (a heading above).
function body.table(results, name, options)
  options = options or {}
  local section = sections.find(name)
  local list = section.rows(results)
  if #list == 0 then return "" end
  local shown = table.move(list, 1, math.min(#list, MOST), 1, {})
  return ('%s<div class="table%s" id="table-%s" data-title="%s">\n<div class="scroll">%s</div>\n'
    .. "</div>\n%s"):format(body.heading(options.title), options.filter and " filter" or "", name,
    escape(section.title), tables.render("html", section.columns, shown,
      { row_id = row_ids[name] }), count_of(#shown, #list))
end


-- A place for a chart, and what stands there when none can be drawn.
function body.chart(id, label, data, charts_built, otherwise)
  if not data then return body.paragraph(otherwise, "note") end
  if not charts_built then return "" end
  return ('<figure class="chart" id="chart-%s"><canvas role="img" aria-label="%s"></canvas>'
    .. "</figure>\n"):format(id, escape(label))
end


-- ---- what to do ----

local function evidence(finding)
  local items = {}
  for i, item in ipairs(finding.evidence) do
    items[i] = ('<li>%s <span class="source">%s</span></li>\n'):format(escape(item.text),
      escape(item.source))
  end
  return ("<ul>\n%s</ul>\n"):format(table.concat(items))
end


-- Links to the rows of its kernels, as far as the page has them: an id is the
-- kernel's place in the list.
local function kernel_links(results, finding)
  local links = {}
  for _, id in ipairs(finding.kernels or {}) do
    if id <= MOST then
      links[#links + 1] = ('<a href="#%s" title="%s">%d</a>'):format(body.kernel_id(id),
        escape(text.truncate(results.kernels[id].short_name, 200)), id)
    end
  end
  if #links == 0 then return "" end
  return ('<p class="rows">Kernels %s</p>\n'):format(table.concat(links, " "))
end


local function badge(finding)
  if not finding.gain_ns then return "" end
  return ('<span class="badge">up to %s</span>'):format(escape(text.duration(finding.gain_ns)))
end


local function card(results, number, finding)
  local after = findings.after(finding)
  return table.concat {
    ('<article class="finding" id="finding-%d">\n<h3><span class="rank">%d</span>%s%s</h3>\n')
      :format(number, number, escape(finding.title), badge(finding)),
    ('<div class="sides">\n<div><p><b>Try</b>%s %s.</p>\n'):format(
      after and " " .. after .. ":" or "", escape(finding.try)),
    ("<p><b>Gain</b> %s.</p>\n"):format(escape(findings.gain(results, finding))),
    ('<p class="note">Confidence %s; rule <code>%s</code></p>\n</div>\n<div>'):format(
      escape(finding.confidence), escape(finding.rule)),
    evidence(finding), kernel_links(results, finding), "</div>\n</div>\n</article>\n",
  }
end


-- Cards of the findings, with what must not be added up.
function body.findings(results)
  local list, out = findings.list(results), {}
  if #list == 0 then return body.paragraph(findings.nothing) end
  for i, finding in ipairs(list) do out[i] = card(results, i, finding) end
  return body.paragraph(findings.caution(list), "note") .. table.concat(out)
end


-- ---- the head ----

function body.verdict(results)
  local lines = {}
  for i, line in ipairs(findings.verdict(results)) do
    lines[i] = ("<p><b>%s</b> %s</p>\n"):format(escape(line.head), escape(line.text))
  end
  return ('<div class="verdict">\n%s</div>\n'):format(table.concat(lines))
end


local function tile(label, value, note)
  return ('<div class="tile"><dt>%s</dt><dd>%s</dd><dd class="note">%s</dd></div>\n'):format(
    escape(label), escape(value), escape(note))
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
  local note = rate.batch and ("batch %d"):format(rate.batch) or "batch not known"
  if profiled then
    note = ("%s; %s under the profiler"):format(note, text.number(profiled.mean, 1, ","))
  end
  return tile(label_of("throughput", figure), text.number(rate.mean, 1, ",") .. " tokens/s", note)
end


-- The figures that everybody asks for first, without the profiler where that was
-- measured; those that were not measured are not there.
function body.tiles(results)
  local latency, whole, list = first_times.latency(results), results.efficiency or {}, {}
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
      list[#list + 1] = tile(("%s, %s"):format(key:upper(), whole.time_source),
        text.number(value * 100, 2) .. " %", "all stages together")
    end
  end
  if #list == 0 then return "" end
  return ('<dl class="tiles">\n%s</dl>\n'):format(table.concat(list))
end


return body
