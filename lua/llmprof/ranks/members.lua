-- Which ranks a trace has: each process with a GPU that it computes on.
local engines = require "llmprof.engines"
local errors = require "llmprof.process.errors"
local lists = require "llmprof.tables.lists"
local sorted_keys = require("llmprof.tables.keys").sorted
local tuple = require("llmprof.tables.keys").tuple
local rows = require "llmprof.ranks.rows"
local collectives = require "llmprof.ranks.collectives"

local members = {}


-- ---- members ----

-- A process that runs a few kernels on a second GPU has no second rank there: less
-- than this share of what it runs on its busiest one.
local LEAST_SHARE = 0.01


-- Places in tensor, pipeline, data and expert parallel, as names carry them:
-- "dp0_pp0_tp1", "Worker_TP1", "TP-1".
local kinds = { "tp", "pp", "dp", "ep" }

function members.places(name)
  local lower, places = (name or ""):lower(), {}
  for _, kind in ipairs(kinds) do
    places[kind] = tonumber(lower:match("%f[%a]" .. kind .. "[_-]?(%d+)"))
  end
  return places
end


-- The number that the name of a process tells ("python3 rank 2", "python3 rank 2 of 4"), and of
-- how many; nil without.
function members.told(name)
  local number, world = (name or ""):match " rank (%d+) of (%d+)$"
  return tonumber(number or (name or ""):match " rank (%d+)$"), tonumber(world)
end


