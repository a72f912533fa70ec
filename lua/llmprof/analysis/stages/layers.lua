-- Layers within a step: the kernels of a token's step come back once per layer. What
-- comes as often as there are layers is attention where a name tells it, else what
-- most kernels of the step do. Kernels of CUDA graphs count like others, where they
-- were traced one by one. A layer begins with that kernel; where it is a collective, it ends
-- with it. Where stacks name the modules that launched kernels, these tell the layers.
local categories = require "llmprof.analysis.kernels.categories"
local check = require("llmprof.process.errors").check
local json = require "llmprof.json"
local lists = require "llmprof.tables.lists"
local range_name = require "llmprof.trace.nvtx_names"
local rows = require "llmprof.ranks.rows"
local stage_summary = require "llmprof.analysis.stages.summary"
local statistics = require "llmprof.statistics"

local layers = { where = { "trace" }, reads = { "found", "kernels" },
  gives = { layers = "the layers of the decodes whose steps are known" } }

layers.KEYS = { "name", "grid_x", "grid_y", "grid_z", "block_x" }

-- Fewer repetitions than this are chance without a telling name.
local LEAST = 4

-- A count that only this part of the kernels has, or less, is no layer's.
local OWN = 0.1

-- Steps that the table of layers is made of, the last ones.
local MOST_STEPS = 64


-- ---- how many ----

-- The longest of the groups of kernels that are wanted, by their names.
local function longest(groups, wanted)
  return lists.sort(lists.filtered(groups, function(group)
    return group.name and wanted(group)
  end), function(group) return -group.duration.total end, "name")[1]
end


-- The part of all rows whose count is a multiple of one.
local function multiples(counts, count)
  local sum = 0
  for other, own in pairs(counts) do
    if other % count == 0 then sum = sum + own end
  end
  return sum
end


-- How often most kernels of a step come back, once or several times in each layer,
-- with the part of the kernels that does.
local function usual_count(groups)
  local counts, all, best, most = {}, 0, nil, 0
  for _, group in ipairs(groups) do
    all = all + group.count
    if group.count >= LEAST then counts[group.count] = (counts[group.count] or 0) + group.count end
  end
  for count, own in pairs(counts) do
    local sum = multiples(counts, count)
    if own >= OWN * all and (sum > most or (sum == most and count > best)) then
      best, most = count, sum
    end
  end
  return best, all > 0 and most / all or 0
end


local function within(frame, step)
  return check(frame:where { { "start", ">=", step.start }, { "start", "<", step.stop } })
end


-- What the kernels of a step are made of: { count (of layers), named (attention tells
-- it), share (of its kernels that come once or several times a layer), group (of
-- the kernel that comes once in each), first (number of the layer between the first of these
-- and the next: 1 where they end layers), edge ("start" of such a kernel, where a layer begins,
-- or "end", where it ends) }; nil where nothing comes back.
function layers.of_kernels(frame)
  local classify = categories.classifier()
  local groups = frame:group { by = layers.KEYS, total = { "duration" } }
  local count, share = usual_count(groups)
  local attention = longest(groups, function(one) return classify(one.name) == "attention" end)
  local group = attention
    or count and longest(groups, function(one) return one.count == count end)
  if not group then return nil end
  local ends = group.name and classify(group.name) == categories.COMMUNICATION
  return { count = group.count, named = attention ~= nil, share = share, group = group,
    first = ends and 1 or 0, edge = ends and "end" or "start" }
end


-- ---- by modules ----

-- A frame of kernels with the columns `layers`, the path to a list of layers, and `layer`, the
-- number in it, as far as stacks tell.
local function with_places(frame)
  return rows.extend(check(frame:where {}), { "torch_module" }, {
    { name = "layers", type = "string", get = function(key)
      return (range_name.layer_of(key.torch_module)) end },
    { name = "layer", type = "integer", get = function(key)
      return select(2, range_name.layer_of(key.torch_module)) end } })
end


