-- Blocks as HTML: what stands in a page. Ids: table-NAME, chart-NAME, kernel-ID and
-- finding-NUMBER.
local blocks = require "llmprof.report.blocks"
local document = require "llmprof.report.html.document"
local charts = require "llmprof.report.html.charts"
local errors = require "llmprof.process.errors"
local json = require "llmprof.json"
local lists = require "llmprof.tables.lists"
local pictures = require "llmprof.report.pictures"
local sections = require "llmprof.report.sections"
local tables = require "llmprof.tables"
local text = require "llmprof.text"
local words = require "llmprof.report.words"

local kinds = {}

local escape = text.html

-- Rows of a table, on the screen and as page.css has it on paper; nobody reads
-- further, and results.json has them all.
local MOST, ON_PAPER = 500, 40


-- A text or its runs; a line's end is one.
local function inline(given)
  if type(given) == "string" then return (escape(given):gsub("\n", "<br>")) end
  return table.concat(lists.map(given, function(run)
    return type(run) == "string" and inline(run) or ("<b>%s</b>"):format(escape(run.strong))
  end))
end


local function paragraph(said, tone)
  return ("<p%s>%s</p>\n"):format(tone and (' class="%s"'):format(tone) or "", inline(said))
end


function kinds.heading(block)
  return ("<h%d>%s</h%d>\n"):format(block.level, escape(block.title), block.level)
end


function kinds.paragraph(block) return paragraph(block.text, block.tone) end


function kinds.verdict(block)
  local lines = lists.map(block.lines, function(line)
    return ("<p><b>%s</b> %s</p>\n"):format(escape(line.head), escape(line.text))
  end)
  return ('<div class="verdict">\n%s</div>\n'):format(table.concat(lines))
end


function kinds.tiles(block)
  local out = lists.map(block.list, function(tile)
    return ('<div class="tile"><dt>%s</dt><dd>%s</dd><dd class="note">%s</dd></div>\n'):format(
      escape(tile.label), escape(tile.value), escape(tile.note))
  end)
  return ('<dl class="tiles">\n%s</dl>\n'):format(table.concat(out))
end


-- What of the timeline an element is about, for the page's script.
local function place_attribute(place)
  return place and (' data-place="%s"'):format(escape(json.encode(place))) or ""
end


-- ---- moves ----

local function badge(move)
  return ('<span class="badge">%s%s</span>'):format(
    move.gain_ns and move.is_bound and "at most " or "",
    move.gain_ns and escape(text.duration(move.gain_ns)) or "")
end


local function rank(number) return ('<span class="rank">%d</span>'):format(number) end


-- What to try, and what the gain assumes, which is left out where there is little room.
local function advice(move)
  if not move.assumption then return escape(move.try) .. "." end
  return ('%s<span class="if">; gains if %s.</span>'):format(escape(move.try),
    escape(move.assumption))
end


