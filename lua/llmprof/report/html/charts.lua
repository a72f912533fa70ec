-- What the charts of the page draw: plain tables that become its JSON. Units are
-- those of the axes, so that the script only draws.
local json = require "llmprof.json"
local lists = require "llmprof.tables.lists"
local merged = require("llmprof.tables.keys").merged
local overhead = require "llmprof.analysis.latency.overhead"
local plane = require "llmprof.report.plane"
local rows = require "llmprof.report.rows"
local pictures = require "llmprof.report.pictures"
local statistics = require "llmprof.statistics"
local text = require "llmprof.text"
local words = require "llmprof.report.words"

local charts = {}

-- Categories that a chart shows; the rest are one, with the category that is called so.
local CATEGORIES, REST = 8, "other"

-- The colour of each category in all that the page draws, of those of page.css.
local OF_CATEGORY = { gemm = "c0", attention = "c1", elementwise = "c2", ["copy/cast"] = "c3",
  communication = "c4", norm = "c5", reduce = "c6", moe = "c7", ["kv-cache"] = "c8",
  sampling = "c9", memory = "c10", ssm = "c11", sort = "c13",
  quantise = "c14", graph = "c15", [REST] = "other", ["GPU idle"] = "none" }

-- Other categories share these.
local OWN = { "c7", "c13", "c11", "c14", "c15", "c8", "c9", "c6" }

-- Points of the roofline; the largest kernels come first.
local POINTS = 300

local FEWEST_BINS, MOST_BINS = 5, 40


