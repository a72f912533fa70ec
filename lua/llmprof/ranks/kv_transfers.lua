-- Prefill and decode on ranks of their own: from the end of a request's prefill on the one
-- to its first step on the other, in which its KV cache goes from here to there.
--
-- Steps say how many requests they take, not which. The n-th that leaves the prefill is the
-- n-th that the decode takes up, where as many were taken up as left and none before it
-- left; else nothing is said of single ones.
local json = require "llmprof.json"
local rows = require "llmprof.ranks.rows"
local statistics = require "llmprof.statistics"

local kv_transfers = {}

-- Requests looked at.
local MOST = 4096


-- The first rank that only prefills and the first that decodes; nil where one of them is
-- missing, or a rank does both.
local function roles(frame)
  local prefills, decodes
  local groups = frame:group { by = { "world" }, sum = { "context", "generation" } }
  for _, group in ipairs(groups) do
    local context, generation = group.context.total or 0, group.generation.total or 0
    if context > 0 and generation == 0 then
      prefills = math.min(prefills or math.huge, group.world)
    elseif generation > 0 then
      decodes = math.min(decodes or math.huge, group.world)
    end
  end
  if not prefills or not decodes then return nil end
  return prefills, decodes
end


-- A moment of each step once for each request that it prefills, in order; with `count` of
-- all of them, where these are too many to look at.
local function moments(frame, world, column)
  local made = rows.of_rank(frame, world, { column, "context" })
  local list = { count = 0 }
  for i, moment in ipairs(made[column]) do
    local requests = made.context[i] or 0
    list.count = list.count + requests
    for _ = 1, list.count <= MOST and requests or 0 do list[#list + 1] = moment end
  end
  table.sort(list)
  return list
end


local function are_in_order(left, taken)
  for i, moment in ipairs(left) do
    if taken[i] < moment then return false end
  end
  return true
end


-- Why nothing is said of single requests; nil where it is.
local function unknown(left, taken)
  if taken.count == 0 then
    return "no step of the decode says that it takes a request up: what a transfer took is not "
      .. "attributable"
  elseif left.count ~= taken.count then
    return ("%d requests left the prefill and %d were taken up in the capture: what a transfer "
      .. "took is not attributable"):format(left.count, taken.count)
  elseif left.count > MOST then
    return ("%d requests are more than the %d that are looked at one by one"):format(left.count,
      MOST)
  elseif not are_in_order(left, taken) then
    return "requests were taken up in another order than they left the prefill: what a transfer "
      .. "took is not attributable"
  end
  return nil
end


local function spread(list)
  local values = {}
  for i, one in ipairs(list) do values[i] = one.length_ns end
  local made = statistics.describe(values)
  return made and statistics.add_percentiles({ count = made.count, mean_ns = made.mean,
    min_ns = made.min, max_ns = made.max }, values)
end


-- { from_rank, to_rank, left (requests that were prefilled), taken, times (count, mean_ns,
-- p50_ns, ...), single (list of { start_ns, end_ns, length_ns }), unknown (why the last two
-- are not there) }; nil where no ranks of their own prefill and decode. frame: steps.
function kv_transfers.of(frame)
  if not frame then return nil end
  local from, to = roles(frame)
  if not from then return nil end
  local left, taken = moments(frame, from, "last"), moments(frame, to, "begin")
  local made = { from_rank = from, to_rank = to, left = left.count, taken = taken.count,
    unknown = unknown(left, taken) }
  if made.unknown then return made end
  made.single = json.list {}
  for i, moment in ipairs(left) do
    made.single[i] = { start_ns = moment, end_ns = taken[i], length_ns = taken[i] - moment }
  end
  made.times = spread(made.single)
  return made
end


return kv_transfers
