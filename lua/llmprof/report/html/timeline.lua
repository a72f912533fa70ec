-- The strip above all else: a row per stage, its ranges where they lie in time,
-- filled as far as the GPU worked. Drawn as SVG, so that it needs no script.
local lists = require "llmprof.tables.lists"
local text = require "llmprof.text"
local words = require "llmprof.report.words"

local timeline = {}

-- Ranges drawn of one stage; more would not be told apart.
local MOST = 400

-- Marks on the axis, about.
local TICKS = 8


local function drawn(stage)
  return lists.first(lists.filtered(stage.instances, "used"), MOST)
end


-- First start and last end of all that is drawn; nil without any.
local function extent(results)
  local instances = lists.flat(results.stages, drawn)
  local first = lists.sort(lists.map(instances, "start_ns"))[1]
  local _, last = lists.largest(instances, function(instance)
    return instance.start_ns + instance.wall_ns
  end)
  if not first or last <= first then return nil end
  return first, last
end


-- The length between marks: 1, 2 or 5 times a power of ten.
local function step_of(span)
  local rough = span / TICKS
  local power = 10.0 ^ math.floor(math.log(rough, 10))
  for _, factor in ipairs { 1, 2, 5 } do
    if factor * power >= rough then return factor * power end
  end
  return 10 * power
end


local function range(instance, first, span)
  local x, width = 100 * (instance.start_ns - first) / span, 100 * instance.wall_ns / span
  local busy = instance.wall_ns > 0 and math.min(instance.gpu_busy_ns / instance.wall_ns, 1) or 0
  local said = ("repeat %d: %s, GPU busy %s (%s)"):format(instance.rep,
    text.duration(instance.wall_ns), text.duration(instance.gpu_busy_ns), words.percent(busy))
  return ('<g><title>%s</title><rect class="idle" x="%.3f%%" width="%.3f%%" y="3" height="20"/>'
    .. '<rect class="busy" x="%.3f%%" width="%.3f%%" y="3" height="20"/></g>'):format(
    text.html(said), x, width, x, width * busy)
end


local function strip(stage, first, span)
  local ranges = lists.map(drawn(stage), function(instance)
    return range(instance, first, span)
  end)
  return ('<div class="lane"><span class="lane-name%s">%s</span>'
    .. '<svg role="img" aria-label="%s" height="26">%s</svg></div>\n'):format(
    stage.parent and " part" or "", text.html(stage.name),
    text.html(("ranges of %s"):format(stage.name)), table.concat(ranges))
end


local unit_ns = { ns = 1, us = 1e3, ms = 1e6, s = 1e9 }


local function axis(span)
  local step, marks = step_of(span), {}
  local unit = text.unit("duration", span)
  local digits = math.max(0, -math.floor(math.log(step / unit_ns[unit], 10)))
  for i = 0, math.floor(span / step) do
    local x = 100 * i * step / span
    marks[#marks + 1] = ('<line x1="%.3f%%" x2="%.3f%%" y1="0" y2="5"/>'):format(x, x)
    if x < 94 then
      marks[#marks + 1] = ('<text x="%.3f%%" y="17" dx="2">%s</text>'):format(x,
        text.html(text.duration(i * step, { unit = unit, digits = digits })))
    end
  end
  return ('<div class="lane axis"><span class="lane-name"></span>'
    .. '<svg aria-hidden="true" height="20">%s</svg></div>\n'):format(table.concat(marks))
end


local function left_out(results)
  local count = lists.sum(results.stages, function(stage)
    return math.max(#lists.filtered(stage.instances, "used") - MOST, 0)
  end)
  return count > 0 and (" Of each stage the first %d ranges are drawn; %s more are not.")
    :format(MOST, text.count(count)) or ""
end


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


-- A place for the events, which a script draws from the data beside it. Of ranks' files alone
-- a few steps are shown first, of a run one repeat.
function timeline.events(results)
  local shown = words.ranks_alone(results) and "a few steps" or "one repeat"
  return EVENTS:format("", "", LINK, shown, first_alone(results), HELP:format("L links to it, ",
    shown))
end


-- One of two that are aligned: its number and name.
function timeline.side(results, number, name)
  local shown = words.ranks_alone(results) and "a few steps" or "one repeat"
  return EVENTS:format(number > 1 and number or "", ("<b>%s</b>\n"):format(text.html(name)), "",
    shown, "", number > 1 and "Aligned by step: both begin in the same one."
      or HELP:format("", shown))
end


-- Is there a range of a stage to draw?
function timeline.has_strip(results) return extent(results) ~= nil end


-- The strip as an element; a sentence where no range was found.
function timeline.render(results)
  local first, last = extent(results)
  if not first then return "<p>No range of a stage was found.</p>\n" end
  local out = { '<figure class="timeline">\n' }
  for _, stage in ipairs(results.stages) do out[#out + 1] = strip(stage, first, last - first) end
  out[#out + 1] = axis(last - first)
  out[#out + 1] = ("<figcaption>Ranges of the repeats that are used, on the CPU's clock; "
    .. '<span class="key busy"></span> GPU busy and <span class="key idle"></span> idle as shares '
    .. "of each range, not where in it.%s</figcaption></figure>\n"):format(
    text.html(left_out(results)))
  return table.concat(out)
end


return timeline
