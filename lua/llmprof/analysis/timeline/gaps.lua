-- The longest times in which the GPU had nothing to do, between the first and the last
-- stage of a repeat: when, in which stage, step and layer, what the CPU was in, and what
-- ran before and after.
local check = require("llmprof.process.errors").check
local json = require "llmprof.json"
local layers = require "llmprof.analysis.stages.layers"
local pack = require "llmprof.pack"
local rows = require "llmprof.ranks.rows"
local waiting = require "llmprof.analysis.stages.idle_causes"
local lists = require "llmprof.tables.lists"

local gaps = { where = { "trace" }, reads = { "found", "kernels" },
  gives = { gaps = "the longest times in which the GPU had nothing to do" } }

-- How many are told; shorter ones than this, in ns, are not looked at.
gaps.MOST = 10
local LEAST = 1000


-- ---- finding them ----

-- From the first to the last stage of each repeat, of each rank. counted: only those that count.
local function intervals_of(found, counted)
  local list, by_key = {}, {}
  for _, instance in ipairs(found.instances) do
    if (instance.used or not counted) and not instance.parent then
      local key = ("%d/%d"):format(instance.rank or -1, instance.rep or 1)
      local interval = lists.entry(list, by_key, key, { start = instance.start,
        stop = instance.stop, rank = instance.rank, pid = instance.pid, rep = instance.rep })
      interval.start = math.min(interval.start, instance.start)
      interval.stop = math.max(interval.stop, instance.stop)
    end
  end
  return list
end


-- The longest gaps of an interval of `least` ns or more, longest first.
local function longest_in(busy, interval, least)
  local found = check(busy:gaps(interval.start, interval.stop, least)):frame()
  found:less { column = "end", by = "start", name = "ns" }
  local longest = check(found:sort({ { "ns", true }, { "start" } }, gaps.MOST))
  return lists.map(rows.list(longest, { "start", "end", "ns" }), function(gap)
    return { start = gap.start, stop = gap["end"], ns = gap.ns, interval = interval }
  end)
end


