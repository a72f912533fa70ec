-- Pictures that every format can show: small multiples (the steps of each stage and rank in
-- their order, the layers of a step) and sampled stacks. As blocks.
local blocks = require "llmprof.report.blocks"
local sections = require "llmprof.report.sections"
local statistics = require "llmprof.statistics"
local text = require "llmprof.text"
local words = require "llmprof.report.words"
local lists = require "llmprof.tables.lists"

local pictures = {}

-- ---- small multiples ----

-- Bars of a panel: where there are more values, each is the mean of several; panels.
local BARS, PANELS = 120, 24


-- At most BARS bars of a list of values in their order, each the means of a few.
local function bars_of(list)
  local made, size = {}, math.ceil(#list / BARS)
  for first = 1, #list, size do
    local own, bar = table.move(list, first, math.min(first + size - 1, #list), 1, {}), {}
    for _, key in ipairs { "whole", "work", "wait" } do bar[key] = lists.sum(own, key) / #own end
    made[#made + 1] = bar
  end
  return made
end


-- A panel of values, each { whole, work, wait } in ns; split: is known what the GPU did in any?
-- one: what a value is; scale: of panels with one.
local function panel(title, list, one, scale)
  local seen = statistics.describe(lists.map(list, "whole"))
  return { title = title, bars = bars_of(list), count = #list, least = seen.min, most = seen.max,
    split = lists.any(list, function(value) return value.work + value.wait > 0 end), scale = scale,
    each = #list > BARS and ("each bar %d %ss"):format(math.ceil(#list / BARS), one) or nil }
end


-- nil where nobody knows how long the step took; is_split: with what the GPU did.
local function value_of(step, is_split)
  local whole = step.length_ns or step.start_ns and step.end_ns and step.end_ns - step.start_ns
  if not whole then return nil end
  local busy = is_split and math.min(step.busy_ns, whole) or 0
  local wait = math.min(step.waiting_ns or 0, busy)
  return { whole = whole, work = busy - wait, wait = wait }
end


-- Steps of each stage and rank, one scale for a stage; nil without more than one of any.
function pictures.steps(results)
  local panels, ranks = {}, results.ranks and results.ranks.ranks or {}
  local steps = results.ranks and results.ranks.step_rows or {}
  local list = lists.map(steps, function(step)
    return value_of(step) and { phase = step.phase or "", rank = step.rank or -1, step = step }
  end)
  for _, phase in ipairs(lists.grouped(list, "phase")) do
    for _, own in ipairs(lists.grouped(lists.stable(phase, "rank"), "rank")) do
      local title = #ranks > 1 and ("%s, rank %d"):format(own[1].phase, own[1].rank) or own[1].phase
      if #own > 1 and #panels < PANELS then
        local is_split = not lists.any(own, function(one) return not one.step.busy_ns end)
        panels[#panels + 1] = panel(title, lists.map(own, function(one)
          return value_of(one.step, is_split)
        end), "step", own[1].phase)
      end
    end
  end
  return #panels > 0 and blocks.multiples { what = "step", panels = panels,
    label = "Steps in their order: how long each took, and what the GPU did" } or nil
end


-- The layers of a decode step; nil without.
function pictures.layers(results)
  local values = lists.map(results.layers and results.layers.rows or {}, function(row)
    return { whole = row.mean_ns, work = 0, wait = 0 }
  end)
  return #values > 1 and blocks.multiples { what = "layer", panels = { panel("decode", values,
    "layer") }, label = "Layers of a decode step in their order: how long each took" } or nil
end


-- ---- for every writer ----

local LEVELS = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" }

-- The longest value of the panels that share a scale.
function pictures.scale_of(block, made)
  return select(2, lists.largest(block.panels, function(other)
    return other.scale == made.scale and other.most
  end))
end


-- The bars of a panel as text.
function pictures.line(block, made)
  return pictures.spark(lists.map(made.bars, "whole"), 0, pictures.scale_of(block, made))
end


