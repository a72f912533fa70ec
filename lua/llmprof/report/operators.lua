-- The framework's operators, by device time: a file of their own, and the head of it
-- for the other reports.
local blocks = require "llmprof.report.blocks"
local lists = require "llmprof.tables.lists"
local markdown = require "llmprof.report.write.markdown"
local sections = require "llmprof.report.sections"
local text = require "llmprof.text"
local words = require "llmprof.report.words"

local report = {}

-- Rows of each table of operators.md, where nobody reads further, and of report.md.
local MOST, IN_REPORT = 300, 30

-- Batches that are told.
local INPUTS = 8


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
  if not joined then return nil end
  local order, name = joined.by_order.launches, joined.by_name.launches
  local how = order == 0 and BY_NAME .. ", as the order was not recorded"
    or ("%s by their order, %s %s"):format(text.count(order), text.count(name), BY_NAME)
  local time = joined.by_order.gpu_time_ns + joined.by_name.gpu_time_ns
  local share = joined.gpu_time_ns > 0 and time / joined.gpu_time_ns or 0
  local idle = joined.outside_ns or 0
  local before = idle > 0 and (" While the CPU was outside CUDA the GPU was idle for %s, %s of it "
    .. "before them."):format(text.duration(idle),
    words.percent((joined.joined_outside_ns or 0) / idle)) or ""
  return ("%s of the %s launches of the repeats that count have an operator, with "
    .. "%s of the GPU time: %s.%s"):format(text.count(order + name),
    text.count(joined.launches), words.percent(share), how, before)
end


-- The operators with the most device time, as blocks. view: of llmprof.report.parts; whole: of
-- operators.md, with all tables, as a page has them.
function report.blocks(results, view)
  local operators = results.operators
  if not operators then return blocks.say(words.not_measured(results, "operators")) end
  local most = not view.page and (view.whole and MOST or IN_REPORT) or nil
  local function of(name, note)
    return sections.blocks(results, name, { filter = view.page, most = most, note = note })
  end
  local is_whole = view.page or view.whole
  return blocks.join(of("timeline_operators", joined_note(results)), of("operators", SLOWED),
    unattributed(operators), is_whole and of("operator_stages", SLOWED),
    is_whole and of "operator_kernels", inputs(operators), memory(operators))
end


-- operators.md.
function report.render(results)
  local operators = results.operators
  return markdown.render(blocks.join(
    blocks.heading { level = 1, title = "Operators: " .. words.title(results) },
    blocks.say(words.model(results)),
    operators and blocks.say(("%s operators and runtime calls; source: %s."):format(
      text.count(#operators.operators), operators.source or "not recorded")),
    report.blocks(results, { whole = true })))
end


return report
