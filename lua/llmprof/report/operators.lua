-- The framework's operators, by device time: a file of their own, and the head of it
-- for the other reports.
local blocks = require "llmprof.report.blocks"
local columns = require "llmprof.report.columns"
local lists = require "llmprof.tables.lists"
local layout = require "llmprof.bundle.layout"
local markdown = require "llmprof.report.write.markdown"
local rows = require "llmprof.report.rows"
local sections = require "llmprof.report.sections"
local text = require "llmprof.text"
local words = require "llmprof.report.words"

local report = {}

-- Of the file: operators, those with their kernels, and kernels of each. Nobody reads
-- further; results.json has them all.
local MOST, WITH_KERNELS, KERNELS_EACH, OF_STAGE = 300, 40, 5, 15

-- Batches that are told.
local INPUTS = 8

local IN_REPORT = 30 -- of report.md


local SLOWED = "Under torch.profiler, which slows the CPU: shares are near those of a plain run, "
  .. "times are longer."


-- The device time that no operator launched; nil without.
local function unattributed(operators)
  local whole, rest = operators.device_ns, operators.unattributed_device_ns
  if not whole or not rest or rest == 0 then return nil end
  return blocks.note(("No operator launched %s of the device time (%s): replays of CUDA graphs "
    .. "do not say which."):format(text.duration(rest), words.percent(rest / whole)))
end


-- Batches and lengths that shapes tell, the first of them; nil where none do.
local function inputs(operators)
  local list = operators.inputs or {}
  local said = lists.map(lists.first(list, INPUTS), function(one)
    local tokens = text.count(one.tokens) .. (one.tokens == 1 and " token" or " tokens")
    return ("%s (%s)"):format(one.sequences
      and ("%s of %s"):format(text.count(one.sequences), tokens) or tokens,
      one.calls == 1 and "once" or text.count(one.calls) .. " times")
  end)
  if #list > INPUTS then said[#said + 1] = ("%d others"):format(#list - INPUTS) end
  return #said > 0 and blocks.note(("Batches by the shapes of embeddings: %s."):format(
    table.concat(said, ", "))) or nil
end


-- What allocators gave out on each device at most; nil where they told nothing.
local function memory(operators)
  local said = lists.map(operators.memory or {}, function(one)
    return ("%s at most %s%s (%s)"):format(
      one.device and "GPU " .. one.device or "the host", text.bytes(one.allocated_bytes or 0),
      (one.reserved_bytes or 0) > 0 and " of " .. text.bytes(one.reserved_bytes) .. " reserved"
        or "", text.count(one.events) .. (one.events == 1 and " event" or " events"))
  end)
  return #said > 0 and blocks.note(("Memory that PyTorch's allocators had given out: %s."):format(
    table.concat(said, "; "))) or nil
end


local BY_NAME = "by kernel names that only one operator launches"

-- How much of the timeline joined, and by what.
local function joined_note(results)
  local joined = results.operators.joined
  local order, name = joined.by_order.launches, joined.by_name.launches
  local how = order == 0 and BY_NAME .. ", as the order was not recorded"
    or ("%s by their order, %s %s"):format(text.count(order), text.count(name), BY_NAME)
  local time = joined.by_order.gpu_time_ns + joined.by_name.gpu_time_ns
  local share = joined.gpu_time_ns > 0 and time / joined.gpu_time_ns or 0
  local idle = joined.outside_ns or 0
  local before = idle > 0 and (" While the CPU was outside CUDA the GPU was idle for %s, %s of it "
    .. "before them."):format(text.duration(idle),
    words.percent((joined.joined_outside_ns or 0) / idle)) or ""
  return blocks.note(("%s of the %s launches of the repeats that count have an operator, with "
    .. "%s of the GPU time: %s.%s"):format(text.count(order + name),
    text.count(joined.launches), words.percent(share), how, before))
end


-- The operators with their times on the timeline; nothing where none joined.
local function on_timeline(results, limit, page)
  local list = rows.timeline_operators(results, limit)
  if #list == 0 then return nil end
  return blocks.join(sections.title_block "timeline_operators", joined_note(results),
    blocks.table { name = "timeline_operators", columns = columns.timeline_operators,
      rows = list, filter = page },
    sections.title_block "operators", blocks.note(SLOWED))
end


-- Columns `name` of the first operators, and where the others are.
local function largest(operators, name, limit, place)
  local list = operators.operators
  return blocks.join(sections.table(name, rows.operators(list, limit)), unattributed(operators),
    #list > limit and blocks.say(("%s more are in %s."):format(text.count(#list - limit), place)))
end


-- The operators with the most device time, as blocks.
function report.top(results, view)
  local operators = results.operators
  if not operators then return blocks.say(words.not_measured(results, "operators")) end
  if view.page then
    return blocks.join(on_timeline(results, nil, true),
      sections.blocks(results, "operators", { filter = true, bare = true }),
      unattributed(operators), sections.blocks(results, "operator_stages",
        { filter = true, note = SLOWED }), sections.blocks(results, "operator_kernels"),
      inputs(operators), memory(operators))
  end
  return blocks.join(on_timeline(results, IN_REPORT),
    largest(operators, "top_operators", IN_REPORT, layout.reports.operators),
    inputs(operators), memory(operators))
end


local function all(results)
  local operators = results.operators
  if not operators then return blocks.say(words.not_measured(results, "operators")) end
  local by_stage = rows.operator_stages(operators.operators, OF_STAGE)
  local launched = rows.operator_kernels(results, lists.first(operators.operators, WITH_KERNELS),
    KERNELS_EACH)
  return { blocks.say(("%s operators and runtime calls; source: %s."):format(
      text.count(#operators.operators), operators.source or "not recorded")),
    inputs(operators) or {}, memory(operators) or {}, on_timeline(results, MOST) or {},
    largest(operators, "operators", MOST, layout.results),
    #by_stage > 0 and { blocks.heading { level = 2, title = "By Stage" }, blocks.note(SLOWED),
      sections.table("operator_stages", by_stage) },
    #launched > 0 and { blocks.heading { level = 2, title = "What They Launched" },
      sections.table("operator_kernels", launched) } }
end


function report.render(results)
  return markdown.render(blocks.join(
    blocks.heading { level = 1, title = "Operators: " .. words.title(results) },
    blocks.say(words.model(results)), all(results)))
end


return report