-- Values as blocks of eight heights, from `least` to `most`.
function pictures.spark(values, least, most)
  local out = {}
  for i, value in ipairs(values) do
    local level = most > least and math.ceil((value - least) / (most - least) * #LEVELS) or 1
    out[i] = LEVELS[math.max(1, math.min(level, #LEVELS))]
  end
  return table.concat(out)
end


-- "94 steps, 3.12 ms to 5.46 ms".
function pictures.extent(block, made)
  return ("%s %ss, %s to %s%s"):format(text.count(made.count), block.what,
    text.duration(made.least), text.duration(made.most), made.each and ", " .. made.each or "")
end


-- ---- stacks ----

-- Functions of a stage in a report, and on the page; of the hottest stack; columns of a name.
local FUNCTIONS, ON_PAGE, INNERMOST, NAME = 10, 20, 24, 100


-- "leaf (work.py)"
function pictures.name(frame)
  local name = text.clean(frame.name)
  if not frame.module or frame.name == ("[%s]"):format(frame.module)
    or frame.name == frame.module then return name end
  return ("%s (%s)"):format(name, text.clean(frame.module))
end


function pictures.percent(samples, all) return text.number(100 * samples / all, 1) .. " %" end


local function short(frame) return text.truncate(pictures.name(frame), NAME, "middle") end


-- The functions around the one with most samples of its own, outermost first; nil where
-- no function has any.
local function hottest_path(tree)
  local path, found, most = {}, nil, 0
  for _, frame in ipairs(tree) do
    path[frame.depth + 1] = frame
    if frame.self > most then
      most, found = frame.self, table.move(path, 1, frame.depth + 1, 1, {})
    end
  end
  return found
end


-- The stack that most samples were taken in: { text, lines }; nil without.
function pictures.hottest(block)
  local path = hottest_path(block.tree)
  if not path then return nil end
  local first, lines = math.max(1, #path - INNERMOST + 1), {}
  if first > 1 then lines[1] = ("(%d more functions around these)"):format(first - 1) end
  for i = first, #path do lines[#lines + 1] = short(path[i]) end
  local most, all = path[#path].self, block.samples
  local share = pictures.percent(most, all)
  return { lines = lines, text = block.of == "ns"
    and ("The stack with most GPU time, %s (%s), what ran last:"):format(text.duration(most), share)
    or ("The stack with most samples, %s of %s (%s), the innermost function last:"):format(
      text.count(most), text.count(all), share) }
end


local scopes = {
  thread = "of the threads that mark this stage",
  process = "of all threads of its process: none was taken on the thread that marks it",
  time = "of all threads while the GPU ran it; the CPU had launched it before",
  run = "of the whole run, with the time before and after the stages",
  stage = "of the file that is named after this stage",
}

-- What samples lack, by field.
local lacks = { { "other_threads", "of other threads of the process, left out" },
  { "without_stack", "without a stack" },
  { "cut", "whose outermost functions could not be followed" } }


-- Whose samples they are, and what they lack.
local function basis(stage)
  local said = { ("%s samples, %s."):format(text.count(stage.samples), scopes[stage.scope]) }
  if stage.file then
    said[2] = ("From %s: collapsed stacks have no times."):format(stage.file)
  end
  for _, lack in ipairs(lacks) do
    local count = stage[lack[1]] or 0
    if count > 0 then
      said[#said + 1] = ("%s %s."):format(words.several(count, "sample"), lack[2])
    end
  end
  return table.concat(said, " ")
end


local function of_stage(number, stage, view)
  local title = stage.file and ("%s (%s)"):format(stage.stage, stage.file) or stage.stage
  local shown = lists.first(sections.functions_of(stage),
    view.page and ON_PAGE or FUNCTIONS)
  return { blocks.title(title), blocks.note(basis(stage)),
    blocks.flame { name = tostring(number), samples = stage.samples, tree = stage.tree,
      label = ("%s samples of %s: the outermost function on top, each as wide as its share of "
        .. "them"):format(text.count(stage.samples), title) },
    sections.table("stage_functions", shown),
    stage.different > #shown and blocks.note(("%d of %s functions, those with most samples of "
      .. "their own: llmprof show RUN cpu_samples has more."):format(#shown,
      text.count(stage.different))) }
end


function pictures.blocks(results, view)
  local made, list = results.cpu_samples, {}
  local outside = (made.outside or 0) > 0 and (" %s samples in the timeline, %s of them in no "
    .. "stage that counts."):format(text.count(made.timeline), text.count(made.outside)) or ""
  list[1] = blocks.note("What a sampler saw the CPU in at regular times: a share of the samples "
    .. "is a share of the time on a CPU. A thread that waits is usually not sampled."
    .. outside)
  for i, stage in ipairs(made.stages) do list[#list + 1] = of_stage(i, stage, view) end
  return list
end


return pictures
