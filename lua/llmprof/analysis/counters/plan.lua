-- What to ask ncu for: the selected kernels, in the stages' ranges of the
-- repeats that count, a few launches of each launch configuration, as many
-- kernels as the budget allows.
local errors = require "llmprof.process.errors"
local lists = require "llmprof.tables.lists"
local value_at = require("llmprof.tables.keys").at
local pages = require "llmprof.nvidia.ncu"
local ncu = require "llmprof.nvidia.ncu.command"
local range_name = require "llmprof.trace.nvtx_names"
local sum = require("llmprof.statistics").sum

local counter_plan = {}

-- ---- a shorter workload ----

-- How a workload may be shortened while counters are measured. ncu charges every launch,
-- measured or not, so a run for counters does once what the timeline's did several
-- times, and generates fewer tokens: the same kernels in fewer configurations.
--
-- A way: { changes (list of { key, from, to }), runs, warmups, steps (share of the
-- tokens after the first that are still generated) }.

-- Keys that say how often the same is done, and how often before that. Recipes that
-- declare them can be shortened by them.
local often = { "infer.repeats", "load.rounds", "dataset.sampling.num_epochs",
  "dataset.sampling.num_samples_per_epoch" }
local before = { "infer.warmup", "load.warmup" }

local TOKENS = "infer.max_new_tokens"

-- With fewer a kernel whose launches grow with the context is hardly seen growing.
local FEWEST_TOKENS = 4


local function value_of(cfg, key) return math.tointeger(value_at(cfg, key)) end