-- The ranks of a trace, in order of data, pipeline and tensor place where names tell them, else of
-- the numbers that these tell ("python3 rank 2", as the collector has it) where all tell one, of
-- GPU and process: list of { pid, device, process (its name), kernels, tp, pp, dp, ep }, numbered
-- from 0 in their field `rank`.
function members.find(trace)
  local names, told, list = {}, {}, {}
  for _, process in ipairs(trace:processes()) do names[process.pid] = process.name end
  local groups = errors.check(trace:frame "kernels"):group { by = { "pid", "device" } }
  for _, own in ipairs((lists.grouped(groups, "pid"))) do
    local _, most = lists.largest(own, "count")
    for _, group in ipairs(own) do
      if group.device and group.count >= LEAST_SHARE * most then
        local name = names[group.pid]
        local member = members.places(name)
        member.pid, member.device = group.pid, group.device
        member.process, member.kernels = name, group.count
        list[#list + 1], told[#told + 1] = member, members.told(name)
      end
    end
  end
  local all_tell = #told == #list
  lists.sort(list, "dp", "pp", "tp", function(member)
    return all_tell and members.told(member.process) or nil
  end, "device", "pid")
  for i, member in ipairs(list) do member.rank = i - 1 end
  return list
end


-- A function from a process and a GPU, which may be nil, to the rank.
local function finder(list)
  local by_place, alone = {}, {}
  for _, member in ipairs(list) do
    by_place[member.pid .. "/" .. member.device] = member.rank
    if alone[member.pid] == nil then
      alone[member.pid] = member.rank
    else
      alone[member.pid] = false -- several
    end
  end
  return function(pid, device)
    if not pid then return nil end
    return device and by_place[pid .. "/" .. device] or alone[pid] or nil
  end
end


-- Add the column `rank` to a frame of GPU operations.
function members.label_ops(list, frame)
  local find = finder(list)
  return rows.extend(frame, { "pid", "device" }, { { name = "rank", type = "integer",
    get = function(key) return find(key.pid, key.device) end } })
end


-- The GPU on which each thread of a process with several ranks launched most.
local function main_devices(list, trace)
  local device = {}
  if #lists.grouped(list, "pid") == #list then return device end
  local groups = errors.check(trace:frame "kernels")
    :group { by = { "launch_pid", "launch_tid", "device" } }
  local _, by_thread = lists.grouped(groups, function(group)
    return tuple(group.launch_pid, group.launch_tid)
  end)
  for thread, own in pairs(by_thread) do device[thread] = lists.largest(own, "count").device end
  return device
end


-- Add the column `rank` to a frame of API calls or ranges: that of the process, in a
-- process of several ranks that of the thread. A thread that launched nothing there
-- has none.
function members.label_threads(list, frame, trace)
  local find, device = finder(list), main_devices(list, trace)
  return rows.add(frame, "rank", { "pid", "tid" }, function(key)
    return find(key.pid, device[tuple(key.pid, key.tid)])
  end)
end


-- ---- labels of steps ----

-- Which ranges of a trace are steps: an engine's labels, or ranges that a recipe or
-- a program calls so.

-- What programs without an engine call a pass of their model. A range "decode" is no
-- step: it holds all of them.
local usual = { prefill = "prefill", prefill_step = "prefill", decode_step = "decode" }


local function marked(tags, marks)
  local found = {}
  for _, tag in ipairs(tags) do found[tag] = marks[tag] and { phase = marks[tag] } end
  return next(found) and found or nil
end


-- { source ("labels" of an engine, or "ranges"), engine (nil without), steps (by tag:
-- { phase, context, ... }), enclosed (are the launches of a step inside its range?) };
-- nil when no range marks a step. marks: tag -> phase, of the recipe; nil: the usual
-- names.
function members.find_labels(trace, marks)
  local tags = lists.sort(lists.map(errors.check(trace:frame "ranges"):group { by = { "tag" } },
    "tag"))
  local known = engines.recognise(tags)
  if known and next(known.steps) then
    return { source = "labels", engine = known.engine, steps = known.steps, enclosed = false }
  end
  local found = marks and marked(tags, marks) or marked(tags, usual)
  return found and { source = "ranges", steps = found, enclosed = true,
    engine = known and known.engine }
end


-- A transfer FAR times as long as others of its kind is waiting: on the same links the same
-- bytes take about as long. What NCCL says of its bytes bounds it, too: OVER times the time that
-- the link needs for them, and SETUP_NS.
local FAR, OVER, SETUP_NS = 4, 10, 50000

-- Transfers one after the other that are of about one step.
local NEAR = 16


-- ---- by number and place ----

-- How many ranks there are by what their processes say, where that is what they are numbered by.
local function world_of(ranks)
  local most = 0
  for _, rank in ipairs(ranks) do
    local number, world = members.told(rank.process)
    if number ~= rank.rank then return 0 end
    most = math.max(most, world or 0)
  end
  return #ranks > 1 and most or 0
end


-- Numbers from 0 to most that are not among these, in words: "rank 2", "ranks 4 to 7".
local function gaps_in(list, numbers, most, one, many)
  local seen, first = lists.set(numbers), nil
  for number = 0, most + 1 do
    if number <= most and not seen[number] then
      first = first or number
    elseif first then
      list[#list + 1] = first == number - 1 and ("%s %d"):format(one, first)
        or ("%s %d to %d"):format(many, first, number - 1)
      first = nil
    end
  end
end


-- Numbers and places that ranks lack below the highest of them, or of those that there are, in
-- words. ranks: of llmprof.ranks.merged.
function members.missing(ranks)
  local list, numbers, places = {}, lists.map(ranks, "rank"), lists.map(ranks, "tp")
  gaps_in(list, numbers, math.max(world_of(ranks) - 1, -1, table.unpack(numbers)), "rank", "ranks")
  gaps_in(list, places, math.max(-1, table.unpack(places)), "TP", "TP")
  return list
end


-- Communicators of more ranks than are there, in words. parts: of llmprof.ranks.part.
function members.missing_of_communicators(parts)
  local sizes, there, list = {}, {}, {}
  for _, own in ipairs(lists.flat(parts, function(part) return part.about.communicators end)) do
    sizes[own.id] = own.size or sizes[own.id]
    there[own.id] = (there[own.id] or 0) + #own.ranks
  end
  for _, id in ipairs(sorted_keys(there)) do
    if there[id] > 0 and sizes[id] and there[id] < sizes[id] then
      list[#list + 1] = ("part of communicator %s (%d of its %d ranks are there)"):format(id,
        there[id], sizes[id])
    end
  end
  return list
end


-- ---- by transfers ----

-- The excess of transfers of one kind, in ns. A transfer is held against the quickest of the NEAR
-- around it and against the quickest tenth at its place in other steps, whichever is longer, since
-- sizes differ; what is far above counts. Else what exceeds `most` counts, which may be nil. own:
-- rows.
local function beyond_of(own, most)
  local sorted, sum = own:sort { { "start" } }, 0
  local transfers, places = sorted:values "transfer", sorted:values "place"
  local quickest = rows.by(own, "place", { sum = { "transfer" }, percentiles = { 10 } })
  for i, transfer in ipairs(transfers) do
    local first = i - (i - 1) % NEAR
    local near = math.min(table.unpack(transfers, first, math.min(first + NEAR - 1, #transfers)))
    local floor = math.max(near, quickest[places[i]].transfer.p10)
    local bound = transfer > FAR * floor and floor or most or transfer
    sum = sum + math.max(transfer - bound, 0)
  end
  return sum
end


-- How long transfers take beyond what such transfers take, each collective once, ns. all: of
-- llmprof.ranks.merged; link: between all GPUs, nil where it is not known.
function members.transfers_beyond(all, link)
  local sum, last = 0, collectives.last(all)
  for _, group in ipairs(last:group { by = { "short_name", "phase", "message" },
    sum = { "transfer", "members" }, percentiles = { 10 } }) do
    -- the longest that it can be by NCCL's word for its bytes
    local needed = link and group.message and collectives.least(group.short_name,
      group.members.max, group.message, link)
    local most = needed and OVER * needed + SETUP_NS
    if group.transfer.max > math.min(FAR * group.transfer.p10, most or math.huge) then
      sum = sum + beyond_of(last:where { short_name = group.short_name or false,
        phase = group.phase or false, message = group.message or false }, most)
    end
  end
  return math.floor(sum + 0.5)
end


return members
