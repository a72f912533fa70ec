-- The place of the timeline, which a script draws from the events beside it.
local text = require "llmprof.text"
local words = require "llmprof.report.words"

local timeline = {}

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


-- Of ranks' files alone a few steps are shown first, of a run one repeat.
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


return timeline