-- What changing these declared keys to a value takes; the values before, and those then.
local function changed(declared, cfg, keys, to)
  local changes, values, left = {}, {}, {}
  for _, key in ipairs(keys) do
    local from = declared[key] and value_of(cfg, key)
    if from then values[#values + 1], left[#left + 1] = from, math.min(from, to) end
    if from and from > to then changes[#changes + 1] = { key = key, from = from, to = to } end
  end
  return changes, values, left
end


local function product(list)
  local result = 1
  for _, value in ipairs(list) do result = result * value end
  return result
end


-- Ways from the whole workload to the shortest. declared: the recipe's options; tokens:
-- how many the whole one generates, nil when that may not be changed.
function counter_plan.ways(declared, cfg, tokens)
  local repeats, counts, left = changed(declared, cfg, often, 1)
  local runs = product(left)
  local warmups, befores = changed(declared, cfg, before, 0)
  local changes = lists.add(repeats, warmups)
  local ways = { { changes = {}, runs = product(counts), warmups = sum(befores), steps = 1 } }
  if #changes > 0 then ways[2] = { changes = changes, runs = runs, warmups = 0, steps = 1 } end
  local fewer = tokens and declared[TOKENS] and tokens // 2 or 0
  while fewer >= FEWEST_TOKENS do
    ways[#ways + 1] = { runs = runs, warmups = 0, steps = (fewer - 1) / (tokens - 1),
      changes = lists.joined(changes, { { key = TOKENS, from = tokens, to = fewer } }) }
    fewer = fewer // 2
  end
  return ways
end


-- Tokens that a workload generates, as its configuration says; nil where it does not.
function counter_plan.tokens(cfg)
  return cfg.ncu.max_new_tokens or cfg.run.representative_max_new_tokens
    or value_of(cfg, TOKENS)
end


-- Launches of a way. counted: { launches (of the whole one, without its warm-ups),
-- stepped (share of those in stages that make a token after the other) }.
function counter_plan.launches(way, whole, counted)
  local each = counted.launches / whole.runs
  return (way.runs + way.warmups) * each * (1 - counted.stepped * (1 - way.steps))
end


-- "infer.repeats=1 instead of 3, ..."; nil for the whole workload.
function counter_plan.shortened_text(changes)
  local said = lists.map(changes, function(change)
    return ("%s=%d instead of %d"):format(change.key, change.to, change.from)
  end)
  return #said > 0 and table.concat(said, ", ") or nil
end


-- ---- which launches ----

-- What each kind of name that ncu matches is called in a kernel's record.
local name_fields = { ["function"] = "short_name", demangled = "name", mangled = "mangled_name" }


-- A kernel without a mangled name goes by its function's.
local function name_of(kernel, base) return kernel[name_fields[base]] or kernel.short_name end


-- ncu measures a name wherever it runs in the ranges, so a name is what costs:
-- { name, kernels (the chosen ones), total_ns (of those), launches }.
local function targets_of(chosen, base)
  local list, by_name = {}, {}
  for _, kernel in ipairs(chosen) do
    local name = name_of(kernel, base)
    local target = lists.entry(list, by_name, name,
      { name = name, kernels = {}, total_ns = 0, calls = {} })
    table.insert(target.kernels, kernel)
    target.total_ns = target.total_ns + kernel.total_ns
  end
  return list, by_name
end


-- Is a shape one of a single step, as where the cache grows: one that not every other
-- step has, or one of many that share the calls. steps: of all instances; each: of one.
local function is_of_a_step(shape, kernel, steps, each)
  return shape.calls < steps / 2
    or #kernel.shapes >= each / 2 and shape.calls < 2 * kernel.calls / #kernel.shapes
end


-- The shapes of a kernel that a way of the workload (of analysis.counters.shorten) still has:
-- those of single steps go with the steps.
local function shapes_in(kernel, way, given)
  local steps = way.steps < 1 and given.steps[kernel.stage]
  local single, list = lists.parted(kernel.shapes, function(shape)
    return steps and is_of_a_step(shape, kernel, steps, given.room.tokens - 1)
  end)
  return lists.add(list, lists.first(single, math.ceil(#single * way.steps)))
end


-- Add what each target costs: launches of every launch configuration that its
-- name has in the stages of the chosen kernels, in a way of the workload of which
-- `whole` is all.
local function count_launches(by_name, all, given, way)
  for _, target in pairs(by_name) do target.calls = {} end
  for _, kernel in ipairs(all) do
    local target = given.wanted[kernel.stage] and by_name[name_of(kernel, given.base)]
    for _, shape in ipairs(target and shapes_in(kernel, way, given) or {}) do
      local key = ("%s/%s/%s"):format(table.concat(shape.grid, ","),
        table.concat(shape.block, ","), shape.shared_bytes)
      local calls = math.max(1, shape.calls * way.runs // given.whole.runs)
      target.calls[key] = (target.calls[key] or 0) + calls
    end
  end
  for _, target in pairs(by_name) do
    target.launches = 0
    for _, calls in pairs(target.calls) do
      target.launches = target.launches + math.min(given.per_shape, calls)
    end
  end
end


-- Why a target is left out, or nil: there is no way to name it, its name does not fit
-- any more, or ("") the budget is spent.
local function refusal(fitting, target, cost, budget)
  local room = pages.filter_room(target.name)
  if not room then return "ncu cannot be given its name" end
  if fitting.room + room > pages.FILTER_ROOM then return "its name is too long for ncu" end
  return fitting.seconds + cost > budget and "" or nil
end


-- Take targets in order while the prediction stays in budget: one too costly
-- for what is left does not keep smaller ones out.
local function fit(targets, cfg, budget, pass_s)
  local fitting = { kernels = {}, names = {}, wanted = {}, dropped = {}, seconds = 0,
    launches = 0, room = 0 }
  for _, target in ipairs(targets) do
    local cost = ncu.predict(cfg.ncu, target.launches, target.kernels[1].mean_ns, pass_s,
      cfg.counters and cfg.counters.set).seconds
    local why = refusal(fitting, target, cost, budget)
    if not why then
      fitting.seconds = fitting.seconds + cost
      fitting.launches = fitting.launches + target.launches
      fitting.names[#fitting.names + 1] = target.name
      fitting.wanted[target.name] = target.launches
      fitting.room = fitting.room + pages.filter_room(target.name)
      lists.add(fitting.kernels, target.kernels)
    end
    for _, kernel in ipairs(why and target.kernels or {}) do
      table.insert(fitting.dropped, { kernel = kernel.id, launches = target.launches,
        seconds = cost, why = why ~= "" and why or nil })
    end
  end
  return fitting
end


-- ---- where ----

-- Stages of kernels or of instances, as a set.
local function stages_of(list)
  local wanted = {}
  for _, entry in ipairs(list) do wanted[entry.stage] = true end
  return wanted
end


-- Is a stage's range one of the default domain, though its name has a colon?
local function is_default(name, found)
  local instance = lists.find(found.instances, "stage", name)
  return instance ~= nil and instance.domain == nil
end


-- Which of the matching ranges, counted together in order, are of repeats that
-- count: "3|4"; nil when all are.
local function instances_of(wanted, found)
  if found.inferred or found.by_engine then return nil end -- ncu has no ranges to count
  local own = lists.filtered(found.instances, function(instance)
    return wanted[instance.stage] and not instance.parent
  end)
  local list = {}
  for number, instance in ipairs(own) do
    if instance.used then list[#list + 1] = tostring(number) end
  end
  return #list < #own and table.concat(list, "|") or nil
end


-- Does a range of ncu.nvtx_include name a stage: as recipes or as ncu write it, or
-- by how it begins, "decode*"?
function counter_plan.names_stage(range, name, found)
  local filter = range_name.ncu_filter(name, is_default(name, found))
  local start = range:match "^([^*]+)%*/?$"
  if not start then return range == name or range == name .. "/" or range == filter end
  return name:sub(1, #start) == start or filter:sub(1, #start) == start
end


-- The stages that ncu.nvtx_include (a list of ranges) limits the counters to, as
-- a set; nil when it is not set, or names ranges other than stages. found: of
-- analysis.stages.find, or { declared = a recipe's stages, instances = {} }.
function counter_plan.focus(include, found)
  if not include then return nil end
  local named = lists.map(include, function(range)
    local own = lists.filtered(lists.map(found.declared, "name"), function(name)
      return counter_plan.names_stage(range, name, found)
    end)
    return #own > 0 and own or nil
  end)
  return #named == #include and lists.set(lists.joined(table.unpack(named))) or nil
end


-- The ranges that ncu is given, and which of them it measures, "3|4"; nil for all. is_shortened:
-- the workload has fewer of them than the timeline.
local function filters_in(wanted, found, cfg, is_shortened)
  local include = cfg.ncu.nvtx_include
  local focus = counter_plan.focus(include, found)
  if include and not focus then return include, nil end
  if focus then
    for name in pairs(wanted) do wanted[name] = focus[name] end
  end
  -- ranges of stages that ncu can be given: declared, top level and wanted
  local declared = (found.whole or found.inferred or found.by_engine) and {} or found.declared
  local ranges = lists.map(declared, function(stage)
    return wanted[stage.name] and not stage.parent
      and range_name.ncu_filter(stage.name, is_default(stage.name, found)) or nil
  end)
  return ranges, not is_shortened and instances_of(wanted, found) or nil
end


-- ---- how much of the workload ----

-- Of each stage whose steps make a token, how many steps its used instances have
-- together; by name.
local function steps_of(found, tokens)
  local steps = {}
  for _, stage in ipairs(tokens and found.declared or {}) do
    if stage.step or stage.name == "decode" then
      steps[stage.name] = lists.sum(found.instances, function(instance)
        return instance.used and instance.stage == stage.name and tokens - 1
      end)
    end
  end
  return steps
end


-- What of the targets fits into a way of the workload.
local function fit_way(targets, by_name, all, given, way)
  count_launches(by_name, all, given, way)
  -- those with the most GPU time per launch to measure come first
  lists.sort(targets, function(one) return -one.total_ns / one.launches end, "name")
  local room, besides = given.room, 0 -- seconds before and between the measured launches
  if room then
    besides = room.start_s + room.launch_s * counter_plan.launches(way, given.whole,
      { launches = room.launches, stepped = given.stepped })
  end
  local fitting = fit(targets, given.cfg, given.cfg.ncu.budget_s - besides, room and room.pass_s)
  fitting.way, fitting.overhead = way, besides
  fitting.covered = lists.sum(lists.flat(fitting.kernels, function(kernel)
    return shapes_in(kernel, way, given)
  end), "total_ns")
  return fitting
end


-- More of the workload goes before this much more of the GPU time.
local WORTH = 0.98

local WHOLE = { { changes = {}, runs = 1, warmups = 0, steps = 1 } }

-- What to measure of the chosen kernels, and in which of the ways: the least shortened of those
-- that cover about as much as any.
local function best_fit(chosen, all, found, cfg, room, base)
  local targets, by_name = targets_of(chosen, base)
  local ways = room and room.ways or WHOLE
  local given = { cfg = cfg, room = room, base = base, whole = ways[1],
    per_shape = cfg.top_n.launches_per_kernel, wanted = stages_of(chosen),
    steps = steps_of(found, room and room.tokens) }
  local calls = lists.sum(all, "calls")
  local stepped = lists.sum(lists.filtered(all, function(kernel)
    return given.steps[kernel.stage]
  end), "calls")
  given.stepped = calls > 0 and stepped / calls or 0
  local fittings = lists.map(ways, function(way)
    return fit_way(targets, by_name, all, given, way)
  end)
  local _, most = lists.largest(fittings, "covered")
  local best = lists.filtered(fittings, function(one) return one.covered >= WORTH * most end)[1]
  best.shortened = best.way.runs < given.whole.runs or #best.way.changes > 0
  return best
end


-- { ranges, instances, kernels (ncu's regex), names (each with how many launches are
--   expected), name_base, launches (per launch configuration), expected (launches in all),
--   seconds (predicted), dropped (list of { kernel, launches, seconds }), changes (what of
--   the workload is shortened: of analysis.counters.shorten), overhead_s (of the seconds those that
--   are not for measured launches), start_s (of those, until the first is near) }.
-- chosen: the selected kernels of all. With range replay only ranges and instances;
-- dropped and changes are empty.
--
-- room: what a run costs besides and how the workload can be shortened, { ways (of
-- analysis.counters.shorten), tokens, launches, pass_s, launch_s, start_s }; nil for a run that
-- was made before, of which only the passes count.
function counter_plan.make(chosen, all, found, cfg, room)
  if ncu.measures_ranges(cfg.ncu) then -- those of every stage, whatever kernels it has
    local ranges, instances = filters_in(stages_of(found.instances), found, cfg)
    return { ranges = ranges, instances = instances, dropped = {}, changes = {} }
  end
  local base = cfg.ncu.kernel_name_base
  if base == "auto" then -- exact mangled names where the export has them for all
    base = lists.any(chosen, function(kernel) return not kernel.mangled_name end) and "function"
      or "mangled"
  end
  local best = best_fit(chosen, all, found, cfg, room, base)
  local ranges, instances = filters_in(stages_of(best.kernels), found, cfg,
    room and best.shortened)
  return { ranges = ranges, instances = instances, name_base = base,
    launches = cfg.top_n.launches_per_kernel, names = best.wanted,
    kernels = #best.names > 0 and errors.check(pages.filter_regex(best.names)) or nil,
    expected = best.launches, seconds = best.overhead + best.seconds, dropped = best.dropped,
    changes = best.way.changes, overhead_s = best.overhead, start_s = room and room.start_s }
end


return counter_plan
