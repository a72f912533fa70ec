-- Steps grouped: by phase, and by what they were of (batch, tokens), per rank and over
-- ranks.
local json = require "llmprof.json"
local lists = require "llmprof.tables.lists"
local rows = require "llmprof.ranks.rows"
local keys = require "llmprof.tables.keys"
local spans = require "llmprof.spans"
local statistics = require "llmprof.statistics"

local step_groups = {}

-- ---- groups ----

-- Measures of a step whose means a group has: column -> field.
local means = { length = "mean_ns", interval = "interval_ns", idle = "idle_ns", busy = "busy_ns",
  gpu_time = "gpu_time_ns", comm_time = "collective_ns", comm_hidden = "hidden_ns",
  waiting = "waiting_ns", transfer = "transfer_ns", kernels = "kernels", moves = "copies",
  collectives = "collectives", graphed = "graphed", idle_sync = "idle_sync_ns",
  idle_launch = "idle_launch_ns", idle_memory = "idle_memory_ns", idle_other = "idle_other_ns",
  cpu = "cpu_ns" }

-- Single steps kept in results.
local MOST_STEPS = 4096

local order = { prefill = 1, mixed = 2, decode = 3, empty = 4 }


-- The place of a phase in tables.
function step_groups.place(phase) return order[phase] or 5 end


-- Of what a group of llmprof.frame says: means, and the spread of lengths.
local function record(group)
  local made = { count = group.count }
  for column, field in pairs(means) do made[field] = group[column] and group[column].mean end
  local length = group.length
  if length.count > 0 then
    made.min_ns, made.max_ns, made.total_ns = length.min, length.max, length.total
    made.p50_ns, made.p90_ns = length.median, length.p90
  end
  -- each holds those before it
  if made.idle_ns and made.idle_other_ns then
    made.idle_host_ns = made.idle_ns - made.idle_other_ns
    made.idle_other_ns = made.idle_other_ns - made.idle_memory_ns
    made.idle_memory_ns = made.idle_memory_ns - made.idle_launch_ns
    made.idle_launch_ns = made.idle_launch_ns - made.idle_sync_ns
  end
  if (made.collectives or 0) == 0 then made.collective_ns, made.hidden_ns = nil, nil end
  made.exposed_ns = made.collective_ns and made.hidden_ns and made.collective_ns - made.hidden_ns
  return made
end


-- Leave out percentiles that this many steps do not support: ranks make a step together, so
-- their lengths of it are no more than one.
local function keep_supported(made)
  if not statistics.supports(made.count, 50) then made.p50_ns = nil end
  if not statistics.supports(made.count, 90) then made.p90_ns = nil end
end


-- Over ranks: how many steps, the slowest, and how much more it takes than the fastest; nothing
-- where they do not make these steps together: of a pair that prefills and decodes apart the one
-- has a few that the other has many of.
local function add_over_ranks(made)
  local counts = statistics.describe(lists.map(made.ranks, "count"))
  if not counts or 2 * counts.min <= counts.max then return end
  made.count = counts.max
  local slowest = lists.largest(made.ranks, "mean_ns")
  if not slowest then return end
  made.slowest_rank, made.slowest_ns = slowest.rank, slowest.mean_ns
  if #made.ranks > 1 then
    made.spread_ns = slowest.mean_ns - statistics.describe(lists.map(made.ranks, "mean_ns")).min
  end
end


-- Groups of steps by columns: list in order of phase, each with the columns, its means
-- over all ranks, slowest_rank, slowest_ns, spread_ns, and `ranks`: the same of each.
-- count is that of the rank with the most; of all together where they do not make these steps
-- together, of which there is no slowest rank.
function step_groups.list(steps, by)
  local asked = { by = by, sum = keys.sorted(means), percentiles = { 90 } }
  local function key_of(group)
    return keys.tuple(table.unpack(lists.map(by, function(name) return group[name] or false end)))
  end
  local function entry_of(group)
    local entry = record(group)
    entry.rank = group.world
    keep_supported(entry)
    return entry
  end
  local list = steps:group(asked)
  asked.by = lists.joined({ "world" }, by)
  local _, of_ranks = lists.grouped(lists.sort(steps:group(asked), "world"), key_of)
  list = json.list(lists.map(list, function(group)
    local made = record(group)
    for _, name in ipairs(by) do made[name] = group[name] end
    made.ranks = json.list(lists.map(of_ranks[key_of(group)], entry_of))
    add_over_ranks(made)
    keep_supported(made)
    return made
  end))
  return lists.sort(list, function(made) return step_groups.place(made.phase) end,
    table.unpack(by))
end


local kept = { "phase", "batch", "tokens", "context", "generation", "turn", "start", "end",
  "begin", "last", "length", "interval", "idle", "busy", "kernels", "graphed", "collectives",
  "comm_time", "comm_hidden", "waiting", "transfer", "moves", "cpu" }


-- The single steps by rank and start, as many as are kept: list of records, times as
-- *_ns.
function step_groups.rows(steps)
  local list, fields = json.list {}, {}
  for _, column in ipairs(steps:columns()) do
    fields[column.name] = column.unit == "ns" and column.name .. "_ns" or column.name
  end
  local sorted = steps:sort { { "world" }, { "start" } }
  for row = 1, math.min(#sorted, MOST_STEPS) do
    local made = { rank = sorted:get(row, "world") }
    for _, name in ipairs(kept) do made[fields[name]] = sorted:get(row, name) end
    list[row] = made
  end
  return list
end


-- Batches that ran in the same CUDA graph as a larger one: list of { batch, as }. A
-- graph is known by its least node.
function step_groups.padded(steps)
  local list, seen = json.list {}, {}
  local decodes = steps:where { phase = "decode", { "graph", "~=", false },
    { "batch", "~=", false } }
  local graphs = lists.grouped(decodes:group { by = { "world", "graph", "batch" } },
    function(group) return keys.tuple(group.world, group.graph) end)
  for _, own in ipairs(graphs) do
    local _, as = lists.largest(own, "batch")
    for _, group in ipairs(own) do
      if as > group.batch then
        lists.entry(list, seen, group.batch, { batch = group.batch, as = as })
      end
    end
  end
  return lists.sort(list, "batch")
end


-- ---- waiting and transfer of each step ----

-- Add `waiting` and `transfer` (ns) to steps: the sums of its matched collectives; absent where it
-- has none. Collectives get when their step began. made: of llmprof.ranks.merged.
function step_groups.add_waiting(made)
  local all = made.collectives
  for _, name in ipairs { "waiting", "transfer" } do
    if all then
      spans.total(made.steps, all, "number", name, name)
    else
      rows.extend(made.steps, {}, { { name = name, type = "integer", unit = "ns" } })
    end
  end
  if all then spans.look_up(all, "number", made.steps, "start", "step_start") end
end


return step_groups
