-- Pictures for Markdown, as Mermaid blocks, which GitHub and GitLab draw: where
-- the GPU time of a stage goes, and how one repeat runs.
local text = require "llmprof.text"

local mermaid = {}

-- Slices of a pie, and the least share of one; the rest is one slice, with the
-- category that is called so. More could not be told apart.
local SLICES, LEAST, REST = 6, 0.04, "other"

-- Columns of a label.
local LABEL = 40


-- A label that cannot end its quotes, its line or its task, nor begin a comment,
-- an entity or a directive.
local function label(value)
  local clean = text.clean(value):gsub('"', "'"):gsub("[#;:,%%{}<>`\\]", " "):gsub("%s+", " ")
  clean = text.truncate(clean:match "^%s*(.-)%s*$", LABEL, "middle")
  return clean ~= "" and clean or "(no name)"
end


local function block(lines)
  return ("```mermaid\n%s\n```\n"):format(table.concat(lines, "\n"))
end


-- ---- GPU time by category ----

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
function mermaid.categories(results)
  local blocks = {}
  for _, stage in ipairs(results.stages) do
    local list = not stage.parent and slices(stage.categories or {}) or {}
    if #list > 0 then
      table.insert(list, 1, ("pie title GPU time of %s in percent"):format(label(stage.name)))
      blocks[#blocks + 1] = block(list)
    end
  end
  return table.concat(blocks, "\n")
end


-- ---- one repeat ----

-- The first repeat that is used.
local function first_used(results)
  local first
  for _, stage in ipairs(results.stages) do
    for _, instance in ipairs(stage.instances) do
      if instance.used then first = math.min(first or instance.rep, instance.rep) end
    end
  end
  return first
end


-- { stage, from, to, busy in ns }: the stages of one repeat, each from its first
-- range to the end of its last, and the start of all.
local function spans(results, rep)
  local list, origin = {}, nil
  for _, stage in ipairs(results.stages) do
    local span
    for _, instance in ipairs(stage.instances) do
      local stop = instance.start_ns + instance.wall_ns
      if instance.rep == rep and stop > instance.start_ns then
        span = span or { stage = stage, from = instance.start_ns, to = stop, busy = 0 }
        span.from, span.to = math.min(span.from, instance.start_ns), math.max(span.to, stop)
        span.busy = span.busy + instance.gpu_busy_ns
      end
    end
    if span then
      list[#list + 1] = span
      origin = math.min(origin or span.from, span.from)
    end
  end
  return list, origin
end


-- Times are whole ms, or whole µs where the repeat is short; the chart takes
-- them for ms since 1970.
local function tasks(list, origin)
  local longest = 0
  for _, span in ipairs(list) do longest = math.max(longest, span.to - origin) end
  local unit, scale = "ms", 1e6
  if longest < 20e6 then unit, scale = "µs", 1e3 end
  local lines = {}
  for i, span in ipairs(list) do
    local from = (span.from - origin) / scale
    local length = math.max((span.to - span.from) / scale, 1)
    lines[i] = ("  section %s\n  %s, GPU busy %s :%s%.0f, %.0f"):format(label(span.stage.name),
      text.duration(span.to - span.from), text.duration(span.busy),
      span.stage.parent and "" or "active, ", from, from + length)
  end
  return lines, unit
end


-- The stages of one repeat in time; "" without a range, and for an engine, whose steps of
-- a kind lie scattered among the others.
function mermaid.timeline(results)
  if results.ranks and results.ranks.source == "labels" then return "" end
  local rep = first_used(results)
  local list, origin = spans(results, rep)
  if #list == 0 then return "" end
  local lines, unit = tasks(list, origin)
  return block { "gantt", ("  title Repeat %d as profiled, in %s"):format(rep, unit),
    "  dateFormat x", "  axisFormat %Q", table.concat(lines, "\n") }
end


-- All of them.
function mermaid.pictures(results)
  local timeline, categories = mermaid.timeline(results), mermaid.categories(results)
  return timeline .. (timeline ~= "" and categories ~= "" and "\n" or "") .. categories
end


return mermaid