-- When a GPU's gaps are cut: its first and last operation, and where repeats of those that run
-- on it begin and end. own: its operations; busy: when they ran.
local function cuts_of(own, busy, intervals)
  local first, last = busy:span()
  local cuts = { first, last }
  for _, interval in ipairs(intervals) do
    if not interval.pid or #check(own:where { pid = interval.pid }) > 0 then
      cuts[#cuts + 1], cuts[#cuts + 2] = interval.start, interval.stop
    end
  end
  return lists.sort(cuts)
end


-- Every gap of this length or more, of each GPU: a frame of device, start and end. From the
-- beginning to the end of a repeat it is what gaps.longest knows; what lies outside is there,
-- too. found: of llmprof.analysis.stages.find; least: ns.
function gaps.frame(found, ops, least)
  local list, intervals = {}, found.whole and {} or intervals_of(found)
  local function add(busy, from, to, device)
    local made = check(busy:gaps(from, to, least)):frame()
    list[#list + 1] = rows.add(made, "device", {}, function() return device end)
  end
  if #ops == 0 then add(ops:union(), 0, 0) end
  for _, group in ipairs(ops:group { by = { "device" } }) do
    local own = check(ops:where { device = group.device or false })
    local busy = own:union()
    local cuts = cuts_of(own, busy, intervals)
    for i = 2, #cuts do add(busy, cuts[i - 1], cuts[i], group.device) end
  end
  return pack.join(list)
end


-- ---- one interval ----

-- The call in which the CPU was longest within a gap, and for how long.
local function longest_call(api, gap)
  local conditions = { { "start", "<", gap.stop }, { "end", ">", gap.start } }
  if gap.interval.pid then conditions.pid = gap.interval.pid end
  local inside, name, most = check(api:where(conditions)), nil, 0
  for _, row in ipairs(inside:group { by = { "name" } }) do
    local ns = check(inside:where { name = row.name or false }):union()
      :covered(gap.start, gap.stop)
    if ns > most then name, most = row.name, ns end
  end
  return name, most
end


-- The first row of a frame where a column has a value.
local function row_with(view, column, value)
  local found = check(view:where { [column] = value })
  return #found > 0 and function(name) return found:get(1, name) end or nil
end


local function shown_name(row, label)
  if not row then return nil end
  local name = row "name"
  return name and label[name] or name or row "kind"
end


-- The step of a stage in which a moment lies: its number, from 0, and the step.
local function step_at(found, interval, moment)
  for _, instance in ipairs(found.instances) do
    if instance.rank == interval.rank and instance.start <= moment and moment <= instance.stop then
      for number, step in ipairs(instance.steps or {}) do
        if step.start <= moment and moment <= step.stop then return number - 1, step end
      end
    end
  end
  return nil
end


local function layer_at(spans, moment)
  for _, span in ipairs(spans) do
    if span.start <= moment and moment < span.stop then return span.index end
  end
  return nil
end


-- The function that most samples of the CPU in a gap were in.
local function add_samples(made, trace, frame, gap)
  local conditions = { { "time", ">=", gap.start }, { "time", "<", gap.stop } }
  if gap.interval.pid then conditions.pid = gap.interval.pid end
  local inside = check(frame:where(conditions))
  local first = check(check(trace:stack_functions(inside)):sort({ { "self", true },
    { "total", true } }, 1))
  if #first == 0 then return end
  made.samples, made.sampled = #inside, first:get(1, "name")
  made.sampled_count = first:get(1, "self")
end


local function record(given, gap, own)
  local after, before = row_with(own, "start", gap.stop), row_with(own, "end", gap.start)
  local number, step = step_at(given.found, gap.interval, gap.stop)
  local call, call_ns = longest_call(given.api, gap)
  local made = { rep = gap.interval.rep, rank = gap.interval.rank, start_ns = gap.start,
    ns = gap.ns, stage = after and (after "part" or after "stage"), step = number,
    layer = step and layer_at(given.layers { first = step.start, last = step.stop }, gap.stop),
    call = call, call_ns = call and call_ns,
    before = shown_name(before, given.label),
    ended_by = shown_name(after, given.label) }
  if given.lines then -- which launched what was before, and what ended it
    made.line_before = before and before "line"
    made.line, made.module = after and after "line", after and after "torch_module"
    made["function"] = after and after "function"
  end
  if given.samples then add_samples(made, given.trace, given.samples, gap) end
  local classes = #given.api > 0
    and given.split({ start = gap.start, stop = gap.stop }, gap.interval.pid) or {}
  for class, ns in pairs(classes) do made[class .. "_ns"] = ns end
  return made
end


-- The longest, longest first. given: trace, found (of analysis.stages.find), kernels (of the
-- results), layers (a function of a window that gives a list of { start, stop, index }).
-- Times in ns of the trace; what is not known is absent.
function gaps.longest(given)
  local found = given.found
  local list, least = {}, LEAST
  local function rank_of(gap) return gap.interval.rank end
  for _, interval in ipairs(intervals_of(found, true)) do
    lists.add(list, longest_in(found.busy(interval.pid), interval, least))
    list = lists.first(lists.sort(list, "-ns", "start", rank_of), gaps.MOST)
    if #list == gaps.MOST then least = list[#list].ns end
  end
  local about = { found = found, layers = given.layers, label = {},
    lines = given.trace:knows "lines", trace = given.trace,
    samples = given.trace:has "cpu_samples" and check(given.trace:frame "cpu_samples") or nil,
    api = check(given.trace:frame "api"), split = waiting.classifier(given.trace, found) }
  for _, kernel in ipairs(given.kernels) do about.label[kernel.name] = kernel.label end
  return json.list(lists.map(list, function(gap)
    local pid = gap.interval.pid
    return record(about, gap, pid and check(found.ops:where { pid = pid }) or found.ops)
  end))
end


function gaps.run(state)
  if state.found.whole or #state.found.ops == 0 then return end
  state.gaps = gaps.longest { trace = state.trace, found = state.found,
    kernels = state.kernels or {}, layers = layers.finder(state.trace, state.found) }
end


return gaps
