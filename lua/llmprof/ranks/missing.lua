-- Ranks that nothing was captured of: what the others wait for them looks like transfer.
local communication = require "llmprof.ranks.communication"

local missing = {}

-- So many times as long as the quickest tenth of its kind a transfer is none: on the same links
-- the same bytes take about as long. What NCCL says of its bytes bounds the quickest, too: OVER
-- times the time that the link needs for them, and SETUP_NS.
local FAR, OVER, SETUP_NS = 4, 10, 50000

-- From this share of the time in collectives on it is said.
missing.WORTH = 0.03


-- ---- by number and place ----

-- Numbers and places that ranks lack below the highest of them, in words. ranks: of
-- llmprof.ranks.merged.
function missing.names(ranks)
  local list = {}
  for _, kind in ipairs { { "rank", "rank %d" }, { "tp", "TP %d" } } do
    local seen, most = {}, -1
    for _, rank in ipairs(ranks) do
      local number = rank[kind[1]]
      if number then seen[number], most = true, math.max(most, number) end
    end
    for number = 0, most do
      if not seen[number] then list[#list + 1] = kind[2]:format(number) end
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

-- The longest that a transfer of a group is.
local function longest(group, link)
  local usual = group.transfer.p10
  local needed = link and group.message and communication.least(group.short_name,
    group.members.max, group.message, link)
  if needed then usual = math.min(usual, OVER * needed + SETUP_NS) end
  return math.floor(FAR * usual)
end


-- How long transfers take beyond what such transfers take, each collective once, ns. met: of
-- llmprof.ranks.met; link: between all GPUs, nil where it is not known.
function missing.beyond(met, link)
  local sum = 0
  for _, group in ipairs(met.last:group { by = { "short_name", "phase", "message" },
    sum = { "transfer", "members" }, percentiles = { 10 } }) do
    local limit = longest(group, link)
    local far = met.last:where { short_name = group.short_name or false,
      phase = group.phase or false, message = group.message or false,
      { "transfer", ">", limit } }:group { sum = { "transfer" } }[1]
    if far then sum = sum + far.transfer.total - far.count * limit // FAR end
  end
  return sum
end


-- Is that worth saying? totals: of all collectives, ranks: how many.
function missing.is_worth(beyond, totals, ranks)
  return beyond * ranks >= missing.WORTH * totals.collective_ns and beyond > 0
end


return missing
