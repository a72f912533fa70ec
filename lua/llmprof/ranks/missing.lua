-- Ranks that nothing was captured of: what the others wait for them looks like transfer.
local collectives = require "llmprof.ranks.collectives"
local process_ranks = require "llmprof.ranks.members"

local missing = {}

-- A transfer FAR times as long as others of its kind is waiting: on the same links the same
-- bytes take about as long. What NCCL says of its bytes bounds it, too: OVER times the time that
-- the link needs for them, and SETUP_NS.
local FAR, OVER, SETUP_NS = 4, 10, 50000

-- Transfers one after the other that are of about one step.
local NEAR = 16

-- From this share of the time in collectives on it is said.
missing.WORTH = 0.03


-- ---- by number and place ----

-- How many ranks there are by what their processes say, where that is what they are numbered by.
local function world_of(ranks)
  local most
  for _, rank in ipairs(ranks) do
    local number, world = process_ranks.told(rank.process)
    if number ~= rank.rank then return nil end
    if world then most = math.max(most or 0, world) end
  end
  return #ranks > 1 and most or nil
end


-- Numbers and places that ranks lack below the highest of them, or of those that there are, in
-- words: "rank 2", "ranks 4 to 7". ranks: of llmprof.ranks.merged.
function missing.names(ranks)
  local list = {}
  for _, kind in ipairs { { "rank", "rank" }, { "tp", "TP" } } do
    local seen, most = {}, -1
    for _, rank in ipairs(ranks) do
      local number = rank[kind[1]]
      if number then seen[number], most = true, math.max(most, number) end
    end
    if kind[1] == "rank" then most = math.max(most, (world_of(ranks) or 0) - 1) end
    local first
    for number = 0, most + 1 do
      local is_there = number > most or seen[number]
      if not is_there then
        first = first or number
      elseif first then
        list[#list + 1] = first == number - 1 and ("%s %d"):format(kind[2], first)
          or ("%s %d to %d"):format(kind[2] == "rank" and "ranks" or kind[2], first, number - 1)
        first = nil
      end
    end
  end
  return list
end


-- ---- by communicator ----

-- Communicators of more ranks than are there, in words. parts: of llmprof.ranks.part.
function missing.members(parts)
  local sizes, members, order, list = {}, {}, {}, {}
  for _, part in ipairs(parts) do
    for _, own in ipairs(part.about.communicators or {}) do
      if not members[own.id] then members[own.id], order[#order + 1] = 0, own.id end
      sizes[own.id] = own.size or sizes[own.id]
      members[own.id] = members[own.id] + #own.ranks
    end
  end
  table.sort(order)
  for _, id in ipairs(order) do
    if members[id] > 0 and sizes[id] and members[id] < sizes[id] then
      list[#list + 1] = ("part of communicator %s (%d of its %d ranks are there)"):format(id,
        members[id], sizes[id])
    end
  end
  return list
end


-- ---- by transfers ----

-- The longest that a transfer of a group can be by NCCL's word for its bytes, ns; nil where that
-- or the link is not known.
local function most_by_size(group, link)
  local needed = link and group.message and collectives.least(group.short_name,
    group.members.max, group.message, link)
  return needed and OVER * needed + SETUP_NS
end


-- The quickest tenth of the transfers at each place of a step, ns; "" is no place.
local function usual_at_places(own)
  local usual = {}
  for _, group in ipairs(own:group { by = { "place" }, sum = { "transfer" },
    percentiles = { 10 } }) do
    usual[group.place or ""] = group.transfer.p10
  end
  return usual
end


-- The quickest of NEAR transfers one after the other.
local function quickest(transfers, first)
  local least = math.huge
  for i = first, math.min(first + NEAR - 1, #transfers) do
    least = math.min(least, transfers[i])
  end
  return least
end


-- The excess of transfers of one kind, in ns. A transfer is held against the quickest of those
-- around it and against the fastest at its place in other steps, whichever is longer, since sizes
-- differ; what is far above counts. Else what exceeds `most` counts, which may be nil. own: rows.
local function beyond_of(own, most)
  local sorted = own:sort { { "start" } }
  local transfers, places = sorted:values "transfer", sorted:values "place"
  local usual, sum, near = usual_at_places(own), 0, 0
  for i, transfer in ipairs(transfers) do
    if (i - 1) % NEAR == 0 then near = quickest(transfers, i) end
    local floor = math.max(near, usual[places[i] or ""])
    if transfer > FAR * floor then
      sum = sum + transfer - floor
    elseif most and transfer > most then
      sum = sum + transfer - most
    end
  end
  return sum
end


-- How long transfers take beyond what such transfers take, each collective once, ns. met: of
-- llmprof.ranks.partition; link: between all GPUs, nil where it is not known.
function missing.beyond(met, link)
  local sum = 0
  for _, group in ipairs(met.last:group { by = { "short_name", "phase", "message" },
    sum = { "transfer", "members" }, percentiles = { 10 } }) do
    local most = most_by_size(group, link)
    if group.transfer.max > math.min(FAR * group.transfer.p10, most or math.huge) then
      sum = sum + beyond_of(met.last:where { short_name = group.short_name or false,
        phase = group.phase or false, message = group.message or false }, most)
    end
  end
  return math.floor(sum + 0.5)
end


-- Is that worth saying? totals: of all collectives, ranks: how many.
function missing.is_worth(beyond, totals, ranks)
  return beyond * ranks >= missing.WORTH * totals.collective_ns and beyond > 0
end


return missing
