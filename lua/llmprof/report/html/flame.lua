-- Sampled stacks as a flame graph: a row for each depth, the outermost functions on top,
-- as wide as they have samples. It stands without a script; flame/ zooms. An element of
-- its own for each function cuts its name where it ends.
local html = require "llmprof.tables.html"
local stacks = require "llmprof.report.stacks"
local text = require "llmprof.text"

local flame = {}

-- Height of a row, and where its text stands; colours; columns of a name.
local ROW, BASE, COLOURS, NAME = 18, 13, 8, 200


-- A colour for a module, the same in every graph.
local function colour(frame)
  local sum = 0
  for _, byte in ipairs { (frame.module or frame.name):byte(1, 64) } do
    sum = (sum * 31 + byte) % 65521
  end
  return sum % COLOURS
end


local function said(frame, all)
  return ("%s: %s sample%s, %s; in itself %s"):format(
    text.truncate(stacks.name(frame), NAME, "middle"), text.count(frame.total),
    frame.total == 1 and "" or "s", stacks.percent(frame.total, all),
    stacks.percent(frame.self, all))
end


-- The number without what says nothing: "12.5", "3".
local function figure(value)
  return (("%.3f"):format(value):gsub("%.?0+$", ""))
end


local function element(frame, at, all, first)
  return ('<svg class="m%d" x="%s%%" y="%d" width="%s%%" height="%d" role="button" '
    .. 'tabindex="%d"><title>%s</title><rect width="100%%" height="100%%"/><text x="4" y="%d">%s'
    .. "</text></svg>\n"):format(colour(frame), figure(100 * at / all), frame.depth * ROW,
    figure(100 * frame.total / all), ROW - 1, first and 0 or -1, html.escape(said(frame, all)),
    BASE, html.escape(text.truncate(stacks.name(frame), NAME, "middle")))
end


-- Frames of the tree with where each begins, in samples: what a function called stands
-- below it, from its beginning on.
local function placed(tree)
  local list, next_at = {}, {}
  for i, frame in ipairs(tree) do
    local at = next_at[frame.depth] or 0
    next_at[frame.depth], next_at[frame.depth + 1] = at + frame.total, at
    list[i] = at
  end
  return list
end


function flame.render(block)
  if #block.tree == 0 then return "" end
  local out, deepest, at = {}, 0, placed(block.tree)
  for i, frame in ipairs(block.tree) do
    deepest = math.max(deepest, frame.depth)
    out[i] = element(frame, at[i], block.samples, i == 1)
  end
  return ('<figure class="flame" id="flame-%s"><div class="stacks"><svg width="100%%" height="%d" '
    .. 'role="group" aria-label="%s">\n%s</svg></div>\n<figcaption>%s. A colour is a library or '
    .. "script.</figcaption></figure>\n"):format(html.escape(block.name), (deepest + 1) * ROW,
    html.escape(block.label), table.concat(out), html.escape(block.label))
end


return flame