-- The list of layers that most of the time of a step is in, as of_kernels has it: count, list and
-- lowest (number of the first); nil where stacks name no layers.
local function of_modules(frame)
  if not rows.has(frame, "torch_module") then return nil end
  local best
  for _, group in ipairs(with_places(frame):group { by = { "layers" }, total = { "duration" },
    distinct = { "layer" }, sum = { "layer" } }) do
    if group.layers and group.distinct.layer > 1
      and (not best or group.duration.total > best.duration.total) then best = group end
  end
  return best and { count = best.distinct.layer, list = best.layers, lowest = best.layer.min,
    named = true, first = 0 }
end


-- The same of the kernels of one GPU that start within a step, by modules where stacks tell.
function layers.of_step(frame, step)
  local view = within(frame, step)
  return of_modules(view) or layers.of_kernels(view)
end


-- Does any kernel of the frame compute attention, by its name?
function layers.has_attention(frame)
  local classify = categories.classifier()
  return lists.any(frame:group { by = { "name" } }, function(group)
    return group.name and classify(group.name) == "attention"
  end)
end


-- ---- the table ----

-- The times between which the layers of a step lie.
local function edges_in(view, made)
  local wanted = {}
  for _, key in ipairs(layers.KEYS) do wanted[key] = made.group[key] end
  local found, edges = check(view:where(wanted)), {}
  for row = 1, #found do edges[row] = found:get(row, made.edge) end
  return lists.sort(edges)
end