-- OF_CATEGORY, with the categories of these results.
function charts.colours(...)
  local colours, others = merged(OF_CATEGORY), {}
  for _, kernel in ipairs(lists.flat({ ... }, "kernels")) do
    local name = kernel.category
    if name and not colours[name] then colours[name], others[#others + 1] = REST, name end
  end
  for i, name in ipairs(lists.sort(others)) do colours[name] = OWN[(i - 1) % #OWN + 1] end
  return colours
end


-- ---- where each stage's time goes ----

-- The categories with the most time over all stages, largest first.
local function leading(stages)
  local all = lists.flat(stages, function(stage)
    return not stage.parent and stage.categories or nil
  end)
  local groups = lists.grouped(all, function(row)
    return row.category ~= REST and row.category or nil
  end)
  local totals = lists.map(groups, function(group)
    return { name = group[1].category, ns = lists.sum(group, "gpu_time_ns") }
  end)
  return lists.first(lists.map(lists.sort(totals, "-ns", "name"), "name"), CATEGORIES)
end


-- { stages, series = { { name, ms = one per stage } } }, or nil: one instance of
-- each stage, by category of kernel, what else the GPU did, and idle.
function charts.categories(results)
  local stages = lists.filtered(results.stages, function(stage)
    return stage.categories and stage.gpu_idle_ns
  end)
  if #stages == 0 then return nil end
  local order = leading(stages)
  local known = lists.set(order)
  local function series(name, ns_of)
    return { name = name, ms = json.list(lists.map(stages, function(stage)
      return ns_of(stage) / 1e6
    end)) }
  end
  order[#order + 1] = REST
  local list = lists.filtered(lists.map(order, function(name)
    return series(name, function(stage)
      return lists.sum(stage.categories, function(row)
        return (known[row.category] and row.category or REST) == name and row.gpu_time_ns
      end)
    end)
  end), function(one) return lists.any(one.ms, function(ms) return ms > 0 end) end)
  list[#list + 1] = series("GPU idle", function(stage)
    return (overhead.idle_of(results, stage))
  end)
  return { stages = json.list(lists.map(stages, "name")), series = json.list(list) }
end


-- ---- roofline ----

local function is_shown(given)
  return given.intensity and given.rate and given.intensity > 0 and given.rate > 0
end


-- Of stages and of kernels, whose names are those of the tables.
local function points(results, list)
  return json.list(lists.first(lists.map(lists.filtered(list, is_shown), function(given)
    local kernel, l2 = given.kernel and results.kernels[given.kernel], given.l2_intensity
    return { name = kernel and rows.label(kernel) or given.stage, id = given.kernel,
      stage = given.stage, part = given.part, x = given.intensity, y = given.rate / 1e12,
      l2 = l2 and l2 > 0 and l2 or nil, unit = given.unit, share = given.share,
      category = kernel and kernel.category or nil }
  end), POINTS))
end


-- { kernels, stages, roofs in TFLOP/s, dram and l2 in TB/s }, or nil where nothing
-- was measured. x is FLOP per byte of DRAM, l2 of L2, y TFLOP/s.
function charts.roofline(results)
  local given = results.roofline
  if not given then return nil end
  local roofs, shown = given.roofs, {}
  for _, key in ipairs { "tensor", "vector", "dram", "l2" } do
    local roof = roofs[key]
    shown[key] = roof and (roof.at_held_clock_per_s or roof.per_s) / 1e12
  end
  shown.tensors = roofs.tensors and json.list(lists.map(roofs.tensors, function(ceiling)
    return { format = ceiling.format, rate = ceiling.per_s / 1e12 }
  end))
  local made = { kernels = points(results, given.kernels), stages = points(results, given.stages),
    roofs = shown, tensor_format = roofs.tensor_format }
  return (#made.kernels > 0 or #made.stages > 0) and made or nil
end


-- The same in characters.
function charts.roofline_text(results)
  local made = charts.roofline(results)
  return made and ("```text\n%s\n```\n"):format(table.concat(plane.lines(made), "\n")) or ""
end


-- { counts, edges in ms }, or nil with fewer than two values: bins of one width,
-- as many as the square root of the values.
function charts.tpot(results)
  local tpot = results.latency and results.latency.tpot
  local values = tpot and tpot.values_ns or {}
  if #values < 2 then return nil end
  local seen, counts, edges = statistics.describe(values), {}, {}
  local count = math.min(math.max(math.ceil(math.sqrt(#values)), FEWEST_BINS), MOST_BINS)
  local width = (seen.max - seen.min) / count
  if width == 0 then count, width = 1, 1 end
  for i = 1, count do counts[i], edges[i] = 0, (seen.min + (i - 1) * width) / 1e6 end
  edges[count + 1] = seen.max / 1e6
  for _, value in ipairs(values) do
    local bin = math.min(math.floor((value - seen.min) / width) + 1, count)
    counts[bin] = counts[bin] + 1
  end
  return { counts = json.list(counts), edges = json.list(edges) }
end


-- ---- flame graphs ----

-- Sampled stacks as a flame graph: a row for each depth, the outermost functions on top,
-- as wide as they have samples. It stands without a script; flame/ zooms. An element of
-- its own for each function cuts its name where it ends.

-- Height of a row, and where its text stands; colours, and shades of grey; columns of a name.
local ROW, BASE, COLOURS, SHADES, NAME = 18, 13, 8, 3, 200


-- The class of a frame: by its module one of the colours or, of GPU time, by its file a shade of
-- grey; the same in every graph.
local function colour(frame, block)
  local sum, module = 0, frame.module and frame.module:gsub(":%d+$", "") or frame.name
  for _, byte in ipairs { module:byte(1, 64) } do sum = (sum * 31 + byte) % 65521 end
  return block.of == "ns" and "g" .. sum % SHADES or "m" .. sum % COLOURS
end


local function said(frame, all, of, name)
  local amount = of == "ns" and text.duration(frame.total) or words.several(frame.total, "sample")
  return ("%s: %s, %s; %s %s"):format(name, amount, pictures.percent(frame.total, all),
    of == "ns" and "itself" or "in itself", pictures.percent(frame.self, all))
end


-- The number without what says nothing: "12.5", "3".
local function figure(value) return (("%.3f"):format(value):gsub("%.?0+$", "")) end


-- What was launched has the name and the colour that it has elsewhere on the page.
local function launched(frame, block)
  if frame.module or not block.launched then return nil end
  if frame.name:find "^%[CUDA mem" then return frame.name, "memory" end
  local kernel = block.launched[frame.name]
  if kernel then return kernel.label, kernel.category or REST end
  return nil
end


-- A frame that begins `at` samples. In it a line of the program has its file's name alone.
local function element(frame, at, block)
  local name, category = launched(frame, block)
  local file = block.of == "ns" and frame.module and frame.module:match "[^/]*$"
  local shown = name or pictures.name { name = frame.name, module = file or frame.module }
  name = name or text.truncate(pictures.name(frame), NAME, "middle")
  return ('<svg class="%s"%s x="%s%%" y="%d" width="%s%%" height="%d" role="button" '
    .. 'tabindex="%d"><title>%s</title><rect width="100%%" height="100%%"/><text x="4" y="%d">%s'
    .. "</text></svg>\n"):format(category and "of" or colour(frame, block), category
      and (' fill="var(--%s)"'):format(block.colours[category] or REST) or "",
    figure(100 * at / block.samples), frame.depth * ROW, figure(100 * frame.total / block.samples),
    ROW - 1, frame == block.tree[1] and 0 or -1,
    text.html(said(frame, block.samples, block.of, name)), BASE,
    text.html(text.truncate(shown, NAME, "middle")))
end


-- What a function called stands below it, from its beginning on.
function charts.flame(block)
  if #block.tree == 0 then return "" end
  local next_at, _, deepest = {}, lists.largest(block.tree, "depth")
  local out = lists.map(block.tree, function(frame)
    local at = next_at[frame.depth] or 0
    next_at[frame.depth], next_at[frame.depth + 1] = at + frame.total, at
    return element(frame, at, block)
  end)
  return ('<figure class="flame" id="flame-%s"><div class="stacks"><svg width="100%%" height="%d" '
    .. 'role="group" aria-label="%s">\n%s</svg></div>\n<figcaption>%s. %s.'
    .. "</figcaption></figure>\n"):format(text.html(block.name), (deepest + 1) * ROW,
    text.html(block.label), table.concat(out), text.html(block.label),
    block.of == "ns" and "A shade of grey is a file, a colour a category of kernels"
      or "A library or script has one colour")
end


-- ---- Mermaid ----

-- Pictures for Markdown, as Mermaid blocks, which GitHub and GitLab draw: where
-- the GPU time of a stage goes.

-- Slices of a pie, and the least share of one; the rest is one slice. More could not be told
-- apart.
local SLICES, LEAST = 6, 0.04

-- Columns of a label.
local LABEL = 40


-- A label that cannot end its quotes or its line, nor begin a comment,
-- an entity or a directive.
local function label(value)
  local clean = text.clean(value):gsub('"', "'"):gsub("[#;:,%%{}<>`\\]", " "):gsub("%s+", " ")
  clean = text.truncate(clean:match "^%s*(.-)%s*$", LABEL, "middle")
  return clean ~= "" and clean or "(no name)"
end


local function slices(categories)
  local list, rest = {}, 0
  for i, row in ipairs(categories) do
    local share = row.share or 0
    if i <= SLICES and share >= LEAST and row.category ~= REST then
      list[#list + 1] = ('  "%s" : %.1f'):format(label(row.category), share * 100)
    else
      rest = rest + share
    end
  end
  if rest >= 0.001 then list[#list + 1] = ('  "%s" : %.1f'):format(REST, rest * 100) end
  return list
end


-- A pie for each stage that has no parent; "" when none has kernels.
function charts.mermaid_categories(results)
  return table.concat(lists.map(results.stages, function(stage)
    local list = not stage.parent and slices(stage.categories or {}) or {}
    return #list > 0 and ("```mermaid\npie title GPU time of %s in percent\n%s\n```\n"):format(
      label(stage.name), table.concat(list, "\n")) or nil
  end), "\n")
end


return charts