-- Where in the timeline a move is: at its gap, its kernels, else at its stage.
local function place_of_move(move)
  if move.gap then return place_attribute(move.gap) end
  local ids = lists.map(move.kernels, "id")
  return place_attribute { kernels = #ids > 0 and ids or nil, stage = move.stage }
end


-- On the first screen: what to try, what it gains, what has to come before; the rest is
-- where the link leads.
local function in_brief(number, move)
  local given = {}
  if move.of_ns then given[1] = "of " .. text.duration(move.of_ns) end
  given[#given + 1] = move.order
  return ('<li%s>%s<div><a href="#finding-%d">%s</a><p>%s</p></div>\n<div class="gain">%s'
    .. " <p>%s</p></div></li>\n"):format(place_of_move(move), rank(number), number,
    escape(move.title), advice(move), badge(move), escape(table.concat(given, ", ")))
end


local function evidence(move)
  local items = lists.map(move.evidence, function(item)
    return ('<li>%s <span class="source">%s</span></li>\n'):format(escape(item.text),
      escape(item.source))
  end)
  return ("<ul>\n%s</ul>\n"):format(table.concat(items))
end


-- Links to the rows of its kernels, as far as the page has them: an id is the
-- kernel's place in the list.
local function kernel_links(move)
  local links = lists.map(move.kernels, function(kernel)
    return kernel.id <= MOST and ('<a href="#kernel-%d" title="%s">%d</a>'):format(kernel.id,
      escape(text.truncate(kernel.name, 200)), kernel.id) or nil
  end)
  if #links == 0 then return "" end
  return ('<p class="rows">Kernels %s</p>\n'):format(table.concat(links, " "))
end


-- What is replayed; a change without a gain is one that cannot be replayed here.
local function changes_of(move)
  local said = lists.map(move.changes or {}, function(change)
    return ("<code>%s</code>"):format(escape(change))
  end)
  if #said == 0 or not move.gain_ns then return "" end
  return ('<p class="note">%s</p>\n'):format(table.concat(said, " "))
end


-- A tick for several at once, where the page has a script.
local function tick_of(number, move)
  if #(move.changes or {}) == 0 or not move.gain_ns then return '<span class="pick"></span>' end
  return ('<span class="pick"><input type="checkbox" class="tick" hidden value="%d" data-gain="%s" '
    .. 'aria-label="gain of %d with others" title="what ticked findings gain together"></span>')
    :format(number, move.is_bound and "" or escape(text.duration(move.gain_ns)), number)
end


-- Where the page's script says what ticked findings gain together.
local function together_of(block)
  local by_ranks = {}
  for _, pair in ipairs(block.pairs or {}) do
    by_ranks[table.concat(pair.ranks, " ")] = text.duration(pair.gain_ns)
  end
  return ('<p class="together" data-run="%s" data-pairs="%s"></p>\n'):format(escape(block.run),
    escape(errors.check(json.encode(by_ranks))))
end


-- A row that opens in place.
local function in_full(number, move)
  return table.concat {
    ('<details class="finding" id="finding-%d">\n<summary>%s<span class="title">%s</span>'
      .. '<span class="confidence note">%s</span>%s%s</summary>\n'):format(number, rank(number),
      escape(move.title), escape(move.confidence), badge(move), tick_of(number, move)),
    ('<div class="sides"%s>\n<div><p><b>Try</b>%s %s.</p>\n'):format(place_of_move(move),
      move.order and (" (%s)"):format(move.order) or "", escape(move.try)),
    ("<p><b>Gain</b> %s.</p>\n"):format(escape(move.gain)), changes_of(move),
    ('<p class="note">Confidence %s; rule <code>%s</code></p>\n</div>\n<div>'):format(
      escape(move.confidence), escape(move.rule)),
    evidence(move), kernel_links(move), "</div>\n</div>\n</details>\n",
  }
end


function kinds.moves(block)
  local out = {}
  for i, move in ipairs(block.list) do out[i] = (block.brief and in_brief or in_full)(i, move) end
  if not block.brief or #out == 0 then
    return table.concat(out) .. (block.run and together_of(block) or "")
  end
  return ('<ol class="moves">\n%s</ol>\n'):format(table.concat(out))
end


-- ---- tables and pictures ----

-- What the name of a row names in the timeline, by table; of the others it is the stage.
local NAMED = {
  lines = { line = "line" },
  modules = { module = "name" }, marked_layers = { module = "name" },
  marked_operators = { operator = "name" }, timeline_operators = { operator = "name" },
  operator_stages = { operator = "name" }, operators = { operator = "name" },
  operator_kernels = { label = "label", operator = "operator" },
  categories = { category = "category" }, headroom = { label = "label" },
  collectives = { label = "name" }, rank_kernels = { label = "name" },
  step_layers = { layer = "index" }, layers = { layer = "layer" },
  compare_kernels = { label = "label" }, compare_lines = { line = "line" },
  compare_modules = { module = "name" }, compare_where = { category = "what" },
}


-- What of the timeline a row is about, for the page's script: a span of time in ns, a kernel, or
-- what operations were launched by.
local function place_of(name, row)
  local start, ns = row.start_ns or row.begin_ns, row.ns or row.length_ns
  if math.type(start) == "integer" and math.type(ns) == "integer" then
    return { from = start, ["until"] = start + ns }
  end
  if name == "kernels" or name == "roofline" then return { kernels = { row.id } } end
  local raw = rawget(row, "raw")
  local place = { stage = row.stage or row.phase or raw and raw.label or row.where }
  for key, field in pairs(NAMED[name] or {}) do place[key] = row[field] end
  return next(place) and place or nil
end


-- What the element of a row has besides.
local function row_attributes(name)
  return function(row)
    local id = name == "kernels" and (' id="kernel-%d"'):format(row.id) or ""
    return id .. place_attribute(place_of(name, row))
  end
end


local function count_of(shown, all)
  local paper = shown > ON_PAPER and paragraph(("On paper: the first %d of %s."):format(ON_PAPER,
    text.count(all)), "note print") or ""
  if shown == all then return paper end
  return paper .. paragraph(("The first %s of %s; results.json has all, and llmprof show RUN "
    .. "prints them."):format(text.count(shown), text.count(all)), "note")
end


-- What a column means, without its Markdown.
local function meaning_of(column)
  local said = sections.meaning(column)
  return said and said:gsub("%[(.-)%]%(.-%)", "%1"):gsub("`", "")
end


function kinds.table(block)
  local shown = lists.first(block.rows, MOST)
  local title = block.title or block.name
  return ('<div class="table%s" id="table-%s" data-title="%s">\n<div class="scroll" tabindex="0" '
    .. 'role="region" aria-label="%s">%s</div>\n</div>\n%s'):format(block.filter and " filter"
    or "", escape(block.name), escape(title), escape(title), tables.render("html",
    blocks.filled(block), shown, { row = row_attributes(block.name),
      meaning = meaning_of }), count_of(#shown, #block.rows))
end


function kinds.chart(block)
  if not block.data then return block.otherwise and paragraph(block.otherwise, "note") or "" end
  if not document.chart_js() then return "" end
  return ('<figure class="chart" id="chart-%s"><canvas role="img" aria-label="%s"></canvas>'
    .. "</figure>\n"):format(block.name, escape(block.label))
end


-- A bar of a panel: work below, then waiting for other ranks, then idle.
local function bar(index, value, most, split)
  local function share(ns) return most > 0 and 100 * ns / most or 0 end
  local parts, top = {}, 100
  for i, part in ipairs { { "busy", value.work }, { "wait", value.wait },
    { split and "idle" or "time", value.whole - value.work - value.wait } } do
    local tall = share(part[2])
    top = top - tall
    parts[i] = tall > 0 and ('<rect class="%s" x="%d" width="9" y="%.2f" height="%.2f"/>'):format(
      part[1], 10 * (index - 1), top, tall) or ""
  end
  return ("<g><title>%s</title>%s</g>"):format(escape(("%d: %s%s"):format(index - 1,
    text.duration(value.whole), value.wait > 0
      and (", %s of it waiting"):format(text.duration(value.wait)) or "")), table.concat(parts))
end


local function small(block, made)
  local most, bars = pictures.scale_of(block, made), {}
  for i, value in ipairs(made.bars) do bars[i] = bar(i, value, most, made.split) end
  return ('<figure><figcaption>%s: <span class="note">%s</span></figcaption>'
    .. '<svg viewBox="0 0 %d 100" preserveAspectRatio="none" role="img" aria-label="%s">%s</svg>'
    .. "</figure>\n"):format(escape(made.title), escape(pictures.extent(block, made)),
    10 * #made.bars, escape(("%s: %s"):format(made.title, block.label)), table.concat(bars))
end


function kinds.multiples(block)
  local out, split = {}, false
  for i, made in ipairs(block.panels) do out[i], split = small(block, made), split or made.split end
  return ('%s<div class="multiples">\n%s</div>\n'):format(paragraph(block.label .. (split
    and ". Green: the GPU works; red: it waits for other ranks; grey: idle." or "."), "note"),
    table.concat(out))
end


kinds.flame = charts.flame


-- ---- the timeline ----

local EVENTS = [[
<figure class="events" id="events%s" hidden>
<div class="tools" role="toolbar" aria-label="Timeline">
%s<input type="search" placeholder="Find events" aria-label="Find events in the timeline">
<button type="button" data-key="p" aria-label="Previous event found">&lsaquo;</button>
<button type="button" data-key="n" aria-label="Next event found">&rsaquo;</button>
<button type="button" data-key="w" aria-label="Zoom in">+</button>
<button type="button" data-key="s" aria-label="Zoom out">&minus;</button>
<button type="button" data-key="m">measure</button>
%s<button type="button" data-key="1">%s</button>
<button type="button" data-key="0">whole run</button>
<span class="status note" role="status"></span>
</div>
<div class="lanes"><div class="names"></div><canvas tabindex="0" role="application" ]]
  .. [[aria-label="Timeline of the GPU, CUDA calls and ranges" ]]
  .. [[aria-describedby="events-help"></canvas></div>
<div class="tip" aria-hidden="true" hidden></div>
<div class="legend" role="group" aria-label="Colours"></div>
<div class="detail" aria-live="polite"></div>
<figcaption>%s<span class="extent"></span> %s</figcaption>
</figure>
]]

local LINK = '<button type="button" data-key="l">link</button>\n'

local HELP = [[
<details class="keys"><summary>Mouse and keys</summary><span id="events-help">Click an event ]]
  .. [[for what it is; then the wheel, or pinching, zooms, and dragging moves; with shift it ]]
  .. [[measures. Keys: W S zoom, A D move, left and right go from event to event, / finds, N P ]]
  .. [[next and previous found, F fits what is selected (a double click, too), M measures the ]]
  .. [[view, %s1 %s, 0 whole run, Esc clears. A lane's name collapses it (with shift all of its ]]
  .. [[kind), dragging it or Alt with an arrow moves it, P pins it.</span></details>]]


-- Of ranks with files of their own: whose the lanes are that name no rank.
local function first_alone(results)
  local files = results.ranks and results.ranks.files or {}
  if #files < 2 or words.ranks_alone(results) then return "" end
  return "Lanes that name no rank are of the first file alone. "
end


-- A place for the events, which a script draws. Of ranks' files alone a few steps are shown first,
-- of a run one repeat. A number is that of one of two that are aligned.
function kinds.timeline(block)
  local number, results = block.number, block.results
  local shown = words.ranks_alone(results) and "a few steps" or "one repeat"
  local help = HELP:format(number and "" or "L links to it, ", shown)
  local is_second = (number or 1) > 1
  return EVENTS:format(is_second and number or "",
    number and ("<b>%s</b>\n"):format(escape(block.title)) or "", number and "" or LINK, shown,
    number and "" or first_alone(results),
    is_second and "Aligned by step: both begin in the same one." or help)
end


function kinds.code(block)
  local lines = {}
  for line in (block.text .. "\n"):gmatch "(.-)\n" do
    lines[#lines + 1] = ("<code>%s</code>"):format(escape(line))
  end
  return ("<pre>%s</pre>\n"):format(table.concat(lines))
end


return { name = "html", kinds = kinds, render = blocks.writer(kinds, "") }