-- The layers of a step by modules, each until the next begins, the last until it ends: list of
-- { start, stop, index }; those of another count are none.
local function module_spans(view, made)
  local own, list = check(with_places(view):where { layers = made.list }), {}
  for _, group in ipairs(own:group { by = { "layer" }, union = true }) do
    list[#list + 1] = { start = group.first, stop = group.last, index = group.layer }
  end
  lists.sort(list, "start")
  for i = 1, #list - 1 do list[i].stop = list[i + 1].start end
  return #list == made.count and list or {}
end


-- A layer lasts from one kernel to the next, so the last one, which has no end of its own, or
-- the first one, which has no beginning, is left out.
local function spans_in(view, made)
  if made.list then return module_spans(view, made) end
  local edges, list = edges_in(view, made), {}
  for index = 1, #edges == made.count and made.count - 1 or 0 do
    list[index] = { start = edges[index], stop = edges[index + 1],
      index = made.first + index - 1 }
  end
  return list
end


-- The layers of a decode: { count, kernel (short name or name of what comes once in
-- each) or module (the path to them), named, ends (true: it ends them), rows: list of { index,
-- kernels, mean_ns, std_ns, count } }; nil where they cannot be told. frame: kernels of one GPU;
-- steps: list of { start, stop }.
function layers.describe(frame, steps)
  local made = #steps > 0 and layers.of_step(frame, steps[(#steps + 1) // 2])
  if not made or made.count < 2 then return nil end
  local found = {}
  for i = math.max(#steps - MOST_STEPS, 0) + 1, #steps do
    local view = within(frame, steps[i])
    for place, span in ipairs(spans_in(view, made)) do
      found[#found + 1] = { place = place, index = span.index, ns = span.stop - span.start,
        kernels = #within(view, span) }
    end
  end
  local list = json.list(lists.map(lists.grouped(found, "place"), function(own)
    local time = statistics.describe(lists.map(own, "ns"))
    return { index = own[1].index, kernels = lists.sum(own, "kernels") / #own,
      mean_ns = time.mean, std_ns = time.std, count = time.count }
  end))
  return { count = made.count, kernel = made.group and made.group.name, module = made.list,
    named = made.named, ends = made.first == 1 or nil, rows = list }
end


-- ---- networks of a layer ----

-- Kernels that only the middle of a network runs, once.
local ACTIVATIONS = { "silu", "gelu", "swiglu", "act_and_mul" }


-- What lies from each activation of a layer to the next, but the longest of three or more, as a
-- network that is not of the loop lies apart: list of { first, last }, rows, with the count of
-- networks. places: of the activations.
local function between(places)
  local gaps = {}
  for i = 2, #places do gaps[i - 1] = { first = places[i - 1] + 1, last = places[i] } end
  lists.sort(gaps, function(gap) return gap.last - gap.first end, "first")
  if #gaps > 1 then gaps[#gaps] = nil end
  lists.sort(gaps, "first")
  gaps.count = #places
  return gaps
end


-- By layer that has several networks one after the other, as experts in a loop, what lies between
-- them: lists as of between, over rows of these names of operations, which are in order. And in
-- `layers` how many there are with a network.
function layers.loops(names)
  local classify, list, places, kinds = categories.classifier(), { layers = 0 }, {}, {}
  local function kind_of(name)
    local kind = kinds[name]
    if not kind then
      local lower = name:lower()
      kind = classify(name) == "attention" and "attention"
        or lists.any(ACTIVATIONS, function(word) return lower:find(word, 1, true) end)
        and "activation" or "other"
      kinds[name] = kind
    end
    return kind
  end
  local function close()
    if #places > 1 then list[#list + 1] = between(places) end
    if #places > 0 then list.layers = list.layers + 1 end
    places = {}
  end
  for row, name in ipairs(names) do
    local kind = name and kind_of(name)
    if kind == "attention" then
      close()
    elseif kind == "activation" then
      places[#places + 1] = row
    end
  end
  close()
  return list
end


-- How many networks run one after the other in a layer, as experts in a loop, and how many
-- operations there are from one to the next: { count (the median), operations (mean) }; nil where
-- fewer than half of the layers have two. frame: operations of one GPU; steps: as of
-- layers.describe.
function layers.networks(frame, steps)
  local networks, gaps, operations, all = {}, 0, 0, 0
  for i = math.max(#steps - MOST_STEPS, 0) + 1, #steps do
    local view = check(within(frame, steps[i]):sort { { "start", false } })
    local loops = layers.loops(view:values "name")
    all = all + loops.layers
    for _, loop in ipairs(loops) do
      networks[#networks + 1] = loop.count
      for _, one in ipairs(loop) do
        gaps, operations = gaps + 1, operations + one.last - one.first + 1
      end
    end
  end
  if gaps == 0 or 2 * #networks < all then return nil end
  return { count = statistics.median(networks), operations = operations / gaps }
end


-- ---- of a trace ----

-- The operations of the process and GPU that ran most of them; nil without any.
function layers.busiest(frame)
  local most = lists.largest(frame:group { by = { "pid", "device" } }, "count")
  return most and check(frame:where { pid = most.pid or false, device = most.device or false })
end


-- The steps of all decodes, as far as they are known, in order.
local function decode_steps(found)
  local _, decodes = stage_summary.decodes(found)
  return lists.flat(decodes, "steps")
end


-- A function from a window of the trace to where the layers of its decode steps lie: list of
-- { start, stop, index (from 0) }; without stacks but for the last of each step, which goes on into
-- what follows, or for the first, which begins with the step.
function layers.finder(trace, found)
  local known, kernels, made = decode_steps(found), nil, nil
  return function(window)
    local seen = lists.filtered(known, function(step)
      return step.start < window.last and step.stop > window.first
    end)
    if #seen == 0 then return {} end
    kernels = kernels or layers.busiest(check(trace:frame "kernels"))
    made = made or kernels and layers.of_step(kernels, known[(#known + 1) // 2])
    return lists.flat(made and seen or {}, function(step)
      return spans_in(within(kernels, step), made)
    end)
  end
end


function layers.run(state)
  local known = decode_steps(state.found)
  local frame = #known > 0 and layers.busiest(check(state.trace:frame "kernels"))
  local made = frame and layers.describe(frame, known)
  if made and made.named then
    made.networks = layers.networks(layers.busiest(check(state.trace:frame "gpu")), known)
  end
  for _, kernel in ipairs(made and made.kernel and state.kernels or {}) do
    if kernel.name == made.kernel then made.kernel = kernel.label end
  end
  state.layers = made or nil
end


return layers
