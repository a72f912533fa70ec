-- Parts of any number of files as one: ranks numbered, clocks on one, collectives
-- matched. The order of the files does not matter.
local collectives = require "llmprof.ranks.collectives"
local matching = require "llmprof.ranks.matching"
local members = require "llmprof.ranks.members"
local merge = require("llmprof.tables.keys").merged
local part_frames = require("llmprof.ranks.part").frames
local pipeline = require "llmprof.ranks.pipeline"
local rows = require "llmprof.ranks.rows"
local uncounted = require "llmprof.ranks.uncounted"
local lists = require "llmprof.tables.lists"

local merged = {}

local PIPELINE_TIMES = { "start", "end" }
local MIDDLE = { { "begin" }, { "last" }, "+", 2, "/" } -- of a step
local STEP_TIMES = { "start", "end", "launched", "before", "first", "last", "begin" }


-- The number that a file's name gives its rank: rank3.sqlite, worker_3, run.3.sqlite; nil
-- where it gives places ("dp0_pp1_tp0.sqlite").
local function number_of(file)
  local stem = file:match "([^/]*)$":lower()
  while stem:find "%.[%a-]+$" do stem = stem:gsub("%.[%a-]+$", "") end
  if next(members.places(stem)) then return nil end
  return tonumber(stem:match "rank[_.%-]?(%d+)" or stem:match "(%d+)$")
end


-- The number of the rank of a part: what the file itself says, else its name.
local function number_in(part)
  local ranks = part.about.ranks
  return #ranks == 1 and members.told(ranks[1].process) or number_of(part.about.file)
end


-- Files in order: by the number of their rank, then by name. Of a part about.file and
-- about.ranks are looked at.
function merged.in_order(parts)
  local list, number = lists.joined(parts), {}
  for _, part in ipairs(parts) do number[part] = number_in(part) end
  return lists.sort(list, function(part) return number[part] or math.huge end,
    function(part) return part.about.file end)
end


-- Are the ranks numbered? Only where each file has one, and the numbers are not
-- those of hosts: a few may be missing.
local function are_numbered(parts)
  local seen, most = {}, 0
  for _, part in ipairs(parts) do
    local number = number_in(part)
    if #part.about.ranks ~= 1 or not number or seen[number] then return false end
    seen[number], most = true, math.max(most, number)
  end
  return #parts > 1 and most < 2 * #parts + 1
end


-- Places that the name of a file of one rank gives, where its process' name gives none.
local function add_places(rank)
  for kind, place in pairs(members.places(rank.file:match "([^/]*)$")) do
    rank[kind] = rank[kind] or place
  end
end


local function number_ranks(parts)
  local list, numbered = {}, are_numbered(parts)
  for i, part in ipairs(parts) do
    for _, about in ipairs(part.about.ranks) do
      local rank = merge(about, { file = part.about.file, part = i, own = about.rank,
        rank = numbered and number_in(part) or #list })
      if #part.about.ranks == 1 then add_places(rank) end
      list[#list + 1] = rank
    end
  end
  return list
end


-- Where UTC puts each file's clock: { offset, at, drift }, from the earliest session on;
-- and when that began, ns since 1970, nil where no file says.
local function by_utc(parts)
  local first = lists.sort(lists.map(parts, function(part) return part.about.epoch end))[1]
  local list = lists.map(parts, function(part)
    return { offset = part.about.epoch and first - part.about.epoch or 0, at = 0, drift = 0 }
  end)
  return list, first
end


-- Add `world`, the rank among all of them, and, where rows are in steps, `number`, the step among
-- all of them, to the frames of every part.
local function renumber_all(parts, ranks)
  local worlds, before = {}, 0
  for i in ipairs(parts) do worlds[i] = {} end
  for _, rank in ipairs(ranks) do worlds[rank.part][rank.own] = rank.rank end
  for i, part in ipairs(parts) do
    for _, name in ipairs(part_frames) do
      local frame = part[name]
      if frame then
        rows.extend(frame, { "rank" }, { { name = "world", type = "integer",
          get = function(key) return worlds[i][key.rank] end } })
      end
    end
    local first = before
    rows.extend(part.collectives, { "step" }, { { name = "number", type = "integer",
      get = function(key) return key.step and key.step + first end } })
    before = before + (part.steps and #part.steps or 0)
  end
end


-- The parts without the sends and receives of their collectives, which are two ranks' own;
-- these beside them as `p2p`.
local function apart(parts)
  return lists.map(parts, function(part)
    return setmetatable({ collectives = part.collectives:where { p2p = 0 },
      p2p = part.collectives:where { p2p = 1 } }, { __index = part })
  end)
end


-- Can times of all ranks be compared: of one file, or of files that say when they began?
local function on_one_clock(parts)
  return #parts == 1 or not lists.any(parts, function(part) return not part.about.epoch end)
end


-- Collectives on one clock, matched, as llmprof.ranks.matching has it.
local function collect(parts, ranks, left_out)
  local moved, epoch = by_utc(parts)
  return matching.add { parts = parts, ranks = ranks, clocks = moved, epoch = epoch,
    left_out = left_out }
end


-- Add what is known of a pipeline, whose sends and receives are no collectives.
local function add_pipeline(made)
  local busy = matching.joined(made.parts, "busy", made.clocks, PIPELINE_TIMES)
  local told_by = on_one_clock(made.parts) and pipeline.find(made.ranks, made.collectives, busy)
  if not told_by then return made end
  local parts = apart(made.parts)
  local again = collect(parts, made.ranks, made.left_out)
  again.parts, again.told_by = made.parts, told_by
  again.busy = matching.joined(parts, "busy", again.clocks, PIPELINE_TIMES)
  again.p2p = matching.joined(parts, "p2p", again.clocks, collectives.times)
  return again
end


-- left_out: what a timeline leaves out, see uncounted.windows.
--
-- { parts (in order), ranks (list of { rank, file, pid, device, tp, ... }), steps, kernels, clocks
-- (by part: { offset, drift, at }), epoch (UTC of time 0), what llmprof.ranks.matching adds (steps
-- have the mark of `windows`, too) }, and of a pipeline told_by, busy and p2p (the sends and
-- receives). Frames of the parts are taken over.
function merged.of(given, left_out)
  local parts = merged.in_order(given)
  local ranks = number_ranks(parts)
  renumber_all(parts, ranks)
  local made = add_pipeline(collect(parts, ranks, left_out))
  made.steps = matching.joined(parts, "steps", made.clocks, STEP_TIMES)
  made.steps = made.steps and uncounted.mark(made.steps, MIDDLE, made.windows)
  made.kernels = matching.joined(parts, "kernels", made.clocks, {})
  return made
end


return merged
