-- How a workload may be shortened while counters are measured. ncu charges every launch,
-- measured or not, so a run for counters does once what the timeline's did several
-- times, and generates fewer tokens: the same kernels in fewer configurations.
--
-- A way: { changes (list of { key, from, to }), runs, warmups, steps (share of the
-- tokens after the first that are still generated) }.

local shorter = {}

-- Keys that say how often the same is done, and how often before that. Recipes that
-- declare them can be shortened by them.
local often = { "infer.repeats", "load.rounds", "dataset.sampling.num_epochs",
  "dataset.sampling.num_samples_per_epoch" }
local before = { "infer.warmup", "load.warmup" }

local TOKENS = "infer.max_new_tokens"

-- With fewer a kernel whose launches grow with the context is hardly seen growing.
local FEWEST_TOKENS = 4


local function value_of(cfg, key)
  for part in key:gmatch "[^.]+" do cfg = type(cfg) == "table" and cfg[part] or nil end
  return math.tointeger(cfg)
end


-- What changing these declared keys to a value takes; and the values before.
-- targets: other values for some keys.
local function changed(declared, cfg, keys, to, targets)
  local changes, values, left = {}, {}, {}
  for _, key in ipairs(keys) do
    local from, target = declared[key] and value_of(cfg, key), targets and targets[key] or to
    if from then values[#values + 1], left[#left + 1] = from, math.min(from, target) end
    if from and from > target then
      changes[#changes + 1] = { key = key, from = from, to = target }
    end
  end
  return changes, values, left
end


local function product(list)
  local result = 1
  for _, value in ipairs(list) do result = result * value end
  return result
end


local function sum(list)
  local result = 0
  for _, value in ipairs(list) do result = result + value end
  return result
end


-- Ways from the whole workload to the shortest. declared: the recipe's options; tokens:
-- how many the whole one generates, nil when that may not be changed; repeats: how many
-- are needed (1).
function shorter.ways(declared, cfg, tokens, repeats_needed)
  local repeats, counts, left = changed(declared, cfg, often, 1,
    { ["infer.repeats"] = repeats_needed })
  local runs = product(left)
  local warmups, befores = changed(declared, cfg, before, 0)
  local changes = table.move(warmups, 1, #warmups, #repeats + 1, repeats)
  local ways = { { changes = {}, runs = product(counts), warmups = sum(befores), steps = 1 } }
  if #changes > 0 then
    ways[2] = { changes = changes, runs = runs, warmups = 0, steps = 1 }
  end
  local fewer = tokens and declared[TOKENS] and tokens // 2 or 0
  while fewer >= FEWEST_TOKENS do
    local all = table.move(changes, 1, #changes, 1, {})
    all[#all + 1] = { key = TOKENS, from = tokens, to = fewer }
    ways[#ways + 1] = { changes = all, runs = runs, warmups = 0,
      steps = (fewer - 1) / (tokens - 1) }
    fewer = fewer // 2
  end
  return ways
end


-- Tokens that a workload generates, as its configuration says; nil where it does not.
function shorter.tokens(cfg)
  return cfg.ncu.max_new_tokens or cfg.run.representative_max_new_tokens
    or value_of(cfg, TOKENS)
end


-- Launches of a way. counted: { launches (of the whole one, without its warm-ups),
-- stepped (share of those in stages that make a token after the other) }.
function shorter.launches(way, whole, counted)
  local each = counted.launches / whole.runs
  return (way.runs + way.warmups) * each * (1 - counted.stepped * (1 - way.steps))
end


-- "infer.repeats=1 instead of 3, ..."; nil for the whole workload.
function shorter.text(changes)
  local said = {}
  for i, change in ipairs(changes) do
    said[i] = ("%s=%d instead of %d"):format(change.key, change.to, change.from)
  end
  return #said > 0 and table.concat(said, ", ") or nil
end


-- ---- which ranges come first ----

-- Which ranges ncu is to measure so that the stage with the most GPU time comes first.
-- ncu measures the first launches of a configuration, whichever stage they are in, so a
-- kernel that prefill and decode launch alike would be measured in prefill alone. Of two
-- repeats in a row the largest stage is taken from the first, and what runs before it
-- from the second.

-- The wanted top-level stages of each repeat, in order, as text between "\0"; nil where
-- repeats are not numbered or several ranks have them.
local function by_repeat(wanted, found)
  local repeats, rank = {}, nil
  for _, instance in ipairs(found.instances) do
    if wanted[instance.stage] and not instance.parent then
      rank = rank or instance.rank
      if not instance.rep or instance.rank ~= rank then return nil end
      repeats[instance.rep] = (repeats[instance.rep] or "") .. instance.stage .. "\0"
    end
  end
  return repeats
end


-- Those stages in the order of a repeat; nil unless each repeat has each of them once.
local function order_of(wanted, found)
  local repeats = by_repeat(wanted, found) or {}
  for _, stages in ipairs(repeats) do
    if stages ~= repeats[1] then return nil end
  end
  local order, seen = {}, {}
  for stage in (repeats[1] or ""):gmatch "[^%z]+" do
    if seen[stage] then return nil end
    order[#order + 1], seen[stage] = stage, true
  end
  return order
end


-- Position of the stage with the most GPU time of all (a list of kernels).
local function largest(order, all)
  local sums, best = {}, 1
  for _, kernel in ipairs(all) do
    sums[kernel.stage] = (sums[kernel.stage] or 0) + kernel.total_ns
  end
  for i, stage in ipairs(order) do
    if (sums[stage] or 0) > (sums[order[best]] or 0) then best = i end
  end
  return best
end


-- { count (of stages in a repeat), largest (position) }; nil where the largest is the
-- first already, or the ranges cannot be counted.
function shorter.range_order(wanted, found, all)
  if found.inferred or found.by_engine or found.whole then return nil end
  local order = order_of(wanted, found) or {}
  local position = #order > 1 and largest(order, all) or 1
  return position > 1 and { count = #order, largest = position } or nil
end


-- Numbers of the ranges to measure, "2|3", of a repeat and the one after it.
function shorter.used_instances(order, repeat_number)
  local list, first = {}, (repeat_number - 1) * order.count
  for i = order.largest, order.count + order.largest - 1 do
    list[#list + 1] = tostring(first + i)
  end
  return table.concat(list, "|")
end


return shorter
