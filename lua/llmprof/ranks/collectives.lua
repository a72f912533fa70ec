-- Collectives of a trace: one row for each kernel of one, with what its rank did
-- before it. They are matched with those of other ranks by llmprof.ranks.merged.
local collectives = require "llmprof.collectives"
local pack = require "llmprof.pack"
local rows = require "llmprof.ranks.rows"
local spans = require "llmprof.spans"

local found = {}

local COMPUTE, COMMUNICATION = 0, 1


-- What the name of a kernel says: op ("all-reduce"), and whose it is.
local operations = {
  { "reduce_?scatter", "reduce-scatter" }, { "all_?reduce", "all-reduce" },
  { "cross_device_reduce", "all-reduce" }, { "all_?gather", "all-gather" },
  { "all_?to_?all", "all-to-all" }, { "moea2a", "all-to-all" }, { "dispatch", "dispatch" },
  { "combine", "combine" }, { "broadcast", "broadcast" }, { "send_?recv", "send-receive" },
  { "reduce", "reduce" }, { "userbuffers_.*sum", "all-reduce" },
}

local libraries = {
  { "^nccl", "NCCL" }, { "cross_device_reduce", "custom all-reduce" }, { "deep_?ep", "DeepEP" },
  { "quickreduce", "quick all-reduce" }, { "symmetric_memory", "symmetric memory" },
  { "nvshmem", "NVSHMEM" },
}

local function first_of(list, text)
  for _, entry in ipairs(list) do
    if text:find(entry[1]) then return entry[2] end
  end
  return nil
end


-- { op, library }, as far as a kernel's names tell: not NCCL's algorithm and protocol, as one
-- kernel is called RING_LL whatever runs.
function found.describe(name, short)
  return { op = first_of(operations, (short or name):lower()) or "other",
    library = first_of(libraries, name:lower()) or "other" }
end


-- Add the column `as` to a frame with kernels' names: 1 for sends and receives between two
-- ranks.
function found.mark_p2p(frame, column, as)
  return rows.extend(frame, { column }, { { name = as, type = "integer", get = function(key)
    return key[column] and key[column]:find "^nccl[%w_]*SendRecv" and 1
  end } })
end


-- The stream on which each rank has most of its collectives; and whether one has some on
-- another.
local function main_streams(made)
  local main, most, several = {}, {}, false
  for _, group in ipairs(made:group { by = { "rank", "stream" } }) do
    several = several or most[group.rank] ~= nil
    if group.count > (most[group.rank] or 0) then
      main[group.rank], most[group.rank] = group.stream, group.count
    end
  end
  return main, several
end


-- Add what each row's rank did before it, since the last collective on the main streams,
-- or since the last one elsewhere: what runs beside the layers must not divide them.
-- Returns the frame, which is another one where there are both.
local function add_before(made, computing, columns)
  local main, several = main_streams(made)
  rows.extend(made, { "rank", "stream" }, { { name = "lane", type = "integer",
    get = function(key) return key.stream == main[key.rank] and 0 or 1 end } })
  local at = { rank = "rank", start = "start", ["end"] = "end", key = "short_name" }
  local of_kernels = { rank = "rank", start = "start", name = "short_name" }
  if not several then
    collectives.before(made, at, computing, of_kernels)
    return made
  end
  local lanes = {}
  for lane = 0, 1 do
    lanes[lane + 1] = pack.join { made:where({ lane = lane }):select(columns) }
    collectives.before(lanes[lane + 1], at, computing, of_kernels)
  end
  return pack.join(lanes)
end


-- Columns that rows are copied with.
local function copied(made)
  local wanted, list = { range = true }, {}
  for _, name in ipairs(found.kept) do wanted[name] = true end
  for _, column in ipairs(made:columns()) do
    if wanted[column.name] then list[#list + 1] = column.name end
  end
  list[#list + 1] = "lane"
  return list
end


-- The rows of a trace's collectives: kernels, with rank, work and step, that are some.
-- Adds lane (0 on the stream where its rank has most, else 1), previous, before,
-- signature, follows, and how much of the row and of the time before it computing kernels of
-- the rank covered: hidden, work_before.
function found.of_kernels(kernels, list)
  local computing = kernels:where { work = COMPUTE, { "rank", "~=", false } }
  local made = kernels:where { work = COMMUNICATION, { "rank", "~=", false } }
  made = add_before(made, computing, copied(made))
  local sets = {}
  for _, member in ipairs(#made > 0 and list or {}) do
    sets[member.rank + 1] = computing:where { rank = member.rank }:union()
  end
  spans.cover(made, { start = "start", ["end"] = "end", key = "rank" }, sets,
    "hidden")
  spans.cover(made, { start = "previous", ["end"] = "start", key = "rank" }, sets,
    "work_before")
  computing:close()
  return made
end


-- Add `place`: which of its step's collectives on the main stream a row is, from 0.
function found.place(made)
  rows.extend(made, { "lane", "step" }, { { name = "placed", type = "integer",
    get = function(key) return key.lane == 0 and key.step or nil end } })
  collectives.number(made, { rank = "rank", start = "start", ["end"] = "end",
    key = "placed" }, "place")
  return made
end


-- Columns that a part keeps, in this order.
found.kept = { "rank", "step", "phase", "turn", "place", "name", "short_name", "stream",
  "communicator", "message", "p2p", "said", "start", "end", "duration", "api_start", "previous",
  "before", "signature", "follows", "hidden", "work_before" }

-- Those of them that are times on the trace's clock.
found.times = { "start", "end", "api_start", "previous" }


return found
